"""The environment as Stable-Baselines3 sees it, and a short real training run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3.common.vec_env import VecMonitor

from numduel_env import GAMES, random_legal
from numduel_env.duels import Duels
from numduel_env.vector import NumduelVectorEnv
from tests.variants import each_game, each_variant
from train.sb3 import SB3VectorEnv

ROOT = Path(__file__).parent.parent


def boards(game, count=8, **options):
    return NumduelVectorEnv(game, count, autoreset_mode="SameStep", **options)


@pytest.mark.parametrize("opponent", ["self", "random"])
@each_game
def test_the_adapter_tells_what_the_environment_tells(game, params, opponent):
    adapted = SB3VectorEnv(boards(game, opponent=opponent, lookahead=True), seed=5)
    beside = boards(game, opponent=opponent, lookahead=True)
    assert is_masking_supported(adapted)
    expected, infos = beside.reset(seed=5)
    np.testing.assert_array_equal(adapted.reset(), expected)
    generator = np.random.default_rng(0)
    for _ in range(30):
        masks = get_action_masks(adapted)
        assert masks.dtype == bool
        np.testing.assert_array_equal(masks, infos["action_mask"])
        actions = random_legal(masks, generator)
        observations, rewards, ended, told = adapted.step(actions)
        expected, worth, terminated, truncated, infos = beside.step(actions)
        np.testing.assert_array_equal(observations, expected)
        np.testing.assert_array_equal(rewards, worth)
        np.testing.assert_array_equal(ended, terminated | truncated)
        assert len(told) == 8


def test_truncation_is_told_as_stable_baselines_reads_it():
    adapted = SB3VectorEnv(boards("prime-duel-sum", opponent="self", when_empty="refill", max_plies=3), seed=0)
    adapted.reset()
    for _ in range(3):
        _, _, ended, told = adapted.step(random_legal(get_action_masks(adapted), np.random.default_rng(0)))
    assert ended.all()
    for info in told:
        assert info["TimeLimit.truncated"]
        assert adapted.observation_space.contains(info["terminal_observation"])


def test_the_adapter_refuses_other_modes():
    with pytest.raises(ValueError, match="SameStep"):
        SB3VectorEnv(NumduelVectorEnv("divider-duel", 2), seed=0)


def test_maskable_ppo_learns_on_it():
    adapted = VecMonitor(SB3VectorEnv(boards("divider-duel", 16, opponent="self"), seed=0))
    model = MaskablePPO("MlpPolicy", adapted, n_steps=16, batch_size=64, gamma=-1.0, seed=0, device="cpu")
    model.learn(512)
    assert model.num_timesteps == 512


@each_variant
def test_random_openings_leave_games_unfinished(game, params):
    rules = GAMES[game].make_rules(**params)
    duels = Duels(rules, 200)
    wanted = np.arange(200) % 30
    actions = duels.play_randomly(wanted, np.random.default_rng(0))
    assert duels.legal.any(-1).all()
    assert (duels.plies <= wanted).all()
    np.testing.assert_array_equal((actions >= 0).sum(-1), duels.plies)

    for share in (0.0, 0.5, 1.0):
        environment = NumduelVectorEnv(game, 400, opponent="self", random_openings=share, **params)
        _, infos = environment.reset(seed=0)
        assert infos["action_mask"].any(-1).all()
        opened = (environment.duels.plies > 0).mean()
        # Every opening plays a ply, unless the first one drawn would have ended the game.
        assert opened <= share + 0.1
        assert (opened > 0) == (share > 0 and rules.max_plies > 1)
        np.testing.assert_array_equal(environment.reset(seed=0)[1]["action_mask"], infos["action_mask"])
    with pytest.raises(ValueError, match="random_openings must be a share"):
        NumduelVectorEnv(game, 2, random_openings=1.5, **params)


def run(*arguments):
    command = [sys.executable, "train/ppo.py", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)


def test_divider_duel_is_learned_perfectly(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMDUEL_CACHE", str(tmp_path))
    ran = run("--game", "divider-duel", "--plies", "150000")
    assert ran.returncode == 0, ran.stderr
    assert "kept 100.00% on 10,000 random positions" in ran.stdout
    assert "first seat: throws 0 of" in ran.stdout
    assert "second seat: throws 0 of" in ran.stdout


@pytest.mark.parametrize("opponent", ["random", "greedy", "solver"])
def test_other_opponents(opponent):
    ran = run("--game", "divider_duel", "--highest", "8", "--plies", "9000", "--opponent", opponent)
    assert ran.returncode == 0, ran.stderr
    assert f"against {opponent}" in ran.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--game", "prime-duel"], "choose prime-duel-product or prime-duel-sum"),
        (["--game", "divider-duel", "--target", "3"], "has no --target"),
        (["--game", "divider-duel", "--plies", "0"], "--plies must be at least 1"),
        (["--game", "divider-duel", "--seed", "-1"], "--seed must be at least 0"),
        (["--game", "divider-duel", "--opponent", "me"], "invalid choice"),
    ],
)
def test_wrong_arguments(arguments, message):
    ran = run(*arguments)
    assert ran.returncode == 2
    assert message in ran.stderr
