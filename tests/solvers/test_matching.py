"""The matching solver against plain minimax, against the exhaustive solver, and against the book's game."""

from __future__ import annotations

import time
from functools import cache

import numpy as np
import pytest

from numduel_env.games.factor_chain import Chain, FactorChain
from numduel_env.rules import take_rows
from numduel_env.solvers import matching as geography
from numduel_env.solvers.exhaustive import ExhaustiveSolver
from numduel_env.solvers.matching import GeographySolver
from numduel_env.solvers.solver import ILLEGAL

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


def random_positions(rules, count, seed):
    """Return positions at random plies of random games, finished ones included."""
    generator = np.random.default_rng(seed)
    position = rules.initial((count,))
    plies = generator.integers(0, rules.max_plies, count)
    for ply in range(rules.max_plies):
        legal = rules.legal(position)
        playing = np.flatnonzero(legal.any(-1) & (ply < plies))
        actions = (generator.random(legal.shape) * legal).argmax(-1)
        later = rules.play(take_rows(position, playing), actions[playing])
        for field, new in zip(position, later):
            field[playing] = new
    return position


@pytest.mark.parametrize(("lowest", "highest"), SIZES)
def test_agrees_with_minimax_on_every_position(lowest, highest):
    rules = FactorChain(lowest, highest)
    positions = sorted(every_line(frozenset(rules.numbers.tolist())), key=str)
    values = GeographySolver(rules).action_values(as_batch(rules, positions))
    np.testing.assert_array_equal(values, minimax_values(rules, positions))


@pytest.mark.parametrize(("lowest", "highest"), SIZES)
def test_agrees_with_the_exhaustive_solver_on_every_position(lowest, highest):
    rules = FactorChain(lowest, highest)
    exhaustive, matching = ExhaustiveSolver(rules), GeographySolver(rules)
    position = exhaustive.positions
    np.testing.assert_array_equal(matching.action_values(position), exhaustive.action_values(position))
    np.testing.assert_array_equal(matching.value(position), exhaustive.value(position))
    np.testing.assert_array_equal(matching.best(position), exhaustive.best(position))


def test_agrees_with_minimax_on_random_positions():
    rules = FactorChain(2, 20)
    drawn = random_positions(rules, 500, seed=0)
    minimax = Minimax()
    for unused, may_follow, values in zip(*drawn, GeographySolver(rules).action_values(drawn)):
        left = frozenset(rules.numbers[unused].tolist())
        for action, number in enumerate(rules.numbers.tolist()):
            expected = (-1 if minimax.wins(left - {number}, number) else 1) if may_follow[action] else ILLEGAL
            assert values[action] == expected


def test_agrees_with_the_exhaustive_solver_on_a_larger_game():
    rules = FactorChain(2, 24)
    exhaustive = ExhaustiveSolver(rules)
    position = exhaustive.positions
    np.testing.assert_array_equal(GeographySolver(rules).action_values(position), exhaustive.action_values(position))


def test_finds_the_openings_of_the_book():
    rules = FactorChain(2, 50)
    solver = GeographySolver(rules)
    losing = rules.numbers[solver.action_values(rules.initial()) == -1]
    assert losing.tolist() == [5, 7, 34, 38, 46, 50]
    assert solver.value(rules.initial()) == 1


def test_values_hang_together_in_the_book_game():
    """A position is worth as much as its best move, and a move as little as the position it leads to is worth."""
    rules = FactorChain(2, 50)
    solver = GeographySolver(rules)
    position = random_positions(rules, 300, seed=1)
    values = solver.action_values(position)
    rows, actions = np.nonzero(rules.legal(position))
    later = rules.play(take_rows(position, rows), actions)
    np.testing.assert_array_equal(values[rows, actions], -solver.value(later))


def joined_odd_cycles(generator):
    """Return the neighbours of each vertex of a random graph, richer in blossoms than any chain."""
    size = int(generator.integers(3, 16))
    order = generator.permutation(size).tolist()
    relatives = [0] * size

    def join(a, b):
        relatives[a] |= 1 << b
        relatives[b] |= 1 << a

    first = 0
    while size - first >= 3:
        length = min(int(generator.choice([3, 5, 7])), size - first)
        cycle = order[first : first + length]
        for a, b in zip(cycle, cycle[1:] + cycle[:1]):
            join(a, b)
        first += length
    for _ in range(int(generator.integers(0, size))):
        join(*generator.choice(size, 2, replace=False).tolist())
    return relatives


def uncovered_by_trying(relatives):
    """Return which vertices some maximum matching leaves uncovered, by trying all matchings."""

    @cache
    def largest(pool):
        if not pool:
            return 0
        a = pool.bit_length() - 1
        rest = pool ^ 1 << a
        partners = [b for b in range(a) if (relatives[a] & rest) >> b & 1]
        return max([largest(rest)] + [1 + largest(rest ^ 1 << b) for b in partners])

    everything = (1 << len(relatives)) - 1
    return sum(1 << a for a in range(len(relatives)) if largest(everything ^ 1 << a) == largest(everything))


@pytest.mark.parametrize("greedy", [True, False])
def test_inessential_numbers_of_other_graphs(greedy, monkeypatch):
    """Without the greedy start and the leaf rule the search has to find every pair, through every kind of blossom."""
    if not greedy:
        monkeypatch.setattr(geography, "_match_greedily", lambda relatives, pool, partner: pool)
    generator = np.random.default_rng(0)
    for _ in range(400):
        relatives = joined_odd_cycles(generator)
        everything = (1 << len(relatives)) - 1
        expected = uncovered_by_trying(relatives)
        assert geography.inessential(relatives, everything) == expected
        assert geography._spared_by_search(relatives, everything) == expected


def test_large_games_are_answered_quickly():
    rules = FactorChain(2, 500)
    solver = GeographySolver(rules)
    begun = time.perf_counter()
    values = solver.action_values(rules.initial())
    assert time.perf_counter() - begun < 0.5
    assert values.shape == (499,)
    # A prime above 250 leaves no reply.
    assert values[rules.numbers == 499] == 1


def test_batches_of_any_shape():
    rules = FactorChain(2, 20)
    solver = GeographySolver(rules)
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
    monkeypatch.setattr(geography, "REMEMBERED", 3)
    rules = FactorChain(2, 20)
    drawn = random_positions(rules, 50, seed=3)
    forgetful = GeographySolver(rules)
    values = forgetful.action_values(drawn)
    monkeypatch.undo()
    np.testing.assert_array_equal(values, GeographySolver(rules).action_values(drawn))
