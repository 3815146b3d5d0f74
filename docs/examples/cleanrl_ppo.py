"""PPO in one file, in the shape of CleanRL's ppo.py: all it knows of the games is an id that begins with their module.

    pip install -c constraints.txt -e '.[train]'
    python docs/examples/cleanrl_ppo.py                # with masks: two lines more than CleanRL has
    python docs/examples/cleanrl_ppo.py --no-masks     # as CleanRL has it

An illegal move loses at once, so a learner without masks learns to avoid them as it learns everything else: by losing.
"""

from __future__ import annotations

import argparse

import gymnasium
import numpy as np
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from torch import nn
from torch.distributions import Categorical

import numduel_env

ENVS, STEPS, MINIBATCHES, EPOCHS = 16, 64, 4, 4
GAMMA, GAE_LAMBDA, CLIP, ENTROPY, VALUE, MAX_GRAD_NORM = 0.99, 0.95, 0.2, 0.01, 0.5, 0.5
LEARNING_RATE = 2e-3

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--env-id", default="numduel_env:numduel/DividerDuel-v0", help="%(default)s")
parser.add_argument("--steps", type=int, default=40_960, help="learn from about this many moves (%(default)s)")
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--no-masks", dest="masks", action="store_false", help="let the policy choose illegal moves")
args = parser.parse_args()

torch.manual_seed(args.seed)
torch.set_num_threads(1)  # the network is small
# In the step that ends a game the next one begins: no step is lost, and none has to be left out of the batch.
envs = SyncVectorEnv([lambda: gymnasium.make(args.env_id)] * ENVS, autoreset_mode=AutoresetMode.SAME_STEP)
size, moves = envs.single_observation_space.shape[0], int(envs.single_action_space.n)


def layers(outputs, scale):
    """Return a network with two hidden layers."""
    sizes, network = [size, 64, 64, outputs], []
    for at, gain in enumerate([np.sqrt(2), np.sqrt(2), scale]):
        linear = nn.Linear(sizes[at], sizes[at + 1])
        nn.init.orthogonal_(linear.weight, gain)
        nn.init.zeros_(linear.bias)
        network += [linear, nn.Tanh()]
    return nn.Sequential(*network[:-1])


actor, critic = layers(moves, 0.01), layers(1, 1.0)
parameters = [*actor.parameters(), *critic.parameters()]
optimizer = torch.optim.Adam(parameters, lr=LEARNING_RATE, eps=1e-5)


def policy(observations, masks):
    """Return the distribution over moves; the logits of illegal ones are lowered as far as they go."""
    logits = actor(observations)
    return Categorical(logits=torch.where(masks, logits, -1e8) if args.masks else logits)


def advantages_of(rewards, values, ended, bootstrap):
    """Return generalised advantage estimates; ``ended`` says after which steps a game was over."""
    advantages, following, last = torch.zeros_like(rewards), bootstrap, torch.zeros(ENVS)
    for step in reversed(range(STEPS)):
        goes_on = 1 - ended[step]
        last = rewards[step] + GAMMA * following * goes_on - values[step] + GAMMA * GAE_LAMBDA * goes_on * last
        advantages[step], following = last, values[step]
    return advantages


observations, masks = torch.zeros(STEPS, ENVS, size), torch.zeros(STEPS, ENVS, moves, dtype=torch.bool)
actions, logprobs, rewards, values, ended = (torch.zeros(STEPS, ENVS) for _ in range(5))
observation, infos = envs.reset(seed=args.seed)
for _ in range(args.steps // (ENVS * STEPS)):
    for step in range(STEPS):
        observations[step] = torch.as_tensor(observation)
        masks[step] = torch.as_tensor(infos["action_mask"] > 0)
        with torch.no_grad():
            distribution = policy(observations[step], masks[step])
            actions[step] = distribution.sample()
            logprobs[step] = distribution.log_prob(actions[step])
            values[step] = critic(observations[step]).flatten()
        observation, reward, terminated, truncated, infos = envs.step(actions[step].long().numpy())
        rewards[step], ended[step] = torch.as_tensor(reward), torch.as_tensor(terminated | truncated)
    with torch.no_grad():
        bootstrap = critic(torch.as_tensor(observation)).flatten()
    advantages = advantages_of(rewards, values, ended, bootstrap)
    returns = advantages + values

    batch = [part.flatten(0, 1) for part in (observations, masks, actions, logprobs, advantages, returns)]
    for _ in range(EPOCHS):
        for rows in torch.randperm(ENVS * STEPS).chunk(MINIBATCHES):
            seen, legal, chosen, old_logprob, advantage, target = (part[rows] for part in batch)
            distribution = policy(seen, legal)
            ratio = (distribution.log_prob(chosen) - old_logprob).exp()
            advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
            policy_loss = -torch.min(advantage * ratio, advantage * ratio.clamp(1 - CLIP, 1 + CLIP)).mean()
            value_loss = 0.5 * (critic(seen).flatten() - target).square().mean()
            optimizer.zero_grad()
            (policy_loss - ENTROPY * distribution.entropy().mean() + VALUE * value_loss).backward()
            nn.utils.clip_grad_norm_(parameters, MAX_GRAD_NORM)
            optimizer.step()


class Learned:
    """The policy as an agent, which plays its likeliest move."""

    def __init__(self, rules):
        self.observer = numduel_env.Observer(rules)

    @torch.no_grad()
    def choose(self, position, legal, generator):
        seen = torch.as_tensor(self.observer(position, legal, (len(legal),)))
        return policy(seen, torch.as_tensor(legal)).probs.argmax(-1).numpy()


game = gymnasium.make(args.env_id).unwrapped.game
agents = {"learned": Learned, "random": "random"}
results = numduel_env.evaluate(game, agents, duels=1_000, openings=0, seed=args.seed)
print(results)
