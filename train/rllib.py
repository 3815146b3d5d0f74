"""Learn a game with Ray RLlib: masked PPO in self-play, on one machine or on a Ray cluster.

    python train/rllib.py --game divider-duel
    python train/rllib.py --game prime-rumble --env-runners 8 --minutes 30 --out runs/rumble
    python train/rllib.py --resume runs/rumble
    python train/rllib.py --game prime-rumble --env-runners 64 --address auto --out s3://bucket/rumble

One network plays both seats. Env runners, processes of their own, play duels; this process learns from them. An env
runner that dies is started again. Training ends when the time is spent, or as soon as the solver finds nothing to
improve. The folder that is written is an agent: rllib:FOLDER in train/evaluate.py and agents/play.py. --resume reads
what RLlib has pickled, so go on only with runs of your own. docs/scaling.md tells more.
"""

from __future__ import annotations

import os
import signal
import sys
import time
import warnings
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from agents.checkpoint import BadCheckpoint, Tensors, card_of_game, rules_of
from agents.learned import LearnedAgent, card_of_network
from agents.networks import FlatNetwork
from numduel_env.cli import politely
from numduel_env.observation import Observer
from numduel_env.solvers import Solver
from train.runs.folder import begun, run_in, summary
from train.runs.grading import Grader, evaluate, judge_of
from train.runs.record import Record
from train.runs.task import RunArguments, Task, asked_task, make_parser, option

if TYPE_CHECKING:
    from train.rllib_ppo.run import Run

PROGRAM = "train/rllib.py"
WANTED = "pip install -c constraints-rllib.txt -e '.[rllib]'"
MOST_ENV_RUNNERS = 10_000

SAVE_SECONDS = 5.0
"""So often, about, the learner is graded and saved: a run that is killed loses no more than this."""


@dataclass(frozen=True)
class Arguments(RunArguments):
    """What a run can be told, besides the game's own parameters."""

    minutes: float = option("learn for so long, in all the sessions of a run ({})", 3.0, changeable=True, type=float)
    out: str | None = option("the folder or URI to write, new or empty (runs/GAME-TIME)", metavar="PLACE")
    resume: str | None = option(
        "go on with the unfinished run in this folder or at this URI", changeable=True, metavar="PLACE"
    )
    env_runners: int = option(
        "so many processes play; 0: this one does ({})", 1, changeable=True, type=int, metavar="N"
    )
    address: str = option(
        "HOST:PORT of a running Ray cluster, auto: the one of this machine, local: start Ray here ({})",
        "local",
        changeable=True,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.env_runners <= MOST_ENV_RUNNERS:
            raise ValueError(f"--env-runners must be from 0 to {MOST_ENV_RUNNERS:,}, not {self.env_runners}")
        host, _, port = self.address.rpartition(":")
        if self.address not in ("auto", "local") and (
            not host or "/" in host or not port.isdecimal() or int(port) > 65535
        ):
            raise ValueError(f"--address must be HOST:PORT, auto or local, not {self.address}")


class Training:
    """Trains until the time is spent or nothing is left to learn; the ``card`` is brought up to date."""

    def __init__(self, algorithm: Any, run: Run, card: dict[str, Any], judge: Solver | None, best: Tensors | None):
        self.algorithm, self.run, self.card = algorithm, run, card
        self.observer = Observer(rules_of(card), lookahead=True)
        self.record = Record(card, Grader(judge) if judge else None, best)

    def learn(self, most_seconds: float) -> None:
        """Learn for so long, in all sessions together; grade and save every few seconds."""
        from tqdm import tqdm

        plies, before = self.card["progress"]["plies"], self.card["progress"]["seconds"]
        began = saved = time.perf_counter()
        restarts = 0
        enough = False
        with tqdm(initial=plies, unit=" plies", unit_scale=True) as bar:
            while not enough:
                result = self.algorithm.train()
                # Not a number, if all env runners have died and nothing was played.
                plies += int(np.nan_to_num(result["env_runners"].get("num_env_steps_sampled", 0)))
                if (lost := self.algorithm.env_runner_group.num_remote_worker_restarts()) > restarts:
                    bar.write("an env runner was lost; Ray has started another")
                    restarts = lost
                now = time.perf_counter()
                seconds = before + now - began
                spent = min(seconds / most_seconds, 1)
                if now - saved >= SAVE_SECONDS or spent == 1 or self.record.best is None:
                    self.card["progress"] = {"plies": plies, "seconds": round(seconds, 2), "finished": False}
                    bar.set_postfix_str(self.check(), refresh=False)
                    try:
                        self.run.copy()
                    except BadCheckpoint as wrong:
                        bar.write(f"saved here only: {wrong}")
                    saved = time.perf_counter()
                bar.n, bar.total = plies, int(plies / spent)
                bar.refresh()
                enough = spent == 1 or self.record.perfect

    def check(self) -> str:
        """Grade the learner, keep its weights if they are the best, save everything, and return how it goes."""
        from train.rllib_ppo.algorithm import network_tensors

        weights = network_tensors(self.algorithm)
        agent = LearnedAgent(self.observer.rules, FlatNetwork(self.observer, weights))
        progress = self.card["progress"]
        shown = self.record.add(weights, agent, progress["plies"], progress["seconds"])
        self.save()
        return ", ".join(f"{name} {share:.1%}" for name, share in shown.items())

    def save(self) -> None:
        """Write everything as it is now."""
        assert self.record.best is not None
        self.run.save(self.algorithm, self.card, self.record.best)


def main() -> int:
    """Learn and report."""
    parser = make_parser(PROGRAM, __doc__, Arguments)
    typed = parser.parse_args()
    # Before Ray is imported: it counts its users unless told not to.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    warnings.simplefilter("ignore")
    try:
        import ray
        import torch  # noqa: F401 - RLlib would miss it only later
        from threadpoolctl import threadpool_limits

        from train.rllib_ppo.algorithm import NoRay, start_ray
        from train.rllib_ppo.run import Run
    except ImportError as missing:
        print(f"training with RLlib needs {missing.name}, which is not installed: {WANTED}", file=sys.stderr)
        return 1
    resumed: Run | None = None

    def card_of(place: str) -> dict[str, Any]:
        nonlocal resumed
        resumed, card = Run.resume(place, PROGRAM)
        return card

    task = asked_task(parser, typed, Arguments, card_of)
    args = task.arguments
    try:
        start_ray(args.address, args.env_runners)
        run = resumed.settled(task.game.name) if resumed else Run.begin(args.out, task.game.name)
        # Whoever ends a job on a cluster asks like this first; Ray would answer with a stack trace.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        # Networks as small as these learn no faster on more threads.
        with threadpool_limits(1):
            return run_in(run.folder, PROGRAM, lambda: train(task, run))
    except (BadCheckpoint, NoRay) as wrong:
        parser.error(str(wrong))
    finally:
        ray.shutdown()


def train(task: Task, run: Run) -> str:
    """Learn, and return what to say; raises ``BadCheckpoint`` if the run that is to go on cannot."""
    from train.rllib_ppo.algorithm import BOARDS, LAYERS, PRESET, RANDOM_OPENINGS, make_algorithm
    from train.rllib_ppo.run import PACKAGES

    args, game, params, before = task
    so_far = begun(before, args.seed, "cpu", PACKAGES)
    algorithm = make_algorithm(game, params, args.env_runners, so_far["sessions"][-1]["seed"])
    best = run.restore(algorithm, before) if before else None
    rules = game.make_rules(**params)
    card = {
        "game": card_of_game(game, params),
        **card_of_network(FlatNetwork.kind, Observer(rules, lookahead=True), LAYERS),
        "program": PROGRAM,
        "arguments": asdict(args),
        "preset": {"boards": BOARDS, "random_openings": RANDOM_OPENINGS, **PRESET},
        **so_far,
        "rllib": before["rllib"] if before else None,
    }
    judge = judge_of(rules)
    training = Training(algorithm, run, card, judge, best)
    training.learn(60 * args.minutes)
    assert training.record.best is not None
    best_network = FlatNetwork(training.observer, training.record.best)
    card["evaluation"] = evaluate(LearnedAgent(rules, best_network), judge)
    card["progress"]["finished"] = True
    training.save()
    algorithm.stop()
    try:
        run.copy()
    except BadCheckpoint as wrong:
        raise BadCheckpoint(f"{wrong}; all of the run is in {run.folder}") from None
    return summary(card, params, f"{run}: card.json, weights, {card['rllib']}", f"rllib:{run.folder}")


if __name__ == "__main__":
    raise SystemExit(politely(main))
