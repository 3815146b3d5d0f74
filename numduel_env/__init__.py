"""Five two-player number games as environments for reinforcement learning.

Importing registers ``numduel/PrimeRumble-v0`` and its siblings with Gymnasium, and ``numduel/prime_rumble-v0`` and its
siblings with PettingZoo.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numduel_env.batch import random_legal
from numduel_env.games import GAMES, GameSpec, find_game
from numduel_env.registration import register_game, register_ids
from numduel_env.rules import Policy, Rules

if TYPE_CHECKING:
    from numduel_env.envs.aec import NumduelAECEnv

__version__ = "0.1.0"

__all__ = ["GAMES", "GameSpec", "Policy", "Rules", "env", "find_game", "random_legal", "register_game"]

for _spec in GAMES.values():
    register_ids(_spec)


def env(game: str | GameSpec, render_mode: str | None = None, **options: Any) -> NumduelAECEnv:
    """Return the PettingZoo (AEC) environment of a game.

    ``options`` are ``illegal`` (``"lose"`` or ``"raise"``), ``lookahead`` and the game's own parameters.
    """
    from numduel_env import aec

    return aec.env(game, render_mode, **options)
