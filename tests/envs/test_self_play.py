"""Both seats through one single environment: the same as a vector environment with one row."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from stable_baselines3.common.env_checker import check_env as sb3_check_env

from numduel_env import GAMES, random_legal
from tests.support.variants import each_variant

SAME = ("seat", "over", "illegal")


@each_variant
def test_one_ply_a_step_as_in_the_vector_environment(game, params):
    game_id = GAMES[game].gymnasium_id
    single = gymnasium.make(game_id, opponent="self", **params)
    rows = gymnasium.make_vec(game_id, num_envs=1, opponent="self", autoreset_mode="Disabled", **params)
    generator = np.random.default_rng(0)
    for seed in range(10):
        observation, info = single.reset(seed=seed)
        observations, infos = rows.reset(seed=seed)
        while True:
            np.testing.assert_array_equal(observation, observations[0])
            np.testing.assert_array_equal(info["action_mask"], infos["action_mask"][0])
            assert [info[name] for name in SAME] == [infos[name][0] for name in SAME]
            if info["over"]:
                break
            # Now and then an action that may be illegal.
            mask = info["action_mask"] if generator.random() < 0.95 else np.ones_like(info["action_mask"])
            action = int(random_legal(mask, generator))
            observation, *outcome, info = single.step(action)
            observations, *outcomes, infos = rows.step(np.array([action]))
            assert outcome == [parts[0] for parts in outcomes]


def test_the_reward_goes_to_the_player_who_has_moved():
    environment = gymnasium.make("numduel/DividerDuel-v0", opponent="self", highest=3)
    environment.reset(seed=0)
    _, reward, terminated, _, info = environment.step(0)
    assert (reward, terminated, info["seat"]) == (0, False, 1)
    _, reward, terminated, _, info = environment.step(1)  # takes the last number
    assert (reward, terminated) == (1, True)
    environment.reset(seed=0)
    _, reward, terminated, _, info = environment.step(0)
    _, reward, terminated, _, info = environment.step(0)  # is gone
    assert (reward, terminated, info["illegal"]) == (-1, True, True)


@pytest.mark.filterwarnings("ignore:.*render")
def test_the_checkers_pass():
    environment = gymnasium.make("numduel/PrimeDuelSum-v0", opponent="self")
    check_env(environment.unwrapped, skip_render_check=True)
    sb3_check_env(environment.unwrapped)
