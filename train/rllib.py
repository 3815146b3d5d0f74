"""Learn a game with Ray RLlib: masked PPO in self-play, on one machine or on a Ray cluster.

    python train/rllib.py --game divider-duel
    python train/rllib.py --game prime-rumble --env-runners 8 --minutes 30 --out runs/rumble
    python train/rllib.py --resume runs/rumble
    python train/rllib.py --game prime-rumble --env-runners 64 --address auto --out s3://bucket/rumble

One network plays both seats. Env runners, processes of their own, play duels; this process learns from them. An env
runner that dies is started again. Training ends when the time is spent, or as soon as the solver finds nothing to
improve. The folder that is written is an agent: rllib:FOLDER in train/evaluate.py and agents/play.py. --resume reads
what RLlib has pickled, so go on only with runs of your own. docs/scaling.md says more.
"""

from __future__ import annotations

import os
import sys
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agents.cards import Card
from agents.checkpoint import BadCheckpoint
from agents.learned import Architecture, LearnedAgent, read_weights
from agents.networks import FlatNetwork
from numduel_env.cli import progress_bar, run_program
from numduel_env.observation import Observer
from train.rllib_ppo.preset import LAYERS, PRESET
from train.runs.arguments import MINUTES, Limits, RunArguments, make_parser, option
from train.runs.evaluation import BEST_BY_GRADE, evaluate_agent, summary
from train.runs.folder import run_in, saving_when_stopped
from train.runs.grading import Grader, judge_of
from train.runs.progress import learning_bar
from train.runs.record import Record, begin_card
from train.runs.task import Task, asked_task

if TYPE_CHECKING:
    from train.rllib_ppo.folder import RunFolder

PROGRAM = "train/rllib.py"
WANTED = "pip install -c constraints-rllib.txt -e '.[rllib]'"
PACKAGES = ("gymnasium", "numpy", "pettingzoo", "ray", "torch")
"""Their versions stand on the card."""


@dataclass(frozen=True)
class RLlibArguments(RunArguments):
    """The arguments of a run, besides the game's own parameters."""

    minutes: float = option(
        "learn for this long, in all the sessions of a run ({})", 3.0, ends_run=True, type=float, limits=MINUTES
    )
    out: str | None = option("the folder or URI to write, new or empty (runs/GAME-TIME)", metavar="PLACE")
    resume: str | None = option(
        "go on with the run in this folder or at this URI; with a finished one, if it is given more --minutes",
        changeable=True,
        metavar="PLACE",
    )
    env_runners: int = option(
        "the number of processes that play; 0: this one does ({})",
        1,
        changeable=True,
        type=int,
        metavar="N",
        limits=Limits(0, 10_000),
    )
    address: str = option(
        "HOST:PORT of a running Ray cluster, auto: the one of this machine, local: start Ray here ({})",
        "local",
        changeable=True,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        host, _, port = self.address.rpartition(":")
        if self.address not in ("auto", "local") and (
            not host or "/" in host or not port.isdecimal() or int(port) > 65535
        ):
            raise ValueError(f"--address must be HOST:PORT, auto or local, not {self.address}")


def main() -> int:
    """Learn and report."""
    parser = make_parser(PROGRAM, __doc__, RLlibArguments)
    typed = parser.parse_args()
    # Set before Ray is imported, which otherwise sends usage statistics.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    warnings.simplefilter("ignore")
    try:
        import ray
        import torch  # noqa: F401 - RLlib would miss it only later
        from threadpoolctl import threadpool_limits

        from train.rllib_ppo.cluster import NoRay, start_ray
        from train.rllib_ppo.folder import RunFolder
    except ImportError as missing:
        print(f"training with RLlib needs {missing.name}, which is not installed: {WANTED}", file=sys.stderr)
        return 1
    resumed: RunFolder | None = None

    def card_of(place: str) -> Card:
        nonlocal resumed
        resumed, card = RunFolder.resume(place, PROGRAM)
        return card

    task = asked_task(parser, typed, RLlibArguments, card_of)
    args = task.arguments
    try:
        start_ray(args.address, args.env_runners)
        place = resumed.settled(task.spec.slug) if resumed else RunFolder.begin(args.out, task.spec.slug)
        # Networks as small as these learn no faster on more threads.
        with threadpool_limits(1):
            return run_in(place.folder, PROGRAM, task.spec.name, lambda: learn(task, place))
    except (BadCheckpoint, NoRay) as wrong:
        parser.error(str(wrong))
    finally:
        ray.shutdown()


def learn(task: Task[RLlibArguments], place: RunFolder) -> str:
    """Learn, and return what to print; raises ``BadCheckpoint`` if the run that is to go on cannot."""
    from train.rllib_ppo.algorithm import make_algorithm
    from train.rllib_ppo.training import Training

    # What was asked for, and how far it has come: a card, which is written again and again.
    args, rules, observer = task.arguments, task.rules, Observer(task.rules, lookahead=True)
    architecture = Architecture.of(FlatNetwork.kind, observer, LAYERS)
    card = begin_card(task, PROGRAM, architecture, PRESET.settings(), "cpu", PACKAGES)
    with progress_bar() as progress:
        judge = judge_of(rules, progress)
    record = Record(card, Grader(judge) if judge else None)

    # The learner.
    algorithm = make_algorithm(task.spec, task.params, args.env_runners, record.training.sessions[-1].seed)
    if task.card and task.before:
        record.keep(read_weights(place.folder, task.card, rules))
        place.restore(algorithm, task.before)
    with learning_bar(record.training.progress.plies) as report:
        training = Training(algorithm, place, record, observer, args.budget, report)
        with saving_when_stopped(training.save_unfinished):
            training.learn()

    # What became of it.
    agent = LearnedAgent(rules, FlatNetwork(observer, record.best))
    with progress_bar() as progress:
        record.conclude(evaluate_agent(agent, judge, progress))
    training.save(finished=True)
    algorithm.stop()
    try:
        place.copy()
    except BadCheckpoint as wrong:
        raise BadCheckpoint(f"{wrong}; all of the run is in {place.folder}") from None
    written = f"{place}: card.json, weights, {record.training.state}"
    return summary(record.card, task.params, BEST_BY_GRADE, written, f"rllib:{place.folder}")


if __name__ == "__main__":
    raise SystemExit(run_program(main))
