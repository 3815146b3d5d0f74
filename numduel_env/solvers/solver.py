"""What every solver can be asked, and the error of one that is asked too much."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from numduel_env.rules import BoolArray, Position, Rules

ILLEGAL = -2
"""What ``action_values`` says of an illegal action: less than any value."""


class TooLargeToSolve(ValueError):  # noqa: N818 - it says what is the matter
    """Solving this game would cost more than the budget; the message names both."""


class Solver(ABC):
    """Perfect play: exact values (-1, 0, +1, to the player to move) of any reachable position, in any batch.

    Values assume that nobody is ever stopped by truncation.
    """

    def __init__(self, rules: Rules) -> None:
        self.rules = rules

    @abstractmethod
    def action_values(self, position: Position) -> NDArray[np.int8]:
        """Return ``[..., A]``: the value of each legal move to the player who makes it, ``ILLEGAL`` elsewhere."""

    def value(self, position: Position) -> NDArray[np.int8]:
        """Return ``[...]``: the value of the position to the player to move, finished positions included."""
        best = self.action_values(position).max(-1)
        return np.where(best == ILLEGAL, self.rules.value(position), best).astype(np.int8)

    def best(self, position: Position) -> BoolArray:
        """Return ``[..., A]``: the legal moves that keep the value of the position; all of them when it is lost."""
        values = self.action_values(position)
        best: BoolArray = (values == values.max(-1, keepdims=True)) & (values != ILLEGAL)
        return best
