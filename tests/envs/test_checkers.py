"""The checkers of PettingZoo, Gymnasium and Stable-Baselines3, on every game and on unusual sizes."""

from __future__ import annotations

import warnings
from functools import partial

import gymnasium
import numpy as np
import pettingzoo
import pytest
from gymnasium.utils.env_checker import check_env
from pettingzoo.test import api_test, parallel_api_test, render_test, seed_test
from pettingzoo.utils import turn_based_aec_to_parallel
from stable_baselines3.common.env_checker import check_env as sb3_check_env

import numduel_env
from numduel_env import GAMES, random_legal
from tests.support.variants import each_game, each_variant

# What PettingZoo's api_test says of every dict observation that is not on a list of its own.
DICT_OBSERVATIONS = "Observation is not a NumPy array|Observation space for each agent probably should be"
# A finished position may have nothing left to show, and has no legal move.
FINISHED = "Observation numpy array is all zeros|Action mask numpy array is all zeros"


@pytest.mark.filterwarnings(f"ignore:{DICT_OBSERVATIONS}|{FINISHED}")
@pytest.mark.parametrize("lookahead", [False, True])
@each_variant
def test_pettingzoo_api(game, params, lookahead):
    api_test(numduel_env.env(game, lookahead=lookahead, **params), num_cycles=200)


@each_variant
def test_pettingzoo_seed(game, params):
    seed_test(partial(numduel_env.env, game, **params), num_cycles=100)


@each_variant
def test_pettingzoo_render(game, params, capsys):
    render_test(partial(numduel_env.env, game, **params))


@pytest.mark.skipif(not hasattr(pettingzoo, "make"), reason="PettingZoo has a registry since 1.27")
@each_game
def test_pettingzoo_registry(game, params):
    environment = pettingzoo.make("aec", GAMES[game].pettingzoo_id, **params)
    environment.reset()
    assert environment.metadata["name"] == f"{game.replace('-', '_')}_v0"
    assert environment.possible_agents == ["player_0", "player_1"]


@pytest.mark.filterwarnings(f"ignore:{FINISHED}")
@each_variant
def test_pettingzoos_parallel_form(game, params):
    """PettingZoo makes it of any game in turns: every step is one ply, of the player to move."""
    parallel_api_test(turn_based_aec_to_parallel(numduel_env.env(game, **params)), num_cycles=50)
    parallel, alone = turn_based_aec_to_parallel(numduel_env.env(game, **params)), numduel_env.env(game, **params)
    observations, _ = parallel.reset(seed=0)
    alone.reset(seed=0)
    generator = np.random.default_rng(0)
    while parallel.agents:
        masks = {agent: observations[agent]["action_mask"] for agent in parallel.agents}
        mover = alone.agent_selection
        assert masks[mover].any() and not any(mask.any() for agent, mask in masks.items() if agent != mover)
        # What the waiting player asks for counts for nothing.
        actions = {agent: int(generator.integers(len(mask))) for agent, mask in masks.items()}
        actions[mover] = int(random_legal(masks[mover], generator))
        observations, rewards, terminations, truncations, _ = parallel.step(actions)
        alone.step(actions[mover])
        assert rewards == alone.rewards and terminations == alone.terminations and truncations == alone.truncations
        np.testing.assert_equal(observations, {agent: alone.observe(agent) for agent in alone.agents})
    assert parallel.unwrapped.duel.actions == alone.duel.actions and sum(rewards.values()) == 0


@pytest.mark.parametrize("seat", ["first", "second", "random"])
@pytest.mark.parametrize("lookahead", [False, True])
@each_variant
def test_gymnasium_check_env(game, params, seat, lookahead, capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        environment = gymnasium.make(GAMES[game].gymnasium_id, seat=seat, lookahead=lookahead, **params)
        check_env(environment.unwrapped)


@each_variant
def test_stable_baselines_check_env(game, params):
    sb3_check_env(gymnasium.make(GAMES[game].gymnasium_id, **params).unwrapped)


@each_game
def test_make_with_module_prefix(game, params):
    environment = gymnasium.make(f"numduel_env:{GAMES[game].gymnasium_id}")
    assert environment.spec is not None
    assert environment.spec.to_json()
