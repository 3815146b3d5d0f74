"""The one definition of *kept*."""

from __future__ import annotations

import numpy as np
import pytest

from numduel_env import Duel, find_game
from numduel_env.evaluation.grading import BLUNDER, KEPT, LOST, Grade, graded_moves, verdicts
from numduel_env.solvers import ILLEGAL

# Before and after a move, to the mover, and what that makes of it.
MOVES = [
    (1, 1, KEPT),
    (1, 0, BLUNDER),
    (1, -1, BLUNDER),
    (1, ILLEGAL, BLUNDER),
    (0, 0, KEPT),
    (0, -1, BLUNDER),
    (0, ILLEGAL, BLUNDER),
    (-1, -1, LOST),
    (-1, ILLEGAL, LOST),
]


@pytest.mark.parametrize(("before", "after", "verdict"), MOVES)
def test_verdicts(before, after, verdict):
    assert verdicts(before, after) == verdict


def test_a_grade_counts_what_was_not_lost():
    before, after, _ = (np.array(column) for column in zip(*MOVES))
    grade = Grade.of(before, after)
    assert grade == Grade(won=4, thrown=3, drawn=3, spoiled=2)
    assert (grade.graded, grade.blunders, grade.kept) == (7, 5, pytest.approx(2 / 7))
    assert grade + grade == Grade(8, 6, 6, 4)
    assert str(grade) == "3 of 4 won positions thrown, 2 of 3 drawn ones spoiled"
    assert str(Grade(won=4)) == "0 of 4 won positions thrown"


def test_kept_of_nothing_is_missing():
    lost = np.array([-1, -1])
    assert Grade.of(lost, lost) == Grade() and Grade().kept is None


def test_a_duel_is_graded_move_by_move(solvers):
    solver = solvers("prime-duel-sum")
    duel = Duel(find_game("prime-duel-sum").make_rules())
    for number in (2, 3, 4, 5):
        duel.push(number)
    moves = graded_moves(duel, solver, opening=1)
    replayed = Duel(duel.rules)
    assert [move.number for move in moves] == [2, 3, 4, 5] and [move.seat for move in moves] == [0, 1, 0, 1]
    assert [move.numbers_left for move in moves] == [9, 8, 7, 6]
    assert moves[0].verdict == "opening"
    for ply, move in enumerate(moves):
        values = solver.action_values(replayed.position)
        value, after = values.max(), values[duel.actions[ply]]
        if ply:
            assert move.verdict == ("lost" if value < 0 else "kept" if after == value else "blunder")
        best = set(duel.rules.numbers[values == value].tolist())
        assert set(move.better) == (best if move.verdict == "blunder" else set())
        replayed.play(duel.actions[ply])
    assert {move.verdict for move in graded_moves(duel, None)} == {"ungraded"}
    forfeit = graded_moves(duel, solver, forfeited=True)[-1]
    assert forfeit.number is None and forfeit.taken == ()


def test_a_move_takes_what_leaves_the_game_with_it():
    duel = Duel(find_game("divider-duel").make_rules())
    for number in (3, 2, 7, 5):
        duel.push(number)
    assert [move.taken for move in graded_moves(duel, None)] == [(3, 6, 9), (2, 4, 8), (7,), (5,)]
