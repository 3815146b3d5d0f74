"""The matching solver against plain minimax, the exhaustive solver and NetworkX, and on the book's game."""

from __future__ import annotations

import time
from functools import cache

import networkx
import numpy as np
import pytest

from numduel_env.batch import take_rows
from numduel_env.games.factor_chain import Chain, FactorChain
from numduel_env.solvers import blossom, matching
from numduel_env.solvers.exhaustive import ExhaustiveSolver
from numduel_env.solvers.matching import MatchingSolver
from numduel_env.solvers.solver import ILLEGAL
from tests.solvers.positions import random_positions

SIZES = [(lowest, highest) for lowest in (2, 3, 4) for highest in range(lowest, 15)]


class Minimax:
    """Plain recursion on the book's words; a position is the set of unused numbers and the last one, or None."""

    def __init__(self):
        self.wins = cache(self._wins)

    def _wins(self, unused, last):
        return any(not self.wins(unused - {number}, number) for number in followers(unused, last))


def followers(unused, last):
    if last is None:
        return unused
    return {number for number in unused if number % last == 0 or last % number == 0}


def every_line(unused, last=None, seen=None):
    """Return all positions that can be reached."""
    seen = set() if seen is None else seen
    if (unused, last) not in seen:
        seen.add((unused, last))
        for number in followers(unused, last):
            every_line(unused - {number}, number, seen)
    return seen


def as_batch(rules, positions):
    def rows(sets):
        return np.array([[number in chosen for number in rules.numbers.tolist()] for chosen in sets], bool)

    return Chain(rows([unused for unused, _ in positions]), rows([followers(*position) for position in positions]))


def minimax_values(rules, positions):
    """Return what ``action_values`` should say."""
    minimax = Minimax()
    values = np.full((len(positions), len(rules.numbers)), ILLEGAL, np.int8)
    for row, (unused, last) in enumerate(positions):
        for number in followers(unused, last):
            values[row, number - rules.numbers[0]] = -1 if minimax.wins(unused - {number}, number) else 1
    return values


@pytest.mark.parametrize(("lowest", "highest"), SIZES)
def test_agrees_with_minimax_on_every_position(lowest, highest):
    rules = FactorChain(lowest, highest)
    positions = sorted(every_line(frozenset(rules.numbers.tolist())), key=str)
    values = MatchingSolver(rules).action_values(as_batch(rules, positions))
    np.testing.assert_array_equal(values, minimax_values(rules, positions))


@pytest.mark.parametrize(("lowest", "highest"), SIZES)
def test_agrees_with_the_exhaustive_solver_on_every_position(lowest, highest):
    rules = FactorChain(lowest, highest)
    exhaustive, solver = ExhaustiveSolver(rules), MatchingSolver(rules)
    position = exhaustive.positions
    np.testing.assert_array_equal(solver.action_values(position), exhaustive.action_values(position))
    np.testing.assert_array_equal(solver.value(position), exhaustive.value(position))
    np.testing.assert_array_equal(solver.best(position), exhaustive.best(position))


def test_agrees_with_minimax_on_random_positions():
    rules = FactorChain(2, 20)
    drawn = random_positions(rules, 500, seed=0)
    minimax = Minimax()
    for unused, may_follow, values in zip(*drawn, MatchingSolver(rules).action_values(drawn)):
        left = frozenset(rules.numbers[unused].tolist())
        for action, number in enumerate(rules.numbers.tolist()):
            expected = (-1 if minimax.wins(left - {number}, number) else 1) if may_follow[action] else ILLEGAL
            assert values[action] == expected


def test_agrees_with_the_exhaustive_solver_on_a_larger_game():
    rules = FactorChain(2, 24)
    exhaustive = ExhaustiveSolver(rules)
    position = exhaustive.positions
    np.testing.assert_array_equal(MatchingSolver(rules).action_values(position), exhaustive.action_values(position))


def test_finds_the_openings_of_the_book():
    rules = FactorChain(2, 50)
    solver = MatchingSolver(rules)
    losing = rules.numbers[solver.action_values(rules.initial()) == -1]
    assert losing.tolist() == [5, 7, 34, 38, 46, 50]
    assert solver.value(rules.initial()) == 1


def test_values_hang_together_in_the_book_game():
    """The value of a move is that of the position it leads to, with the sign turned."""
    rules = FactorChain(2, 50)
    solver = MatchingSolver(rules)
    position = random_positions(rules, 300, seed=1)
    values = solver.action_values(position)
    rows, actions = np.nonzero(rules.legal(position))
    later = rules.play(take_rows(position, rows), actions)
    np.testing.assert_array_equal(values[rows, actions], -solver.value(later))


def joined_odd_cycles(generator, size):
    """Return the neighbours of each vertex of a random graph, richer in blossoms than any chain."""
    order = generator.permutation(size).tolist()
    neighbours = [0] * size

    def join(a, b):
        neighbours[a] |= 1 << b
        neighbours[b] |= 1 << a

    first = 0
    while size - first >= 3:
        length = min(int(generator.choice([3, 5, 7])), size - first)
        cycle = order[first : first + length]
        for a, b in zip(cycle, cycle[1:] + cycle[:1]):
            join(a, b)
        first += length
    for _ in range(int(generator.integers(0, size))):
        join(*generator.choice(size, 2, replace=False).tolist())
    return neighbours


@pytest.fixture(params=["greedy start", "search alone"])
def start(request, monkeypatch):
    """Without the greedy start and the leaf rule the search has to find every pair, through every kind of blossom."""
    if request.param == "search alone":
        monkeypatch.setattr(blossom, "_match_greedily", lambda neighbours, vertices, mate: vertices)


@pytest.mark.usefixtures("start")
def test_inessential_vertices_by_definition():
    generator = np.random.default_rng(0)
    for _ in range(400):
        neighbours = joined_odd_cycles(generator, int(generator.integers(3, 16)))
        everything = (1 << len(neighbours)) - 1
        for vertices in (everything, everything & int(generator.integers(everything + 1))):
            expected = blossom.inessential_by_definition(neighbours, vertices)
            assert blossom.inessential(neighbours, vertices) == expected
            assert blossom._inessential_by_search(neighbours, vertices) == expected


def test_the_definition_on_graphs_done_by_hand():
    path = [0b010, 0b101, 0b010]
    assert blossom.matching_number(path, 0b111) == 1
    assert blossom.inessential_by_definition(path, 0b111) == 0b101
    assert blossom.inessential_by_definition(path, 0b011) == 0
    triangle = [0b110, 0b101, 0b011]
    assert blossom.inessential_by_definition(triangle, 0b111) == 0b111


def by_networkx(neighbours, vertices):
    """Return the inessential vertices of a subgraph, by a matching for each vertex that is deleted."""
    graph = networkx.Graph()
    graph.add_nodes_from(blossom.members(vertices))
    graph.add_edges_from((a, b) for a in graph for b in blossom.members(neighbours[a] & vertices))

    def matching_number(graph):
        return len(networkx.max_weight_matching(graph, maxcardinality=True))

    full = matching_number(graph)
    return sum(1 << a for a in graph if matching_number(graph.subgraph(graph.nodes - {a})) == full)


@pytest.mark.usefixtures("start")
def test_networkx_agrees_on_random_graphs():
    generator = np.random.default_rng(1)
    for size in range(16, 32):
        neighbours = joined_odd_cycles(generator, size)
        everything = (1 << size) - 1
        expected = by_networkx(neighbours, everything)
        assert blossom.inessential(neighbours, everything) == expected
        assert blossom._inessential_by_search(neighbours, everything) == expected


@pytest.mark.usefixtures("start")
def test_networkx_agrees_on_random_pools_of_the_book_game():
    rules = FactorChain(2, 50)
    neighbours = matching._as_masks(rules.related)
    pools = matching._as_masks(random_positions(rules, 100, seed=4).pool)
    for pool in sorted(set(pools))[:: len(set(pools)) // 12]:
        expected = by_networkx(neighbours, pool)
        assert blossom.inessential(neighbours, pool) == expected
        assert blossom._inessential_by_search(neighbours, pool) == expected


def test_large_games_are_answered_quickly():
    rules = FactorChain(2, 500)
    solver = MatchingSolver(rules)
    begun = time.perf_counter()
    values = solver.action_values(rules.initial())
    assert time.perf_counter() - begun < 0.5
    assert values.shape == (499,)
    # A prime above 250 leaves no reply.
    assert values[rules.numbers == 499] == 1


def test_batches_of_any_shape():
    rules = FactorChain(2, 20)
    solver = MatchingSolver(rules)
    drawn = random_positions(rules, 12, seed=2)
    flat = solver.action_values(drawn)
    shaped = Chain(*(field.reshape(3, 4, -1) for field in drawn))
    assert flat.dtype == np.int8
    np.testing.assert_array_equal(solver.action_values(shaped), flat.reshape(3, 4, -1))
    assert solver.value(shaped).shape == (3, 4)
    assert solver.action_values(rules.initial((0,))).shape == (0, 19)
    assert solver.action_values(rules.initial()).shape == (19,)
    assert solver.value(rules.initial()).shape == ()


def test_forgetting_changes_nothing(monkeypatch):
    monkeypatch.setattr(matching, "REMEMBERED", 3)
    rules = FactorChain(2, 20)
    drawn = random_positions(rules, 50, seed=3)
    forgetful = MatchingSolver(rules)
    values = forgetful.action_values(drawn)
    monkeypatch.undo()
    np.testing.assert_array_equal(values, MatchingSolver(rules).action_values(drawn))
