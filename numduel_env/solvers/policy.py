"""Perfect play as an opponent: it keeps every value, and among moves of equal value sets the harder problem."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from numduel_env.batch import random_legal
from numduel_env.rules import BoolArray, Position
from numduel_env.solvers.solver import ILLEGAL, Solver


class SolverPolicy:
    """Plays only moves that keep the value of the position.

    Of these, when winning, it prefers the ones that leave the opponent the fewest replies; otherwise those that leave
    the fewest replies with which the opponent keeps the value in turn. What is still equal is left to the generator.
    """

    def __init__(self, solver: Solver) -> None:
        self.solver = solver
        self.rules = solver.rules

    def choose(self, position: Position, generator: np.random.Generator) -> NDArray[np.int64]:
        return random_legal(self.preferred(position), generator)

    def preferred(self, position: Position) -> BoolArray:
        """Return ``[..., A]``: the moves between which only the generator decides."""
        rules = self.rules
        values = self.solver.action_values(position)
        value = values.max(-1, keepdims=True)
        best = (values == value) & (values != ILLEGAL)
        difficulty = rules.legal(rules.play_all(position)).sum(-1)
        moves = np.argwhere(best & (value <= 0))
        if len(moves):
            difficulty[tuple(moves.T)] = self._good_replies(position, moves)
        easiest = np.iinfo(difficulty.dtype).max
        hardest = np.where(best, difficulty, easiest).min(-1, keepdims=True)
        preferred: BoolArray = best & (difficulty == hardest)
        return preferred

    def _good_replies(self, position: Position, moves: NDArray[np.intp]) -> NDArray[np.int64]:
        """Return how many replies keep the opponent's value after each move ``(*place in the batch, action)``."""
        *place, action = moves.T
        before = position._make(
            field[tuple(place)] if place else np.repeat(field[None], len(moves), axis=0) for field in position
        )
        good: NDArray[np.int64] = self.solver.best(self.rules.play(before, action)).sum(-1)
        return good
