"""Tianshou plays and learns on the PettingZoo environments as they are."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tianshou.algorithm import DQN, MARLRandomDiscreteMaskedOffPolicyAlgorithm, MultiAgentOffPolicyAlgorithm
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv, PettingZooEnv
from tianshou.utils.net.common import Net

import numduel_env
from tests.interop.examples import run_documented_lines, run_example
from tests.support.variants import each_game, each_game_with_illegal_moves

pytestmark = pytest.mark.interop

PLIES = 500
SEATS = ("player_0", "player_1")


@pytest.fixture(autouse=True)
def _one_thread_and_one_seed():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    np.random.seed(0)  # noqa: NPY002 - it is from here that Tianshou draws


def random_play(env):
    return MARLRandomDiscreteMaskedOffPolicyAlgorithm(env.action_space)


def q_learner(exploration):
    def make(env):
        rules = env.env.rules
        network = Net(state_shape=env.env.observer.size, action_shape=len(rules.numbers), hidden_sizes=[16])
        policy = DiscreteQLearningPolicy(model=network, action_space=env.action_space, eps_inference=exploration)
        return DQN(policy=policy, optim=AdamOptimizerFactory())

    return make


@each_game
@pytest.mark.parametrize(
    "learner", [random_play, q_learner(0.0), q_learner(1.0)], ids=["random", "greedy learner", "exploring learner"]
)
def test_the_mask_is_found_and_heeded(game, params, learner):
    def make():
        return PettingZooEnv(numduel_env.env(game, lookahead=True, illegal="raise", **params))

    env = make()
    algorithm = learner(env)
    both_seats = MultiAgentOffPolicyAlgorithm(algorithms=[algorithm, algorithm], env=env)
    buffer = VectorReplayBuffer(PLIES, 1)
    collector = Collector(both_seats, DummyVectorEnv([make]), buffer, exploration_noise=True)
    collector.reset()
    collector.collect(n_step=PLIES)
    assert len(buffer) == PLIES

    # Move by move the same game, played by its own rules.
    rules = env.env.rules
    position, seat = rules.initial(), 0
    for ply in range(PLIES):
        played = buffer[ply]
        legal = rules.legal(position)
        assert played.obs.agent_id == SEATS[seat]
        np.testing.assert_array_equal(played.obs.mask, legal)
        assert legal[played.act]
        position = rules.play(position, int(played.act))
        over = not rules.legal(position).any()
        assert played.rew.sum() == 0
        assert played.done == played.terminated == over
        if over:
            assert played.rew[1 - seat] == rules.value(position)
            position, seat = rules.initial(), 0
        else:
            assert not played.rew.any()
            seat = 1 - seat
    assert buffer.done.sum() > PLIES / rules.max_plies - 1


@each_game_with_illegal_moves
def test_a_policy_without_the_mask_is_refused_or_loses(game, params):
    env = PettingZooEnv(numduel_env.env(game, illegal="raise", **params))
    env.reset()
    env.step(0)
    with pytest.raises(ValueError, match="is illegal"):
        env.step(0)
    env = PettingZooEnv(numduel_env.env(game, **params))
    env.reset()
    env.step(0)
    _, rewards, terminated, truncated, info = env.step(0)
    assert (rewards, terminated, truncated, info["illegal"]) == ([1, -1], True, False, True)


def test_truncation():
    env = PettingZooEnv(numduel_env.env("prime-duel-sum", when_empty="refill", max_plies=7))
    observation, _ = env.reset()
    for _ in range(7):
        observation, rewards, terminated, truncated, _ = env.step(int(np.argmax(observation["mask"])))
    assert (rewards, terminated, truncated) == ([0, 0], False, True)


def test_the_example_learns():
    learned = run_example("tianshou_divider_duel.py")
    assert learned.steps == 8_192
    # 60 would do, but for the untrained networks that happen to score that much; perfect play scores 99.
    assert learned.score >= 90 > learned.untrained


def test_the_documented_lines():
    assert run_documented_lines("Tianshou")["both_seats"]
