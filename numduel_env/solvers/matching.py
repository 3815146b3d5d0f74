"""Perfect play in Factor Chain Duel: undirected vertex geography, solved by maximum matchings.

The chain walks along a graph whose edges join each number to its factors and multiples, and never comes to a number
twice: the game of *undirected vertex geography* on the unused numbers. Whoever stands on a vertex wins exactly when
every maximum matching covers it: the winner moves along the matching each time (A. S. Fraenkel, E. R. Scheinerman and
D. Ullman, "Undirected edge geography", Theoretical Computer Science 112 (1993), 371-381). So a move to a number wins
exactly when some maximum matching of the unused numbers, that number included, leaves it uncovered: when the number is
*inessential* (``blossom.py``). That depends on the pool alone, not on the last number.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from numduel_env.batch import BoolArray
from numduel_env.games.factor_chain import Chain, FactorChain
from numduel_env.solvers.blossom import inessential
from numduel_env.solvers.solver import ILLEGAL, Solver

REMEMBERED = 1 << 16
"""Pools whose answers are kept before all are forgotten."""


class MatchingSolver(Solver[Chain]):
    """Exact values of every position of a Factor Chain game, whatever its size."""

    rules: FactorChain

    def __init__(self, rules: FactorChain) -> None:
        super().__init__(rules)
        self._neighbours = _as_masks(rules.related)
        self._known: dict[int, int] = {}

    def action_values(self, position: Chain) -> NDArray[np.int8]:
        size = len(self.rules.numbers)
        pools = _as_masks(np.reshape(position.pool, (-1, size)))
        winning = _as_bools([self._winning(pool) for pool in pools], size).reshape(np.shape(position.pool))
        values = np.where(winning, 1, -1)
        return np.where(position.followers, values, ILLEGAL).astype(np.int8)

    def _winning(self, pool: int) -> int:
        """Return the numbers of a pool that win, if they may be played."""
        answer = self._known.get(pool)
        if answer is None:
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            answer = self._known[pool] = inessential(self._neighbours, pool)
        return answer


def _as_masks(rows: BoolArray) -> list[int]:
    """Return each row of bools ``[n, A]`` as a bit mask."""
    return [int.from_bytes(row.tobytes(), "little") for row in np.packbits(rows, axis=-1, bitorder="little")]


def _as_bools(masks: list[int], size: int) -> BoolArray:
    """Return the bit masks as rows of bools ``[n, size]``."""
    width = (size + 7) // 8
    packed = np.frombuffer(b"".join(mask.to_bytes(width, "little") for mask in masks), np.uint8)
    return np.unpackbits(packed.reshape(-1, width), axis=-1, count=size, bitorder="little").view(np.bool_)
