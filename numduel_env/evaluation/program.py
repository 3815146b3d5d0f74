"""How good agents are: a round robin in which every opening is played twice, and every move graded by perfect play.

These games are decided from the first position, so a win rate alone says little. *kept* is the share of moves, over
positions that are not lost for the mover, that preserve the solver's value; a blunder is such a move that does not.
The same command gives the same results (times aside), and so do the same names in another order.

Intervals are Wilson's, 95%, a draw counting as half a win; the two duels of an opening are taken as independent.
Ratings are Bradley-Terry's on the Elo scale, their mean 0; one drawn duel is added between every two agents, which
keeps the rating of a player who wins everything finite.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace

from numduel_env.agent import agent_names
from numduel_env.cli import OneLineParser, chosen_game, progress_bar
from numduel_env.evaluation.exploitability import BUDGET
from numduel_env.evaluation.round_robin import evaluate
from numduel_env.games import GAMES
from numduel_env.storage import refuse_unwritable, write_atomically


def add_arguments(parser: OneLineParser) -> None:
    """Add the arguments of an evaluation to a parser."""
    parser.add_argument("agents", nargs="+", metavar="AGENT", help=f"two or more: {agent_names()}")
    parser.add_argument("--game", required=True, help=", ".join(GAMES))
    parser.add_argument("--duels", type=int, default=1000, help="duels of each pair, an even number (%(default)s)")
    parser.add_argument("--openings", type=int, default=4, help="random plies of an opening, at most (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of openings and agents (%(default)s)")
    parser.add_argument("--ungraded", action="store_true", help="do not grade moves: some games take long to solve")
    parser.add_argument("--exploit", action="store_true", help="walk every opponent line against each agent")
    parser.add_argument("--budget", type=int, default=BUDGET, help="positions of such a walk, at most (%(default)s)")
    parser.add_argument("--json", metavar="F", help="write the results into this file (-: standard output)")
    parser.add_argument("--report", metavar="F.html", help="write a page with charts and sample duels")
    parser.add_parameter_flags()


def run(parser: argparse.ArgumentParser, args: argparse.Namespace, command: Sequence[str]) -> int:
    """Evaluate and report what a command line asks for; wrong input ends the program."""
    game, params, _ = chosen_game(parser, args)
    for name in ("json", "report"):
        path = getattr(args, name)
        if path is not None and (name, path) != ("json", "-"):
            try:
                refuse_unwritable(path)
            except ValueError as wrong:
                parser.error(f"--{name} {wrong}")
    if args.json is not None and args.json == args.report:
        parser.error("--json and --report must be different files")
    try:
        with progress_bar() as progress:
            results = evaluate(
                game,
                args.agents,
                duels=args.duels,
                openings=args.openings,
                seed=args.seed,
                graded=not args.ungraded,
                exploit=args.exploit,
                budget=args.budget,
                progress=progress,
                **params,
            )
    except ValueError as wrong:
        parser.error(str(wrong))
    results = replace(results, command=tuple(command))
    print(results.to_json() if args.json == "-" else results)
    if args.json not in (None, "-"):
        write_atomically(args.json, results.to_json())
    if args.report:
        results.report(args.report)
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Evaluate and report; ``arguments`` are those of the command line unless others are given."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    parser = OneLineParser(description=__doc__)
    add_arguments(parser)
    return run(parser, parser.parse_args(arguments), [sys.argv[0], *arguments])
