"""What every solver can be asked, and the error of one whose game is too large."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic

import numpy as np
from numpy.typing import NDArray

from numduel_env.batch import BoolArray, PositionT
from numduel_env.rules import Rules

ILLEGAL = -2
"""The entry of an illegal action in ``action_values``: less than any value."""


class TooLargeToSolve(ValueError):  # noqa: N818 - it says what is the matter
    """Solving this game would cost more than the budget; the message names both."""


class Solver(ABC, Generic[PositionT]):
    """Perfect play: exact values (-1, 0, +1, to the player to move) of any reachable position, in any batch.

    Values assume that no game is truncated.
    """

    def __init__(self, rules: Rules[PositionT]) -> None:
        self.rules = rules

    @abstractmethod
    def action_values(self, position: PositionT) -> NDArray[np.int8]:
        """Return ``[..., A]``: the value of each legal move to the player who makes it, ``ILLEGAL`` elsewhere."""

    def value(self, position: PositionT) -> NDArray[np.int8]:
        """Return ``[...]``: the value of the position to the player to move, finished positions included."""
        best = self.action_values(position).max(-1)
        return np.where(best == ILLEGAL, self.rules.value(position), best).astype(np.int8)

    def best(self, position: PositionT) -> BoolArray:
        """Return ``[..., A]``: the legal moves that keep the value of the position; all of them when it is lost."""
        values = self.action_values(position)
        best: BoolArray = (values == values.max(-1, keepdims=True)) & (values != ILLEGAL)
        return best
