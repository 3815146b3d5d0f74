"""Prime Duel (add to 50): add numbers to your score, hit the opponent with the primes, reach exactly the target.

A prime adds to your score and takes as much from the opponent's (never below 0); a composite only adds. Each number
can be chosen once. Reaching the target exactly wins at once.

Rulings: past the target your own score stays as it was, the number is gone all the same, and a prime still hits the
opponent. The book does not say what happens when the numbers run out; ``when_empty`` does:

- ``"higher"``: the higher score wins, equal scores are a draw;
- ``"refill"``: the list starts again, the scores stay, and the game is truncated after ``max_plies``;
- ``"draw"``: nobody reached the target, nobody wins.

With the book's numbers (2..10, target 50) the target is out of reach under ``"higher"`` and ``"draw"``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from numduel_env.batch import BoolArray, masked_rows
from numduel_env.games.primes import is_prime
from numduel_env.rules import Rules, number_range, whole_number

ENDINGS = ("higher", "refill", "draw")


ONE = np.int8(1)

MOST_SCORES = 256
"""For no more scores than these has each a feature of its own."""


class PoolAndScores(NamedTuple):
    """The numbers left to choose from (none once somebody has the target), the mover's score and the opponent's."""

    pool: BoolArray
    mine: NDArray[np.int64]
    theirs: NDArray[np.int64]


class PrimeDuelSum(Rules[PoolAndScores]):
    """Add a number to your score; reach the target exactly.

    ``max_plies`` limits the refilled game only: the others end with the list.
    """

    def __init__(self, lowest: int, highest: int, target: int, when_empty: str, max_plies: int) -> None:
        self.numbers = number_range(lowest, highest)
        self.prime = is_prime(self.numbers)
        self.target = whole_number("target", target, 2, 2**53)
        limit = whole_number("max_plies", max_plies, 1)
        if when_empty not in ENDINGS:
            raise ValueError(f"when_empty must be one of {', '.join(ENDINGS)}, not {when_empty!r}")
        self.when_empty = when_empty
        self.max_plies = limit if when_empty == "refill" else len(self.numbers)
        # Row a keeps every number but a; row A + a, for a move that reaches the target, keeps none.
        others = ~np.eye(len(self.numbers), dtype=bool)
        self._keeps = np.concatenate([others, np.zeros_like(others)])
        self._count = np.int64(len(self.numbers))
        self._hits = np.where(self.prime, self.numbers, 0)

    def initial(self, shape: tuple[int, ...] = ()) -> PoolAndScores:
        zeros = np.zeros(shape, np.int64)
        return PoolAndScores(np.ones((*shape, len(self.numbers)), bool), zeros[()], zeros.copy()[()])

    def legal(self, position: PoolAndScores) -> BoolArray:
        return position.pool

    def play(self, position: PoolAndScores, action: Any) -> PoolAndScores:
        pool, mine, theirs = position
        number, hit = self.numbers[action], self._hits[action]
        # Products with a condition instead of np.where: on a single game they take a tenth of the time.
        mine = mine + number * (mine + number <= self.target)
        theirs = (theirs - hit) * (theirs > hit)
        reached = mine == self.target
        left = masked_rows(self._keeps, action + self._count * reached, pool)
        if self.when_empty == "refill":
            left |= ~(left.any(-1) | reached)[..., None]
        return PoolAndScores(left, theirs, mine)

    def value(self, position: PoolAndScores) -> NDArray[np.int8]:
        if self.when_empty == "higher":
            # Whoever has the target has the higher score, too.
            value: NDArray[np.int8] = ONE * (position.mine > position.theirs) - ONE * (position.mine < position.theirs)
        else:
            value = -ONE * (position.theirs == self.target)
        return value

    def turned(self, position: PoolAndScores) -> PoolAndScores:
        return PoolAndScores(position.pool, position.theirs, position.mine)

    def removed(self, position: PoolAndScores, action: Any) -> BoolArray:
        """The chosen number alone, even where the list then starts again or is closed by a win."""
        chosen: BoolArray = ~self._keeps.take(action, axis=0)
        return chosen

    def features(self, position: PoolAndScores) -> dict[str, NDArray[Any]]:
        """The numbers left, and both scores as shares of the target."""
        return {"pool": position.pool, "mine": position.mine / self.target, "theirs": position.theirs / self.target}

    def outlook(self, position: PoolAndScores) -> NDArray[Any]:
        """Both scores as shares of the target, whether the move reached it or emptied the list, what each still needs.

        The last is for every number whether it would bring that score to the target.
        """
        reached, empty = position.theirs == self.target, ~position.pool.any(-1)
        facts = np.stack([position.mine / self.target, position.theirs / self.target, reached, empty], axis=-1)
        needs = [score[..., None] + self.numbers == self.target for score in (position.mine, position.theirs)]
        return np.concatenate([facts, *needs], axis=-1)

    def afterstate_features(self, position: PoolAndScores) -> NDArray[Any]:
        """Both scores one-hot, where the target is small enough for that."""
        if self.target >= MOST_SCORES:
            return super().afterstate_features(position)
        scores = np.arange(self.target + 1)
        one_hot = [np.asarray(score)[..., None] == scores for score in (position.mine, position.theirs)]
        return np.concatenate(one_hot, axis=-1, dtype=np.float32)

    def appraise(self, position: PoolAndScores) -> NDArray[Any]:
        """The mover's lead."""
        return position.mine - position.theirs
