"""Registers the games with Gymnasium and PettingZoo: strings only, so that importing costs nothing."""

from __future__ import annotations

import gymnasium
import pettingzoo

from numduel_env.checks import check_rules
from numduel_env.games import GAMES, GameSpec, add_game


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
    """Add a game of your own: it gets its ids, and every environment, tool and agent knows it by name.

    Raises a ``ValueError`` if it breaks the contract of ``Rules`` or has the name of another.
    """
    add_game(spec)
    try:
        check_rules(spec.make_rules())
    except Exception as wrong:
        del GAMES[spec.name]
        raise ValueError(f"{spec.name} cannot be registered: {wrong}") from wrong
    register_ids(spec)
    return spec
