"""Grundy values of parts by retrograde analysis: exact, from the end of the game, and of small parts only."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from numduel_env.parts import Parts, Word, Words

UNKNOWN = np.uint8(255)
"""Stands for a Grundy value that is not known; a part of at most 64 numbers has a Grundy value of at most 64."""

CHUNK = 1 << 13
"""The moves of at most this many parts are looked at together."""


class PartMemory:
    """The Grundy values of all parts that were asked for, and of all parts that can follow them."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self._keys, self._values = np.zeros(0, Word), np.zeros(0, np.uint8)

    def __len__(self) -> int:
        return len(self._keys)

    def find(self, parts: Words) -> NDArray[np.uint8]:
        """Return the Grundy values of parts, ``UNKNOWN`` where they are."""
        if not len(self._keys):
            return np.full(len(parts), UNKNOWN)
        at = self._keys.searchsorted(parts).clip(max=len(self._keys) - 1)
        return np.where(self._keys[at] == parts, self._values[at], UNKNOWN)

    def learn(self, parts: Words, at_most: float = np.inf) -> bool:
        """Back up these parts and all that can follow from them, and return True.

        If these are more than ``at_most`` new parts, nothing is learned, and the answer is False.
        """
        needed = self._needed(np.unique(parts), at_most)
        if needed is None:
            return False
        for size in sorted(needed):
            values = [self._back_up(chunk) for chunk in _chunks(needed[size])]
            self._add(needed[size], np.concatenate([np.zeros(0, np.uint8), *values]))
        return True

    def _needed(self, parts: Words, at_most: float) -> dict[int, Words] | None:
        """Return the unknown parts among these and those that can follow, by their size; None if too many."""
        asked = _by_size(parts)
        needed: dict[int, Words] = {}
        count = 0
        for size in range(max(asked, default=0), 1, -1):
            unknown = np.unique(np.concatenate([np.zeros(0, Word), *asked.pop(size, [])]))
            unknown = unknown[self.find(unknown) == UNKNOWN]
            count += len(unknown)
            if count > at_most:
                return None
            needed[size] = unknown
            for chunk in _chunks(unknown):
                following = np.unique(self.parts.split(self.parts.moves(chunk).after).parts)
                for smaller, found in _by_size(following).items():
                    asked.setdefault(smaller, []).extend(found)
        return needed

    def _back_up(self, parts: Words) -> NDArray[np.uint8]:
        """Return the Grundy values of parts: each is the mex of those of the positions that its moves lead to.

        For one part that is ``min(set(range(65)) - {grundy(after) for after in moves(part)})``. Here a set of Grundy
        values is an integer with these bits set, and its lowest bit that is not set is the mex. A part of 64 numbers
        may lead to Grundy values up to 63.
        """
        rows, _, after = self.parts.moves(parts)
        after_rows, after_parts, values = self.parts.split(after)
        np.bitwise_xor.at(values, after_rows, self.find(after_parts))
        first = np.flatnonzero(np.diff(rows, prepend=-1))
        reached = np.bitwise_or.reduceat(Word(1) << values.astype(Word), first)
        mexes: NDArray[np.uint8] = np.bitwise_count(reached & ~(reached + Word(1)))
        return mexes

    def _add(self, parts: Words, values: NDArray[np.uint8]) -> None:
        order = np.argsort(parts)
        places = self._keys.searchsorted(parts[order])
        self._keys = np.insert(self._keys, places, parts[order])
        self._values = np.insert(self._values, places, values[order])


def _chunks(parts: Words) -> list[Words]:
    return [parts[first : first + CHUNK] for first in range(0, len(parts), CHUNK)]


def _by_size(parts: Words) -> dict[int, list[Words]]:
    sizes = np.bitwise_count(parts)
    return {int(size): [parts[sizes == size]] for size in np.unique(sizes)}
