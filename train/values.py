"""Learn a game by value iteration in self-play, without the solver, and grade what was learned by perfect play.

    python train/values.py --game divider-duel --minutes 0.2
    python train/values.py --game factor-chain-duel --minutes 3 --out runs/chain
    python train/values.py --resume runs/chain

A network learns the value of the position that a move leads to: minus what the best reply makes of it, and exact where
the game ends. Training ends when the budget is spent, and what plays is the average of the last weights: the solver
grades them and has no say in them. The folder that is written is an agent: values:FOLDER in train/evaluate.py and
agents/play.py.
"""

from __future__ import annotations

from typing import Any

from agents.networks import AfterstateNetwork
from numduel_env.cli import run_program
from numduel_env.observation import AfterstateObserver
from train.runs.learners import Method, run_method
from train.value_iteration.preset import Preset


def make_learner(observer: AfterstateObserver, preset: Preset, seed: int, device: str) -> Any:
    """Return the learner; torch is imported here."""
    from train.value_iteration.learner import ValueLearner

    return ValueLearner(observer, preset, seed, device)


METHOD = Method("train/values.py", "values", AfterstateNetwork.kind, Preset, AfterstateObserver, make_learner)


def main() -> int:
    """Learn and report."""
    return run_method(METHOD, __doc__)


if __name__ == "__main__":
    raise SystemExit(run_program(main))
