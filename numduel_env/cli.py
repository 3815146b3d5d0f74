"""What the programs share: one-line errors, the flags of the games' parameters, and a progress bar."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, NoReturn

from numduel_env.games import GAMES, GameSpec, Params, find_game
from numduel_env.progress import Progress
from numduel_env.rules import Rules


class OneLineParser(argparse.ArgumentParser):
    """Says in one line what is wrong; its description is printed as it is written."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"formatter_class": argparse.RawDescriptionHelpFormatter, **options})

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {' '.join(message.split())}\n")


def add_parameter_flags(parser: argparse.ArgumentParser) -> None:
    """Add a flag for every parameter of every game: ``--highest 30``, ``--when-empty refill``."""
    flags = parser.add_argument_group("the game's own parameters (by default, the book's)")
    users: dict[str, list[GameSpec]] = {}
    for spec in GAMES.values():
        for name in spec.params:
            users.setdefault(name, []).append(spec)
    for name, specs in users.items():
        defaults = ", ".join(f"{spec.name}: {spec.params[name]}" for spec in specs)
        flags.add_argument(flag(name), type=type(specs[0].params[name]), default=None, metavar="VALUE", help=defaults)


def flag(parameter: str) -> str:
    """Return the flag of a parameter."""
    return "--" + parameter.replace("_", "-")


class ChosenGame(NamedTuple):
    """A game as a command line names it: ``params`` are those given, ``rules`` has the book's for the rest."""

    spec: GameSpec
    params: Params
    rules: Rules[Any]


def chosen_game(parser: argparse.ArgumentParser, args: argparse.Namespace) -> ChosenGame:
    """Return the game that ``args.game`` names with the parameters given for it; a wrong choice ends the program."""
    given = {name: value for name, value in vars(args).items() if value is not None and _is_parameter(name)}
    try:
        spec = find_game(args.game)
        for name in given:
            if name not in spec.params:
                own = ", ".join(flag(own) for own in spec.params)
                raise ValueError(f"{spec.name} has no {flag(name)}; its parameters are {own}")
        return ChosenGame(spec, given, spec.make_rules(**given))
    except ValueError as wrong:
        parser.error(str(wrong))


def _is_parameter(name: str) -> bool:
    return any(name in spec.params for spec in GAMES.values())


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """Draw what a library reports as bars on standard error, one after another; quick tasks and pipes show none."""
    from tqdm import tqdm

    bars: dict[str, Any] = {}

    def show(task: str, done: int, total: int, /) -> None:
        if task not in bars:
            close_all()
            bars[task] = tqdm(desc=task, total=total, leave=False, disable=None, delay=1)
        bars[task].update(done - bars[task].n)

    def close_all() -> None:
        for bar in bars.values():
            bar.close()
        bars.clear()

    try:
        yield show
    finally:
        close_all()


def run_program(program: Callable[[], int]) -> int:
    """Run a program and return its exit code; Ctrl-C and a reader who goes away end it without a traceback."""
    try:
        code = program()
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # Python would complain once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return code
