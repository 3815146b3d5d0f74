"""Statistics of results: intervals and ratings."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Z = 1.959964
"""Half the width of a 95% interval, in standard deviations."""


def wilson(points: float, count: int) -> tuple[float, float]:
    """Return Wilson's 95% interval of the share that ``points`` are of ``count`` duels, a draw half a point.

    Wilson (1927), "Probable inference, the law of succession, and statistical inference".
    """
    share = points / count
    scale = 1 + Z * Z / count
    centre = (share + Z * Z / (2 * count)) / scale
    spread = Z * math.sqrt(share * (1 - share) / count + Z * Z / (4 * count * count)) / scale
    # Rounding must not put the share itself outside.
    return max(0.0, min(share, centre - spread)), min(1.0, max(share, centre + spread))


def bradley_terry(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ratings on the Elo scale, their mean 0, from ``points[i, j]``, what ``i`` scored against ``j``.

    The maximum likelihood of the Bradley-Terry model by the MM algorithm of Hunter (2004). One drawn duel is added
    between every two, so that the rating of one who wins everything stays finite.
    """
    count = len(points)
    points = points + 0.5 * (1 - np.eye(count))
    duels = points + points.T
    strength = np.ones(count)
    for _ in range(100_000):
        stronger = points.sum(1) / (duels / (strength[:, None] + strength)).sum(1)
        stronger /= np.exp(np.log(stronger).mean())
        settled = np.abs(np.log(stronger / strength)).max() < 1e-9
        strength = stronger
        if settled:
            break
    ratings: NDArray[np.float64] = 400 * np.log10(strength)
    return ratings
