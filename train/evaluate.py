"""How good agents are: a round robin in which every opening is played twice, and every move graded by perfect play.

    python train/evaluate.py --game prime-rumble random greedy solver mcts:200
    python train/evaluate.py --game divider-duel random solver --exploit --json results.json --report report.html

These games are decided from the first position, so a win rate alone says little. *kept* is the share of moves, over
positions that are not lost for the mover, that preserve the solver's value; a blunder is such a move that does not.
The same command gives the same results (times aside), and so do the same names in another order.

Intervals are Wilson's, 95%, a draw counting as half a win; the two duels of an opening are taken as independent.
Ratings are Bradley-Terry's on the Elo scale, their mean 0; one drawn duel more between every two agents, which nobody
played, keeps the rating of a player who wins everything finite.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from tqdm import tqdm

import numduel_env
from agents import AGENTS, WITH_ARGUMENTS, make_agent
from numduel_env.cli import OneLineParser, add_parameter_flags, chosen_game, politely
from numduel_env.evaluation.exploitability import BUDGET, exploitability
from numduel_env.evaluation.match import OPENINGS_PER_BLOCK, Player
from numduel_env.evaluation.ratings import bradley_terry, play_round_robin, sample_duels, summary
from numduel_env.evaluation.report import report_page
from numduel_env.games import GAMES
from numduel_env.rules import Rules
from numduel_env.solvers import Solver, SolverPolicy, TooLargeToSolve, solver_for
from numduel_env.storage import check_writable, write_atomically

SCHEMA = 1
"""Counts the changes of the results' layout; docs/results.md describes it."""


def evaluate(args: argparse.Namespace, parser: argparse.ArgumentParser) -> dict[str, Any]:
    """Play, grade and return the results as docs/results.md describes them; wrong input ends the program."""
    game, given = chosen_game(parser, args)
    rules = game.make_rules(**given)
    made: dict[str, Player] = {}
    for spec in args.agents:
        try:
            made.setdefault(spec, Player(spec, make_agent(spec, rules, args.seed)))
        except Exception as wrong:
            # Whatever a user's own agent raises while it is made, the program can only say so.
            said = " ".join(str(wrong).split()) or type(wrong).__name__
            parser.error(said if spec in said else f"the agent {spec}: {said}")
    judge, grading = (None, "left out (--ungraded)") if args.ungraded else _judge(rules, list(made.values()))
    if args.exploit and judge is None:
        parser.error(f"--exploit needs perfect play, but grading was {grading}")
    players = [made[spec] for spec in args.agents]
    pairs = len(players) * (len(players) - 1) // 2
    with tqdm(total=pairs * args.duels, unit="duel", leave=False, disable=None) as bar:
        robin = play_round_robin(rules, players, args.duels, args.openings, args.seed, judge, bar.update)

    count = len(players)
    points = np.zeros((count, count))
    for (i, j), match in robin.matches.items():
        points[i, j], points[j, i] = match.scores(0).sum(), match.scores(1).sum()
    summaries = [summary(robin, place) for place in range(count)]
    if count > 2:
        for told, rating in zip(summaries, bradley_terry(points)):
            told["rating"] = round(float(rating), 1)
    # The results are told in the order of the names as they were typed.
    order = np.argsort(np.argsort(args.agents, kind="stable"), kind="stable").tolist()
    exploits = []
    if args.exploit and judge is not None:
        for spec in tqdm(sorted(made), desc="exploit", unit="agent", leave=False, disable=None):
            exploits += [
                {"spec": spec, **asdict(g)} for g in exploitability(made[spec].agent, judge, args.budget, args.seed)
            ]
    return {
        "schema": SCHEMA,
        "command": args.command,
        "versions": {
            "numduel_env": numduel_env.__version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
        },
        "game": {"name": game.name, "title": game.title, "version": game.version, "parameters": game.params | given},
        "seed": args.seed,
        "duels_per_pair": args.duels,
        "openings": min(args.openings, rules.max_plies - 1),
        "openings_per_block": OPENINGS_PER_BLOCK,
        "graded": judge is not None,
        "grading": grading,
        "agents": [summaries[place] for place in order],
        "matrix": [[None if i == j else points[i, j] / args.duels for j in order] for i in order],
        "exploit": exploits,
        "samples": sample_duels(robin, judge),
    }


def _judge(rules: Rules, players: list[Player]) -> tuple[Solver | None, str]:
    """Return a solver to grade with, that of a player if one has it, and what is to be said about the grading."""
    for player in players:
        if isinstance(player.agent, SolverPolicy):
            return player.agent.solver, "by exact values"
    try:
        return solver_for(rules), "by exact values"
    except TooLargeToSolve as refusal:
        return None, f"left out: {refusal}"


def tables(results: dict[str, Any]) -> str:
    """Return the results as text for a terminal."""
    game, agents = results["game"], results["agents"]
    parameters = ", ".join(f"{name}={value}" for name, value in game["parameters"].items())
    lines = [
        f"{game['name']} ({parameters}), {results['duels_per_pair']:,} duels a pair, openings of 0 to "
        f"{results['openings']} random plies, seed {results['seed']}",
        "",
        "Score of the row against the column, %:",
    ]
    names = [agent["name"] for agent in agents]
    cells = [["" if score is None else f"{100 * score:.1f}" for score in row] for row in results["matrix"]]
    lines += _columns([["", *names], *([name, *row] for name, row in zip(names, cells))])
    head = ["", "score %", "first seat % [95%]", "second seat % [95%]", "blunders/duel", "length", "ms/move", "illegal"]
    rows = [head + ["Elo"] * (len(agents) > 2)]
    for agent in agents:
        seats = (
            f"{100 * seat['score']:.1f} [{100 * seat['interval'][0]:.1f}, {100 * seat['interval'][1]:.1f}]"
            for seat in agent["seats"]
        )
        row = [agent["name"], f"{100 * agent['score']:.1f}", *seats, f"{agent['blunders_per_duel']:.2f}"]
        row += [f"{agent['mean_length']:.1f}", f"{agent['ms_per_move']:.3f}", str(agent["illegal_moves"])]
        rows.append(row + ([f"{agent['rating']:+.0f}"] if len(agents) > 2 else []))
    if results["graded"]:
        for row, share in zip(rows, ["kept %", *(agent["kept"] for agent in agents)]):
            row.insert(4, share if isinstance(share, str) else "-" if share is None else f"{100 * share:.2f}")
    else:
        for row in rows:
            del row[4]
    lines += ["", *_columns(rows)]
    if not results["graded"]:
        lines += ["", f"No kept column: grading was {results['grading']}."]
    for agent in agents:
        lines += [f"{agent['name']} lost {n:,} duel(s): it {reason}" for reason, n in agent["reasons"].items()]
    return "\n".join(lines + _exploit_lines(results["exploit"]))


def _exploit_lines(exploits: list[dict[str, Any]]) -> list[str]:
    lines = ["", "Won positions thrown away (in the seats: against every opponent line):"] if exploits else []
    for grades in exploits:
        how = {"random positions": "drawn at random instead", "all positions": "in all"}.get(grades["where"], "walked")
        counts = f"{grades['thrown']:,} of {grades['won']:,} won positions ({grades['positions']:,} {how})"
        if grades["refusal"]:
            counts += f": {grades['refusal']}"
        if grades["drawn"]:
            counts += f"; {grades['spoiled']:,} of {grades['drawn']:,} drawn ones spoiled"
        dice = "" if grades["exact"] else "; it throws dice: this is one draw of its choices, not a proof"
        lines.append(f"  {grades['spec']}, {grades['where']}: {counts}{dice}")
    return lines


def _columns(rows: list[list[str]]) -> list[str]:
    """Return rows of cells as lines, the first column to the left and the others to the right."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    return [
        "  ".join(cell.rjust(width) if at else cell.ljust(width) for at, (cell, width) in enumerate(zip(row, widths)))
        for row in rows
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Evaluate and report; ``arguments`` are those of the command line unless others are given."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    parser = OneLineParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = ", ".join([*(name for name in AGENTS if name != "human"), *WITH_ARGUMENTS])
    parser.add_argument("agents", nargs="+", metavar="AGENT", help=f"two or more: {known}")
    parser.add_argument("--game", required=True, help=", ".join(GAMES))
    parser.add_argument("--duels", type=int, default=1000, help="duels of each pair, an even number (%(default)s)")
    parser.add_argument("--openings", type=int, default=4, help="random plies of an opening, at most (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="another seed, other openings and dice (%(default)s)")
    parser.add_argument("--ungraded", action="store_true", help="do not grade moves: some games take long to solve")
    parser.add_argument("--exploit", action="store_true", help="walk every opponent line against each agent")
    parser.add_argument("--budget", type=int, default=BUDGET, help="positions of such a walk, at most (%(default)s)")
    parser.add_argument("--json", metavar="F", help="write the results into this file (-: standard output)")
    parser.add_argument("--report", metavar="F.html", help="write a page with charts and sample duels")
    add_parameter_flags(parser)
    args = parser.parse_args(arguments)
    args.command = [sys.argv[0], *arguments]
    if len(args.agents) < 2:
        parser.error("a match needs two agents or more")
    if args.duels < 2 or args.duels % 2:
        parser.error(f"--duels must be an even number of at least 2 (openings are played twice), not {args.duels}")
    for name, least in (("openings", 0), ("seed", 0), ("budget", 1)):
        if getattr(args, name) < least:
            parser.error(f"--{name} must be at least {least}, not {getattr(args, name)}")
    for name in ("json", "report"):
        path = getattr(args, name)
        if path is not None and (name, path) != ("json", "-"):
            check_writable(parser, f"--{name}", path)
    if args.json is not None and args.json == args.report:
        parser.error("--json and --report must be different files")
    results = evaluate(args, parser)
    text = json.dumps(results, indent=2, allow_nan=False)
    print(text if args.json == "-" else tables(results))
    if args.json not in (None, "-"):
        write_atomically(args.json, text + "\n")
    if args.report:
        write_atomically(args.report, report_page(results))
    return 0


if __name__ == "__main__":
    raise SystemExit(politely(main))
