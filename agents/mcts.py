"""Monte Carlo tree search over any rules, for many positions at once; the search itself is in ``search_tree.py``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.search_tree import Evaluator, Trees
from numduel_env.batch import BoolArray, random_legal, take_rows
from numduel_env.rules import Rules

BYTES_OF_TREES = 50_000_000
"""What the trees of one batch may take of memory; more positions are searched one batch after another."""

BYTES_PER_MOVE = 17
BYTES_PER_NODE = 500
"""A generous guess at a node's own entries, its position and the key by which it is found."""


class MCTSAgent:
    """Searches a tree of its own for every position, then plays the most visited move.

    Without an evaluator the search is UCT with random rollouts and a bias towards moves that leave few replies; with
    one it is PUCT, by the evaluator's prior and value. Proven results are backed up: the agent plays a move proven to
    win, plays one proven to lose only if all are, and otherwise the most visited, ties by mean value and then by the
    generator. A position whose value is proven is searched no further. A rollout that reaches ``rules.max_plies`` plies
    counts as a draw.

    A tree runs several simulations at once, a share ``at_once`` of those that it has run before; 0 runs one after
    another, which plays no better and takes several times as long.

    All randomness comes from the generator. The positions of a batch draw from it in turn, so a position's choice is
    reproducible with the same batch around it, and may differ in another.
    """

    def __init__(
        self, rules: Rules[Any], simulations: int = 200, evaluator: Evaluator | None = None, at_once: float = 1 / 12
    ) -> None:
        self.rules = rules
        self.simulations = simulations
        self.evaluator = evaluator
        self.at_once = at_once
        self.simulations_run = 0
        """In all searches so far: fewer than were asked for where a position is proven before."""

    def choose(self, position: Any, legal: BoolArray, generator: np.random.Generator) -> NDArray[np.int64]:
        chosen = np.zeros(len(legal), np.int64)
        for first in range(0, len(legal), self._trees_at_once):
            rows = np.arange(first, min(first + self._trees_at_once, len(legal)))
            roots = take_rows(position, rows), legal.take(rows, axis=0)
            trees = Trees(self.rules, *roots, self.simulations, self.evaluator, generator, self.at_once)
            self.simulations_run += trees.grow()
            chosen[rows] = random_legal(trees.preferred(), generator)
        return chosen

    @property
    def _trees_at_once(self) -> int:
        bytes_per_node = len(self.rules.numbers) * BYTES_PER_MOVE + BYTES_PER_NODE
        return max(1, BYTES_OF_TREES // (bytes_per_node * (self.simulations + 1)))
