"""What train/values.py and train/nimbers.py have in common: a run from its command line to its finished card."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

from agents.cards import Settings
from agents.checkpoint import CURVE, WANTED, Tensors, read_card
from agents.learned import Architecture, fitting_weights, read_weights, refuse_misfit
from numduel_env.cli import progress_bar, truth
from numduel_env.rules import Rules
from numduel_env.solvers import Solver
from numduel_env.storage import write_atomically
from train.runs.arguments import INFINITE, LocalArguments, make_parser, option
from train.runs.evaluation import evaluate_agent, summary
from train.runs.folder import card_of_run, new_folder, run_in, saving_when_stopped
from train.runs.grading import Grader, judge_of
from train.runs.progress import Budget, learning_bar
from train.runs.record import Record, begin_card
from train.runs.task import Task, asked_hyperparameters, asked_task

if TYPE_CHECKING:
    from train.runs.loop import Learner

DEFAULT_MINUTES = 5
NEEDED = ("filelock", "matplotlib.figure", "safetensors.numpy", "threadpoolctl", "torch", "tqdm")
PACKAGES = ("numpy", "torch")
"""Their versions stand on the card."""


@dataclass(frozen=True)
class LearnerArguments(LocalArguments):
    """What is to be learned and for how long."""

    until_perfect: bool = option(
        "end the run as soon as the solver finds nothing to improve ({})",
        False,
        changeable=True,
        type=truth,
        metavar="BOOL",
    )

    @property
    def budget(self) -> Budget:
        """When the run ends; the seconds are CPU seconds."""
        no_limit = self.plies is None and self.minutes is None
        return Budget(INFINITE, 60 * DEFAULT_MINUTES) if no_limit else super().budget


class Hyperparameters(Protocol):
    """What a preset has."""

    @property
    def layers(self) -> tuple[int, ...]:
        """The widths of the network's hidden layers."""

    def settled(self) -> Self:
        """Return the hyperparameters of a run, with nothing left open."""

    def settings(self) -> Settings:
        """Return what stands on the card."""


@dataclass(frozen=True)
class Method:
    """A way to learn, and the program that does.

    ``name`` is that of its agents, ``kind`` that of its network. ``make_observer`` raises a ``ValueError`` for rules
    that cannot be learned so; ``make_learner`` takes an observer, hyperparameters, a seed and a device.
    """

    program: str
    name: str
    kind: str
    hyperparameters: type[Any]
    make_observer: Callable[[Rules[Any]], Any]
    make_learner: Callable[[Any, Any, int, str], Learner]


@dataclass(frozen=True)
class Run:
    """One run of a method: its task, hyperparameters and observer, and with which weights it begins, if with any."""

    method: Method
    task: Task[LearnerArguments]
    preset: Hyperparameters
    observer: Any
    initial: Tensors | None

    @property
    def architecture(self) -> Architecture:
        """The network."""
        return Architecture.of(self.method.kind, self.observer, self.preset.layers)


def run_method(method: Method, description: str | None) -> int:
    """Do what a command line asks of a program: learn and report."""
    program, kind = method.program, method.hyperparameters
    parser = make_parser(program, description, LearnerArguments, {"the learner": kind})
    typed = parser.parse_args()
    task = asked_task(parser, typed, LearnerArguments, lambda place: card_of_run(Path(place), program))
    args, preset = task.arguments, asked_hyperparameters(parser, typed, kind, task)
    try:
        # All that is needed on the way, so that nothing is missing in the end.
        for module in NEEDED:
            importlib.import_module(module)
    except ImportError as missing:
        print(f"training needs {missing.name or missing}, which is not installed: {WANTED}", file=sys.stderr)
        return 1
    from threadpoolctl import threadpool_limits

    from train.runs.device import refuse_device

    try:
        refuse_device(args.device)
        run = prepared(method, task, preset.settled())
        with progress_bar() as progress:
            judge = judge_of(task.rules, progress)
        folder = Path(args.resume) if args.resume else new_folder(args.out, task.spec.slug)
        # Networks and games as small as these are no faster on more threads, and much slower where cores are busy.
        with threadpool_limits(1):
            return run_in(folder, program, task.spec.name, lambda: learn(run, folder, judge))
    except ValueError as wrong:
        parser.error(str(wrong))


def prepared(method: Method, task: Task[LearnerArguments], preset: Hyperparameters) -> Run:
    """Return a run that is ready to begin, or raise a ``ValueError``."""
    try:
        observer = method.make_observer(task.rules)
    except ValueError as reason:
        raise ValueError(f"{method.program} cannot learn {task.spec.name}: {reason}") from None
    run = Run(method, task, preset, observer, None)
    if not task.arguments.init or task.card:
        return run
    folder = Path(task.arguments.init)
    card = read_card(folder)
    refuse_misfit(folder, card, run.architecture)
    return Run(method, task, preset, observer, fitting_weights(folder, card, task.rules))


def learn(run: Run, folder: Path, judge: Solver | None) -> str:
    """Learn in ``folder``, and return what to print; raises ``BadCheckpoint`` if the run that is to go on cannot."""
    from train.runs.curve import draw_curve
    from train.runs.loop import Loop
    from train.runs.state import restore

    # What was asked for, and how far it has come: a card, which is written again and again.
    task, args, method = run.task, run.task.arguments, run.method
    card = begin_card(task, method.program, run.architecture, run.preset.settings(), args.device, PACKAGES)
    record = Record(card, Grader(judge) if judge else None, latest=True)

    learner = method.make_learner(run.observer, run.preset, record.training.sessions[-1].seed, args.device)
    if task.card:
        record.keep(read_weights(folder, task.card, task.rules))
        restore(learner.averaged, folder, task.card)
    elif run.initial:
        learner.averaged.begin_with(run.initial)
    with learning_bar(record.training.progress.plies) as report:
        loop = Loop(folder, record, learner, args.budget, args.until_perfect, report)
        with saving_when_stopped(loop.save_unfinished):
            loop.run()

    # What became of it.
    with progress_bar() as progress:
        record.conclude(evaluate_agent(learner.agent(record.best), judge, progress))
    title = f"{task.spec.name}, {method.program}, seed {args.seed}"
    write_atomically(folder / CURVE, draw_curve(record.training.curve, title))
    loop.save(finished=True)
    written = f"{folder}: card.json, weights, {CURVE}"
    chosen = "The weights are the average of the last ones: the solver has no say in them."
    return summary(record.card, task.params, chosen, written, f"{method.name}:{folder}")
