"""Games of the tests' own."""

from __future__ import annotations

from typing import Any, NamedTuple

import gymnasium
import numpy as np
import pettingzoo
from numpy.typing import NDArray

from numduel_env import GAMES, GameSpec, Rules
from numduel_env.batch import BoolArray
from numduel_env.rules import whole_number


class Heap(NamedTuple):
    """How many counters are left."""

    counters: NDArray[np.int64]


class Subtraction(Rules[Heap]):
    """Take one to ``most`` counters from a heap; whoever takes the last one wins."""

    def __init__(self, heap: int, most: int) -> None:
        self.heap = whole_number("heap", heap, 1)
        self.numbers = np.arange(1, whole_number("most", most, 1) + 1)
        self.max_plies = self.heap

    def initial(self, shape: tuple[int, ...] = ()) -> Heap:
        return Heap(np.full(shape, self.heap)[()])

    def legal(self, position: Heap) -> BoolArray:
        return position.counters[..., None] >= self.numbers

    def play(self, position: Heap, action: Any) -> Heap:
        return Heap(position.counters - self.numbers[action])

    def features(self, position: Heap) -> dict[str, NDArray[Any]]:
        return {"counters": position.counters / self.heap}


def forget(spec: GameSpec) -> None:
    """Take a game out of the table, and out of both registries if it is there."""
    del GAMES[spec.name]
    gymnasium.registry.pop(spec.gymnasium_id, None)
    pettingzoo.env_registry.registration.aec_registry.pop(spec.pettingzoo_id, None)
