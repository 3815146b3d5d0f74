"""Prime Duel (multiply to 1,000): multiply your score by primes until somebody lands exactly on the target.

Both start at 1. Every prime is legal on every turn, always: landing on the target wins at once, passing it loses at
once.

Ruling: a player whose every prime overshoots still moves, and loses by that move.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from numduel_env.batch import BoolArray
from numduel_env.games.primes import is_prime
from numduel_env.rules import Rules, whole_number

LARGEST_SCORE = np.iinfo(np.int64).max


class Scores(NamedTuple):
    """The mover's own score and the opponent's."""

    mine: NDArray[np.int64]
    theirs: NDArray[np.int64]


class PrimeDuelProduct(Rules[Scores]):
    """Multiply your score by a prime; hit the target, never pass it."""

    def __init__(self, target: int, primes_below: int) -> None:
        candidates = np.arange(2, whole_number("primes_below", primes_below, 3, 10**6))
        self.numbers = candidates[is_prime(candidates)]
        # No score may outgrow an int64, the overshooting one included.
        self.target = whole_number("target", target, 2, int(LARGEST_SCORE // self.numbers[-1]))
        doublings = self.target.bit_length() - 1
        self.max_plies = 2 * doublings + 1
        self._all_or_none = np.array([[True], [False]]).repeat(len(self.numbers), axis=1)
        self._largest_score = self.target * int(self.numbers[-1])

    def initial(self, shape: tuple[int, ...] = ()) -> Scores:
        ones = np.ones(shape, np.int64)
        return Scores(ones[()], ones.copy()[()])

    def legal(self, position: Scores) -> BoolArray:
        return self._all_or_none.take(self.over(position), axis=0)

    def over(self, position: Scores) -> BoolArray:
        return position.theirs >= self.target

    def play(self, position: Scores, action: Any) -> Scores:
        return Scores(position.theirs, position.mine * self.numbers[action])

    def value(self, position: Scores) -> NDArray[np.int8]:
        value: NDArray[np.int8] = np.int8(1) - np.int8(2) * (position.theirs == self.target)
        return value

    def turned(self, position: Scores) -> Scores:
        return Scores(position.theirs, position.mine)

    def available(self, position: Scores) -> BoolArray:
        return np.ones((*np.shape(position.mine), len(self.numbers)), bool)

    def features(self, position: Scores) -> dict[str, NDArray[Any]]:
        """Both scores on a scale that separates small scores: see :meth:`_size`."""
        return {"mine": self._size(position.mine), "theirs": self._size(position.theirs)}

    def _size(self, score: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the fourth root of a score's share of the largest score: as good as a logarithm here, and cheaper."""
        size: NDArray[np.float64] = (score / self._largest_score) ** 0.5
        return size**0.5

    def outlook(self, position: Scores) -> NDArray[Any]:
        """Whether the score just made hits the target, passes it, or still divides it; its size; room left for both."""
        made = position.theirs
        still_divides = self.target % made == 0
        rooms = [self._room(made), self._room(position.mine)]
        return np.stack([made == self.target, made > self.target, still_divides, self._size(made), *rooms], axis=-1)

    def _room(self, score: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how often a score can still be doubled without passing the target, as a share of the most."""
        most = self.max_plies // 2
        # Beyond 2**53 a quotient may be rounded up to a power of two.
        doublings = (np.frexp(self.target // score)[1] - 1).clip(0, most)
        room: NDArray[np.float64] = doublings / most
        return room

    def appraise(self, position: Scores) -> NDArray[Any]:
        """How much further along the divisors of the target the mover is; a score that left them is nowhere."""
        return self._progress(position.mine) - self._progress(position.theirs)

    def _progress(self, score: NDArray[np.int64]) -> NDArray[np.float64]:
        progress: NDArray[np.float64] = self._size(score) * (self.target % score == 0)
        return progress
