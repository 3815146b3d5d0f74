"""The tree search as one would write it down: one position, one simulation after another, nodes in a dictionary."""

from __future__ import annotations

import numpy as np

from agents.search_tree import PROGRESSIVE_BIAS, UCT_EXPLORATION, rollout_values
from numduel_env.batch import batch_of_one

LOST, DRAWN, OPEN, WON = "lost", "drawn", "open", "won"
FLIPPED = {LOST: WON, DRAWN: DRAWN, OPEN: OPEN, WON: LOST}
VALUE = {LOST: -1, DRAWN: 0, WON: 1}


class Node:
    """A position: of each legal move its visits, its summed values, what is proven of it, and its prior.

    Numbers are float32, as in the search: in double precision two bounds can be the other way round.
    """

    def __init__(self, actions, legal):
        self.visits, self.value_sum, self.prior = np.zeros((3, len(legal)), np.float32)
        self.proof, self.child = {}, dict.fromkeys(actions)
        self.value = 0.0

    @property
    def proven(self):
        """What is proven of the position."""
        for best in (WON, OPEN, DRAWN):
            if best in self.proof.values():
                return best
        return LOST

    def bound(self, action):
        """UCT with a progressive bias."""
        visits, all_visits = self.visits[action], self.visits.sum()
        mean = self.value_sum[action] / max(visits, np.float32(1))
        exploration = UCT_EXPLORATION * np.sqrt(np.log(1 + all_visits) / (1 + visits))
        return mean + exploration + PROGRESSIVE_BIAS * self.prior[action] / (1 + visits)


class PlainSearch:
    """UCT over one position; ``visits`` are those of the root's moves."""

    def __init__(self, rules, position, simulations, generator):
        self.rules, self.generator, self.nodes = rules, generator, {}
        self.root = self.new_node(position)
        for _ in range(simulations):
            if self.root.proven == OPEN:
                self.simulate(position)
                self.prove()

    @property
    def visits(self):
        """The visits of the root's moves."""
        return self.root.visits.tolist()

    def node_at(self, position):
        return self.nodes.get(tuple(np.asarray(field).tobytes() for field in position))

    def new_node(self, position):
        rules = self.rules
        legal = rules.legal(position)
        actions = np.flatnonzero(legal).tolist()
        node = Node(actions, legal)
        self.nodes[tuple(np.asarray(field).tobytes() for field in position)] = node
        replies = {}
        for action in actions:
            after = rules.play(position, action)
            replies[action] = int(rules.legal(after).sum())
            node.child[action] = known = self.node_at(after)
            node.proof[action] = FLIPPED[known.proven] if known else OPEN
            if not replies[action]:
                node.proof[action] = {-1: WON, 0: DRAWN, 1: LOST}[int(rules.value(after))]
        noise = 1 + 0.05 * self.generator.random(len(actions), np.float32)
        for action, share in zip(actions, noise):
            node.prior[action] = share / (1 + replies[action]) ** 2
        node.prior /= node.prior.sum()
        if node.proven == OPEN:
            node.value = float(rollout_values(rules, batch_of_one(position), legal[None], self.generator)[0])
        else:
            node.value = VALUE[node.proven]
        return node

    def simulate(self, position):
        node, path = self.root, []
        while True:
            action = max((a for a in node.proof if node.proof[a] != LOST), key=node.bound)
            path.append((node, action))
            position = self.rules.play(position, action)
            child = node.child[action]
            if node.proof[action] != OPEN:
                value = VALUE[node.proof[action]]
            elif child is None:
                child = self.node_at(position) or self.new_node(position)
                node.child[action] = child
                mean = (np.float32(child.value) + child.value_sum.sum()) / (1 + child.visits.sum())
                value = -(mean if child.proven == OPEN else VALUE[child.proven])
            else:
                node = child
                continue
            break
        for node, action in reversed(path):
            node.visits[action] += 1
            node.value_sum[action] += value
            value = -value

    def prove(self):
        """Let every proof count in all nodes above."""
        changed = True
        while changed:
            changed = False
            for node in self.nodes.values():
                for action, child in node.child.items():
                    if node.proof[action] == OPEN and child and child.proven != OPEN:
                        node.proof[action] = FLIPPED[child.proven]
                        node.value_sum[action] = VALUE[node.proof[action]] * node.visits[action]
                        changed = True
