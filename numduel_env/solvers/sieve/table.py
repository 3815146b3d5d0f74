"""The table of nimbers of one component (see ``__init__.py``): how it is filled, kept and read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from numduel_env.batch import BoolArray
from numduel_env.solvers import cache
from numduel_env.solvers.sieve.divisibility import WORD, DownSets, Indices, Masks, pack
from numduel_env.solvers.sieve.fibres import Nimbers
from numduel_env.solvers.sieve.plan import Plan
from numduel_env.solvers.solver import TooLargeToSolve

VERSION = 2
"""To be raised with every change of what the cached tables mean."""

CACHED_FROM = 1_000_000
"""Bytes; smaller tables are computed in the time it takes to read them."""

CHECKED_ROWS = 300
"""Rows of a table from the cache that are computed anew and compared: a digest proves nothing against intent."""

NO_MOVE = 128
"""The entry of the column for illegal moves: neither it nor its Nim sum with a nimber is a nimber."""

NO_NIMBER = np.uint64(0)
ONE = np.uint64(1)

AS_SET = np.full(256, NO_NIMBER)
"""Each nimber as a set that holds it alone, a bit mask; what is no nimber adds nothing to a set."""
AS_SET[:WORD] = ONE << np.arange(WORD, dtype=np.uint64)


@dataclass(frozen=True)
class Cells:
    """Where the pools of a batch stand in the table, and the nimbers of their detached parts."""

    row: Indices
    column: Indices
    detached: Nimbers
    fibres: list[tuple[Indices, list[Indices]]]
    """For each class of fibres its multiset and the state of each fibre."""


class Component:
    """The solved game of one component; batches are ``[numbers, n]``.

    ``advanced`` is called with the number of rows done while the table is being filled. The row of a position is a
    number in a mixed radix: the digits are the multisets, and each class of fibres has its stride.
    """

    def __init__(self, plan: Plan, key: str, advanced: Callable[[int], object]) -> None:
        self.plan = plan
        self._core = DownSets(plan.core_sets)
        self._levels = np.searchsorted(np.bitwise_count(self._core.masks), np.arange(len(plan.core) + 2)).tolist()
        strides = np.cumprod([1, *(fibres.multisets for fibres in plan.fibres)])
        self._fibres = list(zip(plan.fibres, strides[:-1].tolist()))
        self._next_row, self._detached = self._rows_after_core_moves()
        self._next_column = self._columns_after_core_moves()
        cached = plan.bytes >= CACHED_FROM
        tables = cache.load(key, VERSION, {"nimbers": (np.uint8, (plan.rows, plan.columns))}) if cached else None
        if tables and self._looks_right(tables["nimbers"]):
            table = tables["nimbers"]
        else:
            if tables:
                cache.complain(key, "its values contradict each other")
            table = self._solve(advanced)
            if cached:
                cache.store(key, VERSION, {"nimbers": table})
        self._flat = table.reshape(-1)

    def _rows_after_core_moves(self) -> tuple[Indices, Nimbers]:
        """Return ``[core numbers, rows]``: the row after each core move, and the nimber it detaches."""
        rows = np.arange(self.plan.rows)
        after = np.zeros((len(self.plan.core), self.plan.rows), np.intp)
        detached = np.zeros(after.shape, np.uint8)
        for fibres, stride in self._fibres:
            multisets, nimbers = fibres.core_moves()
            digit = rows // stride % fibres.multisets
            after += multisets[:, digit] * stride
            detached ^= nimbers[:, digit]
        return after, detached

    def _columns_after_core_moves(self) -> NDArray[np.int32]:
        """Return ``[core numbers, columns]``: the column after each core move, the last one where it is illegal."""
        core, last = self.plan.core, self.plan.columns - 1
        after = np.full((len(core), self.plan.columns), last, np.int32)
        masks = self._core.masks
        for number, removed in enumerate(pack(self.plan.divides[np.ix_(core, core)].T)):
            (legal,) = np.nonzero(masks >> np.uint64(number) & ONE)
            after[number, legal] = self._core.index(masks[legal] & ~removed)
        return after

    def _solve(self, advanced: Callable[[int], object]) -> Nimbers:
        """Return ``[rows, columns]``, the nimbers: row by row, and within a row by the size of the core's down-set.

        A row and a column may contradict each other (a multiple is left without its factor); their entry is filled
        like all others and never read.
        """
        table = np.full((self.plan.rows, self.plan.columns), NO_MOVE, np.uint8)
        for row in range(self.plan.rows):
            table[row] = self._solved_row(table, row)
            advanced(row + 1)
        return table

    def _solved_row(self, table: Nimbers, row: int) -> Nimbers:
        """Return the nimbers of one row; all moves that leave it lead to earlier rows of the table."""
        last = self.plan.columns - 1
        reached = np.zeros(last, np.uint64)
        for after, detached in self._own_moves(row):
            reached |= AS_SET[table[after, :last] ^ np.uint8(detached)]
        leaves_row = self._next_row[:, row] != row
        for number in np.flatnonzero(leaves_row):
            options = AS_SET[table[self._next_row[number, row]] ^ self._detached[number, row]]
            reached |= options.take(self._next_column[number, :last])
        # The core moves that take nothing from the fibres stay in the row, and lead to smaller down-sets of it.
        next_column = self._next_column[~leaves_row]
        nimbers, done = np.full(last + 1, NO_MOVE, np.uint8), np.zeros(last + 1, np.uint64)
        for start, stop in pairwise(self._levels):
            options = done.take(next_column[:, start:stop])
            reached[start:stop] |= np.bitwise_or.reduce(options, axis=0, initial=NO_NIMBER)
            nimbers[start:stop] = _mex(reached[start:stop])
            done[start:stop] = AS_SET[nimbers[start:stop]]
        return nimbers

    def _looks_right(self, table: Nimbers) -> bool:
        """Return whether a table obeys the recurrence in a sample of its rows, the first position's among them."""
        rows = self.plan.rows
        generator = np.random.default_rng()
        sample = {0, rows - 1, *generator.integers(0, rows, min(CHECKED_ROWS, rows)).tolist()}
        try:
            return all(np.array_equal(self._solved_row(table, row), table[row]) for row in sample)
        except TooLargeToSolve:  # nimbers that cannot be
            return False

    def _own_moves(self, row: int) -> set[tuple[int, int]]:
        """Return the different moves within fibres: the row after each, and the nimber it detaches."""
        moves = set()
        for fibres, stride in self._fibres:
            digit = row // stride % fibres.multisets
            moves |= {(row + (after - digit) * stride, detached) for after, detached in fibres.own_moves(digit)}
        return moves

    def locate(self, bits: BoolArray) -> Cells:
        """Return where pools stand in the table; they must be down-sets."""
        row = np.zeros(bits.shape[1], np.intp)
        detached = np.zeros(bits.shape[1], np.uint8)
        located = []
        for fibres, stride in self._fibres:
            multiset = np.zeros_like(row)
            states = [fibres.state(bits[members]) for members in fibres.members]
            for state in states:
                multiset = fibres.insert[multiset, fibres.attached[state]]
                detached ^= fibres.detached[state]
            row += multiset * stride
            located.append((multiset, states))
        return Cells(row, self._core.index(pack(bits[self.plan.core])), detached, located)

    def nimbers(self, cells: Cells) -> Nimbers:
        """Return ``[n]``, the nimbers of the pools."""
        return self._flat.take(cells.row * self.plan.columns + cells.column) ^ cells.detached

    def nimbers_after(self, cells: Cells) -> Nimbers:
        """Return ``[numbers, n]``, the nimbers after every move; meaningless where it is illegal."""
        columns = self.plan.columns
        after = np.empty((len(self.plan.divides), len(cells.column)), np.uint8)
        for number, place in enumerate(self.plan.core):
            row = self._next_row[number].take(cells.row)
            entries = row * columns + self._next_column[number].take(cells.column)
            after[place] = self._flat.take(entries) ^ self._detached[number].take(cells.row)
        for (fibres, stride), (multiset, states) in zip(self._fibres, cells.fibres):
            for members, state in zip(fibres.members, states):
                others = fibres.remove[multiset, fibres.attached[state]]
                for place, moves in zip(members, fibres.after):
                    next_state = moves.take(state)
                    row = cells.row + (fibres.insert[others, fibres.attached[next_state]] - multiset) * stride
                    after[place] = self._flat.take(row * columns + cells.column)
                    after[place] ^= fibres.detached[state] ^ fibres.detached[next_state]
        after ^= cells.detached
        return after


def _mex(reached: Masks) -> Nimbers:
    """Return the mex of each set of nimbers: the place of the lowest bit that is not set."""
    if (reached == ~NO_NIMBER).any():
        raise TooLargeToSolve(f"there are nimbers above {WORD - 1}, for which this solver has no room")
    # Adding 1 turns the lowest bit that is not set, and all below it.
    return np.bitwise_count(reached ^ (reached + ONE)) - np.uint8(1)
