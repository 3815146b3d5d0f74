"""Which weights are the best: standings, the grader, and the record of a run."""

from __future__ import annotations

import numpy as np
import pytest

from agents.cards import CurvePoint, Standing
from agents.learned import LearnedAgent
from agents.networks import AfterstateNetwork
from numduel_env import GAMES
from numduel_env.evaluation.grading import Grade
from numduel_env.observation import AfterstateObserver
from numduel_env.solvers import solver_for
from tests.training.learners import constant_weights, new_card
from train.runs.grading import Grader
from train.runs.record import MOST_POINTS, Record, describe, thinned


def standing(mistakes, walked=None, spoiled=0):
    """Return a standing with this many mistakes in 100 positions, and in a walk."""
    positions = Grade(won=90, thrown=mistakes - spoiled, drawn=10, spoiled=spoiled)
    walk = None if walked is None else Grade(won=20, thrown=walked)
    return Standing(positions, positions, walk)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (standing(5), standing(5), True),
        (standing(6), standing(5), False),
        (standing(6, 1), standing(5, 2), True),
        (standing(5, 2), standing(6, 1), False),
        (standing(4, 2), standing(5, 2), True),
        (standing(5, 0), standing(4), False),
        (standing(0, 0), standing(4), True),
        (standing(5, spoiled=5), standing(4), False),
    ],
)
def test_which_standing_is_at_least_as_good(one, other, expected):
    assert one.at_least(other) is expected


def test_only_without_any_mistake_is_play_perfect():
    assert standing(0, 0).perfect
    drawn = Grade(won=20, drawn=5, spoiled=1)
    spoiling = Standing(Grade(won=1), Grade(won=1), drawn)
    for worse in (standing(0), standing(0, 1), standing(1, 0), standing(1, 0, spoiled=1), spoiling):
        assert not worse.perfect


def learned_agent(rules, tensors):
    return LearnedAgent(rules, AfterstateNetwork(AfterstateObserver(rules), tensors))


def test_the_best_weights_are_kept():
    rules = GAMES["divider-duel"].make_rules()

    class Scripted:
        standings = iter([standing(50, 5), standing(10, 1), standing(20, 2)])

        def grade(self, agent, best):
            return next(self.standings)

    record = Record(new_card(), Scripted())
    weights = [constant_weights(AfterstateObserver(rules), number) for number in range(3)]
    for plies, tensors in enumerate(weights):
        point = record.add(tensors, learned_agent(rules, tensors), plies, 1.0)
        assert "kept" in describe(point) and "against random" in describe(point)
    assert record.best is weights[1] and record.training.standing == standing(10, 1)
    assert [point.kept for point in record.training.curve] == [0.5, 0.9, 0.8]
    assert [point.plies for point in record.training.curve] == [0, 1, 2]


def test_a_long_curve_stays_small_from_its_beginning_to_its_end():
    curve = ()
    for plies in range(3 * MOST_POINTS):
        curve = thinned((*curve, CurvePoint(plies, 0.0, 0.5, None)))
        assert len(curve) <= MOST_POINTS
        assert (curve[0].plies, curve[-1].plies) == (0, plies)
    places = [point.plies for point in curve]
    assert places == sorted(set(places))


def test_without_a_solver_the_latest_weights_are_the_best():
    rules = GAMES["divider-duel"].make_rules()
    record = Record(new_card(), None)
    weights = [constant_weights(AfterstateObserver(rules), number) for number in range(3)]
    for tensors in weights:
        point = record.add(tensors, learned_agent(rules, tensors), 0, 1.0)
    assert record.best is weights[2] and not record.perfect
    assert point.kept is None and "kept" not in describe(point)


class Knowing(AfterstateNetwork):
    """Prefers moves by their action values to the solver, times ``sign``."""

    def __init__(self, solver, sign=1):
        self.solver, self.sign = solver, sign

    def observe(self, position, legal):
        return self.solver.action_values(position)

    def logits(self, observed):
        return self.sign * observed.astype(np.float32)


def test_the_grader_finds_the_solver_perfect_and_a_constant_preference_not():
    rules = GAMES["divider-duel"].make_rules()
    solver = solver_for(rules)
    best = Grader(solver).grade(LearnedAgent(rules, Knowing(solver)))
    assert best.perfect and best.sample.kept == 1 and best.walk.won
    poor = Grader(solver).grade(learned_agent(rules, constant_weights(AfterstateObserver(rules), 0)))
    assert poor.sample.kept < 1 and poor.positions.blunders and poor.walk.blunders


def test_the_grader_counts_spoiled_draws():
    rules = GAMES["prime-duel-sum"].make_rules(highest=8, target=13, when_empty="draw")
    solver = solver_for(rules)
    best = Grader(solver).grade(LearnedAgent(rules, Knowing(solver)))
    assert best.perfect and best.positions.drawn and best.walk.drawn
    worst = Grader(solver).grade(LearnedAgent(rules, Knowing(solver, sign=-1)))
    for grade in (worst.sample, worst.positions, worst.walk):
        assert grade.spoiled and grade.blunders == grade.thrown + grade.spoiled
    assert best.at_least(worst) and not worst.at_least(best)
