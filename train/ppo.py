"""Learn a game by masked PPO, in self-play or against another opponent, and grade what was learned by perfect play.

    python train/ppo.py --game divider-duel
    python train/ppo.py --game prime-rumble --minutes 5 --out runs/rumble
    python train/ppo.py --resume runs/rumble                        goes on; with a finished run, given more --minutes
    python train/ppo.py --game prime-rumble --init runs/rumble --ent-coef 0.01

In self-play every step is one ply, and observation and reward are the mover's own. Then gamma=-1 is all that PPO needs
to know about two players: what is good for the next mover is bad for this one. Training ends when the budget is spent,
or as soon as the solver finds nothing to improve. The folder that is written is an agent: ppo:FOLDER in
train/evaluate.py and agents/play.py.
"""

from __future__ import annotations

import importlib
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from agents.checkpoint import CURVE, WANTED, Tensors, read_card, read_tensors
from agents.learned import Architecture, LearnedAgent, fitting_weights, read_weights, refuse_misfit
from agents.networks import AfterstateNetwork
from numduel_env.cli import progress_bar, run_program
from numduel_env.observation import AfterstateObserver
from numduel_env.rules import Rules
from numduel_env.solvers import Solver
from numduel_env.storage import write_atomically
from train.runs.arguments import make_parser
from train.runs.evaluation import BEST_BY_GRADE, evaluate_agent, summary
from train.runs.folder import LOGS, card_of_run, new_folder, run_in, saving_when_stopped
from train.runs.grading import Grader, judge_of
from train.runs.progress import learning_bar
from train.runs.record import Record, begin_card
from train.runs.task import Task, asked_hyperparameters, asked_task
from train.sb3_ppo.arguments import PPOArguments
from train.sb3_ppo.preset import Preset

PROGRAM = "train/ppo.py"

NEEDED = (
    "filelock",
    "matplotlib.figure",
    "safetensors.numpy",
    "sb3_contrib",
    "threadpoolctl",
    "torch.utils.tensorboard",
    "tqdm",
)
PACKAGES = ("gymnasium", "numpy", "sb3-contrib", "stable-baselines3", "torch")
"""Their versions stand on the card."""

LARGEST_UPDATE = 8e9
"""The plies of an update may take this many bytes of memory."""


def main() -> int:
    """Learn and report."""
    parser = make_parser(PROGRAM, __doc__, PPOArguments, {"PPO, by the names of Stable-Baselines3": Preset})
    typed = parser.parse_args()
    task = asked_task(parser, typed, PPOArguments, lambda place: card_of_run(Path(place), PROGRAM))
    args, preset = task.arguments, asked_hyperparameters(parser, typed, Preset, task)
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
        refuse_what_does_not_fit(task.rules, preset)
        initial = None
        if args.init and not task.card:
            preset, initial = begin_from(Path(args.init), task.rules, preset)
        with progress_bar() as progress:
            judge = judge_of(task.rules, progress)
        if judge is None and args.opponent == "solver":
            parser.error("--opponent solver needs a game that can be solved")
        folder = Path(args.resume) if args.resume else new_folder(args.out, task.spec.slug)
        # Networks and games as small as these are no faster on more threads, and much slower where cores are busy.
        with threadpool_limits(1):
            settled = preset.settled(args.opponent)
            return run_in(folder, PROGRAM, task.spec.name, lambda: learn(task, settled, initial, folder, judge))
    except ValueError as wrong:
        parser.error(str(wrong))


def refuse_what_does_not_fit(rules: Rules[Any], preset: Preset) -> None:
    """Raise a ``ValueError`` if there is too little memory for the plies of an update."""
    # All moves of all positions, twice in Stable-Baselines3.
    of_position = len(rules.numbers) * (1 + AfterstateObserver(rules).size) * 4
    needed = 2 * preset.plies_per_update * of_position
    if needed > LARGEST_UPDATE:
        limit = f"{LARGEST_UPDATE / 1e9:.0f} GB, the most that are allowed"
        raise ValueError(
            f"the plies of one update of this game take {needed / 1e9:.0f} GB of memory, more than {limit}: "
            "fewer --n-envs or --n-steps take less"
        )


def begin_from(folder: Path, rules: Rules[Any], preset: Preset) -> tuple[Preset, Tensors]:
    """Return hyperparameters for a network like that of another run, and its weights; raises ``BadCheckpoint``."""
    card = read_card(folder)
    preset = preset if preset.net_arch else replace(preset, net_arch=",".join(map(str, card.network.layers)))
    here = Architecture.of(AfterstateNetwork.kind, AfterstateObserver(rules), preset.layers)
    refuse_misfit(folder, card, here)
    return preset, fitting_weights(folder, card, rules)


def learn(task: Task[PPOArguments], preset: Preset, initial: Tensors | None, folder: Path, judge: Solver | None) -> str:
    """Learn in ``folder``, and return what to print; raises ``BadCheckpoint`` if the run that is to go on cannot.

    A new run begins with the weights ``initial``, if there are some.
    """
    from train.runs.curve import draw_curve
    from train.runs.state import restore
    from train.sb3_ppo.learner import make_learner
    from train.sb3_ppo.pool import Pool
    from train.sb3_ppo.watch import Watch

    # What was asked for, and how far it has come: a card, which is written again and again.
    args, rules, observer = task.arguments, task.rules, AfterstateObserver(task.rules)
    architecture = Architecture.of(AfterstateNetwork.kind, observer, preset.layers)
    card = begin_card(task, PROGRAM, architecture, preset.settings(), args.device, PACKAGES)
    record = Record(card, Grader(judge) if judge else None)

    # Who learns, from whom, and what happens beside it.
    pool = Pool(rules, observer) if args.opponent == "pool" else None
    watch = Watch(folder, record, observer, args.budget, pool)
    model: Any = make_learner(
        task.spec,
        task.params,
        pool or args.opponent,
        preset,
        record.training.sessions[-1].seed,
        learning_rate=lambda _: preset.learning_rate * watch.annealing,
        tensorboard_log=str(folder / LOGS),
        device=args.device,
    )
    if task.card:
        record.keep(read_weights(folder, task.card, rules))
        restore(model.policy, folder, task.card)
        if pool:
            pool.restore(read_tensors(folder, task.card, "pool"), preset.layers)
        model.num_timesteps = watch.plies
    elif initial:
        model.policy.set_tensors(initial)
    plies_left = int(min(args.budget.plies - watch.plies, sys.maxsize // 2))
    with learning_bar(watch.plies) as watch.report, saving_when_stopped(watch.save_unfinished):
        try:
            model.learn(plies_left, callback=watch, tb_log_name="ppo", reset_num_timesteps=False)
        except RuntimeError:
            # torch finds out in the middle of an update that a policy has no probabilities any more.
            watch.refuse_divergence()
            raise

    # What became of it.
    agent = LearnedAgent(rules, AfterstateNetwork(observer, record.best))
    with progress_bar() as progress:
        record.conclude(evaluate_agent(agent, judge, progress))
    title = f"{task.spec.name}, {args.opponent}, seed {args.seed}"
    write_atomically(folder / CURVE, draw_curve(record.training.curve, title))
    watch.save(finished=True)
    written = f"{folder}: card.json, weights, {CURVE}, {LOGS}"
    return summary(record.card, task.params, BEST_BY_GRADE, written, f"ppo:{folder}")


if __name__ == "__main__":
    raise SystemExit(run_program(main))
