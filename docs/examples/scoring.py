"""What the examples share: their command line, and a trained network as an agent, scored against random play."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

import numduel_env
from numduel_env.batch import BoolArray
from numduel_env.envs.aec import NumduelAECEnv

DUELS = 1_000


def parsed_arguments(description: str | None, fewest: int = 0, steps: int = 8_192) -> argparse.Namespace:
    """Return the arguments of the command line: ``steps`` (by default ``steps``, at least ``fewest``) and ``seed``."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=steps, help="learn from about this many steps (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="the same seed learns the same (%(default)s)")
    args = parser.parse_args()
    if args.steps < fewest:
        parser.error(f"--steps must be at least {fewest}, not {args.steps}")
    return args


TorchFunction = Callable[[torch.Tensor], torch.Tensor]
"""Maps observations ``[N, size]`` to logits or action values ``[N, A]``, larger for better moves."""


class TorchAgent:
    """Plays the legal move with the largest output of a network that takes the observations of ``env``."""

    def __init__(self, env: NumduelAECEnv, network: TorchFunction) -> None:
        self.observer, self.network = env.observer, network

    @torch.no_grad()
    def choose(self, position: Any, legal: BoolArray, generator: np.random.Generator) -> NDArray[np.int64]:
        outputs = self.network(torch.as_tensor(self.observer(position, legal, (len(legal),))))
        return np.where(legal, outputs.numpy(), -np.inf).argmax(-1)


def score_against_random(env: NumduelAECEnv, network: TorchFunction, seed: int) -> float:
    """Return the score of ``network`` in ``DUELS`` duels against random play, from 0 to 1.

    The game is that of ``env`` in its book's size. It is played from the first position, from each seat half of the
    time.
    """
    agents = {"learned": TorchAgent(env, network), "random": "random"}
    results = numduel_env.evaluate(env.game, agents, duels=DUELS, openings=0, seed=seed, graded=False)
    return next(agent.total.score for agent in results.agents if agent.name == "learned")
