"""Registers the games with Gymnasium and PettingZoo: strings only, so that importing costs nothing."""

from __future__ import annotations

import gymnasium
import pettingzoo

from numduel_env.games import GameSpec, add_game


def register_ids(spec: GameSpec) -> None:
    """Register a game of the table under its Gymnasium id, and under its PettingZoo id where there is a registry."""
    gymnasium.register(
        spec.gymnasium_id,
        entry_point="numduel_env.envs.single:NumduelEnv",
        vector_entry_point="numduel_env.envs.vector:NumduelVectorEnv",
        kwargs={"game": spec.name},
    )
    if hasattr(pettingzoo, "register"):  # since 1.27
        pettingzoo.register("aec", spec.pettingzoo_id, "numduel_env.envs.aec:env", kwargs={"game": spec.name})


def register_game(spec: GameSpec) -> GameSpec:
    """Add a game of your own: it gets its ids, and every environment, tool and agent knows it by name."""
    add_game(spec)
    register_ids(spec)
    return spec
