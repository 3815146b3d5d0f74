"""Prime Rumble and Divider Duel: one rule, two sizes.

Choosing a number removes it and all its multiples that are still in the pool. Whoever empties the pool wins: the
other player cannot move.

Ruling: only numbers that were still in the pool count as removed.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from numduel_env.rules import BoolArray, Rules, number_range


class Pool(NamedTuple):
    """The numbers that are left."""

    pool: BoolArray


class Sieve(Rules):
    """Choose a number of the pool; it goes, and its multiples go with it."""

    def __init__(self, lowest: int, highest: int) -> None:
        self.numbers = number_range(lowest, highest)
        self.max_plies = len(self.numbers)
        self.removes = self.numbers % self.numbers[:, None] == 0
        self._keeps = ~self.removes

    @cached_property
    def _related(self) -> NDArray[np.float32]:
        """Which numbers divide, or are divided by, which others."""
        related: BoolArray = (self.removes | self.removes.T) & ~np.eye(self.max_plies, dtype=bool)
        return related.astype(np.float32)

    def initial(self, shape: tuple[int, ...] = ()) -> Pool:
        return Pool(np.ones((*shape, len(self.numbers)), bool))

    def legal(self, position: Pool) -> BoolArray:
        return position.pool

    def play(self, position: Pool, action: Any) -> Pool:
        pool = self._keeps.take(action, axis=0)
        pool &= position.pool
        return Pool(pool)

    def features(self, position: Pool) -> dict[str, NDArray[Any]]:
        return {"pool": position.pool}

    def outlook(self, position: Pool) -> NDArray[Any]:
        """Whether the pool is empty, and the parities of what is left: all numbers, lone numbers, pairs.

        A lone number has neither factor nor multiple in the pool; a pair is two numbers related to each other only.
        """
        pool = position.pool.astype(np.float32)
        relatives = (pool @ self._related) * pool
        lone = (pool > 0) & (relatives == 0)
        with_one = relatives == 1
        # A number with a single relative belongs to a pair when that relative, too, has no other.
        paired = with_one & ((relatives @ self._related) == 1)
        left = pool.sum(-1)
        parities = [left % 2, lone.sum(-1) % 2, paired.sum(-1) // 2 % 2]
        return np.stack([left == 0, *parities], axis=-1)
