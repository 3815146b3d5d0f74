"""A sensible player that looks no further than the next move."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from numduel_env.batch import random_legal
from numduel_env.rules import BoolArray, Position, Rules, flattened, take_rows

LOSES, HANDS_OVER, SAFE, WINS = range(4)
"""What a move does at once: loses, lets the opponent win at once, neither, or wins."""

REPLIES_AT_ONCE = 2**17
"""So many replies are looked at together: enough to be fast, few enough for any memory."""


class GreedyAgent:
    """Takes a win, avoids losing or handing over a win at once, then goes by ``rules.appraise``.

    It is weak where the games are decided by parity rather than by having few replies: in the sieve games it opens with
    2, which loses (only 4 wins in Divider Duel, only 5, 17, 19, 23 and 42 in Prime Rumble), and on random positions it
    keeps about 60% in Divider Duel and a third in Prime Rumble, where random play keeps about 44% and a quarter. Seeing
    no further than the opponent's reply, it also walks into every longer trap (about 82% kept in Prime Duel, multiply).
    """

    def __init__(self, rules: Rules) -> None:
        self.rules = rules

    def choose(self, position: Position, generator: np.random.Generator) -> NDArray[np.int64]:
        return random_legal(self.preferred(position), generator)

    def preferred(self, position: Position) -> BoolArray:
        """Return ``[..., A]``: the moves between which only the generator decides; none where the game is over."""
        legal = self.rules.legal(position)
        flat = flattened(position, legal.ndim - 1)
        rows, actions = np.nonzero(legal.reshape(-1, legal.shape[-1]))
        preference = np.full((2, *legal.shape), -np.inf).reshape(2, -1, legal.shape[-1])
        moves_at_once = max(1, REPLIES_AT_ONCE // len(self.rules.numbers))
        for first in range(0, len(rows), moves_at_once):
            moves = slice(first, first + moves_at_once)
            after = self.rules.play(take_rows(flat, rows[moves]), actions[moves])
            preference[:, rows[moves], actions[moves]] = self._consequence(after), -self.rules.appraise(after)
        best = legal.copy()
        for merit in preference.reshape(2, *legal.shape):
            among_best = np.where(best, merit, -np.inf)
            best &= among_best == among_best.max(-1, keepdims=True)
        return best

    def _consequence(self, after: Position) -> NDArray[np.int64]:
        """Return what each move that led to ``after`` (one batch axis) does at once."""
        result = self._result(after)
        consequence = np.select([result < 0, result > 0], [WINS, LOSES], SAFE)
        rows, replies = np.nonzero(self.rules.legal(after))
        if len(rows):
            wins = self._result(self.rules.play(take_rows(after, rows), replies)) < 0
            consequence[rows[wins]] = HANDS_OVER
        return consequence

    def _result(self, position: Position) -> NDArray[np.int8]:
        """Return the value of finished games to the player to move, and 0 for those that go on."""
        result: NDArray[np.int8] = np.where(self.rules.over(position), self.rules.value(position), 0)
        return result
