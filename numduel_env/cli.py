"""What the programs share: one-line errors, the flags of the games' parameters, and a progress bar."""

from __future__ import annotations

import argparse
import io
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, NoReturn

from numduel_env.checks import check_rules
from numduel_env.games import GAMES, GameSpec, Params, find_game
from numduel_env.outside import is_reference, one_line
from numduel_env.progress import Progress
from numduel_env.rules import Rules
from numduel_env.stopping import stopped_as_by_ctrl_c

SECONDS_BETWEEN_LINES = 10

LONGEST_ERROR = 2_000
"""Characters of an error, which may quote what was typed or read."""


def game_names() -> str:
    """Return how games can be named, for help."""
    return f"{', '.join(GAMES)}, or module:attribute"


class OneLineParser(argparse.ArgumentParser):
    """Says in one line what is wrong; its description is printed as it is written.

    After ``add_parameter_flags`` it has a flag for every parameter of every game: ``--highest 30``, ``--when-empty
    refill``; and if the command line names a game from outside, for its parameters, too.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"formatter_class": argparse.RawDescriptionHelpFormatter, **options})
        self._takes_parameters = self._takes_bare_game = False

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {one_line(message, LONGEST_ERROR)}\n")

    def add_parameter_flags(self, bare_game: bool = False) -> None:
        """Add the flags; ``--game`` names the game on the command line, or with ``bare_game`` also a bare argument."""
        self._takes_parameters, self._takes_bare_game = True, bare_game

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        args = list(sys.argv[1:] if args is None else args)
        if self._takes_parameters:
            # Not before: only now it is known which game from outside is meant.
            self._add_flags([*self._games_from_outside(args), *GAMES.values()])
            self._takes_parameters = False
        return super().parse_known_args(args, namespace)

    def _games_from_outside(self, args: Sequence[str]) -> list[GameSpec]:
        finder = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
        finder.add_argument("--game", nargs="?")
        name = finder.parse_known_args(args)[0].game
        if name is None and self._takes_bare_game:
            name = next(filter(is_reference, args), None)
        try:
            return [find_game(name)] if is_reference(name) else []
        except ValueError as wrong:
            self.error(str(wrong))

    def _add_flags(self, specs: Sequence[GameSpec]) -> None:
        flags = self.add_argument_group("the game's own parameters (by default, the book's)")
        users: dict[str, list[GameSpec]] = {}
        for spec in specs:
            for name in spec.params:
                users.setdefault(name, []).append(spec)
        for name, own in users.items():
            defaults = ", ".join(f"{spec.name}: {spec.params[name]}" for spec in own).replace("%", "%%")
            kind = type(own[0].params[name])
            # An option of the program goes before a parameter of the same name.
            own_flag = flag(name) if flag(name) not in self._option_string_actions else f"--game-{flag(name)[2:]}"
            parse = truth if kind is bool else kind
            flags.add_argument(own_flag, dest=PARAMETER + name, type=parse, metavar="VALUE", help=defaults)


PARAMETER = "parameter "
"""Before the name of a parameter among the arguments that were parsed: no option has a space in its name."""


def truth(text: str) -> bool:
    """Return a flag's value for a parameter that is True or False."""
    if text.lower() not in ("true", "false"):
        raise argparse.ArgumentTypeError(f"must be true or false, not {text!r}")
    return text.lower() == "true"


def flag(parameter: str) -> str:
    """Return the flag of a parameter."""
    return "--" + parameter.replace("_", "-")


class ChosenGame(NamedTuple):
    """A game as a command line names it: ``params`` are those given, ``rules`` has the defaults for the rest."""

    spec: GameSpec
    params: Params
    rules: Rules[Any]


def chosen_game(parser: argparse.ArgumentParser, args: argparse.Namespace) -> ChosenGame:
    """Return the game that ``args.game`` names with the parameters given for it; a wrong choice ends the program.

    A game from outside is held to its contract.
    """
    try:
        spec = find_game(args.game)
        given = {
            name.removeprefix(PARAMETER): value
            for name, value in vars(args).items()
            if name.startswith(PARAMETER) and value is not None
        }
        for name in given:
            if name not in spec.params:
                own = ", ".join(flag(own) for own in spec.params) or "none"
                raise ValueError(f"{spec.name} has no {flag(name)}; its parameters are {own}")
        return ChosenGame(spec, given, _checked_rules(spec, given))
    except ValueError as wrong:
        parser.error(str(wrong))


def chosen_games(parser: argparse.ArgumentParser, args: argparse.Namespace) -> list[ChosenGame]:
    """Return the game that ``args.game`` names, or if there is none all of the table."""
    if args.game is not None:
        return [chosen_game(parser, args)]
    for name, value in vars(args).items():
        if name.startswith(PARAMETER) and value is not None:
            parser.error(f"{flag(name.removeprefix(PARAMETER))} goes with --game: say which")
    return [ChosenGame(spec, {}, spec.make_rules()) for spec in GAMES.values()]


def _checked_rules(spec: GameSpec, params: Params) -> Rules[Any]:
    if not is_reference(spec.name):
        return spec.make_rules(**params)
    try:
        rules = spec.make_rules(**params)
    except ValueError:
        raise
    except Exception as wrong:
        raise ValueError(f"{spec.name} cannot be made: {type(wrong).__name__}: {wrong}") from wrong
    try:
        check_rules(rules)
    except ValueError as wrong:
        raise ValueError(f"{spec.name} breaks the contract of Rules: {wrong}") from wrong
    return rules


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """Draw what a library reports on standard error: one bar after another, or lines in a pipe; nothing if quick."""
    if not sys.stderr.isatty():
        yield ProgressLines()
        return
    from tqdm import tqdm

    bars: dict[str, tqdm[Any]] = {}

    def show(task: str, done: int, total: int, /) -> None:
        if task not in bars:
            close_all()
            bars[task] = tqdm(desc=task, total=total, leave=False, delay=1, unit_scale=True)
        bars[task].total = total
        bars[task].update(done - bars[task].n)

    def close_all() -> None:
        for bar in bars.values():
            bar.close()
        bars.clear()

    try:
        yield show
    finally:
        close_all()


class ProgressLines:
    """Prints a line every ten seconds: how much is done, and about how long the rest will take."""

    def __init__(self) -> None:
        self._task, self._start, self._next = "", 0.0, 0.0

    def __call__(self, task: str, done: int, total: int, /) -> None:
        now = time.monotonic()
        if task != self._task:
            self._task, self._start, self._next = task, now, now + SECONDS_BETWEEN_LINES / 2
        if now < self._next or not done:
            return
        self._next = now + SECONDS_BETWEEN_LINES
        seconds = (now - self._start) * (total - done) / done
        left = f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"
        print(f"{one_line(task)}: {done:,} of about {total:,}, {left} left", file=sys.stderr, flush=True)


def run_program(program: Callable[[], int]) -> int:
    """Run a program and return its exit code; what stops it and a reader who goes away leave no traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal may lack a character; the results are shown all the same.
            stream.reconfigure(errors="backslashreplace")
    try:
        with stopped_as_by_ctrl_c():
            code = program()
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130
    except MemoryError as wrong:
        print(f"there is too little memory for this: {one_line(str(wrong)) or 'it cannot be done'}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # Python would complain once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return code
