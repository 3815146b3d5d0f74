"""MaskablePPO of sb3-contrib learns by self-play on the native vector environment.

    pip install -c constraints.txt -e '.[sb3]'
    python docs/examples/sb3_selfplay.py

All games are played in one batch, and every step is one ply in each of them. Observation, mask and reward are those of
the player who moves, so the discount is -1. Half of the games may start from random openings, so that the learner sees
more than the lines it prefers.
"""

from __future__ import annotations

from sb3_contrib import MaskablePPO

import numduel_env
from numduel_env.envs.sb3 import SB3Agent, SB3VectorEnv
from numduel_env.envs.vector import NumduelVectorEnv
from scoring import DUELS, parsed_arguments

args = parsed_arguments(__doc__, steps=32_768)

games = NumduelVectorEnv(
    "divider-duel", 64, opponent="self", lookahead=True, random_openings=0.5, autoreset_mode="SameStep"
)
model = MaskablePPO(
    "MlpPolicy",
    SB3VectorEnv(games, seed=args.seed),
    gamma=-1.0,
    gae_lambda=0.8,
    learning_rate=1e-3,
    n_steps=32,
    batch_size=256,
    n_epochs=5,
    ent_coef=0.01,
    seed=args.seed,
    device="cpu",
)
model.learn(args.steps)

agents = {"learned": SB3Agent(model, games.rules, lookahead=True), "random": "random", "solver": "solver"}
results = numduel_env.evaluate("divider-duel", agents, duels=DUELS, seed=args.seed, exploit=True)
print(results)
