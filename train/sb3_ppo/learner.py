"""MaskablePPO with its hyperparameters, the network over afterstates, and all that goes with it."""

from __future__ import annotations

from typing import Any

from sb3_contrib import MaskablePPO

from numduel_env.agent import AgentLike
from numduel_env.envs.sb3 import SB3VectorEnv
from numduel_env.games import GameSpec, Params
from train.sb3_ppo.buffer import LegalMovesBuffer
from train.sb3_ppo.envs import AfterstateVectorEnv
from train.sb3_ppo.network import AfterstatePolicy
from train.sb3_ppo.preset import Preset


def make_learner(
    spec: GameSpec, params: Params, opponent: AgentLike, preset: Preset, seed: int, **options: Any
) -> MaskablePPO:
    """Return a learner and the games that it plays; ``options`` are those of MaskablePPO that a preset leaves open."""
    games = AfterstateVectorEnv(
        spec,
        preset.n_envs,
        opponent=opponent,
        autoreset_mode="SameStep",
        random_openings=preset.random_openings,
        **params,
    )
    settings: Any = {
        **preset.of_the_learner(),
        "learning_rate": preset.learning_rate,
        "policy_kwargs": {"features": games.afterstates.size, "layers": preset.layers},
        "rollout_buffer_class": LegalMovesBuffer,
    }
    return MaskablePPO(AfterstatePolicy, SB3VectorEnv(games, seed), seed=seed, **settings | options)
