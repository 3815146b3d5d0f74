"""What the examples share: what they are told, and a trained network, scored against random play."""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray

from agents import make_agent
from agents.learned import LearnedAgent
from agents.networks import FlatNetwork
from numduel_env.envs.aec import NumduelAECEnv
from numduel_env.evaluation.match import Player, play_match

DUELS = 1_000


def asked(description: str | None, fewest_frames: int) -> argparse.Namespace:
    """Return what the command line asks for: ``frames`` and ``seed``."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, default=8_192, help="learn from about so many plies (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="the same seed learns the same (%(default)s)")
    args = parser.parse_args()
    if args.frames < fewest_frames:
        parser.error(f"--frames must be at least {fewest_frames}, not {args.frames}")
    return args


TorchFunction = Callable[[torch.Tensor], torch.Tensor]
"""Maps observations ``[N, size]`` to preferences ``[N, A]``, larger for better moves."""


class TorchNetwork(FlatNetwork):
    """A network that sees as ``env`` shows and prefers as a function of tensors does; it has no opinion of values."""

    def __init__(self, env: NumduelAECEnv, function: TorchFunction) -> None:
        self.observer, self.function = env.observer, function

    @torch.no_grad()
    def preferences(self, seen: NDArray[np.float32]) -> NDArray[np.float32]:
        return self.function(torch.as_tensor(seen)).numpy()


def score_against_random(env: NumduelAECEnv, network: TorchFunction, seed: int) -> float:
    """Return what ``network`` scores in ``DUELS`` duels of the game of ``env`` against random play, from 0 to 1.

    It plays the legal move that it prefers, in each seat half of the time. All duels begin at the first position.
    """
    learned = Player("learned", LearnedAgent(env.rules, TorchNetwork(env, network)))
    random = Player("random", make_agent("random", env.rules))
    match = play_match(env.rules, (learned, random), DUELS, openings=0, seed=seed)
    return float(match.scores(0).mean())
