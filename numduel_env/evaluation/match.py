"""Head-to-head matches: every opening is played twice, with the seats swapped, and every move may be graded.

Duels are played in blocks of a fixed number of openings. A block's openings are drawn from (seed, block) alone, so
every pair of agents meets the same ones; an agent's random numbers come from (seed, block, name, seat). Nothing depends
on the order of the names or on which blocks are played together, and an agent that meets itself plays every duel twice
alike, once from each seat: it scores exactly one half.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from numduel_env.agent import Agent, BadAnswer, PlayerAgent, ask, checked_answer, shortened
from numduel_env.batch import BoolArray, Position, take_rows
from numduel_env.duel import Duel
from numduel_env.duels import Duels
from numduel_env.evaluation.grading import UNGRADED, verdicts
from numduel_env.rules import Rules
from numduel_env.solvers import ILLEGAL, Solver

OPENINGS_PER_BLOCK = 256
"""Part of what a seed means: another number gives other duels."""

NO_ACTION = -1


class Entrant(NamedTuple):
    """An agent in a match, under the name that its random numbers are drawn for."""

    name: str
    agent: Agent


class Fault(NamedTuple):
    """Why a duel was lost without a legal move: ``entrant`` is the place of the offender in the pair."""

    duel: int
    entrant: int
    ply: int
    reason: str


@dataclass(frozen=True)
class Match:
    """All duels between two entrants; arrays begin with an axis of duels, then of plies where there are any.

    ``opener`` is the entrant (0 or 1) in seat 0, ``opening`` the number of random plies, ``length`` the number of all
    plies, ``payoff`` that of seat 0. ``actions`` is ``NO_ACTION`` where nothing was played, ``left`` the numbers left
    before a ply, ``before`` and ``after`` the values to the mover before and after a graded ply, ``verdicts`` how it
    was graded. ``seconds`` and ``asked`` say how long each entrant thought about how many moves; ``seconds`` is the
    only part that another run does not repeat.
    """

    opener: NDArray[np.int8]
    opening: NDArray[np.int64]
    length: NDArray[np.int64]
    payoff: NDArray[np.int8]
    actions: NDArray[np.int16]
    left: NDArray[np.int16]
    before: NDArray[np.int8]
    after: NDArray[np.int8]
    verdicts: NDArray[np.int8]
    faults: list[Fault]
    seconds: NDArray[np.float64]
    asked: NDArray[np.int64]

    def movers(self) -> NDArray[np.int8]:
        """Return ``[duels, plies]``: which entrant is to move at each ply."""
        return self.opener[:, None] ^ (np.arange(self.actions.shape[1]) & 1).astype(np.int8)

    def scores(self, entrant: int) -> NDArray[np.float64]:
        """Return what ``entrant`` scored in each duel: 1 for a win, one half for a draw."""
        return (1 + np.where(self.opener == entrant, self.payoff, -self.payoff)) / 2


def play_match(
    rules: Rules[Any],
    entrants: tuple[Entrant, Entrant],
    duels: int,
    openings: int = 4,
    seed: int = 0,
    judge: Solver | None = None,
    finished: Callable[[int], object] = lambda duels: None,
) -> Match:
    """Play ``duels`` (an even number) duels from openings of 0 to ``openings`` random plies.

    ``finished`` is called from time to time with how many more duels are finished.
    """
    if duels < 2 or duels % 2:
        raise ValueError(f"duels must be an even number of at least 2, since openings are played twice, not {duels}")
    blocks = []
    for block, first in enumerate(range(0, duels // 2, OPENINGS_PER_BLOCK)):
        count = min(OPENINGS_PER_BLOCK, duels // 2 - first)
        blocks.append(Block(rules, entrants, block, count, openings, seed, finished).play(judge))
    return _joined(blocks)


def random_stream(seed: int, block: int, *key: int | str) -> np.random.Generator:
    """Return a generator of its own for every key; words count by a checksum, which is the same in every process."""
    words = (zlib.crc32(part.encode()) if isinstance(part, str) else part for part in key)
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(block, *words)))


def draw_openings(
    rules: Rules[Any], count: int, most: int, generator: np.random.Generator
) -> tuple[Duels[Any], NDArray[np.int16]]:
    """Return unfinished duels after 0 to ``most`` random legal plies each, and the actions ``[count, most]``.

    ``most`` is below the rules' ``max_plies``. An opening stops short of a ply that would finish the game.
    """
    duels = Duels(rules, count)
    actions = np.full((count, most), NO_ACTION, np.int16)
    drawn = duels.play_randomly(generator.integers(0, most + 1, count), generator)
    actions[:, : drawn.shape[1]] = drawn
    return duels, actions


class Moment(NamedTuple):
    """The moves made at once in several duels: which, at which ply, the actions, and the positions before them."""

    rows: NDArray[np.intp]
    ply: NDArray[np.int64]
    actions: NDArray[np.int64]
    position: Any


class Block:
    """``count`` openings, each played twice: first all with entrant 0 in seat 0, then all with entrant 1 there."""

    def __init__(
        self,
        rules: Rules[Any],
        entrants: tuple[Entrant, Entrant],
        block: int,
        count: int,
        openings: int,
        seed: int,
        finished: Callable[[int], object],
    ) -> None:
        self.rules, self.entrants, self.finished = rules, entrants, finished
        openings = min(openings, rules.max_plies - 1)
        opened, self.drawn = draw_openings(rules, count, openings, random_stream(seed, block))
        twice = np.arange(2 * count) % count
        self.drawn = self.drawn[twice]
        self.duels: Duels[Any] = Duels(rules, 2 * count)
        for side in (0, 1):
            self.duels.put(np.arange(count) + side * count, opened)
        self.opening = self.duels.plies.copy()
        self.opener = np.repeat(np.array([0, 1], np.int8), count)
        # The two seatings have streams of their own that are alike: so an agent that meets itself repeats its duels.
        self.streams = {
            (first, seat): random_stream(seed, block, entrants[first ^ seat].name, seat)
            for first in (0, 1)
            for seat in (0, 1)
        }
        self.faults: list[Fault] = []
        self.seconds, self.asked = np.zeros(2), np.zeros(2, np.int64)
        self.moments: list[Moment] = []

    def play(self, judge: Solver | None) -> Match:
        """Play all duels to their ends, and grade the moves if there is a judge."""
        duels = self.duels
        while len(rows := np.flatnonzero(~duels.finished)):
            chosen = self._chosen(rows)
            self.moments.append(Moment(rows, duels.plies[rows], chosen[rows], take_rows(duels.position, rows)))
            silent = rows[chosen[rows] == NO_ACTION]
            if len(silent):
                duels.forfeit(silent)
            duels.play(chosen.clip(0), ~duels.finished)
            self.finished(int(duels.finished[rows].sum()))
        return self._match(judge)

    def _chosen(self, rows: NDArray[np.intp]) -> NDArray[np.int64]:
        """Return the entrants' actions, ``NO_ACTION`` where there is no legal one, and note why."""
        duels = self.duels
        chosen = np.full(duels.count, NO_ACTION)
        for (first, seat), generator in self.streams.items():
            asked = rows[(self.opener[rows] == first) & (duels.seat[rows] == seat)]
            if not len(asked):
                continue
            entrant = first ^ seat
            histories = None
            if isinstance(agent := self.entrants[entrant].agent, PlayerAgent):
                histories = [self._history(row) for row in asked]
            start = time.perf_counter()
            actions, reasons = legal_answers(agent, duels.position, duels.legal, asked, generator, histories)
            self.seconds[entrant] += time.perf_counter() - start
            self.asked[entrant] += len(asked)
            chosen[asked] = actions
            for place, why in reasons.items():
                self.faults.append(Fault(int(asked[place]), entrant, int(duels.plies[asked[place]]), why))
        return chosen

    def _history(self, row: int) -> Duel[Any]:
        """Return one of the duels with all its moves."""
        moves = self.drawn[row][: self.opening[row]].tolist()
        for moment in self.moments:
            at = np.flatnonzero(moment.rows == row)
            moves += moment.actions[at].tolist()
        return Duel(self.rules, moves)

    def _match(self, judge: Solver | None) -> Match:
        duels, openings = self.duels, self.drawn.shape[1]
        width = int(max(duels.plies.max() + len(self.faults[:1]), openings))
        actions, left, before, after = (np.full((duels.count, width), fill, np.int16) for fill in (NO_ACTION, 0, 0, 0))
        graded = np.full((duels.count, width), UNGRADED, np.int8)
        actions[:, :openings] = self.drawn
        rows, ply, played, position = _joined_moments(self.moments)
        actions[rows, ply] = played
        left[rows, ply] = self.rules.available(position).sum(-1)
        if judge is not None:
            before[rows, ply], after[rows, ply] = self._values(judge, rows, ply, played, position)
            graded[rows, ply] = verdicts(before[rows, ply], after[rows, ply])
        return Match(
            opener=self.opener,
            opening=self.opening,
            length=duels.plies,
            payoff=duels.payoff,
            actions=actions,
            left=left,
            before=before.astype(np.int8),
            after=after.astype(np.int8),
            verdicts=graded,
            faults=self.faults,
            seconds=self.seconds,
            asked=self.asked,
        )

    def _values(
        self,
        judge: Solver,
        rows: NDArray[np.intp],
        ply: NDArray[np.int64],
        played: NDArray[np.int64],
        position: Position,
    ) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
        """Return the values before and after each move, to the mover.

        One value for each position is enough, and much cheaper than the values of all its moves.
        """
        duels = self.duels
        values = np.zeros((duels.count, int(duels.plies.max()) + 2), np.int8)
        values[np.arange(duels.count), duels.plies] = judge.value(duels.position)
        before = values[rows, ply] = judge.value(position)
        return before, np.where(played == NO_ACTION, np.int8(ILLEGAL), -values[rows, ply + 1])


def _joined_moments(moments: list[Moment]) -> Moment:
    positions = [moment.position for moment in moments]
    rows, ply, actions = (np.concatenate(parts) for parts in list(zip(*moments))[:3])
    return Moment(rows, ply, actions, positions[0]._make(np.concatenate(fields) for fields in zip(*positions)))


def legal_answers(
    agent: Agent,
    position: Position,
    legal: BoolArray,
    rows: NDArray[np.intp],
    generator: np.random.Generator,
    histories: list[Duel[Any]] | None = None,
) -> tuple[NDArray[np.int64], dict[int, str]]:
    """Return an agent's action in each of ``rows``, or ``NO_ACTION`` with the reason by its place where it gave none.

    An agent that fails on the batch is asked row by row, so that only the rows that it fails on are lost. A player is
    asked about the ``histories``, one for each row.
    """
    reasons: dict[int, str] = {}
    actions = np.full(len(rows), NO_ACTION)
    try:
        if histories is not None and isinstance(agent, PlayerAgent):
            actions[:] = checked_answer(agent.choose_in(histories, generator), len(rows))
        else:
            actions[:] = ask(agent, position, legal, rows, generator)
    except Exception as wrong:  # whatever a user's own agent raises costs it the duel, not the match
        if len(rows) == 1:
            return actions, {0: _reason(wrong)}
        for place in range(len(rows)):
            one = slice(place, place + 1)
            history = histories and histories[one]
            actions[one], why = legal_answers(agent, position, legal, rows[one], generator, history)
            if why:
                reasons[place] = why[0]
        return actions, reasons
    size = legal.shape[1]
    outside = (actions < 0) | (actions >= size)
    illegal = ~outside & ~legal[rows, actions.clip(0, size - 1)]
    for place in np.flatnonzero(outside).tolist():
        reasons[place] = f"answered {actions[place]}, which is no action: they are 0 to {size - 1}"
    for place in np.flatnonzero(illegal).tolist():
        reasons[place] = f"played an illegal move, action {actions[place]}"
    actions[outside | illegal] = NO_ACTION
    return actions, reasons


def _reason(wrong: Exception) -> str:
    return wrong.reason if isinstance(wrong, BadAnswer) else shortened(f"raised {type(wrong).__name__}: {wrong}")


def _joined(blocks: Sequence[Match]) -> Match:
    """Return the blocks as one match, the faults pointing to its duels."""
    width = max(block.actions.shape[1] for block in blocks)

    def stacked(name: str, fill: int) -> NDArray[Any]:
        tables = [getattr(block, name) for block in blocks]
        return np.concatenate(
            [np.pad(table, ((0, 0), (0, width - table.shape[1])), constant_values=fill) for table in tables]
        )

    faults: list[Fault] = []
    first = 0
    for block in blocks:
        faults += [fault._replace(duel=fault.duel + first) for fault in block.faults]
        first += len(block.opener)
    return Match(
        **{
            name: np.concatenate([getattr(block, name) for block in blocks])
            for name in ("opener", "opening", "length", "payoff")
        },
        actions=stacked("actions", NO_ACTION),
        left=stacked("left", 0),
        before=stacked("before", 0),
        after=stacked("after", 0),
        verdicts=stacked("verdicts", UNGRADED),
        faults=faults,
        seconds=sum((block.seconds for block in blocks), np.zeros(2)),
        asked=sum((block.asked for block in blocks), np.zeros(2, np.int64)),
    )
