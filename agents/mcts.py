"""Monte Carlo tree search over any rules, for many positions at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from numduel_env.batch import random_legal
from numduel_env.rules import Position, Rules, any_legal, flattened, put_rows, take_rows

Evaluator = Callable[[Position], tuple[NDArray[Any], NDArray[Any]]]
"""From positions to a prior ``[..., A]`` (probabilities over the legal actions) and a value ``[...]`` to the mover."""

Floats = NDArray[np.float32]
Indices = NDArray[np.int64]
Fates = NDArray[np.int8]

# What is known for certain of a move, to the player who makes it. The order makes the fate of a position the largest
# fate of its moves: one win wins it; else one open move keeps it open; else the best of what is certain is certain.
ILLEGAL, LOST, DRAWN, OPEN, WON = range(-2, 3)
# These three are indexed by fate, which for ILLEGAL and LOST counts from the end: [DRAWN, OPEN, WON, ILLEGAL, LOST].
TURNED = np.array([DRAWN, OPEN, LOST, ILLEGAL, WON], np.int8)
WORTH = np.array([0, 0, 1, 0, -1], np.float32)
PREFERENCE = np.array([2, 2, 3, 0, 1], np.int8)

# Chosen among a few by what they keep on random positions; between 1 and 2 the exploration hardly matters.
UCT_EXPLORATION = 2.0
URGENCY_OF_FEW_REPLIES = 2.0
PUCT_EXPLORATION = 1.5

BYTES_OF_TREES = 50_000_000
BYTES_PER_MOVE = 17
BYTES_PER_NODE = 500
"""A generous guess at a node's own entries, its position and the key by which it is found."""


class MCTSAgent:
    """Searches a tree of its own for every position, then plays the move it looked at most.

    Without an evaluator the search is UCT with random playouts, biased towards moves that leave few replies; with one
    it is PUCT, by the evaluator's prior and value. Proven results are backed up (MCTS-Solver): the agent plays a move
    proven to win, plays one proven to lose only if all are, and otherwise the most visited, ties by mean value and then
    by the generator. A position whose value is proven is searched no further. A playout of ``rules.max_plies`` plies
    counts as a draw.

    All randomness comes from the generator. The positions of a batch draw from it in turn, so a position's choice is
    reproducible with the same batch around it, and may differ in another.
    """

    def __init__(self, rules: Rules, simulations: int, evaluator: Evaluator | None = None) -> None:
        self.rules = rules
        self.simulations = simulations
        self.evaluator = evaluator

    def choose(self, position: Position, generator: np.random.Generator) -> Indices:
        legal = self.rules.legal(position)
        shape = legal.shape[:-1]
        roots = flattened(position, len(shape))
        chosen = np.zeros(shape, np.int64).ravel()
        unfinished = np.flatnonzero(legal.any(-1))
        for first in range(0, len(unfinished), self._trees_at_once):
            rows = unfinished[first : first + self._trees_at_once]
            trees = Trees(self.rules, take_rows(roots, rows), self.simulations, self.evaluator, generator)
            trees.search()
            chosen[rows] = random_legal(trees.preferred(), generator)
        return chosen.reshape(shape)

    @property
    def _trees_at_once(self) -> int:
        bytes_per_node = len(self.rules.numbers) * BYTES_PER_MOVE + BYTES_PER_NODE
        return max(1, BYTES_OF_TREES // (bytes_per_node * (self.simulations + 1)))


class Trees:
    """One graph of positions for each root, all growing in lock step by at most a node per simulation.

    Node ``step * roots + row`` is the one that the graph of ``row`` gained in simulation ``step``; nodes ``0`` to
    ``roots - 1`` are the roots. Move ``node * A + action`` leads from a node to ``child[move]``, or nowhere yet (-1).
    A position that comes up again by another order of moves is the same node, so that its proof counts for both; no
    root profits from the graph of another.
    """

    def __init__(
        self,
        rules: Rules,
        roots: Position,
        simulations: int,
        evaluator: Evaluator | None,
        generator: np.random.Generator,
    ) -> None:
        self.rules, self.evaluator, self.generator = rules, evaluator, generator
        self.simulations = simulations
        self.actions = len(rules.numbers)
        self.roots = len(roots[0])
        nodes = self.roots * (simulations + 1)
        self.positions = roots._make(np.zeros((nodes, *field.shape[1:]), field.dtype) for field in roots)
        self.node_at: dict[bytes, int] = {}
        self.node_fate = np.zeros(nodes, np.int8)
        self.node_value = np.zeros(nodes, np.float32)
        """What a node was found to be worth to its mover when it was new."""
        self.fate = np.zeros((nodes, self.actions), np.int8)
        self.visits = np.zeros((nodes, self.actions), np.float32)
        self.total = np.zeros((nodes, self.actions), np.float32)
        """The sum of a move's results to the player who makes it."""
        self.urgency = np.zeros((nodes, self.actions), np.float32)
        """The evaluator's prior; without an evaluator, larger for moves that leave few replies: soonest proven."""
        self.child = np.full((nodes, self.actions), -1, np.int32)
        everywhere = np.arange(self.roots)
        self._expand(everywhere, roots, self._keys(everywhere, roots))

    def search(self) -> None:
        """Run the simulations, each in every graph whose root is not proven yet."""
        for step in range(1, self.simulations + 1):
            trees = np.flatnonzero(self.node_fate[: self.roots] == OPEN)
            if not len(trees):
                return
            path = self._descend(trees)
            last = np.empty(len(trees), np.int64)
            for rows, move in path:
                last[rows] = move
            # A certain result (a draw: no other is chosen) counts as just that, and so does walking in circles.
            worth = np.zeros(len(trees), np.float32)
            child = self.child.ravel()[last]
            proven = np.flatnonzero((child >= 0) & (self.node_fate[child] != OPEN))
            worth[proven] = -WORTH[self.node_fate[child[proven]]]
            leaves = np.flatnonzero(child < 0)
            leaves = leaves[self.fate.ravel()[last[leaves]] == OPEN]
            if len(leaves):
                worth[leaves] = -self._grow(step, trees[leaves], last[leaves])
            self._back_up(path, worth)

    def preferred(self) -> NDArray[np.bool_]:
        """Return ``[roots, A]``: the moves between which only the generator decides."""
        fate, visits = self.fate[: self.roots], self.visits[: self.roots]
        best: NDArray[np.bool_] = fate != ILLEGAL
        for merit in (PREFERENCE[fate], visits, self.total[: self.roots] / np.maximum(visits, 1)):
            among_best = np.where(best, merit, -np.inf)
            best &= among_best == among_best.max(-1, keepdims=True)
        return best

    def _descend(self, node: Indices) -> list[tuple[Indices, Indices]]:
        """Return, ply by ply, which rows are still on their way and their moves, down to an untried or certain one."""
        path = []
        rows = np.arange(len(node))
        for _ in range(self.rules.max_plies):
            move = node * self.actions + self._promise(node).argmax(-1)
            path.append((rows, move))
            child = self.child.ravel()[move]
            # A node may have been proven on another way to it: then its fate is the result.
            inside = np.flatnonzero((child >= 0) & (self.fate.ravel()[move] == OPEN) & (self.node_fate[child] == OPEN))
            if not len(inside):
                break
            rows, node = rows[inside], child[inside].astype(np.int64)
        return path

    def _promise(self, node: Indices) -> Floats:
        """Return ``[nodes, A]``: how much each move deserves the next simulation, -inf for illegal and lost ones."""
        visits = self.visits[node]
        so_far = visits.sum(-1, keepdims=True)
        tries = 1 + visits
        mean = self.total[node] / np.maximum(visits, 1)
        if self.evaluator is None:
            promise: Floats = mean + UCT_EXPLORATION * np.sqrt(np.log(1 + so_far) / tries)
            promise += URGENCY_OF_FEW_REPLIES * self.urgency[node] / tries
        else:
            promise = mean + PUCT_EXPLORATION * self.urgency[node] * np.sqrt(1 + so_far) / tries
        promise[self.fate[node] < DRAWN] = -np.inf
        return promise

    def _grow(self, step: int, trees: Indices, move: Indices) -> Floats:
        """Give each untried move its node, new or met before, and return the nodes' values to their movers."""
        before = take_rows(self.positions, move // self.actions)
        position = self.rules.play(before, move % self.actions)
        keys = self._keys(trees, position)
        node = self._met_before(keys)
        new = np.flatnonzero(node < 0)
        node[new] = step * self.roots + trees[new]
        self.child.ravel()[move] = node
        if len(new):
            self._expand(node[new], take_rows(position, new), [keys[row] for row in new])
        # All that is known of a node met before stands for one more playout from it.
        evidence = self.node_value[node] + self.total[node].sum(-1)
        mean = evidence / (1 + self.visits[node].sum(-1))
        value: Floats = np.where(self.node_fate[node] == OPEN, mean, WORTH[self.node_fate[node]])
        return value

    def _expand(self, node: Indices, position: Position, keys: list[bytes]) -> None:
        """Fill new nodes; their values are certain, or the evaluator's, or a playout's.

        One ply is looked ahead: for the moves that end the game, so that no finished position ever becomes a node, and
        for those that lead to nodes met before.
        """
        rules = self.rules
        put_rows(self.positions, node, position)
        self.node_at.update(zip(keys, node.tolist()))
        legal = rules.legal(position)
        fate = np.where(legal, np.int8(OPEN), np.int8(ILLEGAL))
        rows, actions = np.nonzero(legal)
        after = rules.play(take_rows(position, rows), actions)
        child = self._met_before(self._keys(node[rows] % self.roots, after))
        self.child[node[rows], actions] = child
        known = np.flatnonzero(child >= 0)
        fate[rows[known], actions[known]] = TURNED[self.node_fate[child[known]]]
        replies = rules.legal(after).sum(-1)
        ends = np.flatnonzero(replies == 0)
        if len(ends):
            worth = -np.sign(rules.value(take_rows(after, ends)))
            fate[rows[ends], actions[ends]] = np.where(worth > 0, WON, worth)
        self.fate[node] = fate
        self.node_fate[node] = node_fate = fate.max(-1)
        value = WORTH[node_fate]
        unsure = np.flatnonzero(node_fate == OPEN)
        if self.evaluator is not None:
            self.urgency[node], guess = self.evaluator(position)
            value[unsure] = np.asarray(guess)[unsure]
        else:
            urgency = np.zeros(fate.shape, np.float32)
            tie_break = 1 + 0.05 * self.generator.random(len(rows), np.float32)
            urgency[rows, actions] = tie_break / (1 + replies) ** 2
            self.urgency[node] = urgency / np.maximum(urgency.sum(-1, keepdims=True), 1e-9)
            if len(unsure):
                value[unsure] = playout_values(rules, take_rows(position, unsure), self.generator)
        self.node_value[node] = value

    def _back_up(self, path: list[tuple[Indices, Indices]], worth: Floats) -> None:
        """Add each simulation's result to the moves on its path, and settle what it proves."""
        fate, visits, total = self.fate.ravel(), self.visits.ravel(), self.total.ravel()
        for rows, move in reversed(path):
            visits[move] += 1
            total[move] += worth[rows]
            worth[rows] *= -1
            proven = TURNED[self.node_fate[self.child.ravel()[move]]]
            settles = np.flatnonzero((proven != OPEN) & (fate[move] == OPEN))
            if len(settles):
                settled, proven = move[settles], proven[settles]
                fate[settled] = proven
                # From now on the move's mean is exact.
                total[settled] = WORTH[proven] * visits[settled]
                node = settled // self.actions
                self.node_fate[node] = self.fate[node].max(-1)

    def _keys(self, trees: Indices, position: Position) -> list[bytes]:
        """Return what tells apart the positions of all graphs."""
        parts = [np.ascontiguousarray(field).reshape(len(trees), -1).view(np.uint8) for field in (trees, *position)]
        table = np.concatenate(parts, axis=-1)
        keys: list[bytes] = table.view(f"V{table.shape[-1]}").ravel().tolist()
        return keys

    def _met_before(self, keys: list[bytes]) -> Indices:
        """Return the node of each key, -1 where there is none."""
        find = self.node_at.get
        return np.array([find(key, -1) for key in keys], np.int64)


def playout_values(rules: Rules, position: Position, generator: np.random.Generator) -> Floats:
    """Return how games played on at random from ``position`` (one batch axis) end for its mover; 0 if they do not."""
    rows = np.arange(len(position[0]))
    values = np.zeros(len(rows), np.float32)
    to_mover = 1
    for _ in range(rules.max_plies + 1):
        legal = rules.legal(position)
        goes_on = any_legal(legal)
        if not goes_on.all():
            ended, rest = np.flatnonzero(~goes_on), np.flatnonzero(goes_on)
            values[rows[ended]] = to_mover * rules.value(take_rows(position, ended))
            if not len(rest):
                break
            rows, position, legal = rows[rest], take_rows(position, rest), legal[rest]
        position = rules.play(position, random_legal(legal, generator))
        to_mover = -to_mover
    return values
