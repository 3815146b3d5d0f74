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
    if hasattr(pettingzoo, "env_registry"):  # since 1.27
        pettingzoo.env_registry.registration.aec_registry.pop(spec.pettingzoo_id, None)


class TwoHeaps(Rules["Heaps"]):
    """Nim with two heaps: number 23 takes 3 counters from heap 2; whoever takes the last one wins."""

    def __init__(self, first: int = 3, second: int = 4, fair: bool = True) -> None:
        self.heaps = np.array([whole_number("first", first, 1, 9), whole_number("second", second, 1, 9)])
        self.fair = fair
        self.numbers = np.array([10 * heap + count for heap in (1, 2) for count in range(1, self.heaps.max() + 1)])
        self.heap, self.count = self.numbers // 10 - 1, self.numbers % 10
        self.max_plies = int(self.heaps.sum())

    def initial(self, shape: tuple[int, ...] = ()) -> Heaps:
        return Heaps(np.broadcast_to(self.heaps, (*shape, 2)).copy())

    def legal(self, position: Heaps) -> BoolArray:
        return position.left[..., self.heap] >= self.count

    def play(self, position: Heaps, action: Any) -> Heaps:
        heap = np.asarray(self.heap[action])[..., None]
        return Heaps(position.left - (np.arange(2) == heap) * np.asarray(self.count[action])[..., None])

    def features(self, position: Heaps) -> dict[str, NDArray[Any]]:
        # An illegal action leaves a position that means nothing.
        return {"left": position.left.clip(0) / self.heaps.max()}


class Heaps(NamedTuple):
    """How many counters are left in each heap."""

    left: NDArray[np.int64]


TWO_HEAPS = GameSpec("two-heaps", "Two Heaps", TwoHeaps, {"first": 2, "second": 2})


class Misshapen(TwoHeaps):
    """Breaks the contract: its mask has numbers, not bools."""

    def legal(self, position: Heaps) -> Any:
        return super().legal(position).astype(int)


class Seeded(TwoHeaps):
    """Has a parameter that programs have, too."""

    def __init__(self, seed: int = 3) -> None:
        super().__init__(seed)


class Pins(NamedTuple):
    """Which pins of a row stand."""

    standing: BoolArray


class Kayles(Rules[Pins]):
    """Knock over one pin of a row, or two neighbours; whoever knocks over the last one wins.

    Number 3 is the third pin alone, 103 is the third and the fourth.
    """

    def __init__(self, pins: int = 7) -> None:
        self.pins = whole_number("pins", pins, 2, 32)
        self.numbers = np.concatenate([np.arange(pins), 100 + np.arange(pins - 1)]) + 1
        place = np.arange(pins)
        self.hits = (place == (self.numbers[:, None] - 1) % 100) | (place == (self.numbers[:, None] - 1) - 99)
        self.max_plies = pins

    def initial(self, shape: tuple[int, ...] = ()) -> Pins:
        return Pins(np.ones((*shape, self.pins), bool))

    def legal(self, position: Pins) -> BoolArray:
        return (position.standing[..., None, :] | ~self.hits).all(-1)

    def play(self, position: Pins, action: Any) -> Pins:
        return Pins(position.standing & ~self.hits[action])

    def features(self, position: Pins) -> dict[str, NDArray[Any]]:
        return {"standing": position.standing}

    def disturbs(self) -> BoolArray:
        return (self.hits[:, None] & self.hits).any(-1)

    def position_of(self, legal: BoolArray) -> Pins:
        return Pins(legal[..., : self.pins])
