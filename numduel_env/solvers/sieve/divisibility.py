"""The order of divisibility: its Hasse diagram, connected components and down-sets, as bit masks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

from numduel_env.batch import BoolArray

WORD = 64

Masks = NDArray[np.uint64]
"""Sets of at most 64 numbers as bit masks: bit ``i`` stands for the ``i``-th of them."""

Indices = NDArray[np.intp]

Covers = list[tuple[int, int]]
"""The edges (factor, multiple) of a Hasse diagram, as actions."""


class DownSets:
    """All down-sets of some numbers, smaller sets first, so that every move leads to an earlier one."""

    def __init__(self, ascending: Masks) -> None:
        order = np.lexsort((ascending, np.bitwise_count(ascending)))
        self.masks = ascending[order]
        self._ascending = ascending
        self._places = np.empty_like(order)
        self._places[order] = np.arange(len(order))

    def __len__(self) -> int:
        return len(self.masks)

    def index(self, masks: Masks) -> Indices:
        """Return the place of each mask, which must be a down-set."""
        return self._places.take(self._ascending.searchsorted(masks))

    def without(self, removed: Masks) -> Indices:
        """Return ``[moves, sets]``: the place of each down-set after each move, given as the numbers it removes."""
        return np.array([self.index(self.masks & ~mask) for mask in removed], np.intp).reshape(-1, len(self))


def down_sets(divides: BoolArray, limit: int) -> Masks | None:
    """Return the down-sets of at most 64 numbers as ascending masks, or None if there are more than ``limit``.

    ``divides[i, j]`` says whether number ``i`` divides number ``j`` (itself included); the numbers ascend.
    """
    masks = np.zeros(1, np.uint64)
    for number, factors in enumerate(pack(divides)):
        bit = np.uint64(1) << np.uint64(number)
        proper = factors & ~bit
        masks = np.concatenate([masks, masks[masks & proper == proper] | bit])
        if len(masks) > limit:
            return None
    return masks


def largest_prime_factors(highest: int) -> NDArray[np.int64]:
    """Return an array whose entry ``n`` is the largest prime factor of ``n``, from 2 up to ``highest``."""
    largest = np.zeros(highest + 1, np.int64)
    for number in range(2, highest + 1):
        if largest[number] == 0:
            largest[number::number] = number
    return largest


def covering_pairs(lowest: int, highest: int) -> Covers:
    """Return the Hasse diagram of a range: in divisibility a covering pair is always one prime apart."""
    ratios = highest // lowest
    primes = np.flatnonzero(largest_prime_factors(ratios) == np.arange(ratios + 1))[1:].tolist() if ratios > 1 else []
    return [
        (factor - lowest, prime * factor - lowest) for prime in primes for factor in range(lowest, highest // prime + 1)
    ]


def components(members: Indices, covers: Covers) -> list[Indices]:
    """Return the connected components of ``members`` in the Hasse diagram, each ascending (union-find)."""
    leader = {int(member): int(member) for member in members}

    def find(member: int) -> int:
        while leader[member] != member:
            leader[member] = member = leader[leader[member]]
        return member

    for factor, multiple in covers:
        if factor in leader and multiple in leader:
            leader[find(multiple)] = find(factor)
    found: dict[int, list[int]] = defaultdict(list)
    for member in leader:
        found[find(member)].append(member)
    return [np.array(component, np.intp) for component in found.values()]


def order_type(members: Indices, covers: Covers) -> Hashable:
    """Return what is equal for two sets of numbers only if matching them place by place is an isomorphism of orders."""
    place = {int(member): index for index, member in enumerate(members)}
    return len(members), frozenset((place[a], place[b]) for a, b in covers if a in place and b in place)


def pack(bits: BoolArray) -> Masks:
    """Return each column of ``bits[k, n]``, ``k`` at most 64, as a mask; bit ``i`` comes from row ``i``.

    The same as ``(bits * weights[:, None]).sum(0)`` with the weights 1, 2, 4, ...; it goes a byte at a time, because
    operations on bytes are the fastest there are.
    """
    masks = np.zeros(bits.shape[1], np.uint64)
    for first in range(0, len(bits), 8):
        byte = np.zeros(bits.shape[1], np.uint8)
        for place, row in enumerate(bits[first : first + 8]):
            byte |= row.view(np.uint8) << np.uint8(place)
        masks |= byte.astype(np.uint64) << np.uint64(first)
    return masks
