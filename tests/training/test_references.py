"""The trained agents that come with the project are what their cards say."""

from __future__ import annotations

from pathlib import Path

import pytest

from agents import make_agent
from agents.checkpoint import read_card, rules_of
from agents.learned import REFERENCES, reference_for
from numduel_env import GAMES
from numduel_env.evaluation.exploitability import grade_sample
from numduel_env.solvers import solver_for
from tests.support.programs import run_program
from train.runs.evaluation import evaluate_agent

FOLDERS = sorted(REFERENCES.glob("*/"))


# A walk that ends at its budget asks a large network about a hundred thousand positions.
WALKED = [pytest.param(place, marks=[pytest.mark.slow] * ("nimbers" in place.name), id=place.name) for place in FOLDERS]


@pytest.mark.parametrize("folder", WALKED)
def test_a_reference_is_what_its_card_says(folder):
    card = read_card(folder)
    rules = rules_of(card.game)
    program = card.training.program
    assert reference_for(rules, program) == folder
    name = f"{Path(program).stem}:reference"
    found = evaluate_agent(make_agent(name, rules), solver_for(rules))
    assert found.opening == card.evaluation.opening and found.champion == card.evaluation.champion
    # On another machine a sum may be rounded otherwise, and a tie be broken the other way.
    assert found.sample.grade.kept == pytest.approx(card.evaluation.sample.grade.kept, abs=0.005)
    assert found.duels == card.evaluation.duels and found.scores.keys() == card.evaluation.scores.keys()
    for opponent, scores in card.evaluation.scores.items():
        here = found.scores[opponent]
        assert (here.first, here.second) == pytest.approx((scores.first, scores.second), abs=0.01)
    for here, there in zip(found.exams, card.evaluation.exams, strict=True):
        assert here.where == there.where
        assert here.grade.thrown == pytest.approx(there.grade.thrown, abs=0.005 * there.grade.won)
        assert here.grade.spoiled == pytest.approx(there.grade.spoiled, abs=0.005 * there.grade.drawn)


@pytest.mark.parametrize("exact", ["", ":12"])
def test_what_knows_grundy_values_keeps_as_much_as_its_card_says(exact):
    rules = GAMES["prime-rumble"].make_rules()
    card = read_card(reference_for(rules, "train/nimbers.py"))
    found = grade_sample(make_agent(f"nimbers:reference{exact}", rules), solver_for(rules), count=2000)
    assert found.later.kept == pytest.approx(card.evaluation.sample.later.kept, abs=0.03)


def test_every_game_has_a_reference():
    for spec in GAMES.values():
        assert reference_for(spec.make_rules(), "train/ppo.py").is_dir()


def test_every_reference_has_a_recipe():
    ran = run_program("train/references.py", "--retrain", "nobody")
    assert ran.code == 2
    names = ", ".join(folder.name for folder in FOLDERS)
    assert ran.err == f"train/references.py: there is no reference agent 'nobody'; there are {names}\n"
