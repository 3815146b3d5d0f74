"""MaskablePPO with the preset, the network over afterstates, and all that goes with it."""

from __future__ import annotations

from typing import Any

from sb3_contrib import MaskablePPO

from numduel_env.agent import AgentLike
from numduel_env.envs.sb3 import SB3VectorEnv
from numduel_env.games import GameSpec, Params
from train.sb3_ppo.buffer import LegalMovesBuffer
from train.sb3_ppo.envs import AfterstateVectorEnv
from train.sb3_ppo.network import AfterstatePolicy
from train.sb3_ppo.preset import LAYERS, PRESET


def make_learner(
    spec: GameSpec, params: Params, opponent: AgentLike, gamma: float, seed: int, **options: Any
) -> MaskablePPO:
    """Return a learner and the games that it plays; ``options`` are those of MaskablePPO that the preset leaves open."""
    games = AfterstateVectorEnv(
        spec,
        PRESET.num_envs,
        opponent=opponent,
        autoreset_mode="SameStep",
        random_openings=PRESET.random_openings,
        **params,
    )
    preset = {
        "learning_rate": PRESET.learning_rate,
        "n_steps": PRESET.n_steps,
        "batch_size": PRESET.batch_size,
        "n_epochs": PRESET.n_epochs,
        "gae_lambda": PRESET.gae_lambda,
        "ent_coef": PRESET.ent_coef,
        "vf_coef": PRESET.vf_coef,
        "policy_kwargs": {"features": games.afterstates.size, "layers": LAYERS},
        "rollout_buffer_class": LegalMovesBuffer,
    }
    return MaskablePPO(AfterstatePolicy, SB3VectorEnv(games, seed), gamma=gamma, seed=seed, **preset | options)
