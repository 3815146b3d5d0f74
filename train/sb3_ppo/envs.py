"""The native vector environment with the afterstates of all legal moves for an observation."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from numduel_env.envs.vector import NumduelVectorEnv
from numduel_env.observation import AfterstateObserver


class AfterstateVectorEnv(NumduelVectorEnv):
    """Observes ``[A, 1 + k]`` in each game, flat: whether an action is legal, and the ``k`` features of its afterstate.

    The row of an illegal action is zero, and so is the whole observation where nobody is to move. Most actions are
    illegal in most positions: what ``reset`` and ``step`` return are the legal moves of all games alone, a dict with
    ``legal`` ``[N, A]`` and their ``features`` ``[moves, k]`` in the order of ``np.nonzero(legal)``.
    """

    @cached_property
    def afterstates(self) -> AfterstateObserver:
        """The observer of the afterstates."""
        return AfterstateObserver(self.rules)

    def _make_observation_box(self) -> Box:
        return Box(0.0, 1.0, (self.action_count * (1 + self.afterstates.size),), np.float32)

    def observe(self, rows: NDArray[Any] | None = None) -> Any:
        if rows is not None:
            # These games are finished: there is no move to observe.
            return np.zeros((len(rows), *(self.single_observation_space.shape or ())), np.float32)
        legal = self.duels.legal.copy()
        return {"legal": legal, "features": self.afterstates(self.duels.position, legal)}
