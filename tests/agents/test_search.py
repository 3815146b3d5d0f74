"""The tree search beside its specifications: one simulation after another, a dictionary of positions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import agents.search_tree
from agents.mcts import MCTSAgent
from agents.search_tree import DRAWN, NOWHERE, OPEN, Trees
from agents.transpositions import Transpositions, position_keys
from numduel_env import GAMES, evaluate
from numduel_env.batch import take_rows
from numduel_env.evaluation.exploitability import random_positions
from tests.support.plain_search import PlainSearch
from tests.support.variants import each_game, each_variant


def grown(rules, position, simulations, seed=0, at_once=0.0, evaluator=None):
    """Return trees that have run their simulations."""
    generator = np.random.default_rng(seed)
    trees = Trees(rules, position, rules.legal(position), simulations, evaluator, generator, at_once)
    trees.grow()
    return trees


@each_variant
def test_one_simulation_after_another_is_the_plain_search(game, params):
    rules = GAMES[game].make_rules(**params)
    for seed, row in enumerate(range(4)):
        position = take_rows(random_positions(rules, 4, seed=3), [row])
        trees = grown(rules, position, 80, seed)
        one = position._make(field[0] for field in position)
        plain = PlainSearch(rules, one, 80, np.random.default_rng(seed))
        assert trees.visits[0].tolist() == plain.visits
        assert trees.nodes == len(plain.nodes)


@pytest.mark.parametrize("guided", [False, True])
@pytest.mark.parametrize("few", [0, 10**9], ids=["in turn", "sorted"])
@each_game
def test_simulations_at_once_choose_as_one_after_another(game, params, few, guided, monkeypatch):
    """Each takes the highest bound, in which those before it count as visits."""
    monkeypatch.setattr(agents.search_tree, "FEW_BOUNDS", few)

    def evaluator(position, legal):
        prior = legal * np.random.default_rng(0).random(legal.shape, np.float32)
        return prior / np.maximum(prior.sum(-1, keepdims=True), 1e-9), np.zeros(len(legal), np.float32)

    rules = GAMES[game].make_rules(**params)
    trees = grown(rules, random_positions(rules, 6, seed=4), 60, evaluator=evaluator if guided else None)
    nodes = np.flatnonzero(trees.node_proof[: trees.nodes] == OPEN)
    if not len(nodes):
        pytest.skip("all proven")
    budget = np.random.default_rng(0).integers(1, 20, len(nodes))
    picks = trees._picks(nodes, budget)
    for node, most, picked in zip(nodes, budget, picks):
        visits, counts = trees.visits[node].copy(), np.zeros(trees.actions, int)
        mean = trees.value_sum[node] / np.maximum(visits, 1)
        all_visits = np.float32(visits.sum() + most - 1)
        for _ in range(most):
            bounds = trees._bounds(mean, visits, trees.prior[node], all_visits)
            there_is_no_node = (trees.child[node] == NOWHERE) & (trees.proof[node] == OPEN) & (counts > 0)
            bounds[(trees.proof[node] < DRAWN) | there_is_no_node] = -np.inf
            if bounds.max() == -np.inf:
                break
            counts[bounds.argmax()] += 1
            visits[bounds.argmax()] += 1
        assert picked.tolist() == counts.tolist()


@each_variant
def test_every_simulation_is_counted_and_every_proof_is_right_all_the_way_up(game, params):
    rules = GAMES[game].make_rules(**params)
    position = random_positions(rules, 40, seed=5)
    generator = np.random.default_rng(0)
    trees = Trees(rules, position, rules.legal(position), 120, None, generator, 1 / 12)
    run = trees.grow()
    assert run == trees.visits[: trees.roots].sum()
    unproven = trees.node_proof[: trees.roots] == OPEN
    assert (trees.visits[: trees.roots].sum(-1)[unproven] == 120).all()
    # No two nodes of a tree are one position, and what is proven of a node counts for the moves that lead to it.
    known = {(int(trees.tree[node]), *(f[node].tobytes() for f in trees.position)) for node in range(trees.nodes)}
    assert len(known) == trees.nodes
    node, action = np.nonzero(trees.child[: trees.nodes] != NOWHERE)
    there = trees.node_proof[trees.child[node, action]]
    assert (trees.proof[node, action][there != OPEN] != OPEN).all()


def test_what_it_plays_does_not_depend_on_the_order_of_the_names_of_an_evaluation():
    names = ["mcts:40", "random", "greedy", "mcts:15"]
    options = {"duels": 60, "seed": 3, "openings": 2}
    one, other = (evaluate("prime-duel-sum", order, **options) for order in (names, names[::-1]))
    for agent, again in zip(one.agents, other.agents[::-1], strict=True):
        assert replace(agent, ms_per_move=0.0) == replace(again, ms_per_move=0.0)
    assert one.matrix == tuple(row[::-1] for row in other.matrix[::-1])
    assert replace(one, agents=(), matrix=()) == replace(other, agents=(), matrix=())


def test_it_is_reproducible():
    rules = GAMES["prime-rumble"].make_rules()
    position = random_positions(rules, 30, seed=6)
    one, other = (
        MCTSAgent(rules, 100).choose(position, rules.legal(position), np.random.default_rng(1)) for _ in range(2)
    )
    np.testing.assert_array_equal(one, other)


@each_variant
def test_different_positions_have_different_keys(game, params):
    rules = GAMES[game].make_rules(**params)
    position = random_positions(rules, 3_000, seed=7)
    trees = np.arange(3_000) % 3
    plain = [(int(tree), *(field[row].tobytes() for field in position)) for row, tree in enumerate(trees)]
    keys = position_keys(trees, position).tolist()
    assert len(set(zip(plain, keys))) == len(set(plain)) == len(set(keys))


def test_the_table_is_a_dictionary():
    generator, known = np.random.default_rng(0), {}
    table = Transpositions(2_000)
    # Keys that collide in the table: only their high bits differ.
    pool = np.unique((generator.integers(1, 9, 4_000) << 40) + generator.integers(1, 300, 4_000)).astype(np.uint64)
    for _ in range(30):
        keys = generator.choice(pool, 60, replace=False)
        expected = [known.get(int(key), NOWHERE) for key in keys]
        assert table.nodes_at(keys).tolist() == expected
        new = keys[np.array(expected) == NOWHERE]
        nodes = np.arange(len(known), len(known) + len(new))
        table.add(new, nodes)
        known.update(zip(map(int, new), nodes.tolist()))
    assert table.nodes_at(pool).tolist() == [known.get(int(key), NOWHERE) for key in pool]
