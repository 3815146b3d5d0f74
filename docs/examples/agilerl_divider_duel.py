"""Divider Duel learned by AgileRL: a population of masked PPO learners on the native vector environment.

    pip install -c constraints-agilerl.txt -e '.[agilerl]'
    python docs/examples/agilerl_divider_duel.py

AgileRL finds the masks in ``info["action_mask"]``. After every generation the fittest learner survives, and the next
population is made of mutated copies of the winners of tournaments.
"""

from __future__ import annotations

import gymnasium
import numpy as np
import torch
from agilerl.algorithms import PPO
from agilerl.hpo.mutation import Mutations
from agilerl.hpo.tournament import TournamentSelection
from agilerl.training.train_on_policy import train_on_policy

import numduel_env
from scoring import DUELS, parsed_arguments, score_against_random

LEARNERS, GENERATION = 2, 8_192

args = parsed_arguments(__doc__, fewest=GENERATION, steps=4 * GENERATION)

np.random.seed(args.seed)  # noqa: NPY002 - it is from here that AgileRL draws
torch.manual_seed(args.seed)
torch.set_num_threads(1)  # the network is small

# AgileRL takes the observation after a game's end for that of the next game, as SAME_STEP has it.
envs = gymnasium.make_vec("numduel_env:numduel/DividerDuel-v0", num_envs=16, lookahead=True, autoreset_mode="SameStep")
game = numduel_env.env("divider-duel", lookahead=True)
learners = PPO.population(
    size=LEARNERS,
    observation_space=envs.single_observation_space,
    action_space=envs.single_action_space,
    net_config={"encoder_config": {"hidden_size": [64]}, "head_config": {"hidden_size": [64]}},
    num_envs=envs.num_envs,
    learn_step=1_024,
    batch_size=128,
    lr=2e-3,
    gamma=1.0,
    share_encoders=False,
)


def logits(learner):
    """Return a learner's logits as a function of observations."""
    return lambda seen: learner.actor.head_net.wrapped(learner.actor.extract_features(seen))


untrained = score_against_random(game, logits(learners[0]), args.seed)
learners, fitness = train_on_policy(
    env=envs,
    env_name="divider-duel",
    algo="PPO",
    pop=learners,
    max_steps=args.steps,
    evo_steps=GENERATION,
    eval_loop=20,
    selection_strategy=TournamentSelection(tournament_size=2, elitism=True, population_size=LEARNERS),
    mutation=Mutations(
        no_mutation=0.6,
        architecture=0.1,
        new_layer_prob=0.2,
        parameters=0.1,
        activation=0,
        rl_hp=0.2,
        mutate_elite=False,
    ),
    verbose=False,
)
best = learners[int(np.argmax(fitness))]
score = score_against_random(game, logits(best), args.seed)
duels = f"{DUELS:,} duels against random, seats swapped"
print(f"AgileRL, {args.steps:,} steps: {score:.1%} of {duels} (untrained {untrained:.1%})")
