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

from numduel_env.batch import BoolArray, masked_rows
from numduel_env.rules import Rules, divides, number_range


class Pool(NamedTuple):
    """The numbers that are left."""

    pool: BoolArray


class Sieve(Rules[Pool]):
    """Choose a number of the pool; it goes, and its multiples go with it."""

    def __init__(self, lowest: int, highest: int) -> None:
        self.numbers = number_range(lowest, highest)
        self.max_plies = len(self.numbers)
        self.removes = divides(self.numbers)
        self._keeps = ~self.removes

    @cached_property
    def _related(self) -> NDArray[np.float32]:
        """Which numbers divide, or are divided by, which others."""
        related: BoolArray = (self.removes | self.removes.T) & ~np.eye(self.max_plies, dtype=bool)
        return related.astype(np.float32)

    @cached_property
    def _divides(self) -> NDArray[np.float32]:
        """Which numbers divide which others; they ascend, so a relative before a number is a factor of it."""
        return np.triu(self._related)

    def initial(self, shape: tuple[int, ...] = ()) -> Pool:
        return Pool(np.ones((*shape, len(self.numbers)), bool))

    def legal(self, position: Pool) -> BoolArray:
        return position.pool

    def play(self, position: Pool, action: Any) -> Pool:
        return Pool(masked_rows(self._keeps, action, position.pool))

    def disturbs(self) -> BoolArray:
        """Factors and multiples."""
        return self.removes | self.removes.T

    def features(self, position: Pool) -> dict[str, NDArray[Any]]:
        return {"pool": position.pool}

    def outlook(self, position: Pool) -> NDArray[Any]:
        """Whether the pool is empty, and the parities of what is left: of all numbers, and of the small groups.

        A group is made of numbers that are related to each other and to nothing else in the pool. Counted are lone
        numbers, pairs, and of the groups of three those where one number divides the two others, those where it is
        divided by both, and chains of factors.
        """
        pool = position.pool.astype(np.float32)
        relatives = (pool @ self._related) * pool
        # How many relatives a number's relatives have, together: so many that they have none outside the group.
        their_relatives = relatives @ self._related
        two = relatives == 2
        factors = pool @ self._divides
        middle = two & (their_relatives == 2)
        counts: list[NDArray[Any]] = [
            _count(position.pool),
            _count(position.pool & (relatives == 0)),
            _count((relatives == 1) & (their_relatives == 1)) / 2,
            _count(middle & (factors == 0)),
            _count(middle & (factors == 2)),
            _count(two & (factors == 1) & (their_relatives == 4)),
        ]
        return np.stack([counts[0] == 0, *[count % 2 for count in counts]], axis=-1)


def _count(flags: BoolArray) -> NDArray[np.float32]:
    """Return ``flags.sum(-1)`` in a quarter of the time."""
    count: NDArray[np.float32] = np.einsum("...i->...", flags.astype(np.float32))
    return count
