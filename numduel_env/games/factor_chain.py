"""Factor Chain Duel: build a chain in which each number divides, or is divided by, the one before it.

The opening move may be any number of the pool. After that a player chooses an unused factor or multiple of the last
number, and one who has none loses. So a prime above half the highest number wins at once as an opening: that is the
book's game.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from numduel_env.batch import BoolArray, masked_rows
from numduel_env.rules import Rules, divides, number_range


class Chain(NamedTuple):
    """The unused numbers, and which of them may follow the last number."""

    pool: BoolArray
    followers: BoolArray


class FactorChain(Rules[Chain]):
    """Choose an unused factor or multiple of the last number."""

    def __init__(self, lowest: int, highest: int) -> None:
        self.numbers = number_range(lowest, highest)
        self.max_plies = len(self.numbers)
        multiples = divides(self.numbers)
        self._others = ~np.eye(self.max_plies, dtype=bool)
        self.related = (multiples | multiples.T) & self._others

    def initial(self, shape: tuple[int, ...] = ()) -> Chain:
        pool = np.ones((*shape, len(self.numbers)), bool)
        return Chain(pool, pool.copy())

    def legal(self, position: Chain) -> BoolArray:
        return position.followers

    def play(self, position: Chain, action: Any) -> Chain:
        pool = masked_rows(self._others, action, position.pool)
        return Chain(pool, masked_rows(self.related, action, pool))

    def features(self, position: Chain) -> dict[str, NDArray[Any]]:
        return {"pool": position.pool, "followers": position.followers}

    @cached_property
    def _related(self) -> NDArray[np.float32]:
        return self.related.astype(np.float32)

    def afterstate_features(self, position: Chain) -> NDArray[Any]:
        """A look at the replies: which end the game, and which cannot be answered by a number that ends it.

        A reply ends the game if it has no unused relative, and an answer does if the reply is its only one: a leaf.
        Then which unused numbers are leaves, and which have an odd number of unused relatives; whether an odd number
        is unused; whether any reply ends the game, and whether all can be answered so.
        """
        pool, replies = position.pool, position.followers
        unused = pool.astype(np.float32)
        relatives = unused @ self._related
        leaves = pool & (relatives == 1)
        ends = replies & (relatives == 0)
        unanswered = replies & (leaves.astype(np.float32) @ self._related == 0)
        of_all = [unused.sum(-1) % 2, ends.any(-1), ~unanswered.any(-1)]
        return np.concatenate(
            [ends, unanswered, leaves, pool & (relatives % 2 == 1), np.stack(of_all, axis=-1)],
            axis=-1,
            dtype=np.float32,
        )

    def available(self, position: Chain) -> BoolArray:
        return position.pool
