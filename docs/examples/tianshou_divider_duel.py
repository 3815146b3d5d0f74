"""Divider Duel learned by Tianshou: double DQN in self-play, one network in both seats.

    pip install -c constraints.txt -e '.[interop]'
    python docs/examples/tianshou_divider_duel.py

Tianshou's own wrapper takes the PettingZoo environment as it is. It finds the mask in the observation and passes it on
as ``obs.mask``, which DQN applies when it chooses, when it explores and when it looks for the best next move.
"""

from __future__ import annotations

import logging

import numpy as np
import torch
from tianshou.algorithm import DQN, MultiAgentOffPolicyAlgorithm
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv, PettingZooEnv
from tianshou.trainer import OffPolicyTrainerParams
from tianshou.utils.net.common import Net

import numduel_env
from scoring import DUELS, parsed_arguments, score_against_random

ENVS = 16
FRAMES_PER_BATCH = 128
FRAMES_PER_UPDATE = 8
EXPLORATION = 0.3
LEARNING_RATE = 1e-3

args = parsed_arguments(__doc__, FRAMES_PER_BATCH)

np.random.seed(args.seed)  # noqa: NPY002 - it is from here that Tianshou draws
torch.manual_seed(args.seed)
torch.set_num_threads(1)  # the network is small
# Tianshou expects one return per game and warns at every one: here there are two, one for each seat.
logging.getLogger("tianshou.data.stats").setLevel(logging.ERROR)


def make_env() -> PettingZooEnv:
    """Return an environment in Tianshou's wrapper; an illegal move would end the training with an error."""
    return PettingZooEnv(numduel_env.env("divider-duel", lookahead=True, illegal="raise"))


env = make_env()
game = env.env
network = Net(state_shape=game.observer.size, action_shape=game.action_count, hidden_sizes=[64, 64])
untrained = score_against_random(game, lambda observed: network(observed)[0], args.seed)

policy = DiscreteQLearningPolicy(
    model=network,
    action_space=env.action_space,
    # Only the policy of both seats is put into training mode, not this one within it: it always acts as in inference.
    eps_inference=EXPLORATION,
)
learner = DQN(
    policy=policy,
    optim=AdamOptimizerFactory(lr=LEARNING_RATE),
    gamma=1.0,
    # Two plies lead to the learner's own next position; all rewards on the way are the learner's own.
    n_step_return_horizon=2,
    target_update_freq=200,
)
both_seats = MultiAgentOffPolicyAlgorithm(algorithms=[learner, learner], env=env)

envs = DummyVectorEnv([make_env for _ in range(ENVS)])
collector = Collector(both_seats, envs, VectorReplayBuffer(args.steps, ENVS), exploration_noise=True)
both_seats.run_training(
    OffPolicyTrainerParams(
        training_collector=collector,
        max_epochs=1,
        epoch_num_steps=args.steps,
        collection_step_num_env_steps=FRAMES_PER_BATCH,
        update_step_num_gradient_steps_per_sample=1 / FRAMES_PER_UPDATE,
        batch_size=128,
    )
)
trained = collector.collect_step

score = score_against_random(game, lambda observed: network(observed)[0], args.seed)
duels = f"{DUELS:,} duels against random, seats swapped"
print(f"Tianshou, {trained:,} steps: {score:.1%} of {duels} (untrained {untrained:.1%})")
