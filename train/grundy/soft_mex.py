"""The mex of Grundy values that are not known for certain: a distribution from distributions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from agents.networks import Floats
from agents.nimbers import PartObserver
from numduel_env.parts import Words

Distributions = Callable[[Words], Floats]
"""Returns how probable each Grundy value of parts is, ``[N, values]``."""


def sums(observer: PartObserver, words: Words, distributions: Distributions) -> Floats:
    """Return ``[N, values]``, the distribution of the Grundy value of each word: that of its parts' Nim sum."""
    split = observer.parts.split(words)
    unique, where = np.unique(split.parts, return_inverse=True)
    transformed = observer.transformed_sums(split, unique, where, distributions(unique))
    found: Floats = (transformed @ observer.walsh_hadamard / observer.values).clip(0, 1)
    return found


def soft_mex(observer: PartObserver, parts: Words, distributions: Distributions) -> Floats:
    """Return ``[N, values]``, the distribution of the Grundy value of each part: that of the mex over its moves.

    A value is left by some move, or by none. For each value the moves are taken for independent of each other, and then
    the values of each other; they are neither, since two moves may leave the same parts, and one move leaves one value
    alone. So this is exact where the parts are known, and else a guess: the mex is k with the probability that no move
    leaves k, times those that some move leaves each smaller value. That is, over all sets of values::

        for left in subsets(values):
            found[mex(left)] += product(some_move[v] if v in left else 1 - some_move[v] for v in values)
    """
    rows, _, after = observer.parts.moves(parts)
    unique, where = np.unique(after, return_inverse=True)
    # Not quite 1, which has no logarithm of its complement.
    leaves = sums(observer, unique, distributions)[where].clip(0, 1 - 1e-6)
    first = np.flatnonzero(np.diff(rows, prepend=-1))
    no_move = np.exp(np.add.reduceat(np.log1p(-leaves), first, axis=0))
    all_below = np.cumprod(1 - no_move, axis=-1)
    found: Floats = no_move.copy()
    found[:, 1:] *= all_below[:, :-1]
    found /= found.sum(-1, keepdims=True)
    return found
