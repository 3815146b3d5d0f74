"""Learn a game by masked PPO, in self-play or against another opponent, and grade what was learned by perfect play.

    python train/ppo.py --game divider-duel
    python train/ppo.py --game prime-rumble --minutes 5 --out runs/rumble
    python train/ppo.py --resume runs/rumble

In self-play every step is one ply, and observation and reward are the mover's own. Then gamma=-1 is all that PPO needs
to know about two players: what is good for the next mover is bad for this one. Training ends when the budget is spent,
or as soon as the solver finds nothing to improve. The folder that is written is an agent: ppo:FOLDER in
train/evaluate.py and agents/play.py.
"""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents.checkpoint import WANTED, BadCheckpoint, read_tensors
from agents.learned import Architecture, LearnedAgent, read_weights
from agents.networks import AfterstateNetwork
from numduel_env.cli import progress_bar, run_program
from numduel_env.observation import AfterstateObserver
from numduel_env.rules import Rules
from numduel_env.solvers import Solver
from numduel_env.storage import write_atomically
from train.runs.evaluation import evaluate_agent, summary
from train.runs.folder import LOGS, new_folder, run_in, unfinished_card
from train.runs.grading import Grader, judge_of
from train.runs.progress import Budget, learning_bar
from train.runs.record import Record, begin_card
from train.runs.task import RunArguments, Task, asked_task, make_parser, option
from train.sb3_ppo.preset import LAYERS, PRESET, gamma_against

PROGRAM = "train/ppo.py"

DEFAULT_PLIES = 1_000_000
OPPONENTS = ("self", "pool", "random", "greedy", "solver")
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


@dataclass(frozen=True)
class PPOArguments(RunArguments):
    """The arguments of a run, besides the game's own parameters."""

    plies: int | None = option(
        f"learn from this many plies, in whole updates ({DEFAULT_PLIES:,}, or with --minutes no limit)",
        changeable=True,
        type=int,
    )
    opponent: str = option("whom to learn against ({}); pool: snapshots of itself", "self", choices=OPPONENTS)
    device: str = option("where the network learns, as torch names it ({})", "cpu", changeable=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.plies is not None and self.plies < 1:
            raise ValueError(f"--plies must be at least 1, not {self.plies}")
        if self.opponent not in OPPONENTS:
            raise ValueError(f"--opponent must be one of {', '.join(OPPONENTS)}, not {self.opponent}")

    @property
    def budget(self) -> Budget:
        """When the run ends."""
        default = DEFAULT_PLIES if self.minutes is None else float("inf")
        return Budget(
            plies=default if self.plies is None else self.plies,
            seconds=float("inf") if self.minutes is None else 60 * self.minutes,
        )


def main() -> int:
    """Learn and report."""
    parser = make_parser(PROGRAM, __doc__, PPOArguments)
    task = asked_task(parser, parser.parse_args(), PPOArguments, lambda place: unfinished_card(Path(place), PROGRAM))
    try:
        # All that is needed on the way, so that nothing is missing in the end.
        for module in NEEDED:
            importlib.import_module(module)
    except ImportError as missing:
        print(f"training needs {missing.name or missing}, which is not installed: {WANTED}", file=sys.stderr)
        return 1
    import torch
    from threadpoolctl import threadpool_limits

    args = task.arguments
    try:
        torch.zeros(1, device=args.device).cpu()
    except (RuntimeError, AssertionError, TypeError, ImportError) as wrong:
        parser.error(f"--device {args.device} cannot be used: {str(wrong).splitlines()[0]}")
    if (needed := bytes_of_update(task.rules)) > LARGEST_UPDATE:
        limit = f"{LARGEST_UPDATE / 1e9:.0f} GB, the most that are allowed"
        parser.error(f"the plies of one update of this game take {needed / 1e9:.0f} GB of memory, more than {limit}")
    with progress_bar() as progress:
        judge = judge_of(task.rules, progress)
    if judge is None and args.opponent == "solver":
        parser.error("--opponent solver needs a game that can be solved")
    try:
        folder = Path(args.resume) if args.resume else new_folder(args.out, task.spec.slug)
        # Networks and games as small as these are no faster on more threads, and much slower where cores are busy.
        with threadpool_limits(1):
            return run_in(folder, PROGRAM, task.spec.name, lambda: learn(task, folder, judge))
    except BadCheckpoint as wrong:
        parser.error(str(wrong))


def bytes_of_update(rules: Rules[Any]) -> int:
    """Return how much memory the plies of one update take: all moves of all positions, twice in Stable-Baselines3."""
    of_position = len(rules.numbers) * (1 + AfterstateObserver(rules).size) * 4
    return 2 * PRESET.plies_per_update * of_position


def learn(task: Task[PPOArguments], folder: Path, judge: Solver | None) -> str:
    """Learn in ``folder``, and return what to print; raises ``BadCheckpoint`` if the run that is to go on cannot."""
    from train.runs.curve import draw_curve
    from train.sb3_ppo.learner import make_learner
    from train.sb3_ppo.pool import Pool
    from train.sb3_ppo.state import restore
    from train.sb3_ppo.watch import Watch

    # What was asked for, and how far it has come: a card, which is written again and again.
    args, rules, observer = task.arguments, task.rules, AfterstateObserver(task.rules)
    preset = PRESET.settings(gamma_against(args.opponent))
    architecture = Architecture.of(AfterstateNetwork.kind, observer, LAYERS)
    card = begin_card(task, PROGRAM, architecture, preset, args.device, PACKAGES)
    record = Record(card, Grader(judge) if judge else None)

    # Who learns, from whom, and what happens beside it.
    pool = Pool(rules, observer) if args.opponent == "pool" else None
    watch = Watch(folder, record, observer, args.budget, pool)
    model = make_learner(
        task.spec,
        task.params,
        pool or args.opponent,
        gamma_against(args.opponent),
        record.training.sessions[-1].seed,
        learning_rate=lambda _: PRESET.learning_rate * watch.annealing,
        tensorboard_log=str(folder / LOGS),
        device=args.device,
    )
    if task.card:
        record.keep(read_weights(folder, task.card, rules))
        restore(model.policy, folder, task.card)
        if pool:
            pool.restore(read_tensors(folder, task.card, "pool"), LAYERS)
        model.num_timesteps = watch.plies
    plies_left = int(min(args.budget.plies - watch.plies, sys.maxsize // 2))
    with learning_bar(watch.plies) as watch.report:
        model.learn(plies_left, callback=watch, tb_log_name="ppo", reset_num_timesteps=False)

    # What became of it.
    agent = LearnedAgent(rules, AfterstateNetwork(observer, record.best))
    with progress_bar() as progress:
        record.conclude(evaluate_agent(agent, judge, progress))
    title = f"{task.spec.name}, {args.opponent}, seed {args.seed}"
    write_atomically(folder / "curve.png", draw_curve(record.training.curve, title))
    watch.save(finished=True)
    written = f"{folder}: card.json, weights, curve.png, {LOGS}"
    return summary(record.card, task.params, written, f"ppo:{folder}")


if __name__ == "__main__":
    raise SystemExit(run_program(main))
