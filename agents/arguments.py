"""What the command lines of the programs that a person plays with have in common."""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

from agents import agent_names, model_options
from agents.terminal import whole
from numduel_env.cli import OneLineParser, game_names
from numduel_env.outside import one_line


def at_least(least: int, text: str) -> int:
    """Return the number that ``text`` writes, for argparse."""
    number = whole(text)
    if number is None or number < least:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least {least}, not {text!r}")
    return number


def add_seats(parser: OneLineParser, game_required: bool = True) -> None:
    """Add the flags that say which game is played, by whom, and how often, and how language models are asked."""
    parser.add_argument("--game", required=game_required, help=game_names())
    parser.add_argument(
        "--first", default="human", metavar="AGENT", help=f"who is Player 1: {agent_names()} (default: human)"
    )
    parser.add_argument("--second", default="random", metavar="AGENT", help="who is Player 2 (default: random)")
    many = parser.add_mutually_exclusive_group()
    count: dict[str, Any] = {"type": partial(at_least, 1), "metavar": "N"}
    many.add_argument(
        "--best-of",
        **count,
        help="play up to N games, stopping as soon as nobody can catch up; who opens alternates, a draw counts for "
        "neither, and the match is tied if the wins are equal in the end",
    )
    many.add_argument("--rounds", **count, help="the same, but play all N games")
    model_options.add_arguments(parser)


def told_apart(first: str, second: str) -> list[str]:
    """Return the names of two contenders as they are shown, by their seats if they have the same."""
    first, second = one_line(first), one_line(second)
    return [f"{first} (first)", f"{second} (second)"] if first == second else [first, second]
