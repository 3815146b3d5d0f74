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
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path

from numduel_env.agent import Unavailable, agent_names
from numduel_env.cli import LONGEST_ERROR, OneLineParser, chosen_game, game_names, progress_bar
from numduel_env.evaluation.evaluator import evaluate
from numduel_env.evaluation.exploitability import BUDGET
from numduel_env.outside import one_line
from numduel_env.storage import refuse_unwritable, write_atomically

JOURNAL = ".journal"
"""Behind the name of the results: the file from which an interrupted evaluation goes on."""


def add_arguments(parser: OneLineParser) -> None:
    """Add the arguments of an evaluation to a parser."""
    parser.add_argument("agents", nargs="+", metavar="AGENT", help=f"two or more: {agent_names()}")
    parser.add_argument("--game", required=True, help=game_names())
    parser.add_argument("--duels", type=int, default=1000, help="duels of each pair, an even number (%(default)s)")
    parser.add_argument("--openings", type=int, default=4, help="random plies of an opening, at most (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of openings and agents (%(default)s)")
    parser.add_argument("--ungraded", action="store_true", help="do not grade moves: some games take long to solve")
    parser.add_argument("--exploit", action="store_true", help="walk every opponent line against each agent")
    parser.add_argument("--budget", type=int, default=BUDGET, help="positions of such a walk, at most (%(default)s)")
    limit = "a move by module:attribute that takes longer loses the duel (no limit)"
    parser.add_argument("--move-seconds", type=float, metavar="S", help=limit)
    parser.add_argument("--json", metavar="F", help="write the results into this file (-: standard output)")
    parser.add_argument("--resume", action="store_true", help="go on with the unfinished evaluation beside --json F")
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
    journal = journal_of(parser, args)
    try:
        # What an agent prints is not mixed with the results.
        with progress_bar() as progress, redirect_stdout(sys.stderr):
            results = evaluate(
                # Not as keywords: a game of one's own may have a parameter of any name.
                replace(game, params=game.params | params),
                args.agents,
                duels=args.duels,
                openings=args.openings,
                seed=args.seed,
                graded=not args.ungraded,
                exploit=args.exploit,
                budget=args.budget,
                move_seconds=args.move_seconds,
                journal=journal,
                progress=progress,
            )
    except ValueError as wrong:
        parser.error(str(wrong))
    except (KeyboardInterrupt, Unavailable) as stopped:
        if isinstance(stopped, Unavailable):
            print(f"{parser.prog}: {one_line(str(stopped), LONGEST_ERROR)}", file=sys.stderr)
        if journal:
            kept = one_line(journal, LONGEST_ERROR)
            print(f"what is finished is kept in {kept}: the same command with --resume goes on", file=sys.stderr)
        if isinstance(stopped, KeyboardInterrupt):
            raise
        return 1
    results = replace(results, command=tuple(command))
    print(results.to_json() if args.json == "-" else results, end="" if args.json == "-" else "\n")
    if args.json not in (None, "-"):
        write_atomically(args.json, results.to_json())
        Path(f"{args.json}{JOURNAL}").unlink(missing_ok=True)
    if args.report:
        results.report(args.report)
    return 0


def journal_of(parser: argparse.ArgumentParser, args: argparse.Namespace) -> str | None:
    """Return the journal's path, which stands beside the results; None if there is no file of results."""
    if args.json in (None, "-"):
        if args.resume:
            parser.error("--resume goes on with what stands beside --json F")
        return None
    path = f"{args.json}{JOURNAL}"
    if args.resume and not Path(path).exists():
        parser.error(f"--resume: there is no unfinished evaluation, {path} is missing")
    if not args.resume and Path(path).exists():
        parser.error(f"{path} holds an unfinished evaluation: go on with --resume, or remove it")
    return path
