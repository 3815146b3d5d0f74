"""Nim with several heaps, as a game of one's own: a file outside the package that every program can name.

    PYTHONPATH=docs/examples numduel solve nim:Nim
    PYTHONPATH=docs/examples numduel evaluate --game nim:Nim random greedy solver --heaps 3,4,5
    PYTHONPATH=docs/examples python train/ppo.py --game nim:Nim --plies 300000
    PYTHONPATH=docs/examples python train/nimbers.py --game nim:Nim --heaps 1,3,5,7,9,11,13 --minutes 0.5

A move takes some counters from one heap; whoever takes the last one wins. One number says both: 23 takes 3 counters
from heap 2; with a heap of ten or more, 203 does.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from numduel_env import Rules


class Heaps(NamedTuple):
    """How many counters are ``left`` in each heap, ``[..., heaps]``."""

    left: NDArray[np.int64]


class Nim(Rules[Heaps]):
    """Take any number of counters from one heap; whoever takes the last one wins. 23 takes 3 from heap 2."""

    def __init__(self, heaps: str = "1,3,5") -> None:
        sizes = heaps.split(",")
        if not all(re.fullmatch("[1-9][0-9]?", size.strip()) for size in sizes) or len(sizes) > 9:
            raise ValueError(f"heaps must be up to nine sizes from 1 to 99, such as 1,3,5, not {heaps!r}")
        self.sizes = np.array([int(size) for size in sizes])
        self.base = 10 if self.sizes.max() < 10 else 100
        self.numbers = np.array(
            [self.base * heap + take for heap, size in enumerate(self.sizes, 1) for take in range(1, size + 1)]
        )
        self.heap, self.take = self.numbers // self.base - 1, self.numbers % self.base
        self.max_plies = int(self.sizes.sum())
        self.digits = int(self.sizes.max()).bit_length()

    def initial(self, shape: tuple[int, ...] = ()) -> Heaps:
        return Heaps(np.broadcast_to(self.sizes, (*shape, len(self.sizes))).copy())

    def legal(self, position: Heaps) -> NDArray[np.bool_]:
        return position.left[..., self.heap] >= self.take

    def play(self, position: Heaps, action: Any) -> Heaps:
        chosen = np.arange(len(self.sizes)) == self.heap[action][..., None]
        return Heaps(position.left - chosen * self.take[action][..., None])

    def features(self, position: Heaps) -> dict[str, NDArray[Any]]:
        """The binary digits of each heap."""
        digits = position.left[..., None] >> np.arange(self.digits) & 1
        return {"digits": digits.reshape(*position.left.shape[:-1], -1)}

    # Each heap is a game of its own: with these two methods, train/nimbers.py can learn it.

    def disturbs(self) -> NDArray[np.bool_]:
        """The numbers of one heap."""
        return self.heap[:, None] == self.heap

    def position_of(self, legal: NDArray[np.bool_]) -> Heaps:
        """As many counters as may be taken."""
        return Heaps(legal @ (self.heap[:, None] == np.arange(len(self.sizes))).astype(np.int64))
