"""How a component is taken apart into core and fibres (see ``__init__.py``), chosen before any table is made."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from numduel_env.batch import BoolArray
from numduel_env.solvers.sieve.divisibility import (
    WORD,
    Covers,
    Indices,
    Masks,
    components,
    down_sets,
    order_type,
)
from numduel_env.solvers.sieve.fibres import Fibres


@dataclass(frozen=True)
class Plan:
    """A component taken apart: ``divides`` among its numbers, and ``core`` and ``fibres`` as places among them."""

    divides: BoolArray
    core: Indices
    core_sets: Masks
    fibres: list[Fibres]

    @property
    def rows(self) -> int:
        """Rows of the table: choices of a multiset for each class of fibres."""
        return math.prod(fibres.multisets for fibres in self.fibres)

    @property
    def columns(self) -> int:
        """Columns of the table: the down-sets of the core, and one for moves that are illegal."""
        return len(self.core_sets) + 1

    @property
    def bytes(self) -> int:
        """Bytes of all tables together."""
        moves = len(self.core) * (4 * self.columns + 9 * self.rows)
        return self.columns * (self.rows + 16) + moves + sum(fibres.bytes for fibres in self.fibres)


def make_plan(
    divides: BoolArray, largest_prime: NDArray[np.int64], covers: Covers, members: Indices, budget: int
) -> Plan | None:
    """Return the plan with the fewest bytes of tables for the component ``members``, or None if none fits the budget.

    ``divides`` and ``largest_prime`` (largest prime factors) are those of all numbers of the game.
    """
    best = None
    for bound in np.unique(largest_prime[members]):
        smooth = largest_prime[members] <= bound
        if smooth.sum() > WORD:
            break
        fibres = components(members[~smooth], covers)
        if any(len(fibre) > WORD for fibre in fibres):
            continue
        limit = best.bytes if best else budget
        plan = _plan_with_core(divides, covers, members, members[smooth], fibres, limit)
        if plan is not None and plan.bytes <= limit:
            best = plan
    return best


def _plan_with_core(
    divides: BoolArray, covers: Covers, members: Indices, core: Indices, fibres: list[Indices], budget: int
) -> Plan | None:
    """Return the plan with that core and those fibres, or None once a single table is known to exceed the budget."""
    # A down-set of the core costs at least 16 bytes, one byte in a row and four for each core move.
    core_sets = down_sets(divides[np.ix_(core, core)], budget // (4 * len(core) + 17))
    if core_sets is None:
        return None
    alike: dict[Hashable, list[Indices]] = defaultdict(list)
    for fibre in fibres:
        alike[order_type(fibre, covers), divides[np.ix_(core, fibre)].tobytes()].append(fibre)
    classes: list[Fibres] = []
    for group in alike.values():
        within, from_core = divides[np.ix_(group[0], group[0])], divides[np.ix_(core, group[0])]
        states = down_sets(within, math.isqrt(budget))
        if states is None:
            return None
        classes.append(Fibres(np.searchsorted(members, np.array(group)), within, from_core, states))
        if classes[-1].bytes > budget:
            return None
    return Plan(divides[np.ix_(members, members)], np.searchsorted(members, core), core_sets, classes)
