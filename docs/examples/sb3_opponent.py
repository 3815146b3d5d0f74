"""MaskablePPO of sb3-contrib learns against an opponent, in one Gymnasium environment.

    pip install -c constraints.txt -e '.[sb3]'
    python docs/examples/sb3_opponent.py

The opponent answers inside ``step``, so this is an ordinary environment with one learner, and the discount is 1: only
the end of a game is rewarded. MaskablePPO finds the masks by itself. Any agent may be the opponent: ``"solver:0.2"``,
``"module:attribute"``, an agent made before, another model in an ``SB3Agent``.
"""

from __future__ import annotations

import gymnasium
from sb3_contrib import MaskablePPO

import numduel_env
from numduel_env.envs.sb3 import SB3Agent
from scoring import DUELS, parsed_arguments

args = parsed_arguments(__doc__, steps=12_288)

# Where each move leads is a part of the observation: with it a small network learns a small game in seconds.
env = gymnasium.make("numduel/DividerDuel-v0", opponent="random", seat="random", lookahead=True)
model = MaskablePPO("MlpPolicy", env, gamma=1.0, learning_rate=1e-3, n_steps=1_024, seed=args.seed, device="cpu")
model.learn(args.steps)

agents = {"learned": SB3Agent(model, env.unwrapped.rules, lookahead=True), "random": "random", "solver": "solver"}
results = numduel_env.evaluate("divider-duel", agents, duels=DUELS, openings=0, seed=args.seed)
print(results)
