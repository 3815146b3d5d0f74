"""Who a learner may be set against by name."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from numduel_env.batch import random_legal
from numduel_env.rules import Policy, Position, Rules


class RandomPolicy:
    """Plays every legal move with the same probability."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules

    def choose(self, position: Position, generator: np.random.Generator) -> NDArray[np.int64]:
        return random_legal(self.rules.legal(position), generator)


def solver_policy(rules: Rules) -> Policy:
    """Return perfect play; solving a large game takes seconds the first time."""
    from numduel_env.solvers import SolverPolicy, solver_for

    return SolverPolicy(solver_for(rules))


OPPONENTS: dict[str, Callable[[Rules], Policy]] = {"random": RandomPolicy, "solver": solver_policy}
"""Opponents that can be named; each is made for the rules it plays."""


def opponent_for(opponent: str | Policy, rules: Rules) -> Policy:
    """Return the policy that ``opponent`` names, or ``opponent`` itself if it is one."""
    if isinstance(opponent, str):
        if opponent in OPPONENTS:
            return OPPONENTS[opponent](rules)
    elif callable(getattr(opponent, "choose", None)) and not isinstance(opponent, type):
        theirs = getattr(opponent, "rules", rules)
        if not np.array_equal(theirs.numbers, rules.numbers):
            raise ValueError(f"the opponent was made for the numbers {theirs.numbers}, not for {rules.numbers}")
        return opponent
    names = ", ".join(repr(name) for name in OPPONENTS)
    raise ValueError(f"opponent must be {names} or an object with choose(position, generator), not {opponent!r}")
