"""Perfect play in the sieve games: the Nim sum over the tables of their components."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterator

import numpy as np
from numpy.typing import NDArray

from numduel_env.batch import BoolArray
from numduel_env.games.sieve import Pool, Sieve
from numduel_env.progress import Progress, silent
from numduel_env.rules import whole_number
from numduel_env.solvers.sieve.divisibility import (
    Indices,
    components,
    covering_pairs,
    largest_prime_factors,
    order_type,
)
from numduel_env.solvers.sieve.fibres import Nimbers
from numduel_env.solvers.sieve.plan import Plan, make_plan
from numduel_env.solvers.sieve.table import Cells, Component
from numduel_env.solvers.solver import ILLEGAL, Solver, TooLargeToSolve

BUDGET = 200_000_000
"""Bytes of tables that a solver makes unless it is given another budget: 2..50 takes 15 million."""

CELLS_AT_ONCE = 1 << 20
"""A larger batch is answered in slices of about as many numbers, whose intermediate results stay small."""


class SieveSolver(Solver[Pool]):
    """Exact play for any range of numbers whose tables fit into ``budget`` bytes; else raises ``TooLargeToSolve``.

    Every down-set of divisibility is answered; any other pool cannot arise and raises a ``ValueError``. The tables of a
    large game are kept in the cache folder.
    """

    rules: Sieve

    def __init__(self, rules: Sieve, budget: int = BUDGET, progress: Progress = silent) -> None:
        super().__init__(rules)
        lowest, highest = int(rules.numbers[0]), int(rules.numbers[-1])
        self._name = f"{lowest}..{highest}"
        covers = covering_pairs(lowest, highest)
        self._factor, self._multiple = np.array(covers, np.intp).reshape(-1, 2).T
        isomorphic: dict[Hashable, list[Indices]] = defaultdict(list)
        for members in components(np.arange(len(rules.numbers)), covers):
            isomorphic[order_type(members, covers)].append(members)
        plans = self._plans([copies[0] for copies in isomorphic.values()], whole_number("budget", budget, 1))
        self.components: list[tuple[Component, Indices]] = []
        """The component of each order type, and the actions ``[copies, numbers]`` of all its isomorphic copies."""
        task, done, total = f"solving {self._name}", 0, sum(plan.rows for plan in plans)

        def advanced(rows: int) -> None:
            progress(task, done + rows, total)

        for number, (plan, copies) in enumerate(zip(plans, isomorphic.values())):
            self.components.append((Component(plan, f"sieve-{self._name}-{number}", advanced), np.array(copies)))
            done += plan.rows
        progress(task, total, total)

    def _plans(self, components: list[Indices], budget: int) -> list[Plan]:
        """Return a plan for each component, all within the budget."""
        rules = self.rules
        largest_prime = largest_prime_factors(int(rules.numbers[-1]))[rules.numbers]
        covers = list(zip(self._factor.tolist(), self._multiple.tolist()))
        plans: list[Plan] = []
        for members in components:
            left = budget - sum(plan.bytes for plan in plans)
            plan = make_plan(rules.removes, largest_prime, covers, members, left)
            if plan is None:
                raise TooLargeToSolve(
                    f"the numbers {self._name} are too many to solve with {budget:,} bytes of tables; "
                    "choose a smaller range, or a larger budget: solver_for(rules, budget=...)"
                )
            plans.append(plan)
        return plans

    def action_values(self, position: Pool) -> NDArray[np.int8]:
        pool = np.asarray(position.pool, bool)
        values = np.full((math.prod(pool.shape[:-1]), len(self.rules.numbers)), ILLEGAL, np.int8)
        for rows, columns in self._slices(pool):
            total, located = self._nimbers(columns)
            lost = np.empty(columns.shape, bool)
            for (component, copies), (cells, before) in zip(self.components, located):
                after = component.nimbers_after(cells).reshape(-1, *before.shape)
                # A move wins when it leaves the Nim sum 0: when its component then balances all the others.
                lost[copies.T] = after != total ^ before
            values[rows] = np.where(columns, 1 - 2 * lost.astype(np.int8), np.int8(ILLEGAL)).T
        return values.reshape(pool.shape)

    def value(self, position: Pool) -> NDArray[np.int8]:
        return np.where(self.nimber(position) > 0, 1, -1).astype(np.int8)

    def nimber(self, position: Pool) -> Nimbers:
        """Return ``[...]``: the nimber (Grundy value) of each position, 0 exactly when the mover has lost."""
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

    def _nimbers(self, columns: BoolArray) -> tuple[Nimbers, list[tuple[Cells, Nimbers]]]:
        """Return the nimbers of the pools, and the cells and nimbers ``[copies, rows]`` of each kind of component."""
        total = np.zeros(columns.shape[-1], np.uint8)
        located = []
        for component, copies in self.components:
            cells = component.locate(columns[copies.T].reshape(copies.shape[1], -1))
            nimbers = component.nimbers(cells).reshape(len(copies), -1)
            total ^= np.bitwise_xor.reduce(nimbers, axis=0)
            located.append((cells, nimbers))
        return total, located
