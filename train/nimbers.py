"""Learn an impartial game by fitted Grundy iteration, without the solver, and grade what was learned by perfect play.

    python train/nimbers.py --game divider-duel --minutes 0.2
    python train/nimbers.py --game prime-rumble --minutes 5 --out runs/rumble
    python train/nimbers.py --resume runs/rumble

For games whose positions are sums of independent parts (Rules.disturbs says which numbers can disturb each other). A
network learns the Grundy value of a part: the mex over its moves, of its predictions for the parts that these leave.
Parts of at most --memory numbers are backed up to the end of the game instead, by retrograde analysis; the agent plays
without that memory. Training ends when the budget is spent, and what plays is the average of the last weights: the
solver grades them and has no say in them. The folder that is written is an agent: nimbers:FOLDER in train/evaluate.py
and agents/play.py.
"""

from __future__ import annotations

from typing import Any

from agents.nimbers import NimberNetwork, PartObserver
from numduel_env.cli import run_program
from train.grundy.preset import Preset
from train.runs.learners import Method, run_method


def make_learner(observer: PartObserver, preset: Preset, seed: int, device: str) -> Any:
    """Return the learner; torch is imported here."""
    from train.grundy.learner import GrundyLearner

    return GrundyLearner(observer, preset, seed, device)


METHOD = Method("train/nimbers.py", "nimbers", NimberNetwork.kind, Preset, PartObserver, make_learner)


def main() -> int:
    """Learn and report."""
    return run_method(METHOD, __doc__)


if __name__ == "__main__":
    raise SystemExit(run_program(main))
