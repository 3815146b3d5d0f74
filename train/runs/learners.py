"""What train/values.py and train/nimbers.py have in common: their arguments, and a run from the first ply to the card."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agents.cards import Settings
from agents.checkpoint import WANTED, BadCheckpoint
from agents.learned import Architecture, read_weights
from numduel_env.cli import OneLineParser, progress_bar
from numduel_env.solvers import Solver
from numduel_env.storage import write_atomically
from train.runs.evaluation import evaluate_agent, summary
from train.runs.folder import new_folder, run_in, unfinished_card
from train.runs.grading import Grader, judge_of
from train.runs.progress import Budget, learning_bar
from train.runs.record import Record, begin_card
from train.runs.task import RunArguments, Task, asked_task, make_parser, option

if TYPE_CHECKING:
    from train.runs.loop import Learner

DEFAULT_MINUTES = 5.0
NEEDED = ("filelock", "matplotlib.figure", "safetensors.numpy", "threadpoolctl", "torch", "tqdm")
PACKAGES = ("numpy", "torch")
"""Their versions stand on the card."""


@dataclass(frozen=True)
class LearnerArguments(RunArguments):
    """The arguments of a run, besides the game's own parameters and what a program adds."""

    minutes: float | None = option(
        f"learn for so many minutes of CPU time, in all the sessions of a run ({DEFAULT_MINUTES:g}, or with --plies no "
        "limit)",
        changeable=True,
        type=float,
    )
    plies: int | None = option("learn from this many plies (no limit)", changeable=True, type=int)
    device: str = option("where the network learns, as torch names it ({})", "cpu", changeable=True)
    until_perfect: bool = option(
        "end the run as soon as the solver finds nothing to improve", False, changeable=True, action="store_true"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.plies is not None and self.plies < 1:
            raise ValueError(f"--plies must be at least 1, not {self.plies}")

    @property
    def budget(self) -> Budget:
        """When the run ends."""
        default = DEFAULT_MINUTES if self.plies is None else float("inf")
        return Budget(
            plies=float("inf") if self.plies is None else self.plies,
            seconds=60 * (default if self.minutes is None else self.minutes),
        )


@dataclass(frozen=True)
class Method:
    """A way to learn: what ``observer`` the network of this ``kind`` has, and who learns it.

    ``make_learner`` takes the seed of a session. ``preset`` stands on the card.
    """

    kind: str
    observer: Any
    layers: Sequence[int]
    preset: Settings
    make_learner: Callable[[int], Learner]


ParserAndTask = tuple[OneLineParser, Task[Any]]


def run_learner(
    program: str,
    description: str | None,
    arguments: type[LearnerArguments],
    agent: str,
    method_of: Callable[[Task[Any]], Method],
) -> int:
    """Do what a command line asks of a program: learn and report. The agent is called ``agent:FOLDER``.

    ``method_of`` raises a ``ValueError`` for a game that cannot be learned so.
    """
    parser = make_parser(program, description, arguments)
    task = asked_task(parser, parser.parse_args(), arguments, lambda place: unfinished_card(Path(place), program))
    try:
        # All that is needed on the way, so that nothing is missing in the end.
        for module in NEEDED:
            importlib.import_module(module)
    except ImportError as missing:
        print(f"training needs {missing.name or missing}, which is not installed: {WANTED}", file=sys.stderr)
        return 1
    from threadpoolctl import threadpool_limits

    try:
        method = method_of(task)
        with progress_bar() as progress:
            judge = judge_of(task.rules, progress)
        folder = Path(task.arguments.resume) if task.arguments.resume else new_folder(task.arguments.out, task.spec.slug)
        # Networks and games as small as these are no faster on more threads, and much slower where cores are busy.
        with threadpool_limits(1):
            return run_in(folder, program, task.spec.name, lambda: _learn(task, program, agent, method, folder, judge))
    except BadCheckpoint as wrong:
        parser.error(str(wrong))


def _learn(
    task: Task[Any], program: str, agent_name: str, method: Method, folder: Path, judge: Solver | None
) -> str:
    """Learn in ``folder``, and return what to print; raises ``BadCheckpoint`` if the run that is to go on cannot."""
    from train.runs.curve import draw_curve
    from train.runs.loop import Loop
    from train.sb3_ppo.state import restore

    # What was asked for, and how far it has come: a card, which is written again and again.
    args = task.arguments
    architecture = Architecture.of(method.kind, method.observer, method.layers)
    card = begin_card(task, program, architecture, method.preset, args.device, PACKAGES)
    record = Record(card, Grader(judge) if judge else None, latest=True)

    learner = method.make_learner(record.training.sessions[-1].seed)
    if task.card:
        record.keep(read_weights(folder, task.card, task.rules))
        restore(learner.averaged, folder, task.card)
    with learning_bar(record.training.progress.plies) as report:
        loop = Loop(folder, record, learner, args.budget, args.until_perfect, report)
        loop.run()

    # What became of it.
    with progress_bar() as progress:
        record.conclude(evaluate_agent(learner.agent(record.best), judge, progress))
    title = f"{task.spec.name}, {program}, seed {args.seed}"
    write_atomically(folder / "curve.png", draw_curve(record.training.curve, title))
    loop.save(finished=True)
    written = f"{folder}: card.json, weights, curve.png"
    return summary(record.card, task.params, written, f"{agent_name}:{folder}")
