"""The vector environment as Stable-Baselines3 sees it."""

from __future__ import annotations

import numpy as np
import pytest
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3.common.vec_env import VecMonitor

from numduel_env import random_legal
from numduel_env.envs.sb3 import SB3VectorEnv
from numduel_env.envs.vector import NumduelVectorEnv
from numduel_env.solvers import solver_for
from tests.support.variants import each_game
from tests.training.learners import games


@pytest.mark.parametrize("opponent", ["self", "random"])
@each_game
def test_the_adapter_shows_what_the_environment_shows(game, params, opponent):
    adapted = SB3VectorEnv(games(game, opponent=opponent, lookahead=True), seed=5)
    beside = games(game, opponent=opponent, lookahead=True)
    assert is_masking_supported(adapted)
    expected, infos = beside.reset(seed=5)
    np.testing.assert_array_equal(adapted.reset(), expected)
    generator = np.random.default_rng(0)
    for _ in range(30):
        masks = get_action_masks(adapted)
        assert masks.dtype == bool
        np.testing.assert_array_equal(masks, infos["action_mask"])
        actions = random_legal(masks, generator)
        observations, rewards, ended, own_infos = adapted.step(actions)
        expected, rewards_beside, terminated, truncated, infos = beside.step(actions)
        np.testing.assert_array_equal(observations, expected)
        np.testing.assert_array_equal(rewards, rewards_beside)
        np.testing.assert_array_equal(ended, terminated | truncated)
        assert len(own_infos) == 8


def test_truncation_is_shown_as_stable_baselines_reads_it():
    adapted = SB3VectorEnv(games("prime-duel-sum", opponent="self", when_empty="refill", max_plies=3), seed=0)
    adapted.reset()
    for _ in range(3):
        _, _, ended, infos = adapted.step(random_legal(get_action_masks(adapted), np.random.default_rng(0)))
    assert ended.all()
    for info in infos:
        assert info["TimeLimit.truncated"]
        assert adapted.observation_space.contains(info["terminal_observation"])


def test_the_adapter_refuses_other_modes():
    with pytest.raises(ValueError, match="SameStep"):
        SB3VectorEnv(NumduelVectorEnv("divider-duel", 2), seed=0)


def test_maskable_ppo_learns_on_it():
    """With a policy of SB3's own, through its monitor; on five numbers the best first move is soon found."""
    adapted = VecMonitor(SB3VectorEnv(games("divider-duel", 64, opponent="self", highest=6), seed=0))
    model = MaskablePPO("MlpPolicy", adapted, n_steps=16, batch_size=256, gamma=-1.0, seed=0, device="cpu")
    model.learn(20_000)
    solver = solver_for(adapted.venv.environment.rules)
    chosen, _ = model.predict(adapted.reset()[0], action_masks=get_action_masks(adapted)[0], deterministic=True)
    assert solver.best(solver.rules.initial())[int(chosen)]
