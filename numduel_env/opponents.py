"""Who a learner may be set against by name."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from numduel_env.rules import Policy, Position, Rules
from numduel_env.sampling import random_legal


class RandomPolicy:
    """Plays every legal move with the same probability."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules

    def choose(self, position: Position, generator: np.random.Generator) -> NDArray[np.int64]:
        return random_legal(self.rules.legal(position), generator)


OPPONENTS = {"random": RandomPolicy}
"""Opponents that can be named; each is made for the rules it plays."""


def opponent_for(opponent: str | Policy, rules: Rules) -> Policy:
    """Return the policy that ``opponent`` names, or ``opponent`` itself if it is one."""
    if isinstance(opponent, str) and opponent in OPPONENTS:
        return OPPONENTS[opponent](rules)
    if callable(getattr(opponent, "choose", None)):
        return opponent  # type: ignore[return-value]
    names = ", ".join(repr(name) for name in OPPONENTS)
    raise ValueError(f"opponent must be {names} or an object with choose(position, generator), not {opponent!r}")
