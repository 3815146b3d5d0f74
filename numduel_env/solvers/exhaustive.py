"""Perfect play in any game small enough to visit all its positions: retrograde analysis, as of chess endgames.

All positions are found breadth first and kept as sorted keys; values then spread backwards from the finished games
(K. Thompson, "Retrograde analysis of certain endgames", ICCA Journal 9 (1986)). A lookup is a binary search and a row
of a table.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from numduel_env.batch import PositionT, take_rows
from numduel_env.progress import Progress, silent
from numduel_env.rules import Rules
from numduel_env.solvers.keys import Columns, Fields, Keys, Packing
from numduel_env.solvers.solver import ILLEGAL, Solver, TooLargeToSolve

BUDGET = 5_000_000
"""Positions that a solver visits, at most, unless it is given another budget."""

BYTES_AT_ONCE = 1 << 26
"""Of the positions after all moves that are played in one batch: enough to be fast, few enough to keep memory small."""

MOST_BYTES = 1_500_000_000
"""No table is larger, whatever the budget in positions."""


class ExhaustiveSolver(Solver[PositionT]):
    """Exact values of every reachable position of any game, found when the solver is made.

    Cycles are welcome: a position from which nobody can force the end is a draw. Raises :class:`TooLargeToSolve` once
    more than ``budget`` positions are found. ``longest`` is the largest depth to win: every position that is won or
    lost can be decided within this number of plies.
    """

    def __init__(self, rules: Rules[PositionT], budget: int = BUDGET, progress: Progress = silent) -> None:
        super().__init__(rules)
        numbers = f"{len(rules.numbers)} numbers ({rules.numbers[0]} to {rules.numbers[-1]})"
        self._name = f"{type(rules).__name__} with {numbers} and up to {rules.max_plies} plies"
        self._fields = Fields(rules.initial((1,)))
        # A position takes a successor and a value for each action, and its key.
        most = min(budget, MOST_BYTES // (5 * len(rules.numbers) + 64))
        self._keys, self._packing = self._visit_all(most, progress, "memory" if most < budget else "positions")
        values, successors = self._link(progress)
        self._plies_left = _spread_backwards(values, successors)
        self.longest = int(self._plies_left.max())
        self._values = values[:-1]
        self._action_values = np.ascontiguousarray(-values[successors].T)

    def action_values(self, position: PositionT) -> NDArray[np.int8]:
        return self._action_values.take(self._find(position), axis=0)

    def value(self, position: PositionT) -> NDArray[np.int8]:
        return self._values.take(self._find(position))

    def plies_left(self, position: PositionT) -> NDArray[np.int16]:
        """Return ``[...]``, the depth to win: the plies a winner needs against the best defence; 0 if over or drawn."""
        return self._plies_left.take(self._find(position))

    @property
    def positions(self) -> PositionT:
        """All reachable positions, finished ones included, as one batch."""
        return self._fields.join(self._packing.unpack(self._keys))

    def _find(self, position: PositionT) -> NDArray[np.intp]:
        """Return the rows of the table, shaped like the batch, or raise a ``ValueError``."""
        columns = self._fields.split(position)
        if self._packing.fits(columns):
            keys = self._packing.pack(columns)
            rows = self._keys.searchsorted(keys).clip(max=len(self._keys) - 1)
            if (self._keys[rows] == keys).all():
                return rows.reshape(self._fields.batch_shape(position))
        raise ValueError(f"{self._name} never reaches (one of) these positions: {position}")

    def _visit_all(self, budget: int, progress: Progress, limit: str) -> tuple[Keys, Packing]:
        """Return the ascending keys of all reachable positions and their packing; ``limit`` names the budget."""
        start = self._fields.split(self.rules.initial((1,)))
        packing = Packing.spanning(start)
        known = frontier = packing.pack(start)
        # Until all are found nobody knows how many there are, so progress is measured by the budget.
        task = f"finding positions of {self._name}"
        while len(frontier):
            found: list[Keys] = []
            # The whole frontier is unpacked here and now: the packing may change on the way.
            for position in self._batches(packing.unpack(frontier)):
                _, _, reached = self._moves(position)
                if not packing.fits(reached):
                    wider = packing.widened(reached)
                    known, *found = [wider.pack(packing.unpack(keys)) for keys in (known, *found)]
                    packing = wider
                keys = _distinct(packing.pack(reached))
                places = known.searchsorted(keys)
                new = known[places.clip(max=len(known) - 1)] != keys
                known = np.insert(known, places[new], keys[new])
                found.append(keys[new])
                if len(known) > budget:
                    way_out = {
                        "positions": "the budget for solving it; a larger one: solver_for(rules, budget=...)",
                        "memory": "all that may be kept in memory of a game with this many numbers",
                    }
                    raise TooLargeToSolve(f"{self._name} has more than {budget:,} positions, {way_out[limit]}")
                progress(task, len(known), budget)
            frontier = np.concatenate(found)
        progress(task, len(known), len(known))
        return known, packing

    def _link(self, progress: Progress) -> tuple[NDArray[np.int8], NDArray[np.int32]]:
        """Return the values known so far and ``[A, n]`` where each move leads.

        Games that go on have the value 0. Illegal moves lead past the last position, to a value worse than any.
        """
        count, size = len(self._keys), len(self.rules.numbers)
        successors = np.full((size, count), count, np.int32)
        values = np.zeros(count + 1, np.int8)
        values[count] = -ILLEGAL
        first = 0
        for position in self._batches(self._packing.unpack(self._keys)):
            rows, actions, reached = self._moves(position)
            successors[actions, first + rows] = self._keys.searchsorted(self._packing.pack(reached))
            over = self.rules.over(position)
            values[first : first + len(over)] = np.where(over, self.rules.value(position), 0)
            first += len(over)
            progress(f"linking positions of {self._name}", first, count)
        return values, successors

    def _moves(self, position: PositionT) -> tuple[NDArray[np.intp], NDArray[np.intp], Columns]:
        """Return all legal moves: the row each starts from, its action and the position it reaches."""
        rows, actions = np.nonzero(self.rules.legal(position))
        return rows, actions, self._fields.split(self.rules.play(take_rows(position, rows), actions))

    def _batches(self, columns: Columns) -> Iterator[PositionT]:
        """Yield the positions in order, a batch at a time."""
        of_position = sum(field.nbytes for field in self.rules.initial((1,)))
        step = max(1, BYTES_AT_ONCE // (max(of_position, 256) * len(self.rules.numbers)))
        for first in range(0, len(columns[0]), step):
            yield self._fields.join([column[first : first + step] for column in columns])


def _spread_backwards(values: NDArray[np.int8], successors: NDArray[np.int32]) -> NDArray[np.int16]:
    """Fill in the values of all games that go on, and return their depth to win, 0 where nobody can force one.

    A position is won once a move leads to a lost one, and lost once all moves lead to won ones; the k-th sweep decides
    what can be decided in k plies. What stays undecided is a draw, whether by the rules or by going in circles.
    """
    undecided = np.flatnonzero(successors.min(0, initial=len(values)) < len(values) - 1)
    successors = successors[:, undecided]
    decided = np.zeros(len(values) - 1, np.int16)
    sweeps = 0
    while True:
        best = np.full(len(undecided), ILLEGAL, np.int8)
        for reached in successors:
            np.maximum(best, -values[reached], out=best)
        if not best.any():
            return decided
        sweeps += 1
        values[undecided] = best
        decided[undecided[best != 0]] = sweeps
        undecided = undecided[best == 0]
        successors = successors[:, best == 0]


def _distinct(keys: Keys) -> Keys:
    """Return the keys in ascending order, each once."""
    keys = np.sort(keys)
    first = np.ones(len(keys), bool)
    np.not_equal(keys[1:], keys[:-1], out=first[1:])
    return keys[first]
