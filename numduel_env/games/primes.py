"""Which numbers are prime."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray


def is_prime(numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which of ``numbers`` (each at least 2) are prime."""
    largest = int(numbers.max())
    prime = np.ones(largest + 1, bool)
    for divisor in range(2, math.isqrt(largest) + 1):
        prime[divisor * divisor :: divisor] = False
    return prime[numbers]
