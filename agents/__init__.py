"""What chooses moves beyond the baselines, and the programs that a person plays with.

Where each agent lives, by the name that it has on every command line, as ``opponent=`` and in ``evaluate``:

- ``random``, ``greedy``, ``solver``: in the wheel, ``numduel_env/agent.py``, and importable from here
- ``mcts``: ``mcts.py``, with its tree in ``search_tree.py``
- ``ppo``, ``values``, ``nimbers``, ``rllib``: ``learned.py``, with the networks in ``networks.py`` and ``nimbers.py``
  (and exact Grundy values of small parts in ``part_memory.py``), their files in ``cards.py`` and ``checkpoint.py``, and
  in ``reference/`` the trained agents that come with the project
- ``openspiel``: ``openspiel.py``
- ``llm``: ``llm.py``, with ``endpoint.py``, ``transcript.py`` and ``model_options.py``
- ``human``: ``table.py``, in ``play.py`` and ``board.py`` only, which are made of the modules here and of ``browser/``

Importing this package makes the names known; what they need is imported when they are used.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from agents import llm
from agents.mcts import MCTSAgent
from agents.search_tree import Evaluator
from numduel_env.agent import (
    AGENTS,
    Agent,
    GreedyAgent,
    RandomAgent,
    SolverAgent,
    agent_names,
    make_agent,
    register_agent,
)
from numduel_env.rules import Rules, whole_number

GUIDES = ("ppo", "values", "nimbers", "rllib")
"""What training programs write: agents that can guide a search."""

__all__ = ["AGENTS", "GreedyAgent", "MCTSAgent", "RandomAgent", "SolverAgent", "agent_names", "make_agent"]


def _mcts(rules: Rules[Any], argument: str) -> Agent:
    if not argument:
        return MCTSAgent(rules)
    simulations, colon, guide = argument.partition(":")
    count = _simulations("mcts", simulations, least=1)
    return MCTSAgent(rules, count, _evaluator(guide, rules) if colon else None)


def _evaluator(guide: str, rules: Rules[Any]) -> Evaluator:
    """Return the method with which the agent of this name guides a search."""
    evaluator: Evaluator | None = getattr(make_agent(guide, rules), "evaluate", None)
    if evaluator is None:
        raise ValueError(f"{guide!r} cannot guide a search: it has no method evaluate, as {', '.join(GUIDES)} have")
    return evaluator


def _simulations(name: str, text: str, least: int) -> int:
    try:
        count = int(text)
    except ValueError:
        raise ValueError(f"{name}:SIMULATIONS needs a whole number, not {text!r}") from None
    return whole_number("the number of simulations", count, least)


def _trained(name: str) -> Callable[[Rules[Any], str], Agent]:
    """Return what makes the agents that train/NAME.py has trained."""

    def make(rules: Rules[Any], argument: str) -> Agent:
        return _load(name, rules, argument)

    return make


def _load(name: str, rules: Rules[Any], argument: str, exact: int = 0) -> Agent:
    from agents.learned import load_agent, reference_for

    program = f"train/{name}.py"
    if not argument:
        reference = "" if name == "rllib" else f", or {name}:reference"
        raise ValueError(f"{name}:PATH needs the folder that {program} wrote{reference}")
    is_reference = argument == "reference" and name != "rllib"
    return load_agent(reference_for(rules, program) if is_reference else Path(argument), rules, exact)


def _nimbers(rules: Rules[Any], argument: str) -> Agent:
    path, _, size = argument.rpartition(":")
    if not (path and size.isdecimal()):
        return _load("nimbers", rules, argument)
    return _load("nimbers", rules, path, whole_number("SIZE, the most numbers of a part,", int(size[:9]), 0, 64))


def _openspiel(rules: Rules[Any], argument: str) -> Agent:
    algorithm, _, simulations = argument.partition(":")
    if algorithm != "mcts":
        raise ValueError(f"OpenSpiel's player is openspiel:mcts:SIMULATIONS; there is no openspiel:{algorithm}")
    # With a single simulation that search looks at no move at all.
    count = _simulations("openspiel:mcts", simulations or "200", least=2)
    try:
        from agents.openspiel import OpenSpielMCTSAgent
    except ImportError:
        wanted = "pip install -c constraints.txt -e '.[openspiel]'"
        raise ValueError(f"openspiel:mcts needs OpenSpiel, which is not installed: {wanted}") from None
    return OpenSpielMCTSAgent(rules, count)


def _human(rules: Rules[Any], argument: str) -> Agent:
    raise ValueError("a person plays at the terminal or the board only, as human: python agents/play.py --first human")


register_agent("mcts", _mcts, "mcts", "mcts:SIMULATIONS", *(f"mcts:SIMULATIONS:{guide}:PATH" for guide in GUIDES))
register_agent("ppo", _trained("ppo"), "ppo:PATH", "ppo:reference")
register_agent("values", _trained("values"), "values:PATH", "values:reference")
register_agent("nimbers", _nimbers, "nimbers:PATH", "nimbers:PATH:SIZE", "nimbers:reference", "nimbers:reference:SIZE")
register_agent("rllib", _trained("rllib"), "rllib:PATH")
register_agent("openspiel", _openspiel, "openspiel:mcts:SIMULATIONS")
llm.register()
register_agent("human", _human)
