"""Games that are played side by side, for what their afterstates teach."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from agents.networks import Floats, scattered
from numduel_env.batch import put_rows, random_legal, take_rows
from numduel_env.observation import AfterstateObserver, afterstates
from train.value_iteration.preset import Preset
from train.value_iteration.replay import Batch

Values = Callable[[Floats], Floats]
"""Returns the values ``[N]`` of afterstates with these features ``[N, k]``, to the player who moved."""


class Boards:
    """Self-play on ``preset.n_envs`` boards, in which a seat plays at random or greedily by the network's values."""

    def __init__(self, observer: AfterstateObserver, preset: Preset, generator: np.random.Generator) -> None:
        self.observer, self.rules, self.preset, self.generator = observer, observer.rules, preset, generator
        count = preset.n_envs
        self._start: Any = self.rules.initial((count,))
        self._position: Any = take_rows(self._start, np.arange(count))
        self._ply = np.zeros(count, np.int64)
        self._random_seat = np.zeros((count, 2), bool)
        self._opening = np.zeros(count, np.int64)
        self._before = np.zeros((count, observer.size), np.float32)
        self._begin(np.arange(count))

    def _begin(self, boards: Any) -> None:
        """Begin new games."""
        preset, generator, count = self.preset, self.generator, len(boards)
        put_rows(self._position, boards, take_rows(self._start, boards))
        self._ply[boards] = 0
        self._random_seat[boards] = generator.random((count, 2)) < preset.random_seats
        longest = max(self.rules.max_plies // 2, 1)
        opened = generator.random(count) < preset.random_openings
        self._opening[boards] = generator.integers(0, longest + 1, count) * opened

    def play(self, values: Values, gamma: float) -> Batch:
        """Play one ply on each board, and return what it teaches.

        The value of the afterstate that the last ply left is minus the best action value now; that of one that ends a
        game is given by the rules.
        """
        everywhere = np.arange(len(self._ply))
        legal = self.rules.legal(self._position)
        features = self.observer(self._position, legal)
        after = afterstates(self.rules, self._position, legal)
        over = self.rules.over(after)
        outcome = -self.rules.value(after).astype(np.float32)
        of_moves = np.where(over, outcome, gamma * values(features)).astype(np.float32)
        table = scattered(of_moves, legal, -np.inf)
        going = self._ply > 0
        best = -table.max(-1)

        place = np.cumsum(legal).reshape(legal.shape) - 1
        chosen = place[everywhere, self._actions(table, legal)]
        ended = over[chosen]
        lessons = Batch(
            np.concatenate([self._before[going], features[chosen[ended]]]),
            np.concatenate([best[going], of_moves[chosen[ended]]]),
        )
        self._before = features[chosen]
        self._position = take_rows(after, chosen)
        self._ply += 1
        self._begin(np.flatnonzero(ended | (self._ply >= self.rules.max_plies)))
        return lessons

    def _actions(self, table: Floats, legal: Any) -> Any:
        """Return the move on each board: at random, or one of the highest value."""
        preset, generator, everywhere = self.preset, self.generator, np.arange(len(legal))
        at_random = self._random_seat[everywhere, self._ply & 1] | (self._ply < self._opening)
        at_random |= generator.random(len(legal)) < preset.exploration
        # Moves of nearly the same value are played equally often.
        greedy = (table + generator.random(table.shape, np.float32) * np.float32(1e-4)).argmax(-1)
        return np.where(at_random, random_legal(legal, generator), greedy)
