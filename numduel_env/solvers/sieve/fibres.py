"""Fibres of a sieve game: what they look like, and what choosing a number makes of them. See ``sieve.py``."""

from __future__ import annotations

import math
from functools import cached_property
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from numduel_env.rules import BoolArray
from numduel_env.solvers.sieve.divisibility import ClosedSets, Indices, Words, pack

Nimbers = NDArray[np.uint8]


class Fibres:
    """Interchangeable fibres ``members[copies, numbers]`` of one part, their patterns and arrangements.

    ``inner`` says which of its numbers each number of a fibre removes, ``hold`` which of them each core number does.
    """

    def __init__(self, members: Indices, inner: BoolArray, hold: BoolArray, patterns: Words) -> None:
        self.members = members
        self._removed = pack(inner.T)
        self._removed_by_core = pack(hold.T)
        self._sets = ClosedSets(patterns)
        words = self._sets.words
        live = words & np.bitwise_or.reduce(self._removed_by_core, initial=np.uint64(0))
        related = pack(inner | inner.T)
        grown = np.zeros_like(live)
        while (grown != live).any():
            grown = live.copy()
            for bit, relatives in enumerate(related):
                live |= np.where(live >> np.uint64(bit) & np.uint64(1), relatives & words, np.uint64(0))
        self._live_words = live
        self.live_patterns = np.flatnonzero(live == words)
        copies, kinds = len(members), len(self.live_patterns)
        self.arrangements = math.comb(copies + kinds - 1, copies)
        self.size = 8 * (2 * self.arrangements * (kinds + copies) + (len(inner) + 4) * len(words))

    def pattern(self, bits: BoolArray) -> Indices:
        return self._sets.index(pack(bits))

    @cached_property
    def choose(self) -> Indices:
        """``[numbers, patterns]``: the pattern after one of its own numbers is chosen."""
        return self._sets.without(self._removed)

    @cached_property
    def live(self) -> Indices:
        """``[patterns]``: which live pattern each one counts as; 0 is the empty one."""
        return self.live_patterns.searchsorted(self._sets.index(self._live_words))

    @cached_property
    def loose(self) -> Nimbers:
        """``[patterns]``: the nimber of the loose end."""
        alone = np.zeros(len(self._sets.words), np.uint8)
        for pattern in range(1, len(alone)):
            reached = {int(alone[after]) for after in self.choose[:, pattern] if after != pattern}
            alone[pattern] = next(nimber for nimber in range(len(reached) + 1) if nimber not in reached)
        return alone[self._sets.index(self._sets.words & ~self._live_words)]

    @cached_property
    def _multisets(self) -> Indices:
        """``[arrangements, copies]``: live patterns in ascending order; a move leads to an earlier arrangement."""
        kinds, copies = len(self.live_patterns), len(self.members)
        return np.array(list(combinations_with_replacement(range(kinds), copies)), np.intp)

    @cached_property
    def add(self) -> Indices:
        """``[arrangements, live patterns]``: the arrangement with one of its empty patterns replaced by another."""
        rows = [tuple(row) for row in self._multisets.tolist()]
        places = {row: place for place, row in enumerate(rows)}
        table = np.zeros((self.arrangements, len(self.live_patterns)), np.intp)
        for place, row in enumerate(rows):
            if row[0] == 0:
                table[place] = [places[tuple(sorted((*row[1:], kind)))] for kind in range(table.shape[1])]
        table[:, 0] = np.arange(self.arrangements)
        return table

    @cached_property
    def drop(self) -> Indices:
        """``[arrangements, live patterns]``: the arrangement with such a pattern, which it must have, emptied."""
        table = np.zeros_like(self.add)
        kinds = np.arange(table.shape[1])
        spare = self._multisets[:, 0] == 0
        table[self.add[spare], kinds] = np.arange(self.arrangements)[spare, None]
        table[:, 0] = np.arange(self.arrangements)
        return table

    def choose_in_core(self) -> tuple[Indices, Nimbers]:
        """Return ``[core numbers, arrangements]``: the arrangement after that choice, and the nimber set aside."""
        after = self._sets.without(self._removed_by_core)
        places = np.zeros((len(after), self.arrangements), np.intp)
        aside = np.zeros(places.shape, np.uint8)
        for kinds in self._multisets.T:
            patterns = after[:, self.live_patterns[kinds]]
            places = self.add[places, self.live[patterns]]
            aside ^= self.loose[patterns]
        return places, aside

    def choices(self, arrangement: int) -> set[tuple[int, int]]:
        """Return the different moves within the fibres: the arrangement after each, and the nimber set aside."""
        moves = set()
        for kind in set(self._multisets[arrangement].tolist()):
            rest, pattern = self.drop[arrangement, kind], self.live_patterns[kind]
            for after in self.choose[:, pattern]:
                if after != pattern:
                    moves.add((int(self.add[rest, self.live[after]]), int(self.loose[after])))
        return moves
