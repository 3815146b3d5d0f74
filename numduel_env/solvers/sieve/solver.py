"""Exact play of the sieve: Prime Rumble, Divider Duel and their other sizes, by Sprague-Grundy theory.

A pool that can arise is *closed*: with every number it holds all its factors, and every closed pool can arise. Numbers
that no chain of factors and multiples connects never disturb each other, so the game is a sum of *parts* and its
nimber is the exclusive or of theirs. Parts of equal shape share one table.

Within a part, the numbers whose prime factors are all small are the *core*. The others fall into *fibres*: 11, 22, 33,
44 is one of 2..50, where the core has the prime factors 2, 3 and 5. A core number takes its multiples from the fibres;
a fibre number takes nothing from the core. Three things keep the table small:

- fibres of one shape that hang on the core in the same way are interchangeable: only how many of them show each
  *pattern* (closed set) counts, an *arrangement*;
- the *loose* end of a pattern, which hangs on no number of the core (11 when its multiples are gone), is a game by
  itself: its nimber is set aside, and the *live* rest of the pattern alone enters the arrangement;
- a *setting*, one arrangement for each shape of fibre, gives a row of the table, a closed set of the core its column.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterator

import numpy as np
from numpy.typing import NDArray

from numduel_env.games.sieve import Pool, Sieve
from numduel_env.rules import BoolArray, whole_number
from numduel_env.solvers.progress import Progress
from numduel_env.solvers.sieve.divisibility import Indices, connected, factor_pairs, shape_of
from numduel_env.solvers.sieve.fibres import Nimbers
from numduel_env.solvers.sieve.table import Look, Part, make_plan
from numduel_env.solvers.solver import ILLEGAL, Solver, TooLargeToSolve

BUDGET = 200_000_000
"""Bytes of tables that a solver makes unless told otherwise: 2..50 takes 15 million."""

CELLS_AT_ONCE = 1 << 20
"""A larger batch is answered in slices of about so many numbers, whose intermediate results stay small."""


class SieveSolver(Solver):
    """Exact play for any range of numbers whose tables fit into ``budget`` bytes; else raises ``TooLargeToSolve``.

    Every divisor-closed pool is answered; any other cannot arise and raises a ``ValueError``. The tables of a large
    game are kept in the cache folder.
    """

    def __init__(self, rules: Sieve, budget: int = BUDGET) -> None:
        super().__init__(rules)
        left = whole_number("budget", budget, 1)
        numbers = rules.numbers
        name = f"{numbers[0]}..{numbers[-1]}"
        largest_prime, covers = factor_pairs(numbers)
        self._factor, self._multiple = np.array(covers, np.intp).reshape(-1, 2).T
        shapes: dict[Hashable, list[Indices]] = defaultdict(list)
        for members in connected(np.arange(len(numbers)), covers):
            shapes[shape_of(members, covers)].append(members)
        self._parts: list[tuple[Part, Indices]] = []
        plans = []
        for copies in shapes.values():
            plan = make_plan(rules.removes, largest_prime, covers, copies[0], left)
            if plan is None:
                raise TooLargeToSolve(
                    f"the numbers {name} are too many to solve with {budget:,} bytes of tables; "
                    "choose a smaller range, or a larger budget: solver_for(rules, budget=...)"
                )
            left -= plan.size
            plans.append((plan, np.array(copies)))
        with Progress(f"Solving {name}", sum(plan.settings for plan, _ in plans)) as progress:
            for number, (plan, alike) in enumerate(plans):
                self._parts.append((Part(plan, f"sieve-{name}-{number}", progress), alike))

    def action_values(self, position: Pool) -> NDArray[np.int8]:
        pool = np.asarray(position.pool, bool)
        values = np.full((math.prod(pool.shape[:-1]), len(self.rules.numbers)), ILLEGAL, np.int8)
        for rows, columns in self._slices(pool):
            total, looks = self._nimbers(columns)
            lost = np.empty(columns.shape, bool)
            for (part, alike), (look, before) in zip(self._parts, looks):
                after = part.after(look).reshape(-1, *before.shape)
                # A move wins when it leaves a nimber of 0: when its part then balances all the others.
                lost[alike.T] = after != total ^ before
            values[rows] = np.where(columns, 1 - 2 * lost.astype(np.int8), np.int8(ILLEGAL)).T
        return values.reshape(pool.shape)

    def value(self, position: Pool) -> NDArray[np.int8]:
        return np.where(self.nimber(position) > 0, 1, -1).astype(np.int8)

    def nimber(self, position: Pool) -> Nimbers:
        """Return ``[...]``: the size of the Nim heap that each position is worth, 0 when the mover has lost."""
        pool = np.asarray(position.pool, bool)
        nimbers = np.empty(math.prod(pool.shape[:-1]), np.uint8)
        for rows, columns in self._slices(pool):
            nimbers[rows] = self._nimbers(columns)[0]
        return nimbers.reshape(pool.shape[:-1])

    def _slices(self, pool: BoolArray) -> Iterator[tuple[slice, BoolArray]]:
        """Yield which rows of the flattened batch come next, and their pools ``[A, rows]``, checked."""
        size = len(self.rules.numbers)
        if pool.shape[-1:] != (size,):
            raise ValueError(f"a pool has {size} numbers on its last axis; this one is shaped {pool.shape}")
        flat = pool.reshape(-1, size)
        step = max(CELLS_AT_ONCE // size, 1)
        for start in range(0, len(flat), step):
            rows = slice(start, start + step)
            columns = np.ascontiguousarray(flat[rows].T)
            orphans = (columns[self._multiple] & ~columns[self._factor]).any(-1)
            if orphans.any():
                multiple, factor = (self.rules.numbers[end[orphans][0]] for end in (self._multiple, self._factor))
                raise ValueError(f"no play leads to this pool: it has {multiple} but not its factor {factor}")
            yield rows, columns

    def _nimbers(self, columns: BoolArray) -> tuple[Nimbers, list[tuple[Look, Nimbers]]]:
        """Return the nimbers of the pools, and for each kind of part its look and its nimbers ``[copies, rows]``."""
        total = np.zeros(columns.shape[-1], np.uint8)
        looks = []
        for part, alike in self._parts:
            look = part.look(columns[alike.T].reshape(alike.shape[1], -1))
            before = part.before(look).reshape(len(alike), -1)
            total ^= np.bitwise_xor.reduce(before, axis=0)
            looks.append((look, before))
        return total, looks
