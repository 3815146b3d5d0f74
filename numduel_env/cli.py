"""Choosing a game on a command line: every program takes the same flags, which the table of games decides."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from numduel_env.games import GAMES, GameSpec, find_game


class OneLineParser(argparse.ArgumentParser):
    """Says in one line what is wrong."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n")


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


def chosen_game(parser: argparse.ArgumentParser, args: argparse.Namespace) -> tuple[GameSpec, dict[str, Any]]:
    """Return the game that ``args.game`` names and the parameters given for it; a wrong choice ends the program."""
    given = {name: value for name, value in vars(args).items() if value is not None and _is_parameter(name)}
    try:
        spec = find_game(args.game)
        for name in given:
            if name not in spec.params:
                own = ", ".join(flag(own) for own in spec.params)
                raise ValueError(f"{spec.name} has no {flag(name)}; its parameters are {own}")
        spec.make_rules(**given)
    except ValueError as wrong:
        parser.error(str(wrong))
    return spec, given


def politely(program: Callable[[], int]) -> int:
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


def _is_parameter(name: str) -> bool:
    return any(name in spec.params for spec in GAMES.values())
