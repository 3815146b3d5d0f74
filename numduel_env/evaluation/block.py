"""Duels played in blocks: every opening twice, with the seats swapped, and every move graded if there is a judge.

A block has a fixed number of openings, which are drawn from (seed, block) alone, so every pair of agents meets the same
ones; an agent's random numbers come from (seed, block, name, seat). Nothing depends on the order of the names or on
which blocks are played together, and an agent that meets itself plays every duel twice alike, once from each seat: it
scores exactly one half.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from numduel_env.batch import Position, take_rows
from numduel_env.duel import Duel
from numduel_env.duels import Duels
from numduel_env.evaluation.answers import (
    NO_ACTION,
    Answers,
    Question,
    Reason,
    answers,
    refuse_misfits,
    takes_histories,
    written_answers,
)
from numduel_env.evaluation.grading import UNGRADED, verdicts
from numduel_env.evaluation.journal import Asked, Journal, JournalNotes, set_stream, stream_state
from numduel_env.evaluation.match import Entrant, Fault, Match, Passage, joined
from numduel_env.progress import Progress, silent
from numduel_env.rules import Rules
from numduel_env.solvers import ILLEGAL, Solver
from numduel_env.writing import Exchange, writer

OPENINGS_PER_BLOCK = 256
"""Part of what a seed means: another number gives other duels."""

GRADED_AT_ONCE = 2**26
"""Bytes of positions that are kept before they are graded: a block of a large game has gigabytes of them."""

CELLS_VALUED_AT_ONCE = 2**26
"""Positions times numbers squared: in large games, values take so long that progress is shown between few of them."""

Moved = Callable[[int, NDArray[np.int64]], object]
"""Called after moves, with their number and the lengths of the duels that were finished by them."""


def ignored(moves: int, lengths: NDArray[np.int64]) -> None:
    """Do nothing."""


def play_match(
    rules: Rules[Any],
    entrants: tuple[Entrant, Entrant],
    duels: int,
    openings: int = 4,
    seed: int = 0,
    judge: Solver | None = None,
    journal: Journal | None = None,
    moved: Moved = ignored,
    progress: Progress = silent,
) -> Match:
    """Play ``duels`` (an even number) duels from openings of 0 to ``openings`` random plies.

    What a ``journal`` knows already is not asked again.
    """
    if duels < 2 or duels % 2:
        raise ValueError(f"duels must be an even number of at least 2, since openings are played twice, not {duels}")
    blocks = []
    for block, first in enumerate(range(0, duels // 2, OPENINGS_PER_BLOCK)):
        count = min(OPENINGS_PER_BLOCK, duels // 2 - first)
        blocks.append(Block(rules, entrants, block, count, openings, seed, journal, moved).play(judge, progress))
    return joined(blocks)


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
    """The moves made at once in several duels: which, at which ply, the actions, and the numbers left before them."""

    rows: NDArray[np.intp]
    ply: NDArray[np.int64]
    actions: NDArray[np.int64]
    left: NDArray[np.int64]


class Values:
    """The judge's values of the positions of some duels, to the mover: ``table`` is ``[duels, plies]``.

    Positions are valued many at a time, which is much cheaper, and kept no longer than until then. One value for each
    position is enough to grade a move, and cheaper than the values of all its moves.
    """

    def __init__(self, judge: Solver, duels: int, progress: Progress) -> None:
        self.judge, self.progress = judge, progress
        self.table = np.zeros((duels, 0), np.int8)
        self._waiting: list[tuple[NDArray[np.intp], NDArray[np.int64], Position]] = []
        self._bytes = 0

    def add(self, rows: NDArray[np.intp], ply: NDArray[np.int64], position: Position) -> None:
        """Take the positions in which the duels ``rows`` are at these plies."""
        self._waiting.append((rows, ply, position))
        self._bytes += sum(field.nbytes for field in position)
        if self._bytes >= GRADED_AT_ONCE:
            self.settle()

    def settle(self) -> None:
        """Value all that were taken."""
        if not self._waiting:
            return
        positions = [position for _, _, position in self._waiting]
        rows, ply = (np.concatenate(parts) for parts in list(zip(*self._waiting))[:2])
        more = int(ply.max()) + 1 - self.table.shape[1]
        self.table = np.pad(self.table, ((0, 0), (0, max(more, 0))))
        position = positions[0]._make(map(np.concatenate, zip(*positions)))
        step = max(CELLS_VALUED_AT_ONCE // len(self.judge.rules.numbers) ** 2, 1)
        for first in range(0, len(rows), step):
            some = slice(first, first + step)
            self.table[rows[some], ply[some]] = self.judge.value(position._make(field[some] for field in position))
            self.progress("positions to grade", min(first + step, len(rows)), len(rows))
        self._waiting, self._bytes = [], 0


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
        journal: Journal | None = None,
        moved: Moved = ignored,
    ) -> None:
        self.rules, self.entrants, self.block = rules, entrants, block
        self.journal, self.moved = journal, moved
        openings = min(openings, rules.max_plies - 1)
        opened, self.drawn = draw_openings(rules, count, openings, random_stream(seed, block))
        twice = np.arange(2 * count) % count
        self.drawn = self.drawn[twice]
        self.duels: Duels[Any] = Duels(rules, 2 * count)
        for side in (0, 1):
            self.duels.put(np.arange(count) + side * count, opened, np.arange(count))
        self.opening = self.duels.plies.copy()
        self.opener = np.repeat(np.array([0, 1], np.int8), count)
        # The two seatings have streams of their own that are alike: so an agent that meets itself repeats its duels.
        self.streams = {
            (first, seat): random_stream(seed, block, entrants[first ^ seat].name, seat)
            for first in (0, 1)
            for seat in (0, 1)
        }
        self.faults: list[Fault] = []
        self.passages: list[Passage] = []
        self.shown = 0  # how many of the moves that are being asked for progress knows already
        self.seconds, self.asked = np.zeros(2), np.zeros(2, np.int64)
        self.moments: list[Moment] = []

    def play(self, judge: Solver | None, progress: Progress = silent) -> Match:
        """Play all duels to their ends, and grade the moves if there is a judge, which is what ``progress`` shows."""
        duels = self.duels
        values = Values(judge, duels.count, progress) if judge else None
        while len(rows := np.flatnonzero(~duels.finished)):
            chosen, ply = self._chosen(rows), duels.plies[rows]
            position = take_rows(duels.position, rows)
            self.moments.append(Moment(rows, ply, chosen[rows], self.rules.available(position).sum(-1)))
            if values:
                values.add(rows, ply, position)
            silent = rows[chosen[rows] == NO_ACTION]
            if len(silent):
                duels.forfeit(silent)
            duels.play(chosen.clip(0), ~duels.finished)
            self.moved(0, (duels.plies - self.opening)[rows[duels.finished[rows]]])
        if values:
            values.add(np.arange(duels.count), duels.plies, duels.position)
            values.settle()
        return self._match(values)

    def _chosen(self, rows: NDArray[np.intp]) -> NDArray[np.int64]:
        """Return the entrants' actions, ``NO_ACTION`` where there is no legal one, and note why."""
        duels = self.duels
        chosen = np.full(duels.count, NO_ACTION)
        for first, seat in self.streams:
            asked = rows[(self.opener[rows] == first) & (duels.seat[rows] == seat)]
            if not len(asked):
                continue
            entrant = first ^ seat
            answered = self._answers(first, seat, asked)
            self.seconds[entrant] += answered.seconds
            self.asked[entrant] += len(asked)
            chosen[asked] = answered.actions
            for place, why in answered.reasons.items():
                self.faults.append(Fault(int(asked[place]), entrant, int(duels.plies[asked[place]]), why))
            for place, exchanges in sorted(answered.exchanges.items()):
                where = int(asked[place]), entrant, int(duels.plies[asked[place]])
                self.passages += [Passage(*where, exchange) for exchange in exchanges]
            self.moved(len(asked) - self.shown, np.zeros(0, np.int64))
            self.shown = 0
        return chosen

    def _answers(self, first: int, seat: int, asked: NDArray[np.intp]) -> Answers:
        """Return the answers of the entrant in this seat, where ``first`` opened: the journal's, or new ones."""
        generator, agent = self.streams[first, seat], self.entrants[first ^ seat].agent
        names = [entrant.name for entrant in self.entrants]
        key = "\t".join([*names, str(self.block), str(len(self.moments)), str(first), str(seat)])
        known = self.journal.asked(key) if self.journal else None
        notes = JournalNotes(self.journal, key, self._show)
        if any(place >= len(asked) for place in notes.exchanges):
            raise ValueError("the journal has replies to questions that nobody was asked")
        if known:
            set_stream(generator, known.stream)
            reasons = {int(place): Reason(*why) for place, why in known.faults.items()}
            actions = np.array(known.actions, np.int64)
            refuse_misfits(actions, reasons, self.duels.legal[asked])
            return Answers(actions, reasons, known.seconds, notes.exchanges)
        histories = [self._history(row) for row in asked] if takes_histories(agent) else None
        question = Question(self.duels.position, self.duels.legal, asked, histories)
        player = writer(agent)
        new = written_answers(player, question, notes) if player else answers(agent, question, generator)
        if self.journal:
            faults = {str(place): (why.kind, why.text) for place, why in new.reasons.items()}
            self.journal.add(Asked(key, tuple(new.actions.tolist()), faults, new.seconds, stream_state(generator)))
        return new

    def _show(self, exchange: Exchange) -> None:
        """Show progress after a move in writing: the others of the block may take long."""
        if exchange.refusal is None:
            self.shown += 1
            self.moved(1, np.zeros(0, np.int64))

    def _history(self, row: int) -> Duel[Any]:
        """Return one of the duels with all its moves."""
        moves = self.drawn[row][: self.opening[row]].tolist()
        for moment in self.moments:
            at = np.flatnonzero(moment.rows == row)
            moves += moment.actions[at].tolist()
        return Duel(self.rules, moves)

    def _match(self, values: Values | None) -> Match:
        duels, openings = self.duels, self.drawn.shape[1]
        width = int(max(duels.plies.max() + len(self.faults[:1]), openings))
        actions, left, before, after = (np.full((duels.count, width), fill, np.int16) for fill in (NO_ACTION, 0, 0, 0))
        graded = np.full((duels.count, width), UNGRADED, np.int8)
        actions[:, :openings] = self.drawn
        rows, ply, played, left_before = (np.concatenate(parts) for parts in zip(*self.moments))
        actions[rows, ply] = played
        left[rows, ply] = left_before
        if values:
            table = np.pad(values.table, ((0, 0), (0, 1)))
            before[rows, ply] = table[rows, ply]
            after[rows, ply] = np.where(played == NO_ACTION, np.int8(ILLEGAL), -table[rows, ply + 1])
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
            passages=self.passages,
            seconds=self.seconds,
            asked=self.asked,
        )
