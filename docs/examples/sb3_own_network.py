"""A network and a reward of one's own in MaskablePPO; the result is graded, and becomes an opponent.

    pip install -c constraints.txt -e '.[sb3]'
    python docs/examples/sb3_own_network.py      # learns, and writes own_network.zip
    PYTHONPATH=docs/examples numduel evaluate --game prime-duel-sum sb3_own_network:trained random solver

The reward is a wrapper like any other of Gymnasium's; whatever it pays, ``evaluate`` counts games won and moves kept.
"""

from __future__ import annotations

import gymnasium
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor

import numduel_env
from numduel_env.envs.sb3 import SB3Agent
from scoring import DUELS, parsed_arguments

ENV = "numduel/PrimeDuelSum-v0"
FILE = "own_network.zip"


class Impatient(gymnasium.RewardWrapper):
    """Every move costs a little: a quick win is the best, and a slow loss the worst."""

    def reward(self, reward):
        return float(reward) - 0.01


class MoveByMove(BaseFeaturesExtractor):
    """The same layer for every move, on where that move leads (the outlook), beside the position itself."""

    def __init__(self, observation_space, moves, outlook, width=8):
        self.moves, self.outlook = moves, outlook
        super().__init__(observation_space, observation_space.shape[0] - outlook + moves * width)
        self.layer = torch.nn.Linear(outlook // moves, width)

    def forward(self, observations):
        position, outlook = observations[:, : -self.outlook], observations[:, -self.outlook :]
        seen = torch.relu(self.layer(outlook.unflatten(1, (self.moves, -1))))
        return torch.cat([position, seen.flatten(1)], dim=1)


def trained(rules):
    """Return what was learned as an agent: ``sb3_own_network:trained`` on a command line or as an ``opponent``."""
    return SB3Agent(MaskablePPO.load(FILE, device="cpu"), rules, lookahead=True)


def main():
    """Learn, save, grade, and play a game against what was learned."""
    args = parsed_arguments(__doc__, steps=8_192)
    env = Impatient(gymnasium.make(ENV, opponent="solver:0.5", lookahead=True))
    game = env.unwrapped
    network = {"moves": game.action_count, "outlook": game.observer.layout["outlook"]}
    model = MaskablePPO(
        "MlpPolicy",
        env,
        policy_kwargs={"features_extractor_class": MoveByMove, "features_extractor_kwargs": network},
        gamma=1.0,
        learning_rate=1e-3,
        n_steps=1_024,
        seed=args.seed,
        device="cpu",
    )
    model.learn(args.steps)
    model.save(FILE)

    agents = {"learned": trained, "random": "random", "solver": "solver"}
    results = numduel_env.evaluate(game.game, agents, duels=DUELS, openings=0, seed=args.seed)
    print(results)

    against = gymnasium.make(ENV, opponent=trained, seat="second", render_mode="human")
    _, info = against.reset(seed=args.seed)
    while not info["over"]:
        *_, info = against.step(against.action_space.sample(info["action_mask"]))
    return results


if __name__ == "__main__":
    results = main()
