"""Nim with several heaps, as a game of one's own: a file outside the package that every program can name.

    PYTHONPATH=docs/examples numduel solve nim:Nim
    PYTHONPATH=docs/examples numduel evaluate --game nim:Nim random greedy solver --heaps 3,4,5
    PYTHONPATH=docs/examples python train/ppo.py --game nim:Nim --plies 300000

A move takes some counters from one heap; whoever takes the last one wins. One number says both: 23 takes 3 counters
from heap 2.
"""

from __future__ import annotations

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
        if not all(size.strip() in "123456789" and size.strip() for size in sizes) or len(sizes) > 9:
            raise ValueError(f"heaps must be up to nine sizes from 1 to 9, such as 1,3,5, not {heaps!r}")
        self.sizes = np.array([int(size) for size in sizes])
        self.numbers = np.array(
            [10 * heap + take for heap, size in enumerate(self.sizes, 1) for take in range(1, size + 1)]
        )
        self.heap, self.take = self.numbers // 10 - 1, self.numbers % 10
        self.max_plies = int(self.sizes.sum())

    def initial(self, shape: tuple[int, ...] = ()) -> Heaps:
        return Heaps(np.broadcast_to(self.sizes, (*shape, len(self.sizes))).copy())

    def legal(self, position: Heaps) -> NDArray[np.bool_]:
        return position.left[..., self.heap] >= self.take

    def play(self, position: Heaps, action: Any) -> Heaps:
        chosen = np.arange(len(self.sizes)) == self.heap[action][..., None]
        return Heaps(position.left - chosen * self.take[action][..., None])

    def features(self, position: Heaps) -> dict[str, NDArray[Any]]:
        """The binary digits of each heap."""
        digits = position.left[..., None] >> np.arange(4) & 1
        return {"digits": digits.reshape(*position.left.shape[:-1], -1)}
