"""Things that choose moves, made by name: ``make_agent("mcts:200", rules, seed=0)``."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from typing import Any

from numduel_env.opponents import RandomPolicy, solver_policy
from numduel_env.rules import Policy, Rules, whole_number
from numduel_env.solvers import TooLargeToSolve

__all__ = ["AGENTS", "make_agent"]


def _random(rules: Rules, seed: int) -> Policy:
    return RandomPolicy(rules)


def _greedy(rules: Rules, seed: int) -> Policy:
    from agents.greedy import GreedyAgent

    return GreedyAgent(rules)


def _solver(rules: Rules, seed: int) -> Policy:
    return solver_policy(rules)


def _mcts(rules: Rules, seed: int, simulations: str = "200") -> Policy:
    from agents.mcts import MCTSAgent

    try:
        count = int(simulations)
    except ValueError:
        raise ValueError(f"mcts:SIMULATIONS needs a whole number, not {simulations!r}") from None
    return MCTSAgent(rules, whole_number("the number of simulations", count, 1))


def _human(rules: Rules, seed: int) -> Policy:
    raise ValueError("a human plays in the terminal only: python agents/play.py --first human")


AGENTS: dict[str, Callable[..., Policy]] = {
    "random": _random,
    "greedy": _greedy,
    "solver": _solver,
    "mcts": _mcts,
    "human": _human,
}
"""Agents by the first word of their spec; the words after a colon are further arguments."""


def make_agent(spec: str, rules: Rules, seed: int = 0) -> Policy:
    """Return the agent that ``spec`` names, made for ``rules``.

    ``spec`` is ``random``, ``greedy``, ``solver``, ``mcts``, ``mcts:SIMULATIONS``, or ``module:attribute`` for an agent
    of your own: something that is called with ``(rules, seed)`` and returns an object with ``choose(position,
    generator)``. All randomness of a move comes from that generator; ``seed`` is for what an agent draws once.
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
    known = ", ".join([*AGENTS, "mcts:SIMULATIONS", "module:attribute"])
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
