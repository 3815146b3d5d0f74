"""PettingZoo's tutorial on Stable-Baselines3 with action masks, in its shape, on a game of ours.

    pip install -c constraints.txt -e '.[sb3]'
    python docs/examples/sb3_pettingzoo.py                  # ten seconds
    python docs/examples/sb3_pettingzoo.py --gamma 0.99     # the tutorial's discount: the second seat learns to lose

One network plays both seats of the PettingZoo environment, which a wrapper turns into a Gymnasium environment: every
step is one ply, the reward is that of the player who has just moved, the next observation that of the opponent. What is
good for the opponent is bad for the player, so the discount has to be -1. With 0.99 a learner is praised for leading
its opponent to a win.
"""

from __future__ import annotations

import argparse

import gymnasium
from pettingzoo.utils import BaseWrapper
from sb3_contrib import MaskablePPO

import numduel_env
from numduel_env.envs.sb3 import SB3Agent


class BothSeats(BaseWrapper, gymnasium.Env):
    """The players of a PettingZoo environment take turns as one learner."""

    def __init__(self, env):
        super().__init__(env)
        seat = self.possible_agents[0]
        self.observation_space = env.observation_space(seat)["observation"]
        self.action_space = env.action_space(seat)

    def reset(self, seed=None, options=None):
        self.env.reset(seed=seed, options=options)
        return self.shown(), {}

    def step(self, action):
        mover = self.env.agent_selection
        self.env.step(int(action))
        env = self.env
        return self.shown(), env.rewards[mover], env.terminations[mover], env.truncations[mover], {}

    def shown(self):
        """What the player to move observes."""
        return self.env.observe(self.env.agent_selection)["observation"]

    def action_masks(self):
        """What the player to move may choose: MaskablePPO asks for it under this name."""
        return self.env.infos[self.env.agent_selection]["action_mask"]


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--game", default="prime-duel-sum", help="any game (%(default)s)")
parser.add_argument("--gamma", type=float, default=-1, help="the discount (%(default)s)")
parser.add_argument("--steps", type=int, default=20_480, help="learn from about this many plies (%(default)s)")
parser.add_argument("--seed", type=int, default=0)
args = parser.parse_args()

game = numduel_env.env(args.game)
model = MaskablePPO("MlpPolicy", BothSeats(game), gamma=args.gamma, seed=args.seed, device="cpu")
model.learn(args.steps)

agents = {"learned": SB3Agent(model, game.rules), "random": "random"}
results = numduel_env.evaluate(args.game, agents, duels=1_000, openings=0, seed=args.seed)
print(results)
