"""Everybody against everybody: the evaluation of agents, every move graded by perfect play."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from numduel_env.agent import AgentLike, SolverAgent, make_agent
from numduel_env.duel import Duel
from numduel_env.evaluation.exploitability import BUDGET, exploitability
from numduel_env.evaluation.grading import BLUNDER, KEPT, LOST, Grade, graded_moves
from numduel_env.evaluation.match import NO_ACTION, OPENINGS_PER_BLOCK, Entrant, Match, play_match
from numduel_env.evaluation.ratings import bradley_terry
from numduel_env.evaluation.results import SCHEMA, AgentResult, Exploit, Game, KeptAt, Results, Sample, Score
from numduel_env.games import GameSpec, find_game
from numduel_env.progress import Progress, silent
from numduel_env.rules import Rules, whole_number
from numduel_env.solvers import Solver, TooLargeToSolve, solver_for

SAMPLES = 6
"""The number of duels that are shown move by move."""


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
    anything is played; an agent that fails while it plays loses its duels.
    """
    spec = find_game(game)
    rules = spec.make_rules(**params)
    whole_number("duels", duels, 2)
    whole_number("openings", openings, 0)
    whole_number("seed", seed, 0)
    whole_number("budget", budget, 1)
    if duels % 2:
        raise ValueError(f"duels must be an even number, since openings are played twice, not {duels}")
    entrants = _entrants(agents, rules)
    judge, grading = None, "left out as asked"
    if graded:
        judge, grading = _judge(rules, entrants, progress)
    if exploit and judge is None:
        raise ValueError(f"exploit needs perfect play, but grading was {grading}")
    robin = RoundRobin.play(rules, entrants, duels, openings, seed, judge, progress)
    points, order = robin.points(), robin.order
    found = [agent_result(robin, place) for place in range(len(entrants))]
    if len(found) > 2:
        found = [replace(agent, rating=round(float(elo), 1)) for agent, elo in zip(found, bradley_terry(points))]
    return Results(
        schema=SCHEMA,
        command=(),
        versions=versions(),
        game=Game(spec.name, spec.title, spec.version, spec.params | params),
        seed=seed,
        duels_per_pair=duels,
        openings=min(openings, rules.max_plies - 1),
        openings_per_block=OPENINGS_PER_BLOCK,
        graded=judge is not None,
        grading=grading,
        agents=tuple(found[place] for place in order),
        matrix=tuple(tuple(None if i == j else float(points[i, j]) / duels for j in order) for i in order),
        exploits=_exploits(robin, judge, budget, seed, progress) if exploit and judge else (),
        samples=samples(robin, judge),
    )


def versions() -> dict[str, str]:
    """Return the versions of what can change results."""
    from numduel_env import __version__

    return {"numduel_env": __version__, "python": platform.python_version(), "numpy": np.__version__}


def _entrants(agents: Mapping[str, AgentLike] | Iterable[str], rules: Rules[Any]) -> list[Entrant]:
    """Return the agents under their names, in their order; one that is named twice is made once."""
    if isinstance(agents, str):
        raise ValueError(f"agents must be several names, or a dict of agents by name, not {agents!r}")
    named = list(agents.items()) if isinstance(agents, Mapping) else [(name, name) for name in agents]
    if len(named) < 2:
        raise ValueError("a match needs two agents or more")
    made: dict[str, Entrant] = {}
    for name, agent in named:
        if not isinstance(name, str):
            raise ValueError(f"agents must be named by strings, not by {name!r}")
        if name not in made:
            made[name] = Entrant(name, make_agent(agent, rules))
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


@dataclass(frozen=True)
class RoundRobin:
    """``matches[i, j]``, where ``i < j`` are places among the ``entrants``; ``order`` are their places as given.

    The entrants are sorted by their names, so that the order in which they are given can change nothing.
    """

    rules: Rules[Any]
    entrants: list[Entrant]
    order: list[int]
    duels: int
    matches: dict[tuple[int, int], Match]

    @classmethod
    def play(
        cls,
        rules: Rules[Any],
        given: Sequence[Entrant],
        duels: int,
        openings: int,
        seed: int,
        judge: Solver | None,
        progress: Progress = silent,
    ) -> RoundRobin:
        """Play ``duels`` duels between every two of the entrants."""
        places = sorted(range(len(given)), key=lambda place: given[place].name)
        order = [places.index(place) for place in range(len(given))]
        entrants = [given[place] for place in places]
        pairs = list(combinations(range(len(entrants)), 2))
        done, total = 0, len(pairs) * duels

        def finished(count: int) -> None:
            nonlocal done
            done += count
            progress("duels", done, total)

        matches = {
            (i, j): play_match(rules, (entrants[i], entrants[j]), duels, openings, seed, judge, finished)
            for i, j in pairs
        }
        return cls(rules, entrants, order, duels, matches)

    @property
    def names(self) -> list[str]:
        """The entrants' names, numbered where one plays several times."""
        names = [entrant.name for entrant in self.entrants]
        return [
            f"{name} ({names[:at].count(name) + 1})" if names.count(name) > 1 else name for at, name in enumerate(names)
        ]

    def points(self) -> NDArray[np.float64]:
        """Return ``points[i, j]``, what entrant ``i`` scored against ``j``."""
        points = np.zeros((len(self.entrants),) * 2)
        for (i, j), match in self.matches.items():
            points[i, j], points[j, i] = match.scores(0).sum(), match.scores(1).sum()
        return points

    def of(self, place: int) -> list[tuple[int, Match]]:
        """Return the matches of one entrant, each with which of the two it is."""
        return [(pair.index(place), match) for pair, match in self.matches.items() if place in pair]


def agent_result(robin: RoundRobin, place: int) -> AgentResult:
    """Return everything measured about one entrant, but for its rating."""
    own = robin.of(place)
    seats = [
        Score.of(np.concatenate([m.scores(side)[(m.opener == side) == (seat == 0)] for side, m in own]))
        for seat in (0, 1)
    ]
    duels = seats[0].duels + seats[1].duels
    moves = GradedMoves.of(own)
    asked = sum(int(m.asked[side]) for side, m in own)
    reasons = Counter(fault.reason for side, m in own for fault in m.faults if fault.entrant == side)
    return AgentResult(
        name=robin.names[place],
        total=Score.of(np.concatenate([m.scores(side) for side, m in own])),
        seats=(seats[0], seats[1]),
        grade=moves.grade,
        kept=moves.grade.kept,
        blunders_per_duel=moves.grade.blunders / duels,
        kept_by_numbers_left=moves.kept_at(moves.left),
        kept_by_ply=moves.kept_at(moves.ply),
        mean_length=sum(int(m.length.sum()) for _, m in own) / duels,
        moves=asked,
        ms_per_move=1000 * sum(float(m.seconds[side]) for side, m in own) / max(asked, 1),
        faults=sum(reasons.values()),
        reasons=dict(sorted(reasons.items())),
        rating=None,
    )


@dataclass(frozen=True)
class GradedMoves:
    """An entrant's graded moves in positions that were not lost: the verdicts, and where the moves were made."""

    grade: Grade
    verdicts: NDArray[np.int8]
    left: NDArray[np.int16]
    ply: NDArray[np.intp]

    @classmethod
    def of(cls, own: list[tuple[int, Match]]) -> GradedMoves:
        """Return the graded moves of all matches of an entrant."""
        grade = Grade()
        verdicts, left, ply = [], [], []
        for side, match in own:
            rows, plies = np.nonzero((match.movers() == side) & (match.verdicts > LOST))
            grade += Grade.of(match.before[rows, plies], match.after[rows, plies])
            verdicts.append(match.verdicts[rows, plies])
            left.append(match.left[rows, plies])
            ply.append(plies)
        return cls(grade, np.concatenate(verdicts), np.concatenate(left), np.concatenate(ply))

    def kept_at(self, places: NDArray[Any]) -> tuple[KeptAt, ...]:
        """Return how many moves were kept at each of the ``places`` of the moves, ascending."""
        graded = np.bincount(places)
        kept = np.bincount(places, weights=self.verdicts == KEPT, minlength=len(graded)).astype(int)
        return tuple(KeptAt(at, int(kept[at]), int(graded[at])) for at in np.flatnonzero(graded).tolist())


def samples(robin: RoundRobin, judge: Solver | None) -> tuple[Sample, ...]:
    """Return a duel of each of the first pairs: one that was lost by a fault, else one with a blunder, else any."""
    shown = []
    for number, (pair, match) in enumerate(list(robin.matches.items())[:SAMPLES]):
        blundered = np.flatnonzero((match.verdicts == BLUNDER).any(1))
        candidates = blundered if len(blundered) else np.arange(len(match.opener))
        # All pairs play the same openings; every sample shows another.
        row = match.faults[0].duel if match.faults else int(candidates[number % len(candidates)])
        shown.append(_sample(robin, pair, match, row, judge))
    return tuple(shown)


def _sample(robin: RoundRobin, pair: tuple[int, int], match: Match, row: int, judge: Solver | None) -> Sample:
    opener, payoff = int(match.opener[row]), int(match.payoff[row])
    seated = robin.names[pair[opener]], robin.names[pair[1 - opener]]
    reason = next((fault.reason for fault in match.faults if fault.duel == row), None)
    actions, opening = match.actions[row], int(match.opening[row])
    duel = Duel(robin.rules, actions[actions != NO_ACTION].tolist())
    return Sample(
        seats=seated,
        opening_plies=opening,
        moves=graded_moves(duel, judge, opening, forfeited=reason is not None),
        winner=None if payoff == 0 else seated[payoff < 0],
        fault=reason,
    )


def _exploits(robin: RoundRobin, judge: Solver, budget: int, seed: int, progress: Progress) -> tuple[Exploit, ...]:
    """Return the exams of every entrant, once for each name."""
    agents = {entrant.name: entrant.agent for entrant in robin.entrants}
    return tuple(Exploit(name, exploitability(agent, judge, budget, seed, progress)) for name, agent in agents.items())
