"""A game is one small file of rules plus one line in the table: this file defines a sixth and opens every door."""

from __future__ import annotations

import copy
import pickle

import gymnasium
import numpy as np
import pettingzoo
import pytest
from gymnasium.utils.env_checker import check_env
from pettingzoo.test import api_test, render_test, seed_test
from stable_baselines3.common.env_checker import check_env as sb3_check_env

import numduel_env
from numduel_env import GAMES, GameSpec, random_legal, register_game
from numduel_env.solvers import solver_for
from tests.support.toys import Heap, Subtraction, forget


@pytest.fixture(scope="module")
def spec():
    spec = register_game(GameSpec("subtraction", "Subtraction", Subtraction, {"heap": 11, "most": 3}))
    yield spec
    forget(spec)


@pytest.mark.skipif(not hasattr(pettingzoo, "make"), reason="PettingZoo has a registry since 1.27")
@pytest.mark.filterwarnings(
    "ignore:Observation is not a NumPy|Observation space for each|.*all zeros|Observation is a single"
)
def test_pettingzoo_door(spec, capsys):
    environment = pettingzoo.make("aec", "numduel/subtraction-v0", heap=9)
    api_test(environment, num_cycles=50)
    seed_test(lambda: numduel_env.env("subtraction"))
    render_test(lambda render_mode: numduel_env.env("subtraction", render_mode=render_mode))
    environment.reset(options={"moves": [3, 2]})
    assert copy.deepcopy(environment).last()[0]["observation"] == pytest.approx(4 / 9)
    assert pickle.loads(pickle.dumps(environment)).agent_selection == "player_0"


def test_gymnasium_doors(spec):
    environment = gymnasium.make("numduel/Subtraction-v0", lookahead=True)
    check_env(environment.unwrapped)
    sb3_check_env(environment.unwrapped)
    vector = gymnasium.make_vec("numduel/Subtraction-v0", num_envs=64, heap=20)
    _, infos = vector.reset(seed=0)
    generator = np.random.default_rng(0)
    payoffs = []
    for _ in range(60):
        _, rewards, terminated, truncated, infos = vector.step(random_legal(infos["action_mask"], generator))
        assert not truncated.any()
        payoffs += rewards[terminated].tolist()
    assert set(payoffs) == {-1.0, 1.0}


def test_people_can_read_and_see_it(spec):
    environment = numduel_env.env("subtraction", render_mode="ansi")
    environment.reset(options={"moves": [3]})
    assert environment.render() == (
        "Player 1 chose 3.\n\nPlayer 2, it's your turn.\ncounters: 8\nAvailable Numbers: 1, 2, 3\n"
    )
    for action in (2, 2):
        environment.step(action)
    environment.step(2)
    assert "Player 2 loses by an illegal move. Player 1 wins!" in environment.render()


def test_names_and_parameters(spec):
    assert numduel_env.find_game("Subtraction") is spec
    with pytest.raises(ValueError, match="there is a game named 'subtraction' already"):
        register_game(spec)
    for name in ("Sub_traction", "sub traction", "", "sub-"):
        with pytest.raises(ValueError, match="a game's name is"):
            register_game(GameSpec(name, "Subtraction", Subtraction, {"heap": 11, "most": 3}))
    assert list(GAMES)[-1] == "subtraction"
    with pytest.raises(ValueError, match=r"^heap must be"):
        numduel_env.env("subtraction", heap=0)


def test_a_solver_finds_perfect_play(spec):
    """Whoever leaves a multiple of most + 1 wins: the oldest theorem about this game."""
    rules = spec.make_rules(heap=30)
    solver = solver_for(rules)
    heaps = Heap(np.arange(1, 31))
    np.testing.assert_array_equal(solver.value(heaps), np.where(heaps.counters % 4, 1, -1))
    environment = gymnasium.make("numduel/Subtraction-v0", opponent="solver", seat="second")
    environment.reset(seed=0)
    assert environment.unwrapped.duel.moves == [3]
