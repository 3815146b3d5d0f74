"""Learn an impartial game by fitted Grundy iteration, without the solver, and grade what was learned by perfect play.

    python train/nimbers.py --game divider-duel --minutes 0.2
    python train/nimbers.py --game prime-rumble --minutes 5 --out runs/rumble
    python train/nimbers.py --resume runs/rumble

For games whose positions are sums of independent parts (Rules.disturbs says which numbers can disturb each other). A
network learns the Grundy value of a part: the mex over its moves, of what it believes of the parts that these leave.
Parts of at most --memory numbers are backed up to the end of the game instead, by retrograde analysis; the agent plays
without that memory. Training ends when the budget is spent, and what plays is the average of the last weights: the
solver grades them and has no say in them. The folder that is written is an agent: nimbers:FOLDER in train/evaluate.py
and agents/play.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agents.checkpoint import BadCheckpoint
from agents.nimbers import NimberNetwork, PartObserver
from numduel_env.cli import run_program
from numduel_env.parts import WIDTH, NotASum
from train.grundy.preset import PRESET
from train.runs.learners import LearnerArguments, Method, run_learner
from train.runs.task import Task, option

PROGRAM = "train/nimbers.py"


@dataclass(frozen=True)
class NimberArguments(LearnerArguments):
    """The arguments of a run, besides the game's own parameters."""

    memory: int = option("back up parts of at most so many numbers by retrograde analysis ({})", 24, type=int)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.memory <= WIDTH:
            raise ValueError(f"--memory must be from 0 to {WIDTH}, not {self.memory}")


def method_of(task: Task[NimberArguments]) -> Method:
    """Return fitted Grundy iteration for a game, if it is one."""
    args = task.arguments
    try:
        observer = PartObserver(task.rules)
    except NotASum as reason:
        raise BadCheckpoint(f"{task.spec.name} is no game for {PROGRAM}: {reason}") from None

    def make_learner(seed: int) -> Any:
        from train.grundy.learner import GrundyLearner

        return GrundyLearner(observer, PRESET, args.memory, seed, args.device)

    return Method(NimberNetwork.kind, observer, PRESET.layers, PRESET.settings(), make_learner)


def main() -> int:
    """Learn and report."""
    return run_learner(PROGRAM, __doc__, NimberArguments, "nimbers", method_of)


if __name__ == "__main__":
    raise SystemExit(run_program(main))
