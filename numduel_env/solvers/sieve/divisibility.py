"""The order of divisibility: which numbers hang together, and which sets of them are closed under factors."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

from numduel_env.rules import BoolArray

Words = NDArray[np.uint64]
"""Sets of at most 64 numbers: bit ``i`` stands for the ``i``-th of them."""

Indices = NDArray[np.intp]
Covers = list[tuple[int, int]]
"""Pairs (factor, multiple) a prime apart."""


class ClosedSets:
    """The closed sets of some numbers, smaller sets first, so that every move leads to an earlier one."""

    def __init__(self, words: Words) -> None:
        order = np.lexsort((words, np.bitwise_count(words)))
        self.words = words[order]
        self._ascending = words
        self._places = np.empty_like(order)
        self._places[order] = np.arange(len(order))

    def index(self, words: Words) -> Indices:
        """Return where each set is, which must be closed."""
        return self._places.take(self._ascending.searchsorted(words))

    def without(self, removed: Words) -> Indices:
        """Return ``[moves, sets]``: where each set is after each move, given as the numbers that it removes."""
        return np.array([self.index(self.words & ~word) for word in removed], np.intp).reshape(-1, len(self.words))


def factor_pairs(numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], Covers]:
    """Return the largest prime factor of each number, and the pairs (factor, multiple) a prime apart, as actions."""
    lowest, highest = int(numbers[0]), int(numbers[-1])
    largest_prime = np.zeros(highest + 1, np.int64)
    covers = []
    for prime in range(2, highest + 1):
        if largest_prime[prime] == 0:
            largest_prime[prime::prime] = prime
            covers += [(factor - lowest, prime * factor - lowest) for factor in range(lowest, highest // prime + 1)]
    return largest_prime[numbers], covers


def connected(members: Indices, covers: Covers) -> list[Indices]:
    """Return ``members`` split into the smallest sets that no pair of ``covers`` connects, each ascending."""
    leader = {int(member): int(member) for member in members}

    def find(member: int) -> int:
        while leader[member] != member:
            leader[member] = member = leader[leader[member]]
        return member

    for factor, multiple in covers:
        if factor in leader and multiple in leader:
            leader[find(multiple)] = find(factor)
    sets: dict[int, list[int]] = defaultdict(list)
    for member in leader:
        sets[find(member)].append(member)
    return [np.array(group, np.intp) for group in sets.values()]


def shape_of(members: Indices, covers: Covers) -> Hashable:
    """Return what is equal for two sets of numbers only if the same places of both divide each other."""
    place = {int(member): index for index, member in enumerate(members)}
    return len(members), frozenset((place[a], place[b]) for a, b in covers if a in place and b in place)


def closed_sets(removes: BoolArray, limit: int) -> Words | None:
    """Return the closed sets of at most 64 numbers as words (bit ``i``: number ``i``), ascending; None if too many."""
    words = np.zeros(1, np.uint64)
    for number, factors in enumerate(pack(removes)):
        bit = np.uint64(1) << np.uint64(number)
        needed = factors & ~bit
        words = np.concatenate([words, words[words & needed == needed] | bit])
        if len(words) > limit:
            return None
    return words


def pack(bits: BoolArray) -> Words:
    """Return each column of ``bits[k, rows]``, ``k`` at most 64, as a word whose bit ``i`` is its row ``i``."""
    words = np.zeros(bits.shape[1], np.uint64)
    for first in range(0, len(bits), 8):
        # A byte at a time: operations on bytes are the fastest there are.
        byte = np.zeros(bits.shape[1], np.uint8)
        for place, row in enumerate(bits[first : first + 8]):
            byte |= row.view(np.uint8) << np.uint8(place)
        words |= byte.astype(np.uint64) << np.uint64(first)
    return words
