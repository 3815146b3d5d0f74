"""Play a game in the browser, or step through the duels that an evaluation has kept."""

from __future__ import annotations

import argparse
import socket
import sys
import threading
import webbrowser
from functools import partial
from pathlib import Path

from agents import llm
from agents.arguments import add_seats, at_least, told_apart
from numduel_env.cli import OneLineParser, chosen_game, run_program
from numduel_env.evaluation.results import Results
from numduel_env.games import find_known_game

try:
    import uvicorn

    from agents.browser.server import Server, is_loopback
    from agents.browser.tab import Board, State, Tab
    from agents.browser.thinking import Thinker
except ImportError as missing:
    sys.exit(f"agents/board.py: {missing}: pip install -c constraints.txt -e '.[board]'")

MOST_NUMBERS = 1000
"""A page is for eyes: no game with more numbers is shown."""

EPILOG = """Examples: python agents/board.py --game prime-rumble --second solver; python agents/board.py results.json
The address of the page holds the game: who opens it elsewhere sees the same position."""


def make_parser() -> OneLineParser:
    """Return the command line's parser."""
    parser = OneLineParser(prog="agents/board.py", description=__doc__, epilog=EPILOG)
    parser.add_argument("results", nargs="?", type=Path, help="what an evaluation wrote with --json: show its duels")
    add_seats(parser, game_required=False)
    parser.add_argument(
        "--move-seconds", type=float, default=60.0, metavar="S", help="an agent that takes longer loses (default: 60)"
    )
    parser.add_argument("--seed", type=partial(at_least, 0), help="with a seed, an agent answers the same game alike")
    parser.add_argument("--host", default="127.0.0.1", help="the address to serve on (default: this machine alone)")
    parser.add_argument("--port", type=partial(at_least, 0), default=8000, help="default: 8000; 0: any that is free")
    parser.add_argument("--no-open", action="store_true", help="do not open the browser")
    parser.add_parameter_flags()
    return parser


def kept_duels(parser: OneLineParser, path: Path) -> Board:
    """Return a board that shows the sample duels of an evaluation; a wrong file ends the program."""
    try:
        results = Results.load(path)
        spec = find_known_game(results.game.name)
        params = spec.params | results.game.parameters
        board = Board(spec, params, spec.make_rules(**params), ["", ""], [None, None], samples=results.samples)
        if not results.samples:
            raise ValueError("it holds no duels")
        for number in range(len(results.samples)):
            Tab(board, State(sample=number))
    except (OSError, ValueError, TypeError) as wrong:
        parser.error(f"{path}: {getattr(wrong, 'strerror', None) or wrong}")
    return board


def live_board(parser: OneLineParser, args: argparse.Namespace) -> Board:
    """Return the board that the command line asks for; a wrong choice ends the program."""
    if args.game is None:
        parser.error("name a game with --game, or the results of an evaluation")
    spec, given, rules = chosen_game(parser, args)
    agents = [None if name == "human" else name for name in (args.first, args.second)]
    several = args.best_of or args.rounds
    contenders = told_apart(args.first, args.second)
    return Board(spec, spec.params | given, rules, contenders, agents, several or 1, args.best_of is not None)


def thinkers_for(parser: OneLineParser, args: argparse.Namespace, board: Board) -> dict[str, Thinker]:
    """Return the agents that play, by name; one that cannot be made ends the program."""
    if not 0 < args.move_seconds < threading.TIMEOUT_MAX:
        parser.error(f"argument --move-seconds: must be a positive number of seconds, not {args.move_seconds}")
    thinkers: dict[str, Thinker] = {}
    prepare = llm.asked_by(parser, args)
    for option, name in zip(("--first", "--second"), board.agents):
        try:
            if name is not None and name not in thinkers:
                thinkers[name] = Thinker(name, board.rules, args.move_seconds, args.seed, prepare)
        except ValueError as wrong:
            parser.error(f"argument {option}: {wrong}")
    return thinkers


def main() -> int:
    """Serve the page until Ctrl-C, and return the exit code."""
    parser = make_parser()
    args = parser.parse_args()
    board = kept_duels(parser, args.results) if args.results else live_board(parser, args)
    if len(board.rules.numbers) > MOST_NUMBERS:
        parser.error(f"a page shows games of at most {MOST_NUMBERS:,} numbers, and this one has more")
    if args.port > 65535:
        parser.error(f"argument --port: must be at most 65535, not {args.port}")
    server = Server(board, thinkers_for(parser, args, board), args.host)
    try:
        family = socket.AF_INET6 if ":" in args.host else socket.AF_INET
        listening = socket.create_server((args.host, args.port), family=family)
        # asyncio does so by itself only for sockets of its own; without it, every answer takes 40 ms longer.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except OSError as wrong:
        parser.error(f"{args.host}, port {args.port}: {wrong}; choose another with --port")
    config = uvicorn.Config(
        server.app,
        log_level="warning",
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=60,  # longer than clients keep theirs: or a connection may be closed as it is used again
        timeout_graceful_shutdown=1,
        limit_concurrency=500,
    )
    serving = uvicorn.Server(config)
    server.ending = lambda: serving.should_exit
    with listening:
        host = f"[{args.host}]" if ":" in args.host else args.host
        address = f"http://{host}:{listening.getsockname()[1]}/"
        print(f"{board.spec.heading(board.rules)}: {address} (Ctrl-C ends it)", flush=True)
        if not is_loopback(args.host):
            print("Whoever can reach this machine can play: there is no password.", file=sys.stderr, flush=True)
        if not args.no_open:
            # Some browsers return only when they are closed.
            threading.Thread(target=webbrowser.open, args=[address], daemon=True).start()
        serving.run(sockets=[listening])
    return 0


if __name__ == "__main__":
    raise SystemExit(run_program(main))
