"""What a training program is asked to do: its arguments, its game, and the run that is to go on, if one is."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

from agents.checkpoint import BadCheckpoint, name_of_game, rules_of
from numduel_env.cli import OneLineParser, add_parameter_flags, chosen_game, flag
from numduel_env.games import GameSpec, find_game

MOST_MINUTES = 1_000_000
LARGEST_SEED = 2**32 - 1


def option(text: str, default: Any = None, *, changeable: bool = False, **more: Any) -> Any:
    """Return a field of the arguments; ``text`` ({} stands for the default) and ``more`` are for the command line.

    Only what is ``changeable`` may change when a run goes on.
    """
    return field(default=default, metadata={"changeable": changeable, "help": text, **more})


@dataclass(frozen=True)
class RunArguments:
    """What every training program can be told, besides the game's own parameters. A program adds its own."""

    game: str | None = option("the game's name: see python -m numduel_env games")
    minutes: float | None = option(
        "learn for so long, in all the sessions of a run (no limit)", changeable=True, type=float
    )
    seed: int = option("of all that is random ({})", 0, type=int)
    out: str | None = option("the folder to write, new or empty (runs/GAME-TIME)", metavar="FOLDER")
    resume: str | None = option("go on with the unfinished run in this folder", changeable=True, metavar="FOLDER")

    def __post_init__(self) -> None:
        """Refuse what no run can be told; a damaged card may say anything."""
        for told in fields(self):
            value, kind = getattr(self, told.name), told.metadata.get("type", str)
            kinds = (int, float) if kind is float else (kind,)
            if not (isinstance(value, kinds) and not isinstance(value, bool)) and (value, told.default) != (None, None):
                raise ValueError(f"{flag(told.name)} cannot be {value!r}")
        if not 0 <= self.seed <= LARGEST_SEED:
            raise ValueError(f"--seed must be from 0 to {LARGEST_SEED:,}, not {self.seed}")
        if self.minutes is not None and not 0 < self.minutes <= MOST_MINUTES:
            raise ValueError(f"--minutes must be positive and at most {MOST_MINUTES:,}, not {self.minutes}")


class Task(NamedTuple):
    """What a command line asks for; ``card`` is that of the run which is to go on, if one is."""

    arguments: Any
    game: GameSpec
    params: dict[str, Any]
    card: dict[str, Any] | None


def make_parser(program: str, description: str | None, kind: type[RunArguments]) -> OneLineParser:
    """Return the command line's parser; what was not typed stays out of its answer, but for the game's parameters."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = OneLineParser(prog=program, description=description, formatter_class=raw)
    for told in fields(kind):
        metadata = {name: value for name, value in told.metadata.items() if name != "changeable"}
        text = metadata.pop("help").format(told.default)
        parser.add_argument(flag(told.name), default=argparse.SUPPRESS, help=text, **metadata)
    add_parameter_flags(parser)
    return parser


def asked_task(
    parser: argparse.ArgumentParser,
    typed: argparse.Namespace,
    kind: type[RunArguments],
    card_of: Callable[[str], dict[str, Any]],
) -> Task:
    """Return what the command line asks for; wrong input ends the program.

    ``card_of`` returns the card of the unfinished run at a place, or raises ``BadCheckpoint``.
    """
    known = {told.name for told in fields(kind)}
    chosen = {name: value for name, value in vars(typed).items() if name in known}
    try:
        if "resume" in chosen:
            card = card_of(chosen["resume"])
            game, params = _resumed_game(parser, typed, card)
            return Task(_resumed_arguments(kind, chosen, card), game, params, card)
        if "game" not in chosen:
            raise ValueError("--game or --resume is required")
        game, params = chosen_game(parser, typed)
        return Task(kind(**chosen | {"game": game.name}), game, params, None)
    except ValueError as wrong:
        parser.error(str(wrong))


def _resumed_arguments(kind: type[RunArguments], chosen: dict[str, Any], card: dict[str, Any]) -> RunArguments:
    """Return the arguments of a run that goes on, with the changes that are allowed."""
    place = chosen["resume"]
    try:
        saved = kind(**card["arguments"])
    except (TypeError, ValueError) as wrong:
        raise BadCheckpoint(f"the card of {place} does not say how it was trained: {wrong}") from None
    changeable = {told.name for told in fields(kind) if told.metadata["changeable"]}
    for name in sorted(chosen.keys() - changeable - {"game"}):
        if chosen[name] != getattr(saved, name):
            raise ValueError(f"{place} has {flag(name)} {getattr(saved, name)}, which cannot change now")
    return replace(saved, **{name: chosen[name] for name in changeable & chosen.keys()})


def _resumed_game(
    parser: argparse.ArgumentParser, typed: argparse.Namespace, card: dict[str, Any]
) -> tuple[GameSpec, dict[str, Any]]:
    """Return the game and the parameters of the run that ``typed.resume`` names; another game cannot be asked for."""
    rules_of(card)
    game, params = find_game(card["game"]["name"]), card["game"]["parameters"]
    wanted = getattr(typed, "game", None) or game.name
    asked, given = chosen_game(parser, argparse.Namespace(**vars(typed) | {"game": wanted}))
    if asked is not game or given.items() - params.items():
        raise BadCheckpoint(f"{typed.resume} is a run of {name_of_game(card)}, not of the game that is asked for")
    return game, params
