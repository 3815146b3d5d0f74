"""Positions to ask solvers about."""

from __future__ import annotations

from typing import Any

import numpy as np

from numduel_env.batch import random_legal
from numduel_env.rules import Rules


def random_positions(rules: Rules[Any], count: int, seed: int) -> Any:
    """Return one position of each of ``count`` random games, all its plies equally likely, the last included."""
    generator = np.random.default_rng(seed)
    position = picked = rules.initial((count,))
    for ply in range(1, rules.max_plies + 1):
        legal = rules.legal(position)
        playing = legal.any(-1)
        after = rules.play(position, random_legal(legal, generator))
        # Reservoir sampling: in the end every ply has had the same chance.
        replaced = playing & (generator.random(count) * (ply + 1) < 1)
        picked = _where(replaced, after, picked)
        position = _where(playing, after, position)
    return picked


def _where(rows: np.ndarray, new: Any, old: Any) -> Any:
    return new._make(np.where(rows.reshape(-1, *[1] * (field.ndim - 1)), field, kept) for field, kept in zip(new, old))
