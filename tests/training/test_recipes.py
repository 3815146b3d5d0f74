"""The recipes of docs/recipes.md, run as a reader would: what each says it learns is learned."""

from __future__ import annotations

import runpy
import sys

import gymnasium
import numpy as np
import pytest
import torch

from numduel_env.__main__ import run as numduel
from tests.support import ROOT

EXAMPLES = ROOT / "docs" / "examples"


@pytest.fixture
def recipe(tmp_path, monkeypatch):
    """Run a script of docs/examples in a folder of its own, and return its result about the learner."""
    threads = torch.get_num_threads()
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(EXAMPLES))

    def run(script, *arguments):
        monkeypatch.setattr(sys, "argv", [script, *map(str, arguments)])
        results = runpy.run_path(str(EXAMPLES / script), run_name="__main__")["results"]
        (learned,) = [agent for agent in results.agents if agent.name == "learned"]
        return learned, results

    yield run
    torch.set_num_threads(threads)


def against(results, opponent):
    """Return what the learner scored against one opponent."""
    names = [agent.name for agent in results.agents]
    return results.matrix[names.index("learned")][names.index(opponent)]


def test_pettingzoos_tutorial_learns_with_gamma_minus_one_and_not_with_its_own(recipe):
    learned, _ = recipe("sb3_pettingzoo.py", "--steps", 8_192)
    assert learned.faults == 0
    assert learned.kept > 0.9 and min(seat.score for seat in learned.seats) > 0.85
    for_the_opponent, _ = recipe("sb3_pettingzoo.py", "--steps", 8_192, "--gamma", 0.99)
    assert for_the_opponent.seats[1].score < 0.2 and for_the_opponent.kept < 0.75


def test_one_environment_against_an_opponent(recipe):
    learned, results = recipe("sb3_opponent.py", "--steps", 6_144)
    untrained, before = recipe("sb3_opponent.py", "--steps", 0)
    assert learned.faults == untrained.faults == 0
    assert against(results, "random") > 0.85 > 0.65 > against(before, "random")


def test_self_play_on_the_vector_environment(recipe):
    learned, results = recipe("sb3_selfplay.py")
    untrained, _ = recipe("sb3_selfplay.py", "--steps", 0)
    assert learned.kept > 0.97 > 0.8 > untrained.kept
    (exploit,) = [exploit for exploit in results.exploits if exploit.name == "learned"]
    assert [exam.where for exam in exploit.exams] == ["first seat", "second seat"]
    assert sum(exam.grade.thrown for exam in exploit.exams) <= 2


def test_a_network_and_a_reward_of_ones_own(recipe, capsys):
    _, results = recipe("sb3_own_network.py", "--steps", 6_144)
    assert against(results, "random") > 0.85
    assert "Player" in capsys.readouterr().out  # a game against what was learned, to be read
    # It goes on under its name: on the command line, and as an opponent of which the spec can be written.
    name = "sb3_own_network:trained"
    command = ["evaluate", "--game", "prime-duel-sum", name, "random", "--duels", "100", "--openings", "0"]
    assert numduel(command) in (0, None)
    assert name in capsys.readouterr().out
    environment = gymnasium.make("numduel/PrimeDuelSum-v0", opponent=name)
    assert name in environment.spec.to_json()
    _, info = environment.reset(seed=0)
    environment.step(int(np.flatnonzero(info["action_mask"])[0]))


def test_cleanrls_shape_with_masks(recipe):
    learned, _ = recipe("cleanrl_ppo.py")
    assert learned.faults == 0 and learned.total.score > 0.8


def test_cleanrls_shape_without_masks_learns_to_avoid_illegal_moves_by_losing(recipe):
    untrained, _ = recipe("cleanrl_ppo.py", "--no-masks", "--steps", 0)
    learned, _ = recipe("cleanrl_ppo.py", "--no-masks")
    assert untrained.faults > 500 and untrained.total.score < 0.4
    assert learned.faults < 200 and learned.total.score > 0.65
