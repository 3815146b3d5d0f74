"""The evaluation of agents: a round robin, every move graded by perfect play, and exploitability."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from numduel_env.agent import Agent, AgentLike, SolverAgent
from numduel_env.evaluation.block import OPENINGS_PER_BLOCK
from numduel_env.evaluation.exploitability import BUDGET, Exam, exploitability
from numduel_env.evaluation.journal import Examined, Journal, Request
from numduel_env.evaluation.match import Entrant
from numduel_env.evaluation.measures import agent_result, samples
from numduel_env.evaluation.process import ProcessAgent, make_apart
from numduel_env.evaluation.ratings import bradley_terry
from numduel_env.evaluation.results import SCHEMA, AgentResult, Exploit, Game, Results
from numduel_env.evaluation.round_robin import RoundRobin
from numduel_env.games import GameSpec, find_game
from numduel_env.progress import Progress, silent
from numduel_env.rules import Rules, own_copy, whole_number
from numduel_env.solvers import Solver, TooLargeToSolve, solver_for
from numduel_env.writing import writer

MOST_BYTES = 4_000_000_000
"""What is kept of all duels takes at most about this much memory."""

BYTES_OF_PLY = 7
"""What is kept of a ply: the action, the numbers left, two values and a verdict."""

LONG = 1_000
"""Plies of a duel, at most, for an estimate of memory: a limit of plies that is far higher is never reached."""

LONGEST_OPENING = 10_000


def evaluate(
    game: str | GameSpec,
    agents: Mapping[str, AgentLike] | Iterable[str],
    *,
    duels: int = 1000,
    openings: int = 4,
    seed: int = 0,
    graded: bool = True,
    exploit: bool = False,
    budget: int = BUDGET,
    move_seconds: float | None = None,
    journal: str | Path | None = None,
    progress: Progress = silent,
    **params: Any,
) -> Results:
    """Play a round robin between two or more agents, grade every move, and return the results.

    ``agents`` are names (see :func:`numduel_env.agent.agent_names`), or maps names of your choice to agents: by name,
    made before, or factories that are called with the rules. Every pair plays ``duels`` duels, an even number: each
    opening of 0 to ``openings`` random plies is played twice, with the seats swapped. The same call gives the same
    results (times aside), and so do the same agents in another order. ``params`` are the game's own parameters.

    A game too large to solve is played without grades; ``graded=False`` leaves them out. ``exploit`` walks every
    opponent line against each agent, up to ``budget`` positions. Raises a ``ValueError`` that says what is wrong before
    anything is played; an agent that fails while it plays loses its duels. Raises ``Unavailable`` if nobody answers for
    an agent any more.

    Agents named ``module:attribute`` play in processes of their own; with ``move_seconds`` they lose the duels in which
    they take longer for a move. ``journal`` is a file in which every answer is noted: an evaluation that was
    interrupted goes on from it when it is called again in the same way.
    """
    spec = find_game(game)
    # An agent that was made before may have, and change, the rules that everybody else shares.
    rules = own_copy(spec.make_rules(**params))
    _check_numbers(duels, openings, seed, budget, move_seconds)
    named = _named(agents)
    _refuse_too_many_duels(duels, len(named), rules)
    entrants = _entrants(named, rules, move_seconds)
    judge, grading = None, "left out as asked"
    if graded:
        judge, grading = _judge(rules, entrants, progress)
    if exploit and judge is None:
        raise ValueError(f"exploit needs perfect play, but grading was {grading}")
    writers = {entrant.name: player for entrant in entrants if (player := writer(entrant.agent))}
    if exploit and writers:
        raise ValueError(f"exploit asks about every line, too much for {next(iter(writers))}, which answers in writing")
    played_by = Game(spec.name, spec.heading(rules), spec.version, spec.params | params)
    request = Request(
        game=f"{played_by.name}-v{played_by.version}",
        parameters=str(played_by),
        agents=tuple(entrant.name for entrant in entrants),
        duels=duels,
        openings=openings,
        seed=seed,
        graded=judge is not None,
        exploit=exploit,
        budget=budget,
        version=versions()["numduel_env"],
        settings={name: player.settings for name, player in writers.items()},
    )
    notes = Journal(journal, request) if journal else None
    try:
        robin = RoundRobin.play(rules, entrants, duels, openings, seed, judge, notes, progress)
        exploits = _exploits(robin, judge, budget, seed, notes, progress) if exploit and judge else ()
    finally:
        if notes:
            notes.close()
        for entrant in entrants:
            if isinstance(entrant.agent, ProcessAgent):
                entrant.agent.close()
    agent_results, matrix = _standings(robin)
    return Results(
        schema=SCHEMA,
        command=(),
        versions=versions(),
        game=played_by,
        seed=seed,
        duels_per_pair=duels,
        openings=min(openings, rules.max_plies - 1),
        openings_per_block=OPENINGS_PER_BLOCK,
        graded=judge is not None,
        grading=grading,
        agents=agent_results,
        matrix=matrix,
        exploits=exploits,
        samples=samples(robin, judge),
    )


def _check_numbers(duels: int, openings: int, seed: int, budget: int, move_seconds: float | None) -> None:
    whole_number("duels", duels, 2)
    whole_number("openings", openings, 0, LONGEST_OPENING)
    whole_number("seed", seed, 0)
    whole_number("budget", budget, 1)
    if duels % 2:
        raise ValueError(f"duels must be an even number, since openings are played twice, not {duels}")
    if move_seconds is not None and not (isinstance(move_seconds, int | float) and 0 < move_seconds < float("inf")):
        raise ValueError(f"move_seconds must be a positive number of seconds, not {move_seconds!r}")


def _refuse_too_many_duels(duels: int, agents: int, rules: Rules[Any]) -> None:
    """Raise a ``ValueError`` if what is kept of all duels would not fit into memory."""
    of_duels = agents * (agents - 1) // 2 * BYTES_OF_PLY * min(rules.max_plies, LONG)
    most = max(MOST_BYTES // of_duels // 2 * 2, 2)
    if duels > most:
        raise ValueError(f"duels must be at most {most:,} for {agents} agents at this game, not {duels:,}")


def _standings(robin: RoundRobin) -> tuple[tuple[AgentResult, ...], tuple[tuple[float | None, ...], ...]]:
    """Return each agent's results, with ratings if there are more than two agents, and the matrix of scores."""
    points, order = robin.points(), robin.order
    found = [agent_result(robin, place) for place in range(len(order))]
    if len(found) > 2:
        found = [replace(agent, rating=round(float(elo), 1)) for agent, elo in zip(found, bradley_terry(points))]
    scores = points / robin.duels
    matrix = tuple(tuple(None if i == j else float(scores[i, j]) for j in order) for i in order)
    return tuple(found[place] for place in order), matrix


def versions() -> dict[str, str]:
    """Return the versions of what can change results."""
    from numduel_env import __version__

    return {"numduel_env": __version__, "python": platform.python_version(), "numpy": np.__version__}


def _named(agents: Mapping[str, AgentLike] | Iterable[str]) -> list[tuple[str, AgentLike]]:
    """Return the agents with their names, in their order."""
    if isinstance(agents, str) or not isinstance(agents, Iterable):
        raise ValueError(f"agents must be several names, or a dict of agents by name, not {agents!r}")
    named: list[tuple[str, AgentLike]] = [(name, name) for name in agents]
    if isinstance(agents, Mapping):
        named = list(agents.items())
    if len(named) < 2:
        raise ValueError("a match needs two agents or more")
    for name, _ in named:
        if not isinstance(name, str):
            raise ValueError(f"agents must be named by strings, not by {name!r}")
    return named


def _entrants(named: list[tuple[str, AgentLike]], rules: Rules[Any], move_seconds: float | None) -> list[Entrant]:
    """Return the agents under their names, in their order; one that is named twice is made once."""
    made: dict[str, Entrant] = {}
    for name, agent in named:
        if name not in made:
            made[name] = Entrant(name, make_apart(agent, rules, move_seconds))
    return [made[name] for name, _ in named]


def _judge(rules: Rules[Any], entrants: list[Entrant], progress: Progress) -> tuple[Solver | None, str]:
    """Return a solver to grade with, that of an entrant if one has it, and what is to be said about the grading."""
    for entrant in entrants:
        if isinstance(entrant.agent, SolverAgent):
            return entrant.agent.solver, "by exact values"
    try:
        return solver_for(rules, progress=progress), "by exact values"
    except TooLargeToSolve as refusal:
        return None, f"left out: {refusal}"


def _exploits(
    robin: RoundRobin, judge: Solver, budget: int, seed: int, journal: Journal | None, progress: Progress
) -> tuple[Exploit, ...]:
    """Return the exams of every entrant, once for each name: the journal's, or new ones."""

    def exams(name: str, agent: Agent) -> tuple[Exam, ...]:
        found = journal.exams(name) if journal else None
        if found is None:
            found = exploitability(agent, judge, budget, seed, progress)
            if journal:
                journal.add(Examined(name, found))
        return found

    agents = {entrant.name: entrant.agent for entrant in robin.entrants}
    return tuple(Exploit(name, exams(name, agent)) for name, agent in agents.items())
