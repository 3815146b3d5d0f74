"""What a training program is asked to do: its arguments, its game, and the run that is to go on, if one is."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, Generic, TypeVar

from agents.cards import Card, Settings, TrainingCard
from agents.checkpoint import BadCheckpoint, rules_of
from numduel_env.cli import ChosenGame, chosen_game, flag
from numduel_env.games import GameSpec, Params, find_known_game
from numduel_env.rules import Rules
from numduel_env.storage import BadRecord, from_builtins
from train.runs.arguments import Checked, RunArguments

ArgumentsT = TypeVar("ArgumentsT", bound=RunArguments)
OptionsT = TypeVar("OptionsT", bound=Checked)


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


def asked_task(
    parser: argparse.ArgumentParser,
    typed: argparse.Namespace,
    kind: type[ArgumentsT],
    card_of: Callable[[str], Card],
) -> Task[ArgumentsT]:
    """Return what the command line asks for; wrong input ends the program.

    ``card_of`` returns the card of the run at a place, or raises ``BadCheckpoint``.
    """
    chosen = _typed(typed, kind)
    try:
        if "resume" in chosen:
            place = str(chosen["resume"])
            card = card_of(place)
            assert card.training is not None
            arguments = _continued(kind, chosen, card.training.arguments, place)
            if card.training.progress.finished:
                arguments = _extended(arguments, chosen, card.training)
            return Task(arguments, *_resumed_game(parser, typed, card), card)
        if "game" not in chosen:
            raise ValueError("--game or --resume is required")
        game = chosen_game(parser, typed)
        return Task(kind(**chosen | {"game": game.spec.name}), *game)
    except ValueError as wrong:
        parser.error(str(wrong))


def asked_hyperparameters(
    parser: argparse.ArgumentParser, typed: argparse.Namespace, kind: type[OptionsT], task: Task[ArgumentsT]
) -> OptionsT:
    """Return the hyperparameters that the command line asks for, or those of the run that goes on."""
    chosen = _typed(typed, kind)
    try:
        if task.before:
            return _continued(kind, chosen, task.before.preset, str(task.arguments.resume))
        return kind(**chosen)
    except ValueError as wrong:
        parser.error(str(wrong))


def _typed(typed: argparse.Namespace, kind: type[Checked]) -> Any:
    """Return those options of a kind that were typed."""
    known = {argument.name for argument in fields(kind)}  # type: ignore[arg-type]
    return {name: value for name, value in vars(typed).items() if name in known}


def _continued(kind: type[OptionsT], chosen: Settings, saved: Settings, place: str) -> OptionsT:
    """Return the options of a run that goes on as they were ``saved``, with the changes that are allowed."""
    known = {argument.name: argument for argument in fields(kind)}  # type: ignore[arg-type]
    try:
        if unknown := saved.keys() - known.keys():
            raise BadRecord(f"there is no {flag(min(unknown))}")
        options = from_builtins(saved, kind)
    except BadRecord as wrong:
        raise BadCheckpoint(f"the card of {place} does not say how it was trained: {wrong}") from None
    changes: Any = {}
    for name, value in sorted(chosen.items()):
        if known[name].metadata["changeable"]:
            changes[name] = value
        elif name != "game" and value != getattr(options, name):
            raise ValueError(f"{place} has {flag(name)} {getattr(options, name)}, which cannot change now")
    return replace(options, **changes)  # type: ignore[type-var]


def _extended(arguments: ArgumentsT, chosen: Settings, training: TrainingCard) -> ArgumentsT:
    """Return the arguments of a finished run that goes on: the budget that is given takes the place of the spent one.

    Raises ``BadCheckpoint`` where that leaves nothing to be learned.
    """
    progress = training.progress
    if training.standing and training.standing.perfect:
        raise BadCheckpoint(f"{arguments.resume} is finished and plays perfectly: there is nothing to learn")
    limits = {argument.name: argument.default for argument in fields(arguments) if argument.metadata["ends_run"]}
    given: Any = {name: value for name, value in chosen.items() if name in limits}
    extended = replace(arguments, **limits | given)
    if not given or extended.budget.spent(progress.plies, progress.seconds) >= 1:
        so_far = f"{progress.plies:,} plies and {progress.seconds / 60:.2f} minutes"
        flags = " or ".join(map(flag, sorted(limits, reverse=True)))
        raise BadCheckpoint(f"{arguments.resume} is finished after {so_far}: to go on, give it more in all by {flags}")
    return extended


def _resumed_game(parser: argparse.ArgumentParser, typed: argparse.Namespace, card: Card) -> ChosenGame:
    """Return the game of the run ``typed.resume``; another game or other parameters cannot be asked for."""
    rules = rules_of(card.game)
    spec, params = find_known_game(card.game.name), card.game.parameters
    wanted = getattr(typed, "game", None) or spec.name
    asked = chosen_game(parser, argparse.Namespace(**vars(typed) | {"game": wanted}))
    if asked.spec is not spec or asked.params.items() - params.items():
        raise BadCheckpoint(f"{typed.resume} is a run of {card.game}, not of the game that is asked for")
    return ChosenGame(spec, params, rules)
