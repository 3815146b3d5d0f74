"""The tree that ``MCTSAgent`` searches: selection, expansion, evaluation and backup, for many positions in lock step.

The frame is UCT. What is added to it, and where it comes from:

- UCT: L. Kocsis, C. Szepesvári, "Bandit based Monte-Carlo planning", ECML 2006; with a progressive bias, G. Chaslot et
  al., "Progressive strategies for Monte-Carlo tree search", New Mathematics and Natural Computation 4(3), 2008.
- PUCT, where an evaluator gives priors and values: C. Rosin, "Multi-armed bandits with episode context", Annals of
  Mathematics and AI 61(3), 2011, as in D. Silver et al., "Mastering the game of Go without human knowledge", 2017.
- MCTS-Solver, which backs up proven results: M. Winands, Y. Björnsson, J.-T. Saito, "Monte-Carlo tree search solver",
  Computers and Games 2008.
- Transpositions: B. Childs, J. Brodeur, L. Kocsis, "Transpositions and move groups in Monte Carlo tree search",
  Computational Intelligence and Games 2008.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from numduel_env.batch import BoolArray, Position, any_legal, put_rows, random_legal, take_rows
from numduel_env.rules import Rules

Evaluator = Callable[[Any, BoolArray], tuple[NDArray[Any], NDArray[Any]]]
"""Called with positions and masks ``[N, A]``, which it may write into; returns a prior ``[N, A]`` over the legal moves
and the values ``[N]`` to the movers."""

Floats = NDArray[np.float32]
Indices = NDArray[np.int64]


class Proof(IntEnum):
    """What is proven of a move, to the player who makes it, or of a position, to the player to move.

    The order makes the proof of a position the largest of its moves': one win wins it; else one open move keeps it
    open; else the best of what is proven is proven of it.
    """

    ILLEGAL = 0
    LOST = 1
    DRAWN = 2
    OPEN = 3
    WON = 4


# NumPy compares an array with an int eight times as fast as with the member of an enumeration.
ILLEGAL, LOST, DRAWN, OPEN, WON = map(int, Proof)

# Three tables by proof: what it is to the other player, its value, and in which order moves are preferred in the end.
TO_THE_OTHER = np.array([ILLEGAL, WON, DRAWN, OPEN, LOST], np.int8)
VALUE = np.array([0, -1, 0, 0, 1], np.float32)
PREFERENCE = np.array([0, 1, 2, 2, 3], np.int8)

# Chosen among a few by what they keep on random positions; between 1 and 2 the exploration hardly matters.
UCT_EXPLORATION = 2.0
PROGRESSIVE_BIAS = 2.0
PUCT_EXPLORATION = 1.5

NOWHERE = -1
"""The child of a move that leads to no node yet."""


class Trees:
    """One tree for each root, all growing in lock step by at most a node per simulation.

    Node ``simulation * roots + row`` is the one that the tree of ``row`` gained in that simulation; nodes ``0`` to
    ``roots - 1`` are the roots. Move ``node * A + action`` leads from a node to ``child[move]``. A position that comes
    up again by another order of moves is the same node, so that its proof counts for both: the trees are graphs, with
    cycles where positions can come again. No root profits from the tree of another.

    Visit counts and values are kept for each move, as in Childs et al.'s UCT1, and values are those to the player who
    makes it.
    """

    def __init__(
        self,
        rules: Rules[Any],
        roots: Position,
        legal: BoolArray,
        simulations: int,
        evaluator: Evaluator | None,
        generator: np.random.Generator,
    ) -> None:
        self.rules, self.evaluator, self.generator = rules, evaluator, generator
        self.simulations = simulations
        self.roots, self.actions = legal.shape
        nodes = self.roots * (simulations + 1)
        self.position = roots._make(np.zeros((nodes, *field.shape[1:]), field.dtype) for field in roots)
        self.node_at: dict[bytes, int] = {}
        self.node_proof = np.zeros(nodes, np.int8)
        self.node_value = np.zeros(nodes, np.float32)
        """The value that a node was given when it was new, to its mover."""
        self.proof = np.zeros((nodes, self.actions), np.int8)
        self.visits = np.zeros((nodes, self.actions), np.float32)
        self.value_sum = np.zeros((nodes, self.actions), np.float32)
        self.prior = np.zeros((nodes, self.actions), np.float32)
        self.child = np.full((nodes, self.actions), NOWHERE, np.int32)
        everywhere = np.arange(self.roots)
        self._add_nodes(everywhere, roots, legal, self._keys(everywhere, roots))

    def grow(self) -> None:
        """Run the simulations, each in every tree whose root is not proven yet."""
        for simulation in range(1, self.simulations + 1):
            trees = np.flatnonzero(self.node_proof[: self.roots] == OPEN)
            if not len(trees):
                return
            path = self._select(trees)
            last = np.empty(len(trees), np.int64)
            for rows, move in path:
                last[rows] = move
            self._back_up(path, self._results(simulation, trees, last))

    def preferred(self) -> BoolArray:
        """Return ``[roots, A]``, the best moves: by proof, then by visit count, then by mean value."""
        proof, visits = self.proof[: self.roots], self.visits[: self.roots]
        best: BoolArray = proof != ILLEGAL
        for merit in (PREFERENCE[proof], visits, self.value_sum[: self.roots] / np.maximum(visits, 1)):
            among_best = np.where(best, merit, -np.inf)
            best &= among_best == among_best.max(-1, keepdims=True)
        return best

    def _select(self, node: Indices) -> list[tuple[Indices, Indices]]:
        """Return, ply by ply, which rows are still within their trees and the moves they make there.

        A row leaves its tree with a move that has no node yet, or whose result is proven.
        """
        path = []
        rows = np.arange(len(node))
        for _ in range(self.rules.max_plies):
            move = node * self.actions + self._selection_scores(node).argmax(-1)
            path.append((rows, move))
            child = self.child.ravel()[move]
            # A node may have been proven by way of another move, before this move is marked as proven.
            open_child = (child != NOWHERE) & (self.node_proof[child] == OPEN)
            inside = np.flatnonzero(open_child & (self.proof.ravel()[move] == OPEN))
            if not len(inside):
                break
            rows, node = rows[inside], child[inside].astype(np.int64)
        return path

    def _selection_scores(self, node: Indices) -> Floats:
        """Return ``[nodes, A]``, the upper confidence bounds by UCT or PUCT, -inf for illegal and lost moves."""
        visits = self.visits[node]
        node_visits = visits.sum(-1, keepdims=True)
        mean = self.value_sum[node] / np.maximum(visits, 1)
        if self.evaluator is None:
            scores: Floats = mean + UCT_EXPLORATION * np.sqrt(np.log(1 + node_visits) / (1 + visits))
            scores += PROGRESSIVE_BIAS * self.prior[node] / (1 + visits)
        else:
            scores = mean + PUCT_EXPLORATION * self.prior[node] * np.sqrt(1 + node_visits) / (1 + visits)
        scores[self.proof[node] < DRAWN] = -np.inf
        return scores

    def _results(self, simulation: int, trees: Indices, last: Indices) -> Floats:
        """Return the values of the simulations' last moves, to the players who make them; new nodes are added."""
        # A move that ends in a draw keeps this zero, and so does walking in circles; one that wins or loses at once
        # has never been selected.
        values = np.zeros(len(trees), np.float32)
        child = self.child.ravel()[last]
        proven = np.flatnonzero((child != NOWHERE) & (self.node_proof[child] != OPEN))
        values[proven] = -VALUE[self.node_proof[child[proven]]]
        leaves = np.flatnonzero((child == NOWHERE) & (self.proof.ravel()[last] == OPEN))
        if len(leaves):
            values[leaves] = -self._expand(simulation, trees[leaves], last[leaves])
        return values

    def _expand(self, simulation: int, trees: Indices, move: Indices) -> Floats:
        """Give each move its node, new or met before, and return the nodes' values to their movers."""
        position = self.rules.play(take_rows(self.position, move // self.actions), move % self.actions)
        keys = self._keys(trees, position)
        node = self._nodes_at(keys)
        new = np.flatnonzero(node == NOWHERE)
        node[new] = simulation * self.roots + trees[new]
        self.child.ravel()[move] = node
        if len(new):
            added = take_rows(position, new)
            self._add_nodes(node[new], added, self.rules.legal(added), [keys[row] for row in new])
        # All that is known of a node met before stands for one more evaluation of it.
        mean = (self.node_value[node] + self.value_sum[node].sum(-1)) / (1 + self.visits[node].sum(-1))
        values: Floats = np.where(self.node_proof[node] == OPEN, mean, VALUE[self.node_proof[node]])
        return values

    def _add_nodes(self, node: Indices, position: Position, legal: BoolArray, keys: list[bytes]) -> None:
        """Fill new nodes: which moves are proven at once, the priors, and the values.

        One ply is looked ahead: for the moves that end the game, so that no finished position ever becomes a node, and
        for those that lead to nodes met before.
        """
        put_rows(self.position, node, position)
        self.node_at.update(zip(keys, node.tolist()))
        rows, actions = np.nonzero(legal)
        after = self.rules.play(take_rows(position, rows), actions)
        replies = self.rules.legal(after).sum(-1)
        child = self._nodes_at(self._keys(node[rows] % self.roots, after))
        self.child[node[rows], actions] = child
        self.proof[node[rows], actions] = self._proofs(child, after, replies)
        self.node_proof[node] = proof = self.proof[node].max(-1)
        self.node_value[node] = VALUE[proof]
        undecided = np.flatnonzero(proof == OPEN)
        if self.evaluator is None:
            self.prior[node] = self._prior_by_replies(legal.shape, rows, actions, replies)
            if len(undecided):
                played_on = take_rows(position, undecided), legal.take(undecided, axis=0)
                self.node_value[node[undecided]] = rollout_values(self.rules, *played_on, self.generator)
        else:
            self.prior[node], values = self.evaluator(position, legal)
            self.node_value[node[undecided]] = np.asarray(values)[undecided]

    def _proofs(self, child: Indices, after: Position, replies: NDArray[Any]) -> NDArray[np.int8]:
        """Return what is known at once of moves that lead to ``child`` and ``after``, with this many ``replies``."""
        proof = np.full(len(child), OPEN, np.int8)
        known = np.flatnonzero(child != NOWHERE)
        proof[known] = TO_THE_OTHER[self.node_proof[child[known]]]
        if len(ends := np.flatnonzero(replies == 0)):
            value = self.rules.value(take_rows(after, ends))
            proof[ends] = np.where(value < 0, WON, np.where(value > 0, LOST, DRAWN))
        return proof

    def _prior_by_replies(
        self, shape: tuple[int, ...], rows: Indices, actions: Indices, replies: NDArray[Any]
    ) -> Floats:
        """Return a prior ``[N, A]`` for the progressive bias: moves that leave few replies are proven soonest."""
        prior = np.zeros(shape, np.float32)
        tie_break = 1 + 0.05 * self.generator.random(len(rows), np.float32)
        prior[rows, actions] = tie_break / (1 + replies) ** 2
        normalised: Floats = prior / np.maximum(prior.sum(-1, keepdims=True), 1e-9)
        return normalised

    def _back_up(self, path: list[tuple[Indices, Indices]], values: Floats) -> None:
        """Add each simulation's value to the moves on its path, and to the proofs what it proves."""
        proof, visits, value_sum = self.proof.ravel(), self.visits.ravel(), self.value_sum.ravel()
        for rows, move in reversed(path):
            visits[move] += 1
            value_sum[move] += values[rows]
            values[rows] *= -1
            found = TO_THE_OTHER[self.node_proof[self.child.ravel()[move]]]
            settled = np.flatnonzero((found != OPEN) & (proof[move] == OPEN))
            if len(settled):
                move, found = move[settled], found[settled]
                proof[move] = found
                # From now on the mean value of the move is exact.
                value_sum[move] = VALUE[found] * visits[move]
                node = move // self.actions
                self.node_proof[node] = self.proof[node].max(-1)

    def _keys(self, trees: Indices, position: Position) -> list[bytes]:
        """Return a key for each position, different for different positions and for different trees."""
        parts = [np.ascontiguousarray(field).reshape(len(trees), -1).view(np.uint8) for field in (trees, *position)]
        table = np.concatenate(parts, axis=-1)
        keys: list[bytes] = table.view(f"V{table.shape[-1]}").ravel().tolist()
        return keys

    def _nodes_at(self, keys: list[bytes]) -> Indices:
        """Return the node of each key, ``NOWHERE`` if there is none."""
        return np.fromiter(map(self.node_at.get, keys, repeat(NOWHERE)), np.int64, len(keys))


def rollout_values(rules: Rules[Any], position: Position, legal: BoolArray, generator: np.random.Generator) -> Floats:
    """Return the values of unfinished positions by one rollout each: a game played on at random, 0 if it never ends."""
    rows = np.arange(len(legal))
    values = np.zeros(len(rows), np.float32)
    to_mover = 1
    for _ in range(rules.max_plies):
        position = rules.play(position, random_legal(legal, generator))
        legal = rules.legal(position)
        to_mover = -to_mover
        goes_on = any_legal(legal)
        if not goes_on.all():
            ended, rest = np.flatnonzero(~goes_on), np.flatnonzero(goes_on)
            values[rows[ended]] = to_mover * rules.value(take_rows(position, ended))
            if not len(rest):
                break
            rows, position, legal = rows[rest], take_rows(position, rest), legal[rest]
    return values
