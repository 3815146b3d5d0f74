"""Text duels served by OpenEnv: a server whose sessions are duels, each against an opponent of its own.

A client resets with a seed, and steps with replies: {"reply": "[4]"}. The opponent is this machine's; whoever is
let in can play, and nothing else.
"""

from __future__ import annotations

import argparse
import sys

from numduel_env.agent import agent_names
from numduel_env.cli import OneLineParser, chosen_game
from numduel_env.envs.text import REWARDS, TextDuel
from numduel_env.games import GAMES

SEATS = ("first", "second", "random")


def add_arguments(parser: OneLineParser) -> None:
    """Add the arguments of the command to a parser."""
    parser.add_argument("--game", required=True, help=", ".join(GAMES))
    parser.add_argument("--opponent", default="random", metavar="AGENT", help=f"{agent_names()} (%(default)s)")
    parser.add_argument("--seat", choices=SEATS, default="random", help="of the player who replies (%(default)s)")
    parser.add_argument("--openings", type=int, default=0, help="random plies before a duel, at most (%(default)s)")
    parser.add_argument(
        "--retries", type=int, default=2, help="how often a refused reply may be repeated (%(default)s)"
    )
    parser.add_argument("--list-legal", action="store_true", help="tell the player the legal numbers")
    parser.add_argument("--reward", choices=REWARDS, default="end", help="at the end, or for every move (%(default)s)")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen at (%(default)s)")
    parser.add_argument("--port", type=int, default=8000, help="(%(default)s)")
    parser.add_argument("--sessions", type=int, default=64, metavar="N", help="at once, at most (%(default)s)")
    parser.add_parameter_flags()


def run(parser: argparse.ArgumentParser, args: argparse.Namespace) -> int:
    """Serve what a command line asks for until it is stopped; wrong input ends the program."""
    game, params, _ = chosen_game(parser, args)
    for name, least, most in (("port", 1, 65535), ("sessions", 1, 10_000)):
        if not least <= getattr(args, name) <= most:
            parser.error(f"--{name} must be from {least} to {most}, not {getattr(args, name)}")

    def make_duel() -> TextDuel:
        return TextDuel(
            game,
            args.opponent,
            seat=args.seat,
            openings=args.openings,
            retries=args.retries,
            list_legal=args.list_legal,
            reward=args.reward,
            **params,
        )

    try:
        first = make_duel()  # what is wrong is said now, and what takes long is done
    except ValueError as wrong:
        parser.error(str(wrong))
    try:
        import uvicorn

        from numduel_env.envs.openenv import app
    except ImportError as missing:
        print(f"{parser.prog}: this needs OpenEnv: pip install 'numduel-env[openenv]' ({missing})", file=sys.stderr)
        return 1
    print(f"{game.heading(first.rules)} at http://{args.host}:{args.port}, until Ctrl-C", flush=True)
    uvicorn.run(app(make_duel, args.sessions), host=args.host, port=args.port, log_level="warning")
    return 0
