"""Parts of a sieve game: how one is taken apart, and its table of nimbers. See ``sieve.py``."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from numduel_env.rules import BoolArray
from numduel_env.solvers import cache
from numduel_env.solvers.progress import Progress
from numduel_env.solvers.sieve.divisibility import (
    ClosedSets,
    Covers,
    Indices,
    Words,
    closed_sets,
    connected,
    pack,
    shape_of,
)
from numduel_env.solvers.sieve.fibres import Fibres, Nimbers
from numduel_env.solvers.solver import TooLargeToSolve

VERSION = 1
"""To be raised with every change of what the cached tables mean."""

WORTH_CACHING = 1_000_000
"""Bytes; smaller tables are computed in the time it takes to read them."""

WORD = 64
"""Bits of a word: a closed set and a set of nimbers are one word each."""

NO_MOVE = 128
"""Stands in the table where a number cannot be chosen; no nimber, nor made one by the nimbers set aside."""


@dataclass
class Plan:
    """How a part is taken apart: its members as rows of ``removes``, ``core`` and ``fibres`` counted within them."""

    removes: BoolArray
    core: Indices
    core_sets: Words
    fibres: list[Fibres]

    @property
    def settings(self) -> int:
        return math.prod(fibres.arrangements for fibres in self.fibres)

    @property
    def size(self) -> int:
        """Bytes of all tables together."""
        columns = len(self.core_sets) + 1
        moves = len(self.core) * (4 * columns + 9 * self.settings)
        return columns * (self.settings + 16) + moves + sum(fibres.size for fibres in self.fibres)


def make_plan(
    removes: BoolArray, largest_prime: NDArray[np.int64], covers: Covers, members: Indices, budget: int
) -> Plan | None:
    """Return the plan with the smallest tables, or None if none fits; finds out without making any table."""
    best = None
    for bound in np.unique(largest_prime[members]):
        in_core = largest_prime[members] <= bound
        if in_core.sum() > WORD:
            break
        rest = connected(members[~in_core], covers)
        if any(len(fibre) > WORD for fibre in rest):
            continue
        plan = _plan_with_core(removes, covers, members, members[in_core], rest, best.size if best else budget)
        if plan is not None and plan.size <= (best.size if best else budget):
            best = plan
    return best


def _plan_with_core(
    removes: BoolArray, covers: Covers, members: Indices, core: Indices, rest: list[Indices], budget: int
) -> Plan | None:
    core_sets = closed_sets(removes[np.ix_(core, core)], budget // (4 * len(core) + 17))
    if core_sets is None:
        return None
    alike: dict[Hashable, list[Indices]] = defaultdict(list)
    for fibre in rest:
        alike[shape_of(fibre, covers), removes[np.ix_(core, fibre)].tobytes()].append(fibre)
    fibres: list[Fibres] = []
    for group in alike.values():
        inner, hold = removes[np.ix_(group[0], group[0])], removes[np.ix_(core, group[0])]
        patterns = closed_sets(inner, math.isqrt(budget))
        if patterns is None:
            return None
        fibres.append(Fibres(np.searchsorted(members, np.array(group)), inner, hold, patterns))
        if fibres[-1].size > budget:
            return None
    return Plan(removes[np.ix_(members, members)], np.searchsorted(members, core), core_sets, fibres)


@dataclass
class Look:
    """What a batch of parts looks like in terms of the tables."""

    core: Indices
    setting: Indices
    aside: Nimbers
    fibres: list[tuple[Indices, list[Indices]]]
    """For each kind of fibre, its arrangement and the pattern of each copy."""


class Part:
    """The solved game of one part; batches are ``[numbers, rows]``."""

    def __init__(self, plan: Plan, key: str, progress: Progress) -> None:
        self._plan = plan
        self._core = ClosedSets(plan.core_sets)
        self._columns = len(plan.core_sets) + 1
        strides = np.cumprod([1, *(fibres.arrangements for fibres in plan.fibres)])
        self._fibres = list(zip(plan.fibres, strides[:-1].tolist()))
        settings = np.arange(plan.settings)
        self._next_setting = np.zeros((len(plan.core), plan.settings), np.intp)
        self._next_aside = np.zeros((len(plan.core), plan.settings), np.uint8)
        for fibres, stride in self._fibres:
            places, aside = fibres.choose_in_core()
            digit = settings // stride % fibres.arrangements
            self._next_setting += places[:, digit] * stride
            self._next_aside ^= aside[:, digit]
        worth_caching = plan.size >= WORTH_CACHING
        tables = cache.load(key, VERSION) if worth_caching else None
        if tables is None or not self._adopt(tables):
            self._next_core = self._core_moves()
            self._table = self._solve(progress)
            if worth_caching:
                cache.store(key, VERSION, {"next_core": self._next_core, "nimbers": self._table})
        self._flat = self._table.reshape(-1)

    def _adopt(self, tables: dict[str, NDArray[Any]]) -> bool:
        """Take cached tables if they are of the kind that this part makes."""
        expected = {
            "next_core": (np.dtype(np.int32), (len(self._plan.core), self._columns)),
            "nimbers": (np.dtype(np.uint8), (self._plan.settings, self._columns)),
        }
        if {name: (table.dtype, table.shape) for name, table in tables.items()} != expected:
            return False
        self._next_core, self._table = tables["next_core"], tables["nimbers"]
        return int(self._next_core.min()) >= 0 and int(self._next_core.max()) < self._columns

    def _core_moves(self) -> NDArray[np.int32]:
        """Return ``[core numbers, columns]``: the column after each choice, the last column where it is illegal."""
        core, last = self._plan.core, self._columns - 1
        moves = np.full((len(core), self._columns), last, np.int32)
        words = self._core.words
        for number, word in enumerate(pack(self._plan.removes[np.ix_(core, core)].T)):
            (legal,) = np.nonzero(words >> np.uint64(number) & np.uint64(1))
            moves[number, legal] = self._core.index(words[legal] & ~word)
        return moves

    def _solve(self, progress: Progress) -> Nimbers:
        """Return ``[settings, columns]``, the nimbers: row by row, and within a row by the size of the core set.

        Settings and columns that do not belong together get a number, too, which nobody asks for.
        """
        settings, last = self._plan.settings, self._columns - 1
        table = np.full((settings, self._columns), NO_MOVE, np.uint8)
        # A nimber as a set of one; what is no nimber, as the empty set.
        as_set = np.zeros(256, np.uint64)
        as_set[:WORD] = np.uint64(1) << np.arange(WORD, dtype=np.uint64)
        sizes = np.bitwise_count(self._core.words)
        levels = np.searchsorted(sizes, np.arange(len(self._plan.core) + 2)).tolist()
        for setting in range(settings):
            seen = np.zeros(last, np.uint64)
            for after, aside in self._fibre_choices(setting):
                seen |= as_set[table[after, :last] ^ np.uint8(aside)]
            elsewhere = self._next_setting[:, setting] != setting
            for number in np.flatnonzero(elsewhere):
                row = as_set[table[self._next_setting[number, setting]] ^ self._next_aside[number, setting]]
                seen |= row.take(self._next_core[number, :last])
            within = self._next_core[~elsewhere]
            row = np.zeros(self._columns, np.uint64)
            for start, stop in pairwise(levels):
                reached = np.bitwise_or.reduce(row.take(within[:, start:stop]), axis=0, initial=np.uint64(0))
                reached |= seen[start:stop]
                if (reached == ~np.uint64(0)).any():
                    raise TooLargeToSolve(f"there are nimbers above {WORD - 1}, for which this solver has no room")
                # The lowest bit that is not set; all below it are turned by adding 1, and so is it.
                mex = np.bitwise_count(reached ^ (reached + np.uint64(1))) - np.uint8(1)
                table[setting, start:stop] = mex
                row[start:stop] = as_set[mex]
            progress.advance()
        return table

    def _fibre_choices(self, setting: int) -> set[tuple[int, int]]:
        """Return the different moves within fibres: the setting after each, and the nimber set aside."""
        moves = set()
        for fibres, stride in self._fibres:
            digit = setting // stride % fibres.arrangements
            moves |= {(setting + (after - digit) * stride, aside) for after, aside in fibres.choices(digit)}
        return moves

    def look(self, bits: BoolArray) -> Look:
        """Return where a batch of closed pools is found in the tables."""
        setting = np.zeros(bits.shape[1], np.intp)
        aside = np.zeros(bits.shape[1], np.uint8)
        looks = []
        for fibres, stride in self._fibres:
            arrangement = np.zeros_like(setting)
            patterns = [fibres.pattern(bits[members]) for members in fibres.members]
            for pattern in patterns:
                arrangement = fibres.add[arrangement, fibres.live[pattern]]
                aside ^= fibres.loose[pattern]
            setting += arrangement * stride
            looks.append((arrangement, patterns))
        return Look(self._core.index(pack(bits[self._plan.core])), setting, aside, looks)

    def before(self, look: Look) -> Nimbers:
        """Return ``[rows]``, the nimbers."""
        return self._flat.take(look.setting * self._columns + look.core) ^ look.aside

    def after(self, look: Look) -> Nimbers:
        """Return ``[numbers, rows]``, the nimbers after every choice; meaningless where it is illegal."""
        after = np.empty((len(self._plan.removes), len(look.core)), np.uint8)
        for number, place in enumerate(self._plan.core):
            row = self._next_setting[number].take(look.setting)
            cells = row * self._columns + self._next_core[number].take(look.core)
            after[place] = self._flat.take(cells) ^ self._next_aside[number].take(look.setting)
        for (fibres, stride), (arrangement, patterns) in zip(self._fibres, look.fibres):
            for members, pattern in zip(fibres.members, patterns):
                rest = fibres.drop[arrangement, fibres.live[pattern]]
                for place, choose in zip(members, fibres.choose):
                    chosen = choose.take(pattern)
                    row = look.setting + (fibres.add[rest, fibres.live[chosen]] - arrangement) * stride
                    after[place] = self._flat.take(row * self._columns + look.core)
                    after[place] ^= fibres.loose[pattern] ^ fibres.loose[chosen]
        after ^= look.aside
        return after
