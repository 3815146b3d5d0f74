"""How fast environments, solvers and matches are, on one core; the environments as ratios measured in one run.

    python train/benchmark.py               a table for each section; takes some minutes
    python train/benchmark.py --json F      the same as JSON in a file (- for standard output)
    python train/benchmark.py --markdown F  the same as a page, docs/benchmarks.md
    python train/benchmark.py --only solvers
    python train/benchmark.py --game module:attribute   one game alone, of one's own or of the table
    python train/benchmark.py --peers       with Pgx and OpenSpiel, where they are installed
    python train/benchmark.py --training    how well and how fast the games are learned; takes some hours
    python train/benchmark.py --training prime-rumble --part nimbers --seeds 1
    python train/benchmark.py --only rllib  RLlib's sampling, beside that of connect_four_v3, where it is installed

The environments play uniformly random legal moves to the end and start again. Their yardstick, 1x, is PettingZoo's
`tictactoe_v3.env()` in the same loop; it is timed again beside every measurement, because machines are noisy.
"""

from __future__ import annotations

import os

# One thread: libraries read this when they are loaded.
for _library in ("OMP", "OPENBLAS", "MKL"):
    os.environ[f"{_library}_NUM_THREADS"] = "1"

import argparse
import itertools
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tqdm import tqdm

from agents.checkpoint import WANTED
from numduel_env import GAMES, GameSpec, find_game
from numduel_env.cli import OneLineParser, chosen_games, game_names, run_program
from numduel_env.storage import refuse_unwritable, to_json, write_atomically
from train.benchmarks.environments import environment_rows, import_measure, peer_rows
from train.benchmarks.matches import match_measures
from train.benchmarks.measures import Figures, Measure, Row
from train.benchmarks.search import search_rows, thinking_measures
from train.benchmarks.solvers import minimax_measures, solver_measures

SECTIONS = ("environments", "search", "solvers", "matches")
MOST_SECONDS = 3600
PARTS = ("ppo", "values", "nimbers", "nim")
MORE_SECTIONS = ("rllib",)  # only when asked for: they need a virtual environment of their own


def main() -> int:
    """Measure and report."""
    parser = OneLineParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", metavar="F", help="write the results as JSON into this file (-: standard output)")
    parser.add_argument("--markdown", metavar="F", help="write the results as a page of Markdown into this file")
    parser.add_argument("--only", choices=(*SECTIONS, *MORE_SECTIONS), help="one section alone")
    parser.add_argument("--game", metavar="GAME", help=f"one game alone: {game_names()}")
    parser.add_argument("--peers", action="store_true", help="time Pgx and OpenSpiel too")
    learned = "whole training runs instead, of all games or of one; nothing else should run beside them"
    parser.add_argument("--training", nargs="?", const="", metavar="GAME", help=learned)
    parser.add_argument("--part", choices=PARTS, help="with --training, the runs of one program alone, or those of Nim")
    parser.add_argument("--seeds", type=int, default=3, help="with --training, of runs without PPO (%(default)s)")
    parser.add_argument("--seconds", type=float, default=0.4, help="how long each timing takes (default: %(default)s)")
    parser.add_parameter_flags()
    args = parser.parse_args()
    if not 0 < args.seconds <= MOST_SECONDS:
        parser.error(f"--seconds must be positive and at most {MOST_SECONDS:,}, not {args.seconds}")
    if args.seeds < 1:
        parser.error(f"--seeds must be at least 1, not {args.seeds}")
    if args.part and args.training is None:
        parser.error("--part goes with --training")
    specs = chosen_specs(parser, args)
    files = {"--json": None if args.json == "-" else args.json, "--markdown": args.markdown}
    for option, file in files.items():
        try:
            if file:
                refuse_unwritable(file)
        except ValueError as wrong:
            parser.error(f"{option} {wrong}")
    if args.training is not None:
        return report_training(parser, args)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    try:
        figures = measure([args.only] if args.only else SECTIONS, specs, args.peers, args.seconds)
    except ImportError as missing:
        parser.error(f"--only rllib needs {missing.name}, which is not installed: make .venv-rllib/installed")
    if args.markdown:
        write_atomically(args.markdown, figures.page().encode())
    if args.json == "-":
        print(to_json(figures).decode())
        return 0
    print(figures)
    if args.json:
        write_atomically(args.json, to_json(figures))
    return 0


def chosen_specs(parser: argparse.ArgumentParser, args: argparse.Namespace) -> list[GameSpec] | None:
    """Return the game that a command line asks for, with its parameters; None for all of the table."""
    games = chosen_games(parser, args)
    if args.game is None:
        return None
    if args.peers or args.only == "rllib":
        parser.error("--game goes with no --peers and no --only rllib")
    return [replace(spec, params=spec.params | params) if params else spec for spec, params, _ in games]


def measure(sections: Sequence[str], specs: list[GameSpec] | None, peers: bool, seconds: float) -> Figures:
    """Measure the sections, of all games or of some, with the peers that are installed if they are asked for."""
    rows: list[Row] = []
    measures: list[Measure] = []
    if "environments" in sections:
        rows += environment_rows(GAMES.values() if specs is None else specs, seconds)
        rows += peer_rows(seconds) if peers else []
        measures.append(import_measure())
    if "search" in sections:
        rows += search_rows(GAMES.values() if specs is None else specs, seconds)
        measures += thinking_measures(GAMES.values() if specs is None else specs)
    if "solvers" in sections:
        measures += solver_measures(specs) + (minimax_measures() if peers else [])
    if "matches" in sections:
        measures += match_measures(specs)
    if "rllib" in sections:
        from train.benchmarks.rllib import sampling_measures

        measures += sampling_measures(seconds)
    return Figures(sys.argv, rows, measures)


def report_training(parser: argparse.ArgumentParser, args: argparse.Namespace) -> int:
    """Print how the games are learned, each line as soon as it is known."""
    try:
        from train.benchmarks.learners import goal_rows, nim_rows
        from train.benchmarks.training import throughput_rows, training_rows
    except ImportError as missing:
        parser.error(f"--training needs {missing.name}, which is not installed: {WANTED}")
    try:
        game = find_game(args.training).name if args.training else None
    except ValueError as wrong:
        parser.error(str(wrong))
    for other in ("json", "markdown", "only", "peers", "game"):
        if getattr(args, other):
            parser.error(f"--training goes with no --{other}")
    parts = [args.part] if args.part else PARTS
    tables: list[Iterator[str]] = []
    if "ppo" in parts:
        tables += [throughput_rows(), training_rows(game)]
    tables += [goal_rows(program, game, args.seeds) for program in ("values", "nimbers") if program in parts]
    if "nim" in parts and not game:
        tables.append(nim_rows(args.seeds))
    for table in tables:
        for line in itertools.chain(table, [""]):
            tqdm.write(line)
    return 0


if __name__ == "__main__":
    raise SystemExit(run_program(main))
