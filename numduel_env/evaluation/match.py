"""Head-to-head matches: every opening is played twice, with the seats swapped, and every move may be graded.

Duels run in blocks of a fixed number of openings. A block's openings are drawn from (seed, block) alone, so every pair
of agents meets the same ones; an agent's dice are thrown from (seed, block, spec, seat). Nothing depends on the order
of the names or on which blocks are played together, and an agent that meets itself plays every duel twice alike, once
from each seat: it scores exactly one half.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from numduel_env.duels import Duels
from numduel_env.rules import BoolArray, Policy, Position, Rules, take_rows
from numduel_env.solvers import Solver

OPENINGS_PER_BLOCK = 256
"""Part of what a seed means: another number gives other duels."""

KEPT, BLUNDER, UNGRADED = 1, 0, -1
"""Verdicts on a move. Openings, moves in lost positions and moves without a judge are not graded."""

NO_ACTION = -1


class Player(NamedTuple):
    """An agent under the spec that it was made from."""

    spec: str
    agent: Policy


class Fault(NamedTuple):
    """Why a duel was lost without a legal move: ``player`` is the place of the offender in the pair."""

    duel: int
    player: int
    ply: int
    reason: str


@dataclass
class Match:
    """All duels between two players; arrays begin with an axis of duels, then of plies where there are any.

    ``opener`` is the player (0 or 1) in seat 0, ``opening`` the number of random plies, ``length`` the number of all
    plies, ``payoff`` what the duel was worth to seat 0. ``actions`` is ``NO_ACTION`` where nothing was played,
    ``left`` the numbers left before a ply, ``verdicts`` how it was graded. ``seconds`` and ``asked`` tell how long
    each player thought about how many moves; ``seconds`` is the only part that another run does not repeat.
    """

    opener: NDArray[np.int8]
    opening: NDArray[np.int64]
    length: NDArray[np.int64]
    payoff: NDArray[np.int8]
    actions: NDArray[np.int16]
    left: NDArray[np.int16]
    verdicts: NDArray[np.int8]
    faults: list[Fault]
    seconds: NDArray[np.float64]
    asked: NDArray[np.int64]

    def movers(self) -> NDArray[np.int8]:
        """Return ``[duels, plies]``: which player is to move at each ply."""
        return self.opener[:, None] ^ (np.arange(self.actions.shape[1]) & 1).astype(np.int8)

    def scores(self, player: int) -> NDArray[np.float64]:
        """Return what ``player`` scored in each duel: 1 for a win, one half for a draw."""
        return (1 + np.where(self.opener == player, self.payoff, -self.payoff)) / 2


def play_match(
    rules: Rules,
    players: tuple[Player, Player],
    duels: int,
    openings: int = 4,
    seed: int = 0,
    judge: Solver | None = None,
    progress: Callable[[int], Any] = lambda finished: None,
) -> Match:
    """Play ``duels`` (an even number) duels from openings of 0 to ``openings`` random plies.

    ``progress`` is told from time to time how many more duels are finished.
    """
    if duels < 2 or duels % 2:
        raise ValueError(f"duels must be an even number of at least 2, since openings are played twice, not {duels}")
    blocks = []
    for block, first in enumerate(range(0, duels // 2, OPENINGS_PER_BLOCK)):
        count = min(OPENINGS_PER_BLOCK, duels // 2 - first)
        blocks.append(play_block(rules, players, block, count, openings, seed, judge, progress))
    return _joined(blocks)


def dice(seed: int, block: int, *key: int | str) -> np.random.Generator:
    """Return a generator of its own for every key; words count by a checksum, which is the same in every process."""
    words = (zlib.crc32(part.encode()) if isinstance(part, str) else part for part in key)
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(block, *words)))


def draw_openings(rules: Rules, count: int, most: int, generator: np.random.Generator) -> tuple[Duels, NDArray[Any]]:
    """Return unfinished duels after 0 to ``most`` random legal plies each, and the actions ``[count, most]``.

    ``most`` is below the rules' ``max_plies``. An opening stops short of a ply that would finish the game.
    """
    duels = Duels(rules, count)
    actions = np.full((count, most), NO_ACTION, np.int16)
    drawn = duels.play_randomly(generator.integers(0, most + 1, count), generator)
    actions[:, : drawn.shape[1]] = drawn
    return duels, actions


def play_block(
    rules: Rules,
    players: tuple[Player, Player],
    block: int,
    count: int,
    openings: int,
    seed: int,
    judge: Solver | None = None,
    progress: Callable[[int], Any] = lambda finished: None,
) -> Match:
    """Play ``count`` openings, first all with player 0 in seat 0, then all with player 1 there."""
    openings = min(openings, rules.max_plies - 1)
    opened, drawn = draw_openings(rules, count, openings, dice(seed, block))
    duels = Duels(rules, 2 * count)
    twice = np.arange(2 * count) % count
    duels.position = take_rows(opened.position, twice)
    duels.plies = opened.plies[twice]
    opener = np.repeat(np.array([0, 1], np.int8), count)
    # The two seatings have dice of their own, thrown alike: so a player that meets itself repeats its duels.
    thrown = {(first, seat): dice(seed, block, players[first ^ seat].spec, seat) for first in (0, 1) for seat in (0, 1)}

    opening = duels.plies.copy()
    payoff = np.zeros(2 * count, np.int8)
    faults: list[Fault] = []
    seconds, asked = np.zeros(2), np.zeros(2, np.int64)
    moments: list[Moment] = []
    going = np.ones(2 * count, bool)
    while going.any():
        chosen = np.full(2 * count, NO_ACTION)
        legal, seat_to_move = duels.legal, duels.seat
        for (first, seat), generator in thrown.items():
            rows = np.flatnonzero(going & (opener == first) & (seat_to_move == seat))
            if not len(rows):
                continue
            player = first ^ seat
            start = time.perf_counter()
            chosen[rows], reasons = ask(players[player].agent, take_rows(duels.position, rows), legal[rows], generator)
            seconds[player] += time.perf_counter() - start
            asked[player] += len(rows)
            faults += [Fault(int(rows[row]), player, int(duels.plies[rows[row]]), why) for row, why in reasons.items()]
        rows = np.flatnonzero(going)
        moments.append(Moment(rows, duels.plies[rows], chosen[rows], take_rows(duels.position, rows)))
        refused = going & (chosen == NO_ACTION)
        going &= ~refused
        payoff[refused] = 2 * seat_to_move[refused] - 1
        plies = duels.play(chosen.clip(0), going)
        payoff += np.where(seat_to_move == 0, plies.value, -plies.value)
        going &= ~plies.finished
        progress(len(rows) - int(going.sum()))

    width = int(max(duels.plies.max() + len(faults[:1]), openings))
    actions, left, verdicts = (np.full((2 * count, width), fill, np.int16) for fill in (NO_ACTION, 0, UNGRADED))
    actions[:, :openings] = drawn[twice]
    rows, ply, played, position = _joined_moments(moments)
    actions[rows, ply] = played
    left[rows, ply] = rules.available(position).sum(-1)
    if judge is not None:
        verdicts[rows, ply] = _graded(judge, rows, ply, played, position, duels)
    return Match(opener, opening, duels.plies, payoff, actions, left, verdicts.astype(np.int8), faults, seconds, asked)


class Moment(NamedTuple):
    """The moves made at once in several duels: which, at which ply, the actions, and the positions before them."""

    rows: NDArray[np.intp]
    ply: NDArray[np.int64]
    played: NDArray[np.int64]
    position: Position


def _joined_moments(moments: list[Moment]) -> Moment:
    positions = [moment.position for moment in moments]
    rows, ply, played = (np.concatenate(parts) for parts in list(zip(*moments))[:3])
    return Moment(rows, ply, played, positions[0]._make(np.concatenate(fields) for fields in zip(*positions)))


def _graded(
    judge: Solver,
    rows: NDArray[np.intp],
    ply: NDArray[np.int64],
    played: NDArray[np.int64],
    position: Position,
    duels: Duels,
) -> NDArray[np.int8]:
    """Return the verdict on each move.

    One value for each position is enough, and much cheaper than the values of all its moves: a move keeps the value
    when the opponent then has its opposite.
    """
    values = np.zeros((duels.count, int(duels.plies.max()) + 2), np.int8)
    values[np.arange(duels.count), duels.plies] = judge.value(duels.position)
    before = values[rows, ply] = judge.value(position)
    keeps = (values[rows, ply + 1] == -before) & (played != NO_ACTION)
    return np.where(before < 0, UNGRADED, np.where(keeps, KEPT, BLUNDER)).astype(np.int8)


def ask(
    agent: Policy, position: Position, legal: BoolArray, generator: np.random.Generator
) -> tuple[NDArray[np.int64], dict[int, str]]:
    """Return the agent's action in each position, or ``NO_ACTION`` with a reason for each row where it gave none.

    An agent that fails on the batch is asked row by row, so that only the rows that it fails on are lost. It gets
    positions of its own: writing into them harms nobody.
    """
    count = len(legal)
    reasons: dict[int, str] = {}
    actions = np.full(count, NO_ACTION)
    try:
        actions[:] = _checked(agent.choose(position, generator), count)
    except Exception as wrong:
        if count == 1:
            return actions, {0: _reason(wrong)}
        for row in range(count):
            one = take_rows(position, [row])
            actions[row : row + 1], why = ask(agent, one, legal[row : row + 1], generator)
            if why:
                reasons[row] = why[0]
        return actions, reasons
    size = legal.shape[1]
    outside = (actions < 0) | (actions >= size)
    illegal = ~outside & ~legal[np.arange(count), actions.clip(0, size - 1)]
    for place in np.flatnonzero(outside).tolist():
        reasons[place] = f"answered {actions[place]}, which is no action: they are 0 to {size - 1}"
    for place in np.flatnonzero(illegal).tolist():
        reasons[place] = f"played an illegal move, action {actions[place]}"
    actions[outside | illegal] = NO_ACTION
    return actions, reasons


class Nonsense(ValueError):  # noqa: N818 - it says what the answer is
    """An answer that is not one action for each position."""


def _checked(answer: Any, count: int) -> NDArray[Any]:
    try:
        actions = np.asarray(answer)
    except Exception as wrong:
        raise Nonsense(f"answered with {_shortened(repr(answer))}, which is no array") from wrong
    if actions.dtype.kind not in "iu":
        raise Nonsense(f"answered with {_shortened(repr(answer))}: actions are whole numbers")
    if actions.shape != (count,):
        raise Nonsense(f"answered with an array of shape {actions.shape} when asked about {count} position(s)")
    return actions


def _reason(wrong: Exception) -> str:
    return str(wrong) if isinstance(wrong, Nonsense) else _shortened(f"raised {type(wrong).__name__}: {wrong}")


def _shortened(text: str, most: int = 160) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"


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
        opener=np.concatenate([block.opener for block in blocks]),
        opening=np.concatenate([block.opening for block in blocks]),
        length=np.concatenate([block.length for block in blocks]),
        payoff=np.concatenate([block.payoff for block in blocks]),
        actions=stacked("actions", NO_ACTION),
        left=stacked("left", 0),
        verdicts=stacked("verdicts", UNGRADED),
        faults=faults,
        seconds=sum((block.seconds for block in blocks), np.zeros(2)),
        asked=sum((block.asked for block in blocks), np.zeros(2, np.int64)),
    )
