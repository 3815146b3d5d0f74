"""Intervals and ratings."""

from __future__ import annotations

import numpy as np
import pytest

from numduel_env.evaluation.ratings import bradley_terry, wilson


def test_intervals():
    low, high = wilson(50, 100)
    assert (low, high) == (pytest.approx(0.4038, abs=1e-4), pytest.approx(0.5962, abs=1e-4))
    assert wilson(0, 10)[0] == 0 and wilson(10, 10)[1] == 1
    assert wilson(10, 10)[0] == pytest.approx(0.7225, abs=1e-4)


def test_ratings_recover_true_strengths():
    true = np.array([-300.0, -50.0, 100.0, 250.0])
    expected = 1 / (1 + 10 ** ((true[None] - true[:, None]) / 400))
    points = 1e6 * expected * (1 - np.eye(4))
    np.testing.assert_allclose(bradley_terry(points), true, atol=0.1)
    order = [2, 0, 3, 1]
    np.testing.assert_allclose(bradley_terry(points[np.ix_(order, order)]), true[order], atol=0.1)


def test_ratings_stay_finite_and_fair():
    points = np.array([[0, 1000, 1000], [0, 0, 500], [0, 500, 0.0]])
    best, second, third = bradley_terry(points)
    assert np.isfinite(best) and best > 500
    assert second == pytest.approx(third) and best + second + third == pytest.approx(0)
