"""Solved positions as data: one JSON object a line, each position once, and never one in train and test both.

Of a game with few positions these are all of them, in random order; of a larger one, a sample: each position is one
of a random legal game, all of its plies equally likely. The same command writes the same lines.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from numduel_env.batch import Position, take_rows
from numduel_env.cli import OneLineParser, chosen_game, game_names, progress_bar
from numduel_env.dialogue import briefing, situation
from numduel_env.duel import Duel
from numduel_env.evaluation.evaluator import versions
from numduel_env.evaluation.exploitability import FARTHEST, random_lines
from numduel_env.games import GameSpec, Params
from numduel_env.rules import Rules
from numduel_env.solvers import Solver, solver_for
from numduel_env.solvers.exhaustive import BYTES_AT_ONCE
from numduel_env.solvers.keys import Fields, Keys, Packing
from numduel_env.storage import refuse_unwritable, replacing, to_json

SPLITS = ("train", "test")
TEST_SHARE = 0.2
"""A position is in the test split with this probability: its own digest decides, and nothing else."""

MOST_WHOLE = 100_000
"""A game with at most this many unfinished positions is written whole."""

MOST_BYTES_WHOLE = 10**8
"""And if they take at most this much memory, for else they take minutes to find."""

GAMES_AT_ONCE = 256
FRUITLESS = 100
"""A sample ends when this many batches of random games in a row have brought no new position."""

LICENSE = "MIT"
HEADER = ".header.json"
"""Behind the name of a file of positions: the file that says what they are."""


@dataclass(frozen=True)
class SolvedPosition:
    """One unfinished position, everything in numbers (not actions) and values to the player to move.

    ``id`` is a digest of the position; ``text`` is the prompt, rules included. ``values`` are those of the
    moves ``legal``, in the same order; ``best`` are the moves that keep ``value``: all of them where it is lost.
    """

    id: str
    game: str
    split: str
    moves: list[int]
    ply: int
    seat: int
    text: str
    numbers_left: int
    value: int
    legal: list[int]
    values: list[int]
    best: list[int]


@dataclass(frozen=True)
class Header:
    """What a file of positions is. There are fewer ``positions`` than ``asked`` for where no more were found."""

    command: str
    versions: dict[str, str]
    license: str
    game: str
    parameters: Params
    split: str
    seed: int
    asked: int | None
    positions: int


def solved_positions(
    game: GameSpec, rules: Rules[Any], solver: Solver, split: str, seed: int, count: int | None = None
) -> Iterator[SolvedPosition]:
    """Yield up to ``count`` positions of a split; all there are of a small game where ``count`` is None.

    Raises a ``ValueError`` for a large game without a count. A larger count goes on where a smaller one ends.
    """
    most = min(MOST_WHOLE, MOST_BYTES_WHOLE // sum(field.nbytes for field in rules.initial((1,))))
    found = every_line(rules, most)
    if found is None and count is None:
        raise ValueError(f"{game.name} has more than {most:,} positions: say how many with --count")
    generator = np.random.default_rng([seed, SPLITS.index(split)])
    lines = _sampled(rules, generator) if found is None else _shuffled(found, generator)
    written = 0
    for position, histories in lines:
        digests = [_digest(rules, position, row) for row in range(len(histories))]
        rows = [row for row, digest in enumerate(digests) if split_of(digest) == split]
        rows = rows if count is None else rows[: count - written]
        if rows:
            values = solver.action_values(take_rows(position, np.array(rows)))
            for row, action_values in zip(rows, values):
                yield _solved(game, Duel(rules, histories[row]), digests[row], split, action_values)
        written += len(rows)
        if written == count:
            return


def split_of(digest: bytes) -> str:
    """Return the split of a position by its digest."""
    return SPLITS[int.from_bytes(digest[:8], "little") < TEST_SHARE * 2**64]


def _digest(rules: Rules[Any], position: Position, row: int) -> bytes:
    """Return a digest of a position: the same wherever the same kind of game with the same numbers meets it."""
    parts = [type(rules).__name__.encode(), rules.numbers, *(field[row] for field in position)]
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part if isinstance(part, bytes) else np.ascontiguousarray(part).astype("<i8").tobytes())
    return digest.digest()[:16]


def _solved(
    game: GameSpec, duel: Duel[Any], digest: bytes, split: str, action_values: NDArray[np.int8]
) -> SolvedPosition:
    rules, value = duel.rules, int(action_values.max())
    return SolvedPosition(
        id=digest.hex(),
        game=game.name,
        split=split,
        moves=duel.moves,
        ply=len(duel.actions),
        seat=duel.seat,
        text=f"{briefing(game, rules, duel.seat)}\n\n{situation(game, duel)}",
        numbers_left=int(rules.available(duel.position).sum()),
        value=value,
        legal=duel.legal_numbers,
        values=action_values[duel.legal].tolist(),
        best=rules.numbers[action_values == value].tolist(),
    )


Lines = tuple[Position, list[list[int]]]
"""Positions as a batch, and the actions that lead to each."""


def every_line(rules: Rules[Any], most: int) -> Lines | None:
    """Return every unfinished position with a shortest line to it, breadth first; None if there are more than most."""
    start = rules.initial((1,))
    fields = Fields(start)
    columns = len(fields.split(start))
    packing = Packing((-FARTHEST,) * columns, (FARTHEST,) * columns)
    known: Keys = packing.pack(fields.split(start))
    frontier, keys = known, [known]
    histories: list[list[int]] = [[]]
    lines = [*histories]
    for _ in range(1, rules.max_plies):
        after = _after(rules, fields, packing, frontier, most)
        if after is None:
            return None
        reached, parents, made = after
        new = known[known.searchsorted(reached).clip(max=len(known) - 1)] != reached
        frontier = reached[new]
        if len(known) + len(frontier) > most:
            return None
        if not len(frontier):
            break
        histories = [[*histories[parent], action] for parent, action in zip(parents[new].tolist(), made[new].tolist())]
        known = np.insert(known, known.searchsorted(frontier), frontier)
        keys.append(frontier)
        lines += histories
    return fields.join(packing.unpack(np.concatenate(keys))), lines


def _after(
    rules: Rules[Any], fields: Fields[Any], packing: Packing, frontier: Keys, most: int
) -> tuple[Keys, NDArray[np.intp], NDArray[np.intp]] | None:
    """Return the distinct unfinished positions after one ply, ascending, and of each a parent and the action.

    Returns None as soon as there are more than ``most``.
    """
    found: list[tuple[Keys, NDArray[np.intp], NDArray[np.intp]]] = []
    of_position = sum(field.nbytes for field in rules.initial((1,)))
    step = max(1, BYTES_AT_ONCE // (max(of_position, 64) * len(rules.numbers)))
    for first in range(0, len(frontier), step):
        position = fields.join(packing.unpack(frontier[first : first + step]))
        rows, actions = np.nonzero(rules.legal(position))
        after = rules.play(take_rows(position, rows), actions)
        going = np.flatnonzero(~rules.over(after))
        reached = packing.pack(fields.split(take_rows(after, going)))
        found.append((reached, rows[going] + first, actions[going]))
        # Not after every batch: each time, all that was found is sorted.
        if sum(len(reached) for reached, _, _ in found) > 2 * most:
            found = [_distinct(found)]
            if len(found[0][0]) > most:
                return None
    return _distinct(found)


def _distinct(
    found: list[tuple[Keys, NDArray[np.intp], NDArray[np.intp]]],
) -> tuple[Keys, NDArray[np.intp], NDArray[np.intp]]:
    """Return each position once, ascending, with the first of its parents and that one's action."""
    reached, parents, made = (np.concatenate(parts) for parts in zip(*found))
    distinct, first_place = np.unique(reached, return_index=True)
    return distinct, parents[first_place], made[first_place]


def _shuffled(found: Lines, generator: np.random.Generator) -> Iterator[Lines]:
    position, lines = found
    order = generator.permutation(len(lines))
    for first in range(0, len(order), GAMES_AT_ONCE):
        rows = order[first : first + GAMES_AT_ONCE]
        yield take_rows(position, rows), [lines[row] for row in rows]


def _sampled(rules: Rules[Any], generator: np.random.Generator) -> Iterator[Lines]:
    """Yield positions of random games, each position once, until hardly anything new comes."""
    seen: set[bytes] = set()
    fruitless = 0
    while fruitless < FRUITLESS:
        position, plies, actions = random_lines(rules, GAMES_AT_ONCE, generator)
        rows = []
        for row in range(GAMES_AT_ONCE):
            digest = _digest(rules, position, row)
            if digest not in seen:
                seen.add(digest)
                rows.append(row)
        fruitless = 0 if rows else fruitless + 1
        if rows:
            yield take_rows(position, np.array(rows)), [actions[row, : plies[row]].tolist() for row in rows]


def add_arguments(parser: OneLineParser) -> None:
    """Add the arguments of the command to a parser."""
    parser.add_argument("--game", required=True, help=game_names())
    parser.add_argument("--count", type=int, metavar="N", help="write at most N positions (all of a game with few)")
    parser.add_argument("--split", choices=SPLITS, default=SPLITS[0], help="a fifth of all positions is test's")
    parser.add_argument("--seed", type=int, default=0, help="of the order, and of a sample (%(default)s)")
    parser.add_argument("--format", choices=["jsonl"], default="jsonl", help="one JSON object a line")
    parser.add_argument("--out", metavar="F", help=f"write F, and F{HEADER}, which says what it is (standard output)")
    parser.add_parameter_flags()


def run(parser: argparse.ArgumentParser, args: argparse.Namespace, command: Sequence[str]) -> None:
    """Write the positions that a command line asks for; wrong input ends the program."""
    game, params, rules = chosen_game(parser, args)
    if args.count is not None and args.count < 1:
        parser.error(f"--count must be at least 1, not {args.count}")
    if args.seed < 0:
        parser.error(f"--seed must be at least 0, not {args.seed}")
    if args.out is not None:
        try:
            refuse_unwritable(args.out)
        except ValueError as wrong:
            parser.error(f"--out {wrong}")
    with progress_bar() as progress:
        solver = solver_for(rules, progress=progress)
    lines = solved_positions(game, rules, solver, args.split, args.seed, args.count)
    try:
        written = _write(lines, args.out)
    except ValueError as wrong:
        parser.error(str(wrong))
    header = Header(
        command=shlex.join(command),
        versions=versions(),
        license=LICENSE,
        game=f"{game.name}-v{game.version}",
        parameters=game.params | params,
        split=args.split,
        seed=args.seed,
        asked=args.count,
        positions=written,
    )
    if args.out is None:
        print(json.dumps(asdict(header)), file=sys.stderr)
        return
    with replacing(f"{args.out}{HEADER}") as file:
        file.write(to_json(header))


def _write(lines: Iterator[SolvedPosition], path: str | None) -> int:
    """Write each position as it comes, and return how many there were."""
    written = 0
    if path is None:
        for line in lines:
            print(json.dumps(asdict(line)))
            written += 1
        return written
    with replacing(path) as file:
        for line in lines:
            file.write(json.dumps(asdict(line)).encode() + b"\n")
            written += 1
    return written
