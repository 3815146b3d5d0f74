"""The exhaustive solver against plain minimax over the rules, on the book's games and on games made up here."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from numduel_env.batch import take_rows
from numduel_env.games import GAMES
from numduel_env.games.factor_chain import FactorChain
from numduel_env.games.sieve import Sieve
from numduel_env.rules import Rules
from numduel_env.solvers.exhaustive import ExhaustiveSolver
from numduel_env.solvers.solver import ILLEGAL, TooLargeToSolve

PRODUCT = GAMES["prime-duel-product"]
SUM = GAMES["prime-duel-sum"]


def minimax(rules):
    """Return every reachable position of a game without cycles, with its value and those of its actions.

    Plain recursion over the rules, one game at a time; it shares nothing with the solver.
    """
    answers = {}

    def visit(position):
        name = tuple(field.tobytes() for field in position)
        if name not in answers:
            values = [
                -visit(rules.play(position, action)) if allowed else ILLEGAL
                for action, allowed in enumerate(rules.legal(position).tolist())
            ]
            best = max(values)
            answers[name] = position, int(rules.value(position)) if best == ILLEGAL else best, values
        return answers[name][1]

    visit(rules.initial())
    positions, values, action_values = zip(*answers.values())
    batch = positions[0]._make(np.stack(fields) for fields in zip(*positions))
    return batch, np.array(values), np.array(action_values)


def openings(rules, solver, value):
    return rules.numbers[solver.action_values(rules.initial()) == value].tolist()


def assert_consistent(rules, solver):
    """The value of a position is that of its best move, the value of a move that of the position after it."""
    position = solver.positions
    values, action_values = solver.value(position), solver.action_values(position)
    legal = rules.legal(position)
    over = ~legal.any(-1)
    np.testing.assert_array_equal(values[over], rules.value(position)[over])
    np.testing.assert_array_equal(values[~over], action_values[~over].max(-1))
    assert (action_values[~legal] == ILLEGAL).all()
    rows, actions = np.nonzero(legal)
    later = rules.play(take_rows(position, rows), actions)
    np.testing.assert_array_equal(action_values[rows, actions], -solver.value(later))


@pytest.mark.parametrize(
    "rules",
    [
        PRODUCT.make_rules(),
        PRODUCT.make_rules(target=210, primes_below=12),
        SUM.make_rules(),
        SUM.make_rules(when_empty="draw"),
        SUM.make_rules(highest=8, target=15),
        SUM.make_rules(highest=8, target=15, when_empty="draw"),
        Sieve(2, 9),
        Sieve(2, 16),
        Sieve(3, 14),
        FactorChain(2, 14),
        FactorChain(3, 16),
    ],
    ids=lambda rules: f"{type(rules).__name__}-{rules.numbers[0]}-{rules.numbers[-1]}",
)
def test_agrees_with_minimax_on_every_position(rules):
    position, values, action_values = minimax(rules)
    solver = ExhaustiveSolver(rules)
    np.testing.assert_array_equal(solver.value(position), values)
    np.testing.assert_array_equal(solver.action_values(position), action_values)
    assert len(solver.positions[0]) == len(values)


def test_product_openings():
    rules = PRODUCT.make_rules()
    solver = ExhaustiveSolver(rules)
    assert openings(rules, solver, 1) == [2, 5]
    assert openings(rules, solver, 0) == []
    assert (~rules.over(solver.positions)).sum() == 58_665


def test_sum_openings_when_the_higher_score_wins():
    rules = SUM.make_rules()
    solver = ExhaustiveSolver(rules)
    assert openings(rules, solver, 1) == [5, 7, 8, 9, 10]
    assert openings(rules, solver, 0) == [3, 6]
    assert openings(rules, solver, -1) == [2, 4]
    assert len(solver.positions.pool) == 17_303


def test_divider_duel_is_won_by_opening_with_four():
    rules = GAMES["divider-duel"].make_rules()
    assert openings(rules, ExhaustiveSolver(rules), 1) == [4]


def test_refilled_sum_is_decided_everywhere():
    rules = SUM.make_rules(when_empty="refill")
    solver = ExhaustiveSolver(rules)
    assert openings(rules, solver, -1) == rules.numbers.tolist()
    assert_consistent(rules, solver)
    position = solver.positions
    assert (solver.value(position) != 0).all()
    # Consistent values alone could promise a win that is put off for ever: walk the decided ends backwards again.
    legal = rules.legal(position)
    rows, actions = np.nonzero(legal)
    later = rules.play(take_rows(position, rows), actions)
    codes = {}
    for name, batch in (("here", position), ("later", later)):
        codes[name] = ((batch.pool @ (1 << np.arange(9))) * 51 + batch.mine) * 51 + batch.theirs
    order = np.argsort(codes["here"])
    reached = order[np.searchsorted(codes["here"], codes["later"], sorter=order)]
    moves = legal.sum(-1)
    # The moves of a position stand side by side, so that those of all positions are judged at once.
    starts = np.flatnonzero(np.diff(rows, prepend=-1))

    def any_move(flags):
        answer = np.zeros(len(moves), bool)
        answer[rows[starts]] = np.logical_or.reduceat(flags, starts)
        return answer

    proven = np.where(moves == 0, rules.value(position), 0)
    plies = 0
    while (proven == 0).any():
        plies += 1
        to_lost = any_move(proven[reached] == -1)
        all_to_won = ~any_move(proven[reached] != 1)
        proven = np.where(moves == 0, proven, np.where(to_lost, 1, np.where(all_to_won, -1, 0)))
        assert plies <= 28
    assert plies == solver.longest == 28
    np.testing.assert_array_equal(proven, solver.value(position))


def test_truncation_does_not_matter():
    short, long = (SUM.make_rules(highest=5, target=12, when_empty="refill", max_plies=limit) for limit in (1, 200))
    position = ExhaustiveSolver(long).positions
    np.testing.assert_array_equal(ExhaustiveSolver(short).value(position), ExhaustiveSolver(long).value(position))


class Piles(NamedTuple):
    """Piles of counters, and whether the opening player moves: a vector of integers and a lone bool."""

    piles: np.ndarray
    opener: np.ndarray


class Nim(Rules):
    """Take counters of a ``weight`` from one of three piles; an empty one weighs ``zero``. Who cannot has lost."""

    def __init__(self, size, weight=1, zero=0):
        self.numbers = np.arange(3 * size)
        self.max_plies = 3 * size
        self.size, self.weight, self.zero = size, weight, zero

    def initial(self, shape=()):
        full = self.size * self.weight + self.zero
        return Piles(np.full((*shape, 3), full, np.int64), np.ones(shape, bool))

    def counters(self, position):
        return (position.piles - self.zero) // self.weight

    def legal(self, position):
        takes = np.arange(1, self.size + 1)
        enough = self.counters(position)[..., None] >= takes
        return enough.reshape(*enough.shape[:-2], -1)

    def play(self, position, action):
        pile, take = np.divmod(np.asarray(action), self.size)
        taken = (np.arange(3) == pile[..., None]) * (take + 1)[..., None]
        return Piles(position.piles - taken * self.weight, ~np.asarray(position.opener))

    def features(self, position):
        return {"piles": self.counters(position) / self.size}


@pytest.mark.parametrize(("weight", "zero"), [(1, 0), (1, -7), (10**9, 0), (10**9, -(10**12))])
def test_nim_of_any_weight(weight, zero):
    """A made-up game; heavy counters do not fit into 64-bit keys."""
    rules = Nim(4, weight, zero)
    solver = ExhaustiveSolver(rules)
    assert_consistent(rules, solver)
    position = solver.positions
    nim_sum = np.bitwise_xor.reduce(rules.counters(position), axis=-1)
    np.testing.assert_array_equal(solver.value(position), np.where(nim_sum == 0, -1, 1))
    assert solver.value(rules.initial((2, 3))).tolist() == [[1, 1, 1]] * 2
    with pytest.raises(ValueError, match="Nim"):
        solver.value(rules.initial()._replace(opener=np.array(False)))


class Steps(NamedTuple):
    """How far the token is from home."""

    distance: np.ndarray


class Dawdle(Rules):
    """Leave the token where it is or bring it one step home; whoever finds it at home has lost."""

    def __init__(self, size):
        self.numbers = np.array([2, 3])
        self.max_plies = 100
        self.size = size

    def initial(self, shape=()):
        return Steps(np.full(shape, self.size, np.int64)[()])

    def legal(self, position):
        return np.stack([position.distance > 0] * 2, axis=-1)

    def play(self, position, action):
        return Steps(position.distance - action)

    def features(self, position):
        return {"distance": position.distance / self.size}


def test_going_in_circles_is_a_draw():
    solver = ExhaustiveSolver(Dawdle(5))
    assert solver.value(Steps(np.arange(6))).tolist() == [-1, 1, 0, 0, 0, 0]
    assert solver.action_values(Steps(np.arange(3))).tolist() == [[ILLEGAL, ILLEGAL], [-1, 1], [0, -1]]
    assert solver.longest == 1


def test_small_batches_find_the_same(monkeypatch):
    rules = SUM.make_rules(highest=7, target=11, when_empty="refill")
    solver = ExhaustiveSolver(rules)
    monkeypatch.setattr("numduel_env.solvers.exhaustive.BYTES_AT_ONCE", 50 * 256)
    piecemeal = ExhaustiveSolver(rules)
    position = solver.positions
    assert len(piecemeal.positions.pool) == len(position.pool)
    np.testing.assert_array_equal(piecemeal.action_values(position), solver.action_values(position))


def test_progress_counts_what_is_done():
    seen = []
    solver = ExhaustiveSolver(Sieve(2, 16), budget=10_000, progress=lambda *report: seen.append(report))
    count = len(solver.positions.pool)
    name = "Sieve with 15 numbers (2 to 16) and up to 15 plies"
    finding = [report[1:] for report in seen if report[0] == f"finding positions of {name}"]
    linking = [report[1:] for report in seen if report[0] == f"linking positions of {name}"]
    assert len(finding) + len(linking) == len(seen)
    assert [done for done, _ in finding] == sorted(done for done, _ in finding)
    assert {total for _, total in finding[:-1]} == {10_000}
    assert finding[-1] == (count, count)
    assert linking[-1] == (count, count)


def test_a_game_past_the_budget_is_refused():
    rules = GAMES["prime-rumble"].make_rules()
    with pytest.raises(TooLargeToSolve, match=r"Sieve with 49 numbers \(2 to 50\).* more than 20,000 positions"):
        ExhaustiveSolver(rules, budget=20_000)
    small = Sieve(2, 9)
    assert len(ExhaustiveSolver(small, budget=72).positions.pool) == 72
    with pytest.raises(TooLargeToSolve):
        ExhaustiveSolver(small, budget=71)


def test_chains_that_need_long_keys_are_refused_too():
    with pytest.raises(TooLargeToSolve, match="FactorChain with 49 numbers"):
        ExhaustiveSolver(FactorChain(2, 50), budget=20_000)


def test_unknown_positions_are_refused():
    rules = SUM.make_rules()
    solver = ExhaustiveSolver(rules)
    with pytest.raises(ValueError, match="never reaches"):
        solver.action_values(rules.initial()._replace(mine=np.int64(1)))
    with pytest.raises(ValueError, match="never reaches"):
        solver.value(rules.initial((2,))._replace(mine=np.array([0, 10**6])))


def test_positions_of_fractions_are_refused():
    class Fractions(Dawdle):
        def initial(self, shape=()):
            return Steps(np.full(shape, 0.5)[()])

    with pytest.raises(TypeError, match="distance is float64"):
        ExhaustiveSolver(Fractions(5))


@pytest.mark.parametrize(
    "rules", [PRODUCT.make_rules(target=100), SUM.make_rules(highest=6), Sieve(2, 9), FactorChain(2, 9)]
)
def test_batches_of_any_shape(rules):
    solver = ExhaustiveSolver(rules)
    size = len(rules.numbers)
    batch = take_rows(solver.positions, np.arange(12))
    shaped = batch._make(field.reshape(3, 4, *field.shape[1:]) for field in batch)
    values = solver.action_values(shaped)
    assert values.dtype == np.int8
    np.testing.assert_array_equal(values, solver.action_values(batch).reshape(3, 4, size))
    assert solver.value(shaped).shape == solver.best(shaped).shape[:-1] == (3, 4)
    assert solver.action_values(rules.initial((0,))).shape == (0, size)
    assert solver.value(rules.initial((0,))).shape == (0,)
    assert solver.action_values(rules.initial()).shape == (size,)
    assert np.shape(solver.value(rules.initial())) == ()


def test_answers_are_copies():
    rules = Sieve(2, 9)
    solver = ExhaustiveSolver(rules)
    solver.action_values(rules.initial())[:] = 0
    assert openings(rules, solver, 1) == [4]
