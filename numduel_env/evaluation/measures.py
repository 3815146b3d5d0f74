"""What is measured about each agent of a round robin, and the duels that are shown move by move."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from numduel_env.duel import Duel
from numduel_env.evaluation.answers import NO_ACTION, Reason
from numduel_env.evaluation.grading import BLUNDER, KEPT, LOST, Grade, graded_moves
from numduel_env.evaluation.match import Match
from numduel_env.evaluation.results import AgentResult, KeptAt, Remark, Sample, Score, Written
from numduel_env.evaluation.round_robin import RoundRobin
from numduel_env.solvers import Solver
from numduel_env.writing import writer

SAMPLES = 6
"""The number of duels that are shown move by move."""


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
    faults = [fault.reason for side, m in own for fault in m.faults if fault.entrant == side]
    reasons = counted_by_kind(faults)
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
        reasons=reasons,
        rating=None,
        written=_written(robin, place, own, faults),
    )


def _written(robin: RoundRobin, place: int, own: list[tuple[int, Match]], faults: list[Reason]) -> Written | None:
    player = writer(robin.entrants[place].agent)
    if player is None:
        return None
    exchanges = [passage.exchange for side, m in own for passage in m.passages if passage.entrant == side]
    return Written(
        settings=player.settings,
        replies=len(exchanges),
        refused=dict(Counter(exchange.refusal for exchange in exchanges if exchange.refusal)),
        faults=dict(Counter(reason.kind for reason in faults)),
        prompt_tokens=_total(exchange.prompt_tokens for exchange in exchanges),
        completion_tokens=_total(exchange.completion_tokens for exchange in exchanges),
        seconds=sum(exchange.seconds for exchange in exchanges),
    )


def _total(counts: Iterable[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def counted_by_kind(reasons: list[Reason]) -> dict[str, int]:
    """Return how often there was each kind of reason, named by the first text of its kind."""
    texts: dict[str, list[str]] = {}
    for kind, text in sorted(reasons):
        texts.setdefault(kind, []).append(text)
    return {
        own[0] + (f" (or much the same: {kind})" if len(set(own)) > 1 else ""): len(own) for kind, own in texts.items()
    }


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
    reason = next((fault.reason.text for fault in match.faults if fault.duel == row), None)
    actions, opening = match.actions[row], int(match.opening[row])
    duel = Duel(robin.rules, actions[actions != NO_ACTION].tolist())
    return Sample(
        seats=seated,
        opening_plies=opening,
        moves=graded_moves(duel, judge, opening, forfeited=reason is not None),
        winner=None if payoff == 0 else seated[payoff < 0],
        fault=reason,
        remarks=tuple(
            Remark(passage.ply, passage.exchange.prompt, passage.exchange.reply, passage.exchange.refusal)
            for passage in match.passages
            if passage.duel == row
        ),
    )
