"""Things that choose moves, made by name: ``make_agent("mcts:200", rules, seed=0)``."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numduel_env.opponents import RandomPolicy, solver_policy
from numduel_env.rules import Policy, Rules, whole_number
from numduel_env.solvers import TooLargeToSolve

if TYPE_CHECKING:
    from agents.learned import LearnedAgent

__all__ = ["AGENTS", "WITH_ARGUMENTS", "make_agent"]


def _random(rules: Rules, seed: int) -> Policy:
    return RandomPolicy(rules)


def _greedy(rules: Rules, seed: int) -> Policy:
    from agents.greedy import GreedyAgent

    return GreedyAgent(rules)


def _solver(rules: Rules, seed: int) -> Policy:
    return solver_policy(rules)


def _mcts(rules: Rules, seed: int, simulations: str = "200", *guide: str) -> Policy:
    from agents.mcts import MCTSAgent

    count = _simulation_count(simulations, least=1)
    evaluator = None
    if guide:
        kind, *path = guide
        if kind not in LEARNED:
            raise ValueError(f"mcts:SIMULATIONS can be followed by ppo:PATH or rllib:PATH, not by {':'.join(guide)!r}")
        evaluator = LEARNED[kind](rules, seed, *path).evaluate
    return MCTSAgent(rules, count, evaluator)


def _simulation_count(simulations: str, least: int) -> int:
    try:
        count = int(simulations)
    except ValueError:
        raise ValueError(f"mcts:SIMULATIONS needs a whole number, not {simulations!r}") from None
    return whole_number("the number of simulations", count, least)


def _ppo(rules: Rules, seed: int, *path: str) -> LearnedAgent:
    from agents.learned import load_agent, reference_for

    # A path may have colons of its own.
    place = ":".join(path)
    if not place:
        raise ValueError("ppo:PATH needs the folder that train/ppo.py wrote, or ppo:reference")
    return load_agent(reference_for(rules) if place == "reference" else Path(place), rules)


def _openspiel(rules: Rules, seed: int, algorithm: str = "", simulations: str = "200") -> Policy:
    if algorithm != "mcts":
        raise ValueError(f"OpenSpiel's player is openspiel:mcts:SIMULATIONS; there is no openspiel:{algorithm}")
    # With a single simulation that search looks at no move at all.
    count = _simulation_count(simulations, least=2)
    try:
        from agents.openspiel import OpenSpielMCTSAgent
    except ImportError:
        wanted = "pip install -c constraints.txt -e '.[openspiel]'"
        raise ValueError(f"openspiel:mcts needs OpenSpiel, which is not installed: {wanted}") from None
    return OpenSpielMCTSAgent(rules, count)


def _rllib(rules: Rules, seed: int, *path: str) -> LearnedAgent:
    from agents.learned import load_agent

    if not any(path):
        raise ValueError("rllib:PATH needs the folder that train/rllib.py wrote")
    return load_agent(Path(":".join(path)), rules)


LEARNED = {"ppo": _ppo, "rllib": _rllib}
"""The agents that can guide a search."""


def _human(rules: Rules, seed: int) -> Policy:
    raise ValueError("a human plays in the terminal only: python agents/play.py --first human")


AGENTS: dict[str, Callable[..., Policy]] = {
    "random": _random,
    "greedy": _greedy,
    "solver": _solver,
    "mcts": _mcts,
    **LEARNED,
    "openspiel": _openspiel,
    "human": _human,
}
"""Agents by the first word of their spec; the words after a colon are further arguments."""


WITH_ARGUMENTS = (
    "mcts:SIMULATIONS",
    "ppo:PATH",
    "ppo:reference",
    "rllib:PATH",
    "mcts:SIMULATIONS:ppo:PATH",
    "mcts:SIMULATIONS:rllib:PATH",
    "openspiel:mcts:SIMULATIONS",
    "module:attribute",
)
"""How the other specs look, for help and errors."""


def make_agent(spec: str, rules: Rules, seed: int = 0) -> Policy:
    """Return the agent that ``spec`` names, made for ``rules``.

    ``spec`` is ``random``, ``greedy``, ``solver``, ``mcts``, ``mcts:SIMULATIONS``, ``ppo:PATH`` for a trained agent
    (``ppo:reference`` for the one that comes with the project), ``rllib:PATH`` for one that RLlib trained,
    ``mcts:SIMULATIONS:ppo:PATH`` or ``mcts:SIMULATIONS:rllib:PATH`` for a search that a trained agent guides,
    ``openspiel:mcts:SIMULATIONS`` for OpenSpiel's search, or ``module:attribute`` for an agent of your own: something
    that is called with ``(rules, seed)`` and returns an object with ``choose(position, generator)``. All randomness of
    a move comes from that generator; ``seed`` is for what an agent draws once.
    """
    word, *rest = spec.split(":")
    if word in AGENTS:
        try:
            inspect.signature(AGENTS[word]).bind(rules, seed, *rest)
        except TypeError:
            raise ValueError(f"{spec!r} has words after the colon that {word} does not take") from None
        return AGENTS[word](rules, seed, *rest)
    if len(rest) == 1 and word and rest[0].isidentifier():
        return _imported(word, rest[0], rules, seed)
    known = ", ".join([*AGENTS, *WITH_ARGUMENTS])
    raise ValueError(f"there is no agent {spec!r}; there are {known}")


def _imported(module: str, attribute: str, rules: Rules, seed: int) -> Policy:
    try:
        factory: Any = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as missing:
        way_out = "a module beside you is found with PYTHONPATH=."
        raise ValueError(f"the agent {module}:{attribute} cannot be imported: {missing} ({way_out})") from missing
    try:
        agent = factory(rules, seed)
    except TooLargeToSolve:
        raise
    except Exception as wrong:
        raise ValueError(f"{module}:{attribute}(rules, seed) raised {type(wrong).__name__}: {wrong}") from wrong
    if not callable(getattr(agent, "choose", None)):
        raise ValueError(f"{module}:{attribute}(rules, seed) must return an object with choose(position, generator)")
    policy: Policy = agent
    return policy
