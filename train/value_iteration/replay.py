"""The afterstates that were met last, with the values that they should have."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from agents.networks import Floats


class Batch(NamedTuple):
    """Features of afterstates ``[N, k]``, and their values ``[N]``, from -1 to 1."""

    features: Floats
    values: Floats


class Replay:
    """A ring of the latest ``size`` afterstates."""

    def __init__(self, size: int, features: int) -> None:
        self._features, self._values = np.zeros((size, features), np.float32), np.zeros(size, np.float32)
        self._next = self.filled = 0

    def add(self, features: Floats, values: Floats) -> None:
        """Put afterstates in the place of the oldest."""
        places = (self._next + np.arange(len(values))) % len(self._values)
        self._features[places], self._values[places] = features, values
        self._next = (self._next + len(values)) % len(self._values)
        self.filled = min(self.filled + len(values), len(self._values))

    def draw(self, count: int, generator: np.random.Generator) -> Batch:
        """Return ``count`` of them, drawn uniformly with replacement."""
        drawn = generator.integers(0, self.filled, count)
        return Batch(self._features[drawn], self._values[drawn])
