"""Two-player number games for reinforcement learning, solved exactly, so that every move can be graded.

Importing registers ``numduel/PrimeRumble-v0`` and its siblings with Gymnasium, and ``numduel/prime_rumble-v0`` and its
siblings with PettingZoo.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numduel_env.agent import Agent, GreedyAgent, Player, RandomAgent, SolverAgent, make_agent, register_agent
from numduel_env.batch import random_legal
from numduel_env.checks import check_rules
from numduel_env.duel import Duel
from numduel_env.evaluation import Results, evaluate
from numduel_env.games import GAMES, GameSpec, find_game
from numduel_env.observation import Observer
from numduel_env.registration import register_game, register_ids
from numduel_env.rules import Rules
from numduel_env.solvers import solver_for

if TYPE_CHECKING:
    from numduel_env.envs.aec import NumduelAECEnv

__version__ = "0.2.0"

__all__ = [
    "GAMES",
    "Agent",
    "Duel",
    "GameSpec",
    "GreedyAgent",
    "Observer",
    "Player",
    "RandomAgent",
    "Results",
    "Rules",
    "SolverAgent",
    "__version__",
    "check_rules",
    "env",
    "evaluate",
    "find_game",
    "make_agent",
    "random_legal",
    "register_agent",
    "register_game",
    "solver_for",
]

for _spec in GAMES.values():
    register_ids(_spec)


def env(game: str | GameSpec, render_mode: str | None = None, **options: Any) -> NumduelAECEnv:
    """Return the PettingZoo (AEC) environment of a game.

    ``options`` are ``illegal`` (``"lose"`` or ``"raise"``), ``lookahead`` and the game's own parameters.
    """
    from numduel_env.envs import aec

    return aec.env(game, render_mode, **options)
