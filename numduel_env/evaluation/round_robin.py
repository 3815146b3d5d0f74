"""Everybody against everybody: the matches between every two of some agents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from numduel_env.evaluation.block import play_match
from numduel_env.evaluation.journal import Journal
from numduel_env.evaluation.match import Entrant, Match
from numduel_env.progress import Progress, silent
from numduel_env.rules import Rules
from numduel_env.solvers import Solver


class MoveCount:
    """Progress by moves: how many there will be in all is estimated by the duels that are finished."""

    def __init__(self, duels: int, max_plies: int, progress: Progress) -> None:
        self.duels, self.progress = duels, progress
        self.moves, self.finished, self.finished_moves = 0, 0, 0
        self.guess = max_plies / 2

    def __call__(self, moves: int, lengths: NDArray[np.int64]) -> None:
        self.moves += moves
        self.finished += len(lengths)
        self.finished_moves += int(lengths.sum())
        if moves:
            mean = self.finished_moves / self.finished if self.finished else self.guess
            self.progress("moves", self.moves, max(round(mean * self.duels), self.moves))
        elif self.finished == self.duels:
            self.progress("moves", self.moves, self.moves)


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
        journal: Journal | None = None,
        progress: Progress = silent,
    ) -> RoundRobin:
        """Play ``duels`` duels between every two of the entrants."""
        places = sorted(range(len(given)), key=lambda place: given[place].name)
        order = [places.index(place) for place in range(len(given))]
        entrants = [given[place] for place in places]
        pairs = list(combinations(range(len(entrants)), 2))
        moved = MoveCount(len(pairs) * duels, rules.max_plies, progress)
        matches = {
            (i, j): play_match(
                rules, (entrants[i], entrants[j]), duels, openings, seed, judge, journal, moved, progress
            )
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
        """Return the matches of one entrant, each with its index (0 or 1) among the two."""
        return [(pair.index(place), match) for pair, match in self.matches.items() if place in pair]
