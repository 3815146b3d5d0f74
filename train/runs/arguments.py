"""The arguments of training programs as dataclasses: every field is a flag, with its help and its limits."""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass, field, fields
from typing import Any

from agents.cards import MOST_UNITS
from numduel_env.cli import OneLineParser, flag
from train.runs.progress import Budget

INFINITE = float("inf")


@dataclass(frozen=True)
class Limits:
    """The numbers from ``least`` to ``most``; without ``least`` itself if it is ``exclusive``."""

    least: float
    most: float = INFINITE
    exclusive: bool = False

    def allow(self, number: float) -> bool:
        """Return whether a number is one of these; NaN and infinities never are."""
        return self.least <= number <= self.most and abs(number) < INFINITE and not self._excluded(number)

    def _excluded(self, number: float) -> bool:
        return self.exclusive and number == self.least

    def __str__(self) -> str:
        if self.exclusive:
            least = "positive" if self.least == 0 else f"above {self.least:,}"
            return least if self.most == INFINITE else f"{least} and at most {self.most:,}"
        return f"at least {self.least:,}" if self.most == INFINITE else f"from {self.least:,} to {self.most:,}"


POSITIVE = Limits(0, exclusive=True)
SHARE = Limits(0, 1)
MINUTES = Limits(0, 1_000_000, exclusive=True)


def option(
    text: str,
    default: Any = None,
    *,
    changeable: bool = False,
    ends_run: bool = False,
    limits: Limits | None = None,
    **more: Any,
) -> Any:
    """Return a field that is a flag; ``text`` ({} stands for the default) and ``more`` are for the command line.

    Only what is ``changeable`` may change when a run goes on. ``ends_run`` marks the limits of its budget.
    """
    own = {"changeable": changeable or ends_run, "ends_run": ends_run, "limits": limits, "flag": {"help": text, **more}}
    return field(default=default, metadata=own)


MOST_LAYERS = 16


def widths_of(net_arch: str) -> tuple[int, ...]:
    """Return the widths of hidden layers as --net-arch has them, or raise a ``ValueError``."""
    widths = net_arch.split(",")
    allowed = (re.fullmatch("[1-9][0-9]{0,4}", width) and int(width) <= MOST_UNITS for width in widths)
    if not all(allowed) or len(widths) > MOST_LAYERS:
        wanted = f"up to {MOST_LAYERS} widths from 1 to {MOST_UNITS:,}, such as 64,64"
        raise ValueError(f"--net-arch must be {wanted}, not {net_arch!r}")
    return tuple(map(int, widths))


class Checked:
    """A dataclass of options, which holds no number outside its limits."""

    def __post_init__(self) -> None:
        for argument in fields(self):  # type: ignore[arg-type]
            limits, value = argument.metadata["limits"], getattr(self, argument.name)
            if limits and value is not None and not limits.allow(value):
                raise ValueError(f"{flag(argument.name)} must be {limits}, not {value}")


@dataclass(frozen=True)
class RunArguments(Checked):
    """The arguments of every training program, besides the game's own parameters. A program adds its own."""

    game: str | None = option("the game's name (see numduel games), or module:attribute")
    minutes: float | None = option(
        "learn for this long, in all the sessions of a run (no limit)",
        ends_run=True,
        type=float,
        limits=MINUTES,
    )
    seed: int = option("of all that is random ({})", 0, type=int, limits=Limits(0, 2**32 - 1))
    out: str | None = option("the folder to write, new or empty (runs/GAME-TIME)", metavar="FOLDER")
    resume: str | None = option(
        "go on with the run in this folder; with a finished one, if it is given a larger budget",
        changeable=True,
        metavar="FOLDER",
    )

    @property
    def budget(self) -> Budget:
        """When the run ends."""
        return Budget(INFINITE, INFINITE if self.minutes is None else 60 * self.minutes)


@dataclass(frozen=True)
class LocalArguments(RunArguments):
    """The arguments of a program that learns in its own process."""

    plies: int | None = option("learn from this many plies (no limit)", ends_run=True, type=int, limits=Limits(1))
    init: str | None = option(
        "begin with the weights of the agent in this folder, of this game or of one that is observed alike",
        metavar="FOLDER",
    )
    device: str = option("where the network learns, as torch names it ({})", "cpu", changeable=True)

    @property
    def budget(self) -> Budget:
        """When the run ends."""
        return super().budget._replace(plies=INFINITE if self.plies is None else self.plies)


def make_parser(
    program: str, description: str | None, kind: type[RunArguments], more: dict[str, type[Checked]] | None = None
) -> OneLineParser:
    """Return the command line's parser; what was not typed stays out of its answer, but for the game's parameters.

    ``more`` are further groups of options by their titles in the help.
    """
    usage = "%(prog)s (--game GAME | --resume FOLDER) [options]"
    parser = OneLineParser(prog=program, description=description, usage=usage)
    for title, options in {"the run": kind, **(more or {})}.items():
        group = parser.add_argument_group(title)
        for argument in fields(options):  # type: ignore[arg-type]
            metadata = dict(argument.metadata["flag"])
            text = metadata.pop("help").format(argument.default)
            metadata.setdefault("metavar", {int: "N", float: "X"}.get(metadata.get("type", str)))
            group.add_argument(flag(argument.name), default=argparse.SUPPRESS, help=text, **metadata)
    parser.add_parameter_flags()
    return parser
