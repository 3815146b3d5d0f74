"""What a training program is asked to do: its arguments, its game, and the run that is to go on, if one is."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any, Generic, TypeVar

from agents.cards import Card, Settings, TrainingCard
from agents.checkpoint import BadCheckpoint, rules_of
from numduel_env.cli import ChosenGame, OneLineParser, chosen_game, flag
from numduel_env.games import GameSpec, Params, find_known_game
from numduel_env.rules import Rules
from numduel_env.storage import BadRecord, from_builtins

MOST_MINUTES = 1_000_000
LARGEST_SEED = 2**32 - 1


def option(text: str, default: Any = None, *, changeable: bool = False, **more: Any) -> Any:
    """Return a field of the arguments; ``text`` ({} stands for the default) and ``more`` are for the command line.

    Only what is ``changeable`` may change when a run goes on.
    """
    return field(default=default, metadata={"changeable": changeable, "help": text, **more})


@dataclass(frozen=True)
class RunArguments:
    """The arguments of every training program, besides the game's own parameters. A program adds its own."""

    game: str | None = option("the game's name: see python -m numduel_env games")
    minutes: float | None = option(
        "learn for this long, in all the sessions of a run (no limit)", changeable=True, type=float
    )
    seed: int = option("of all that is random ({})", 0, type=int)
    out: str | None = option("the folder to write, new or empty (runs/GAME-TIME)", metavar="FOLDER")
    resume: str | None = option("go on with the unfinished run in this folder", changeable=True, metavar="FOLDER")

    def __post_init__(self) -> None:
        if not 0 <= self.seed <= LARGEST_SEED:
            raise ValueError(f"--seed must be from 0 to {LARGEST_SEED:,}, not {self.seed}")
        if self.minutes is not None and not 0 < self.minutes <= MOST_MINUTES:
            raise ValueError(f"--minutes must be positive and at most {MOST_MINUTES:,}, not {self.minutes}")


ArgumentsT = TypeVar("ArgumentsT", bound=RunArguments)


@dataclass(frozen=True)
class Task(Generic[ArgumentsT]):
    """What a command line asks for; ``card`` is that of the run which is to go on, if one is.

    ``params`` are the game's parameters that were given, or those of the run which goes on.
    """

    arguments: ArgumentsT
    spec: GameSpec
    params: Params
    rules: Rules[Any]
    card: Card | None = None

    @property
    def before(self) -> TrainingCard | None:
        """How the run that is to go on was trained so far."""
        return self.card.training if self.card else None


def make_parser(program: str, description: str | None, kind: type[RunArguments]) -> OneLineParser:
    """Return the command line's parser; what was not typed stays out of its answer, but for the game's parameters."""
    parser = OneLineParser(prog=program, description=description)
    for argument in fields(kind):
        metadata = {name: value for name, value in argument.metadata.items() if name != "changeable"}
        text = metadata.pop("help").format(argument.default)
        parser.add_argument(flag(argument.name), default=argparse.SUPPRESS, help=text, **metadata)
    parser.add_parameter_flags()
    return parser


def asked_task(
    parser: argparse.ArgumentParser,
    typed: argparse.Namespace,
    kind: type[ArgumentsT],
    card_of: Callable[[str], Card],
) -> Task[ArgumentsT]:
    """Return what the command line asks for; wrong input ends the program.

    ``card_of`` returns the card of the unfinished run at a place, or raises ``BadCheckpoint``.
    """
    known = {argument.name for argument in fields(kind)}
    chosen = {name: value for name, value in vars(typed).items() if name in known}
    try:
        if "resume" in chosen:
            card = card_of(chosen["resume"])
            game = _resumed_game(parser, typed, card)
            return Task(_resumed_arguments(kind, chosen, card), *game, card)
        if "game" not in chosen:
            raise ValueError("--game or --resume is required")
        game = chosen_game(parser, typed)
        return Task(kind(**chosen | {"game": game.spec.name}), *game)
    except ValueError as wrong:
        parser.error(str(wrong))


def _resumed_arguments(kind: type[ArgumentsT], chosen: Settings, card: Card) -> ArgumentsT:
    """Return the arguments of a run that goes on, with the changes that are allowed."""
    place = chosen["resume"]
    arguments = card.training.arguments if card.training else {}
    try:
        if unknown := arguments.keys() - {argument.name for argument in fields(kind)}:
            raise BadRecord(f"there is no {flag(min(unknown))}")
        saved = from_builtins(arguments, kind)
    except BadRecord as wrong:
        raise BadCheckpoint(f"the card of {place} does not say how it was trained: {wrong}") from None
    changeable = {argument.name for argument in fields(kind) if argument.metadata["changeable"]}
    for name in sorted(chosen.keys() - changeable - {"game"}):
        if chosen[name] != getattr(saved, name):
            raise ValueError(f"{place} has {flag(name)} {getattr(saved, name)}, which cannot change now")
    changes: Any = {name: chosen[name] for name in changeable & chosen.keys()}
    return replace(saved, **changes)


def _resumed_game(parser: argparse.ArgumentParser, typed: argparse.Namespace, card: Card) -> ChosenGame:
    """Return the game of the run ``typed.resume``; another game or other parameters cannot be asked for."""
    rules = rules_of(card.game)
    spec, params = find_known_game(card.game.name), card.game.parameters
    wanted = getattr(typed, "game", None) or spec.name
    asked = chosen_game(parser, argparse.Namespace(**vars(typed) | {"game": wanted}))
    if asked.spec is not spec or asked.params.items() - params.items():
        raise BadCheckpoint(f"{typed.resume} is a run of {card.game}, not of the game that is asked for")
    return ChosenGame(spec, params, rules)
