"""Everybody against everybody, and what it says of each agent."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from numduel_env.duels import Duel
from numduel_env.evaluation.match import BLUNDER, KEPT, NO_ACTION, UNGRADED, Match, Player, play_match
from numduel_env.rules import Rules
from numduel_env.solvers import Solver

SAMPLES = 6
"""So many duels are shown move by move."""

Z = 1.959964
"""Half the width of a 95% interval, in standard deviations."""


@dataclass
class RoundRobin:
    """Everybody against everybody: ``matches[i, j]``, where ``i < j`` are places among the ``players``.

    The players are sorted by their specs, so that the order of names on a command line can change nothing.
    """

    rules: Rules
    players: list[Player]
    matches: dict[tuple[int, int], Match]

    @property
    def names(self) -> list[str]:
        """The players' specs, numbered where one spec plays several times."""
        specs = [player.spec for player in self.players]
        return [
            f"{spec} ({specs[:at].count(spec) + 1})" if specs.count(spec) > 1 else spec for at, spec in enumerate(specs)
        ]

    def of(self, place: int) -> list[tuple[int, int, Match]]:
        """Return the matches of one player: the opponent's place, which of the two the player is, and the match."""
        return [
            (pair[1 - pair.index(place)], pair.index(place), m) for pair, m in self.matches.items() if place in pair
        ]


def play_round_robin(
    rules: Rules,
    players: Sequence[Player],
    duels: int,
    openings: int,
    seed: int,
    judge: Solver | None = None,
    progress: Callable[[int], Any] = lambda finished: None,
) -> RoundRobin:
    """Play ``duels`` duels between every two of the players."""
    ordered = sorted(players, key=lambda player: player.spec)
    matches = {
        (i, j): play_match(rules, (ordered[i], ordered[j]), duels, openings, seed, judge, progress)
        for i, j in combinations(range(len(ordered)), 2)
    }
    return RoundRobin(rules, ordered, matches)


def wilson(score: float, count: int) -> list[float]:
    """Return Wilson's 95% interval of the share that ``score`` points are of ``count`` duels, a draw half a point."""
    share = score / count
    scale = 1 + Z * Z / count
    centre = (share + Z * Z / (2 * count)) / scale
    spread = Z * math.sqrt(share * (1 - share) / count + Z * Z / (4 * count * count)) / scale
    # Rounding must not put the share itself outside.
    return [max(0.0, min(share, centre - spread)), min(1.0, max(share, centre + spread))]


def bradley_terry(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ratings on the Elo scale from ``points[i, j]``, what ``i`` scored against ``j``; Hunter's MM algorithm.

    One drawn duel more between every two, which nobody played, keeps the rating of one who wins everything finite.
    """
    count = len(points)
    points = points + 0.5 * (1 - np.eye(count))
    duels = points + points.T
    strength = np.ones(count)
    for _ in range(100_000):
        stronger = points.sum(1) / (duels / (strength[:, None] + strength)).sum(1)
        stronger /= np.exp(np.log(stronger).mean())
        settled = np.abs(np.log(stronger / strength)).max() < 1e-9
        strength = stronger
        if settled:
            break
    ratings: NDArray[np.float64] = 400 * np.log10(strength)
    return ratings


def summary(robin: RoundRobin, place: int) -> dict[str, Any]:
    """Return everything measured about one player, as the results list it."""
    seats: list[dict[str, Any]] = []
    own = robin.of(place)
    for seat in (0, 1):
        scores = np.concatenate([m.scores(side)[(m.opener == side) == (seat == 0)] for _, side, m in own])
        wins, draws = int((scores == 1).sum()), int((scores == 0.5).sum())
        seats.append({"duels": len(scores), "wins": wins, "draws": draws, "losses": len(scores) - wins - draws})
        seats[-1] |= {"score": float(scores.mean()), "interval": wilson(float(scores.sum()), len(scores))}
    duels = sum(seat["duels"] for seat in seats)
    points = sum(seat["wins"] + seat["draws"] / 2 for seat in seats)
    verdicts, left, ply = _graded_moves(own)
    blunders, graded = int((verdicts == BLUNDER).sum()), len(verdicts)
    reasons = Counter(fault.reason for _, side, m in own for fault in m.faults if fault.player == side)
    asked = sum(int(m.asked[side]) for _, side, m in own)
    return {
        "name": robin.names[place],
        "spec": robin.players[place].spec,
        "duels": duels,
        "score": points / duels,
        "interval": wilson(points, duels),
        "seats": seats,
        "graded_moves": graded,
        "kept": 1 - blunders / graded if graded else None,
        "blunders_per_duel": blunders / duels,
        "kept_by_numbers_left": _shares(left, verdicts),
        "kept_by_ply": _shares(ply, verdicts),
        "mean_length": sum(int(m.length.sum()) for _, _, m in own) / duels,
        "moves": asked,
        "ms_per_move": 1000 * sum(float(m.seconds[side]) for _, side, m in own) / max(asked, 1),
        "illegal_moves": sum(reasons.values()),
        "reasons": dict(sorted(reasons.items())),
        "rating": None,
    }


def _graded_moves(own: list[tuple[int, int, Match]]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return the verdicts on a player's graded moves, the numbers left before them, and their plies."""
    verdicts, left, ply = [], [], []
    for _, side, match in own:
        rows, plies = np.nonzero((match.movers() == side) & (match.verdicts != UNGRADED))
        verdicts.append(match.verdicts[rows, plies])
        left.append(match.left[rows, plies])
        ply.append(plies)
    return np.concatenate(verdicts), np.concatenate(left), np.concatenate(ply)


def _shares(places: NDArray[Any], verdicts: NDArray[Any]) -> list[list[int]]:
    """Return ``[place, kept, graded]`` for each place where moves were graded, ascending."""
    graded = np.bincount(places)
    kept = np.bincount(places, weights=verdicts == KEPT, minlength=len(graded)).astype(int)
    return [[at, int(kept[at]), int(graded[at])] for at in np.flatnonzero(graded).tolist()]


def sample_duels(robin: RoundRobin, judge: Solver | None) -> list[dict[str, Any]]:
    """Return a duel of each of the first pairs: one that was lost by a fault, else one with a blunder, else any."""
    samples = []
    for number, (pair, match) in enumerate(list(robin.matches.items())[:SAMPLES]):
        blundered = np.flatnonzero((match.verdicts == BLUNDER).any(1))
        candidates = blundered if len(blundered) else np.arange(len(match.opener))
        # All pairs play the same openings; every sample shows another.
        chosen = match.faults[0].duel if match.faults else int(candidates[number % len(candidates)])
        samples.append(_told(robin, pair, match, chosen, judge))
    return samples


def _told(robin: RoundRobin, pair: tuple[int, int], match: Match, row: int, judge: Solver | None) -> dict[str, Any]:
    """Return one duel with its moves, each with a verdict and, after a blunder, the moves that keep the value."""
    rules, names = robin.rules, robin.names
    opener = int(match.opener[row])
    seated = [names[pair[opener]], names[pair[1 - opener]]]
    reason = next((fault.reason for fault in match.faults if fault.duel == row), None)
    duel = Duel(rules)
    moves = []
    for ply in range(int(match.length[row]) + (reason is not None)):
        action, verdict = int(match.actions[row, ply]), int(match.verdicts[row, ply])
        better = rules.numbers[judge.best(duel.position)] if judge and verdict == BLUNDER else np.zeros(0, int)
        words = {KEPT: "kept", BLUNDER: "blunder", UNGRADED: "lost" if judge else "ungraded"}
        moves.append(
            {
                "seat": ply % 2,
                "number": None if action == NO_ACTION else int(rules.numbers[action]),
                "numbers_left": int(rules.available(duel.position).sum()),
                "verdict": "opening" if ply < match.opening[row] else words[verdict],
                "better": better.tolist(),
            }
        )
        if action != NO_ACTION:
            duel.play(action)
    payoff = int(match.payoff[row])
    winner = None if payoff == 0 else seated[payoff < 0]
    return {
        "seats": seated,
        "opening_plies": int(match.opening[row]),
        "moves": moves,
        "winner": winner,
        "fault": reason,
    }
