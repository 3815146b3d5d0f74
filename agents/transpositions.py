"""Which positions have been met before: a hash table of arrays, asked about thousands of positions at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from numduel_env.batch import Position, packed_words

Indices = NDArray[np.int64]
Keys = NDArray[np.uint64]

NOWHERE = -1
"""What is found where nothing is."""

FREE = np.uint64(0)
"""The key of a free slot; no position has it."""

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
ODD_FACTORS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def position_keys(trees: Indices, position: Position) -> Keys:
    """Return 64 bits for each position in its tree.

    As in most programs that hash positions, equal keys are taken for equal positions: among a million positions two
    different ones have the same key once in some thirty million searches. The words of a position are mixed by the
    finaliser of SplitMix64 (G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number generators", 2014).
    """
    keys = _mixed(trees.astype(np.uint64) + GOLDEN)
    for field in position:
        for word in _words(field.reshape(len(trees), -1)):
            keys = _mixed(keys + word)
    return np.maximum(keys, FREE + np.uint64(1))


def _words(table: NDArray[np.generic]) -> Keys:
    """Return the 64-bit words of each row as ``[words, N]``; flags take one bit each."""
    if table.dtype == np.bool_:
        return packed_words(table).T
    row_bytes = np.ascontiguousarray(table).view(np.uint8)
    padded = np.zeros((len(table), -(-row_bytes.shape[1] // 8) * 8), np.uint8)
    padded[:, : row_bytes.shape[1]] = row_bytes
    words: Keys = padded.view(np.uint64).T
    return words


def _mixed(words: Keys) -> Keys:
    for shift, factor in zip((30, 27), ODD_FACTORS):
        words = (words ^ (words >> np.uint64(shift))) * factor
    mixed: Keys = words ^ (words >> np.uint64(31))
    return mixed


class Transpositions:
    """``{key: node}`` for at most ``most`` keys: a hash table with linear probing."""

    def __init__(self, most: int) -> None:
        slots = 1 << (2 * most).bit_length()
        self._last = np.int64(slots - 1)
        self._keys = np.zeros(slots, np.uint64)
        self._nodes = np.full(slots, NOWHERE, np.int32)

    def nodes_at(self, keys: Keys) -> Indices:
        """Return the node of each key, ``NOWHERE`` if there is none."""
        return self._nodes.take(self._slots(keys)).astype(np.int64)

    def add(self, keys: Keys, nodes: Indices) -> None:
        """Remember the nodes of new keys, no two of them equal."""
        while len(keys):
            slots = self._slots(keys)
            # Of several keys that want one slot the last gets it; the others look on.
            self._keys[slots] = keys
            self._nodes[slots] = nodes
            rest = np.flatnonzero(self._keys.take(slots) != keys)
            keys, nodes = keys[rest], nodes[rest]

    def _slots(self, keys: Keys) -> Indices:
        """Return for each key the slot in which it is, or the free one in which it would be."""
        slots = keys.view(np.int64) & self._last
        there = self._keys.take(slots)
        searching = np.flatnonzero((there != keys) & (there != FREE))
        while len(searching):
            slots[searching] = (slots[searching] + 1) & self._last
            there = self._keys.take(slots[searching])
            searching = searching[(there != keys[searching]) & (there != FREE)]
        return slots
