"""Positions of any game as sortable keys, and back."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic

import numpy as np
from numpy.typing import NDArray

from numduel_env.batch import BoolArray, PositionT

WORD = 48
"""Bools that are packed into one integer: whole bytes, and less than 63 bits."""

Columns = list[NDArray[np.int64]]
"""A batch of positions as integers, the first the most significant."""

Keys = NDArray[Any]
"""A batch of positions as one sortable value each: an int64, or a byte string where that is too small."""


class Fields(Generic[PositionT]):
    """Splits the fields of a position into columns of integers, and joins them again."""

    def __init__(self, one: PositionT) -> None:
        """Take the shapes and dtypes of the fields from a batch of one position, of shape (1,)."""
        self._make = one._make
        self._shapes = [field.shape[1:] for field in one]
        self._dtypes = [field.dtype for field in one]
        for name, field in zip(one._fields, one):
            if field.dtype.kind not in "biu":
                raise TypeError(f"positions must be made of bools and integers, but {name} is {field.dtype}")

    def batch_shape(self, position: PositionT) -> tuple[int, ...]:
        shape: tuple[int, ...] = np.shape(position[0])
        return shape[: len(shape) - len(self._shapes[0])]

    def split(self, position: PositionT) -> Columns:
        columns: Columns = []
        for field, shape, dtype in zip(position, self._shapes, self._dtypes):
            flat = np.reshape(field, (-1, *(shape or (1,))))
            if dtype == np.bool_:
                columns.extend(_as_integers(flat))
            else:
                columns.extend(flat.T.astype(np.int64))
        return columns

    def join(self, columns: Columns) -> PositionT:
        fields = []
        left = iter(columns)
        for shape, dtype in zip(self._shapes, self._dtypes):
            width = shape[0] if shape else 1
            if dtype == np.bool_:
                parts = [next(left)[:, None] >> np.arange(last - first) & 1 for first, last in _words(width)]
                flat = np.concatenate(parts, axis=1)
            else:
                flat = np.stack([next(left) for _ in range(width)], axis=1)
            fields.append(flat.astype(dtype).reshape(-1, *shape))
        return self._make(fields)


def _as_integers(flags: BoolArray) -> Iterator[NDArray[np.int64]]:
    """Yield each word of rows ``[n, width]`` of bools as integers ``[n]``, the first bool in the lowest bit.

    For the bools from ``first`` to ``last`` this is ``flags[:, first:last] @ (1 << np.arange(last - first))``.
    """
    packed = np.packbits(flags, axis=1, bitorder="little")
    for first in range(0, packed.shape[1], WORD // 8):
        own = packed[:, first : first + WORD // 8]
        word = np.zeros((len(flags), 8), np.uint8)
        word[:, : own.shape[1]] = own
        yield word.view("<i8").ravel().astype(np.int64, copy=False)


def _words(width: int) -> Iterator[tuple[int, int]]:
    """Yield where each word of a row of bools begins and ends."""
    for first in range(0, width, WORD):
        yield first, min(first + WORD, width)


@dataclass(frozen=True)
class Packing:
    """Packs columns within known bounds into keys that sort like the columns do, whatever the bounds.

    Keys are integers, the columns their digits, where 63 bits are enough, and byte strings otherwise.
    """

    low: tuple[int, ...]
    high: tuple[int, ...]

    @classmethod
    def spanning(cls, columns: Columns) -> Packing:
        return cls(tuple(int(column.min()) for column in columns), tuple(int(column.max()) for column in columns))

    def widened(self, columns: Columns) -> Packing:
        """Return a packing that fits ``columns`` as well."""
        other = self.spanning(columns)
        return Packing(tuple(map(min, self.low, other.low)), tuple(map(max, self.high, other.high)))

    def fits(self, columns: Columns) -> bool:
        return all(
            not len(column) or (column.min() >= low and column.max() <= high)
            for column, low, high in zip(columns, self.low, self.high)
        )

    @cached_property
    def _sizes(self) -> list[int]:
        return [high - low + 1 for low, high in zip(self.low, self.high)]

    @cached_property
    def _as_integers(self) -> bool:
        return math.prod(self._sizes) < 2**63

    def pack(self, columns: Columns) -> Keys:
        digits = [column - low for column, low in zip(columns, self.low)]
        if not self._as_integers:
            # Big-endian, so that bytes compare as the numbers do.
            return np.stack(digits, axis=1).astype(">i8").view(f"S{8 * len(digits)}").ravel()
        keys = digits[0]
        for digit, size in zip(digits[1:], self._sizes[1:]):
            keys = keys * size + digit
        return keys

    def unpack(self, keys: Keys) -> Columns:
        digits = []
        if self._as_integers:
            for size in reversed(self._sizes):
                keys, digit = np.divmod(keys, size)
                digits.append(digit)
            digits.reverse()
        else:
            digits = list(keys.view(">i8").reshape(len(keys), len(self.low)).T.astype(np.int64))
        return [digit + low for digit, low in zip(digits, self.low)]
