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
- Several simulations at once, each counted as a visit from the moment it is under way: A. Liu et al., "Watch the
  unobserved: a simple approach to parallelizing Monte Carlo tree search", ICLR 2020.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.transpositions import NOWHERE, Indices, Keys, Transpositions, position_keys
from numduel_env.batch import BoolArray, Position, any_legal, count_legal, put_rows, random_legal, take_rows
from numduel_env.rules import Rules

Evaluator = Callable[[Any, BoolArray], tuple[NDArray[Any], NDArray[Any]]]
"""Called with positions and masks ``[N, A]``, which it may write into; returns a prior ``[N, A]`` over the legal moves
and the values ``[N]`` to the movers."""

Floats = NDArray[np.float32]


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

FEW_BOUNDS = 3_000
"""So many upper confidence bounds are sorted sooner than looked through one simulation after another."""


class Level(NamedTuple):
    """What the simulations under way do at one depth: those that make the same move after the same moves are a group.

    ``parent`` is the group of the level above (at the root the row of the tree), ``size`` its simulations.
    """

    parent: Indices
    move: Indices
    size: Indices


class Trees:
    """One tree for each root, all growing in lock step.

    In each step a tree runs a share ``at_once`` of the simulations that it has run before, but at least ``LEAST``; with
    ``at_once`` 0 it runs one after another. Each adds at most a node. Nodes ``0`` to ``roots - 1`` are the roots. Move
    ``node * A + action`` leads from a node to ``child[move]``. A position that comes up again by another order of moves
    is the same node, so that its proof counts for both: the trees are graphs, with cycles where positions can come
    again. No root profits from the tree of another.

    Visit counts and values are kept for each move, as in Childs et al.'s UCT1, and values are those to the player who
    makes it.
    """

    LEAST = 6

    def __init__(
        self,
        rules: Rules[Any],
        roots: Position,
        legal: BoolArray,
        simulations: int,
        evaluator: Evaluator | None,
        generator: np.random.Generator,
        at_once: float,
    ) -> None:
        self.rules, self.evaluator, self.generator = rules, evaluator, generator
        self.simulations, self.at_once = simulations, at_once
        self.roots, self.actions = legal.shape
        most = self.roots * (simulations + 1)
        self.nodes = 0
        self.position = roots._make(np.zeros((most, *field.shape[1:]), field.dtype) for field in roots)
        self.transpositions = Transpositions(most)
        self.tree = np.zeros(most, np.int64)
        self.node_proof = np.full(most, OPEN, np.int8)
        self.node_value = np.zeros(most, np.float32)
        """The value that a node was given when it was new, to its mover."""
        self.proof = np.zeros((most, self.actions), np.int8)
        self.visits = np.zeros((most, self.actions), np.float32)
        self.value_sum = np.zeros((most, self.actions), np.float32)
        self.prior = np.zeros((most, self.actions), np.float32)
        self.child = np.full((most, self.actions), NOWHERE, np.int32)
        self.open_links = np.zeros(0, np.int64)
        """The moves that lead to a node whose value is not proven, as far as is known."""
        everywhere = np.arange(self.roots)
        self._add_nodes(everywhere, roots, legal, position_keys(everywhere, roots))

    def grow(self) -> int:
        """Run the simulations, each in every tree whose root is not proven yet, and return how many that were."""
        done = np.zeros(self.roots, np.int64)
        while True:
            trees = np.flatnonzero((self.node_proof[: self.roots] == OPEN) & (done < self.simulations))
            if not len(trees):
                return int(done.sum())
            budget = np.maximum((done[trees] * self.at_once).astype(np.int64), self.LEAST if self.at_once else 1)
            levels, ends = self._select(trees, np.minimum(budget, self.simulations - done[trees]))
            values = self._results(np.concatenate([level.move[end] for level, end in zip(levels, ends)]))
            done[trees] += self._back_up(len(trees), levels, ends, values)
            self._prove()

    def preferred(self) -> BoolArray:
        """Return ``[roots, A]``, the best moves: by proof, then by visit count, then by mean value."""
        proof, visits = self.proof[: self.roots], self.visits[: self.roots]
        best: BoolArray = proof != ILLEGAL
        for merit in (PREFERENCE[proof], visits, mean_values(self.value_sum[: self.roots], visits)):
            among_best = np.where(best, merit, -np.inf)
            best &= among_best == among_best.max(-1, keepdims=True)
        return best

    def _select(self, node: Indices, budget: Indices) -> tuple[list[Level], list[Indices]]:
        """Send simulations down from nodes; return the levels, and which groups of each leave their trees there.

        A group leaves with a move that has no node yet, or whose result is proven.
        """
        levels, ends = [], []
        parent = np.arange(len(node))
        for _ in range(self.rules.max_plies):
            picks = self._picks(node, budget)
            rows, actions = picks.nonzero()
            level = Level(parent[rows], node[rows] * self.actions + actions, picks[rows, actions])
            child = self.child.ravel()[level.move]
            # A node may have been proven by way of another move, before this move is marked as proven.
            goes_on = (child != NOWHERE) & (self.node_proof[child] == OPEN) & (self.proof.ravel()[level.move] == OPEN)
            levels.append(level)
            ends.append(np.flatnonzero(~goes_on))
            parent = np.flatnonzero(goes_on)
            if not len(parent):
                break
            node, budget = child[parent].astype(np.int64), level.size[parent]
        else:
            ends[-1] = np.arange(len(level.move))  # walking in circles ends, too
        return levels, ends

    def _picks(self, node: Indices, budget: Indices) -> Indices:
        """Return ``[nodes, A]``: how many of a node's simulations make each move, of at most ``budget``.

        They choose one after another the move with the highest upper confidence bound; those that are under way count
        as visits, and leave the mean value as it is. A move that leads to no node yet is made once: the node is not
        there to go on from.
        """
        visits, prior = self.visits[node], self.prior[node]
        mean = mean_values(self.value_sum[node], visits)
        node_visits = visits.sum(-1) + (budget - 1).astype(np.float32)
        bounds = self._bounds(mean, visits, prior, node_visits[:, None])
        bounds[self.proof[node] < DRAWN] = -np.inf
        once = (self.child[node] == NOWHERE) & (self.proof[node] == OPEN)
        most = int(budget.max())
        if most > 1 and bounds.size * most <= FEW_BOUNDS:
            return self._best_picks(budget, mean, visits, prior, node_visits, (bounds == -np.inf, once))
        picks = np.zeros(visits.shape, np.int64)
        largest_first = np.argsort(-budget, kind="stable")
        for turn in range(most):
            rows = largest_first[: np.count_nonzero(budget > turn)]
            best = bounds.argmax(-1)[rows] if turn == 0 else bounds[rows].argmax(-1)
            at = rows * self.actions + best
            possible = bounds.ravel()[at] > -np.inf
            picks.ravel()[at] += possible
            if turn + 1 < most:
                visits.ravel()[at] += 1
                now = mean.ravel()[at], visits.ravel()[at], prior.ravel()[at]
                lower = self._bounds(*now, node_visits[rows])
                lower[once.ravel()[at] | ~possible] = -np.inf
                bounds.ravel()[at] = lower
        return picks

    def _best_picks(
        self,
        budget: Indices,
        mean: Floats,
        visits: Floats,
        prior: Floats,
        node_visits: Floats,
        never_or_once: tuple[BoolArray, BoolArray],
    ) -> Indices:
        """Return the picks of few simulations all at once.

        With every visit the bound of a move falls or stays. So those who choose one after another make, together, the
        visits with the highest bounds; of equal bounds the first.
        """
        never, once = never_or_once
        further = np.arange(budget.max(), dtype=np.float32)
        bounds = self._bounds(
            mean[..., None], visits[..., None] + further, prior[..., None], node_visits[:, None, None]
        )
        bounds[never] = -np.inf
        bounds[..., 1:][once] = -np.inf
        bounds = bounds.reshape(len(budget), -1)
        best_first = np.argsort(-bounds, axis=-1, kind="stable")[:, : len(further)]
        made = (further < budget[:, None]) & (np.take_along_axis(bounds, best_first, -1) > -np.inf)
        rows, places = np.nonzero(made)
        moves = rows * self.actions + best_first[rows, places] // len(further)
        return np.bincount(moves, minlength=mean.size).reshape(mean.shape)

    def _bounds(
        self, mean: NDArray[Any], visits: NDArray[Any], prior: NDArray[Any], node_visits: NDArray[Any]
    ) -> Floats:
        """Return the upper confidence bounds of moves by UCT or PUCT."""
        if self.evaluator is None:
            bounds: Floats = mean + UCT_EXPLORATION * np.sqrt(np.log(1 + node_visits) / (1 + visits))
            bounds += PROGRESSIVE_BIAS * prior / (1 + visits)
        else:
            bounds = mean + PUCT_EXPLORATION * prior * np.sqrt(1 + node_visits) / (1 + visits)
        return bounds

    def _results(self, last: Indices) -> Floats:
        """Return the values of the simulations' last moves, to the players who make them; new nodes are added."""
        # A move that ends in a draw keeps this zero, and so does walking in circles; one that wins or loses at once
        # has never been selected.
        values = np.zeros(len(last), np.float32)
        child = self.child.ravel()[last]
        proven = np.flatnonzero((child != NOWHERE) & (self.node_proof[child] != OPEN))
        values[proven] = -VALUE[self.node_proof[child[proven]]]
        leaves = np.flatnonzero((child == NOWHERE) & (self.proof.ravel()[last] == OPEN))
        if len(leaves):
            values[leaves] = -self._expand(last[leaves])
        return values

    def _expand(self, move: Indices) -> Floats:
        """Give each move its node, new or met before, and return the nodes' values to their movers."""
        parent = move // self.actions
        position = self.rules.play(take_rows(self.position, parent), move % self.actions)
        keys = position_keys(self.tree[parent], position)
        node = self.transpositions.nodes_at(keys)
        unknown = np.flatnonzero(node == NOWHERE)
        if len(unknown):
            # Two simulations may have found the same position.
            new_keys, first, which = np.unique(keys[unknown], return_index=True, return_inverse=True)
            node[unknown] = self.nodes + which
            new = unknown[first]
            added = take_rows(position, new)
            self._add_nodes(self.tree[parent[new]], added, self.rules.legal(added), new_keys)
        self.child.ravel()[move] = node
        self.open_links = np.concatenate([self.open_links, move])
        # All that is known of a node met before stands for one more evaluation of it.
        mean = (self.node_value[node] + self.value_sum[node].sum(-1)) / (1 + self.visits[node].sum(-1))
        values: Floats = np.where(self.node_proof[node] == OPEN, mean, VALUE[self.node_proof[node]])
        return values

    def _add_nodes(self, trees: Indices, position: Position, legal: BoolArray, keys: Keys) -> None:
        """Fill new nodes: which moves are proven at once, the priors, and the values.

        One ply is looked ahead: for the moves that end the game, so that no finished position ever becomes a node, and
        for those that lead to nodes met before.
        """
        new = slice(self.nodes, self.nodes + len(legal))
        self.nodes = new.stop
        put_rows(self.position, new, position)
        self.tree[new] = trees
        self.transpositions.add(keys, np.arange(new.start, new.stop))
        rows, actions = np.nonzero(legal)
        after = self.rules.play(take_rows(position, rows), actions)
        replies = count_legal(self.rules.legal(after))
        child = self.transpositions.nodes_at(position_keys(trees[rows], after))
        self.child[new][rows, actions] = child
        self.proof[new][rows, actions] = proof = self._proofs(child, after, replies)
        linked = np.flatnonzero((child != NOWHERE) & (proof == OPEN))
        self.open_links = np.concatenate([self.open_links, (new.start + rows[linked]) * self.actions + actions[linked]])
        self.node_proof[new] = proof = self.proof[new].max(-1)
        self.node_value[new] = VALUE[proof]
        undecided = np.flatnonzero(proof == OPEN)
        if self.evaluator is None:
            self.prior[new] = self._prior_by_replies(legal.shape, rows, actions, replies)
            if len(undecided):
                played_on = take_rows(position, undecided), legal.take(undecided, axis=0)
                values = rollout_values(self.rules, *played_on, self.generator)
                self.node_value[new][undecided] = values
        else:
            self.prior[new], values = self.evaluator(position, legal)
            self.node_value[new][undecided] = np.asarray(values)[undecided]

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

    def _back_up(self, trees: int, levels: list[Level], ends: list[Indices], values: Floats) -> Indices:
        """Add the simulations' values to the moves on their paths.

        ``values`` are those of the groups that have left their trees. Returns how many simulations each tree has run.
        """
        parent, count, total = np.zeros(0, np.int64), np.zeros(0), np.zeros(0)
        for level, end in zip(levels[::-1], ends[::-1]):
            groups = len(level.move)
            # What the groups below have brought their movers is the opposite to those who moved before.
            count, total = sums(parent, count, groups), -sums(parent, total, groups)
            values, here = values[: len(values) - len(end)], values[len(values) - len(end) :]
            count[end], total[end] = level.size[end], here * level.size[end]
            np.add.at(self.visits.ravel(), level.move, count.astype(np.float32))
            np.add.at(self.value_sum.ravel(), level.move, total.astype(np.float32))
            parent = level.parent
        return sums(parent, count, trees).astype(np.int64)

    def _prove(self) -> None:
        """Let every proof count in all nodes above."""
        proof, child = self.proof.ravel(), self.child.ravel()
        while True:
            moves = self.open_links
            found = TO_THE_OTHER[self.node_proof[child[moves]]]
            settled = found != OPEN
            if not settled.any():
                return
            self.open_links = moves[~settled]
            moves, found = moves[settled], found[settled]
            proof[moves] = found
            # From now on the mean value of the move is exact.
            self.value_sum.ravel()[moves] = VALUE[found] * self.visits.ravel()[moves]
            node = np.unique(moves // self.actions)
            self.node_proof[node] = self.proof[node].max(-1)


def mean_values(value_sum: NDArray[Any], visits: NDArray[Any]) -> Floats:
    """Return the mean values of moves, 0 of those that were never made."""
    mean: Floats = value_sum / np.maximum(visits, 1)
    return mean


def sums(groups: Indices, weights: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """Return the sum of the weights of each of ``count`` groups."""
    # Of nothing at all bincount returns whole numbers.
    return np.bincount(groups, weights, count).astype(np.float64)


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
            rows, position = rows[rest], take_rows(position, rest)
            legal = rules.legal(position)
    return values
