"""How fast environments, solvers and matches are, on one core; the environments as ratios measured in one run.

    python train/benchmark.py               a table for each section
    python train/benchmark.py --json F      the same as JSON in a file (- for standard output)
    python train/benchmark.py --only solvers
    python train/benchmark.py --peers       with Pgx and OpenSpiel, where they are installed
    python train/benchmark.py --training    how well and how fast the games are learned; takes half an hour
    python train/benchmark.py --only rllib  RLlib's sampling, beside that of connect_four_v3, where it is installed

The environments play uniformly random legal moves to the end and start again. Their yardstick, 1x, is PettingZoo's
`tictactoe_v3.env()` in the same loop; it is timed again beside every measurement, because machines are noisy.
"""

from __future__ import annotations

import os

# One core for everybody: libraries read this when they are loaded.
for _library in ("OMP", "OPENBLAS", "MKL"):
    os.environ[f"{_library}_NUM_THREADS"] = "1"

import argparse
import itertools
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pettingzoo
from tqdm import tqdm

import numduel_env
from agents import make_agent
from agents.checkpoint import WANTED
from numduel_env import GAMES, GameSpec, random_legal
from numduel_env.cli import OneLineParser, politely
from numduel_env.evaluation.exploitability import random_positions
from numduel_env.evaluation.match import Player, play_match
from numduel_env.solvers import solver_for
from numduel_env.storage import check_writable, write_atomically
from train.benchmarks.peers import divider_duel_in_open_spiel, open_spiel_loop, pgx_loop

BOARDS = 4096
Plies = Callable[[float], int]
"""Plays for about so many seconds and returns the number of plies."""


@dataclass
class Row:
    """One line of the table: plies per second, and how many times the yardstick's that is (the median of the pairs)."""

    what: str
    plies_per_second: float
    ratio: float
    bar: float | None


def quick_choice(environment: Any, agent: str, mask: Any, generator: np.random.Generator) -> int:
    """Choose as cheaply as NumPy can."""
    legal = np.flatnonzero(mask)
    return int(legal[int(generator.random() * len(legal))])


def space_choice(environment: Any, agent: str, mask: Any, generator: np.random.Generator) -> Any:
    """Choose as the PettingZoo documentation does."""
    return environment.action_space(agent).sample(mask)


def aec_loop(environment: Any, choose: Callable[..., Any]) -> Plies:
    """Return the `agent_iter` loop over an environment."""
    generator = np.random.default_rng(0)

    def play(seconds: float) -> int:
        plies, end = 0, time.perf_counter() + seconds
        while time.perf_counter() < end:
            environment.reset()
            for agent in environment.agent_iter():
                observation, _, terminated, truncated, _ = environment.last()
                if terminated or truncated:
                    environment.step(None)
                else:
                    environment.step(choose(environment, agent, observation["action_mask"], generator))
                    plies += 1
        return plies

    return play


def vector_loop(spec: GameSpec, **options: Any) -> Plies:
    """Return the loop over the native vector environment, counting the plies of both seats."""
    generator = np.random.default_rng(0)
    environment = gymnasium.make_vec(spec.gymnasium_id, num_envs=BOARDS, **options)
    duels = environment.unwrapped.duels  # type: ignore[attr-defined]
    masks = environment.reset(seed=0)[1]["action_mask"]

    def play(seconds: float) -> int:
        nonlocal masks
        before, end = duels.total_plies, time.perf_counter() + seconds
        while time.perf_counter() < end:
            masks = environment.step(random_legal(masks, generator))[4]["action_mask"]
        return int(duels.total_plies - before)

    return play


def compare(what: str, loop: Plies, yardstick: Plies, bar: float | None, seconds: float, repeats: int = 5) -> Row:
    """Time a loop and the yardstick in turns."""
    rates, ratios = [], []
    loop(seconds / 4)
    for _ in range(repeats):
        rate, base = (timed(plays, seconds) for plays in (loop, yardstick))
        rates.append(rate)
        ratios.append(rate / base)
    return Row(what, statistics.median(rates), statistics.median(ratios), bar)


def timed(loop: Plies, seconds: float) -> float:
    """Return plies per second."""
    start = time.perf_counter()
    plies = loop(seconds)
    return plies / (time.perf_counter() - start)


@dataclass
class Measure:
    """One line of the solvers' table: a number, what it counts, and what it has to be."""

    what: str
    measured: float
    unit: str
    bar: str


def seconds_of(call: Callable[[], Any], repeats: int = 3) -> float:
    """Return the time of the fastest of some calls."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def solver_measures() -> list[Measure]:
    """Time solving, loading and asking."""
    measures = []
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NUMDUEL_CACHE"] = folder
        rumble = GAMES["prime-rumble"].make_rules()
        # The first call solves and fills the cache, the later ones load from it.
        cold = seconds_of(lambda: solver_for(rumble), repeats=1)
        measures.append(Measure("prime-rumble, solved without a cache", cold, "s", "at most 10"))
        measures.append(Measure("prime-rumble, loaded", seconds_of(lambda: solver_for(rumble)), "s", "under 0.3"))
        bars = {"prime-rumble": 100_000, "factor-chain-duel": 3_000}
        for spec in tqdm(GAMES.values(), leave=False):
            rules = spec.make_rules()
            solver, position = solver_for(rules), random_positions(rules, 10_000, seed=0)
            # Once only: a solver may remember what it was asked.
            rate = 10_000 / seconds_of(partial(solver.action_values, position), repeats=1)
            least = bars.get(spec.name, 300_000)
            measures.append(Measure(f"{spec.name}, action_values", rate, "positions/s", f"at least {least:,}"))
    wide = GAMES["factor-chain-duel"].make_rules(highest=500)
    once = seconds_of(lambda: solver_for(wide).action_values(wide.initial()))
    measures.append(Measure("factor-chain-duel 2..500, one position", once, "s", "under 0.5"))
    return measures


def match_measures() -> list[Measure]:
    """Time matches, and what grading every move adds to them."""
    measures = []
    for spec in tqdm(GAMES.values(), leave=False):
        rules = spec.make_rules()
        judge = solver_for(rules)
        pair = (Player("random", make_agent("random", rules)), Player("random", make_agent("random", rules)))
        plain = seconds_of(partial(play_match, rules, pair, 10_000))
        # Once only: a judge may remember what it was asked.
        graded = seconds_of(partial(play_match, rules, pair, 10_000, judge=judge), repeats=1)
        measures.append(Measure(f"{spec.name}, 10,000 duels of random against random", plain, "s", "under 2"))
        # Factor Chain is judged by a search, not from a table.
        bar = "" if spec.name == "factor-chain-duel" else "under 50"
        measures.append(Measure(f"{spec.name}, what grading adds", 100 * (graded / plain - 1), "%", bar))
    rules = GAMES["prime-rumble"].make_rules()
    pair = (Player("solver", make_agent("solver", rules)), Player("random", make_agent("random", rules)))
    perfect = seconds_of(partial(play_match, rules, pair, 1_000), repeats=1)
    measures.append(Measure("prime-rumble, 1,000 duels of solver against random", perfect, "s", "under 3"))
    return measures


def minimax_measures() -> list[Measure]:
    """Time solving Divider Duel beside OpenSpiel's own minimax, where it is installed."""
    try:
        from open_spiel.python.algorithms import minimax
    except ImportError as missing:
        print(f"OpenSpiel's minimax: left out, {missing.name} is not installed", file=sys.stderr)
        return []
    game = divider_duel_in_open_spiel()
    rules = GAMES["divider-duel"].make_rules()
    ours = seconds_of(lambda: solver_for(rules).value(rules.initial()))
    first = game.new_initial_state()
    searches: dict[str, tuple[Callable[[], Any], str]] = {
        "minimax": (lambda: minimax.expectiminimax(first, rules.max_plies, None, 0), "at least 100"),
        # This one proves the winner and no more.
        "alpha-beta": (lambda: minimax.alpha_beta_search(game), ""),
    }
    measures = []
    for name, (search, bar) in searches.items():
        if search()[0] != solver_for(rules).value(rules.initial()):
            raise AssertionError(f"OpenSpiel's {name} and our solver disagree")
        ratio = seconds_of(search) / ours
        measures.append(Measure(f"divider-duel, solved, beside OpenSpiel's {name}", ratio, "times as fast", bar))
    return measures


def import_seconds() -> float:
    """Return how long `import numduel_env` takes in a new interpreter (the best of three)."""
    program = "import time; start = time.perf_counter(); import numduel_env; print(time.perf_counter() - start)"
    runs = [
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True) for _ in range(3)
    ]
    return min(float(run.stdout) for run in runs)


def tictactoe() -> Any:
    """Return the yardstick: PettingZoo's public `tictactoe_v3.env()`."""
    return pettingzoo.make("aec", "classic/tictactoe_v3")


def environment_rows(seconds: float) -> list[Row]:
    """Time every face of every game."""
    quick, sampled = (aec_loop(tictactoe(), choose) for choose in (quick_choice, space_choice))
    contests: list[tuple[str, Callable[[GameSpec], Plies], Plies, float | None]] = [
        ("AEC {}", lambda spec: aec_loop(numduel_env.env(spec), quick_choice), quick, 5),
        ("AEC {}, action_space.sample", lambda spec: aec_loop(numduel_env.env(spec), space_choice), sampled, None),
        ("vector {}", vector_loop, quick, 500),
        ("vector {}, self-play", lambda spec: vector_loop(spec, opponent="self"), quick, None),
    ]
    return [
        compare(what.format(spec.name), make(spec), yardstick, bar, seconds)
        for what, make, yardstick, bar in tqdm(contests, leave=False)
        for spec in tqdm(GAMES.values(), leave=False)
    ]


def peer_rows(seconds: float) -> list[Row]:
    """Time the peers that are installed."""
    rows = []
    quick = aec_loop(tictactoe(), quick_choice)
    peers: list[tuple[str, Callable[[], Plies]]] = [
        (f"Pgx tic_tac_toe, {BOARDS:,} boards", partial(pgx_loop, BOARDS)),
        ("OpenSpiel nim from Python", open_spiel_loop),
    ]
    for what, make in peers:
        try:
            loop = make()
        except ImportError as missing:
            print(f"{what}: left out, {missing.name} is not installed", file=sys.stderr)
            continue
        rows.append(compare(what, loop, quick, None, seconds))
    return rows


def report_training(parser: argparse.ArgumentParser, args: argparse.Namespace) -> int:
    """Print how the games are learned, each line as soon as it is known."""
    try:
        from train.benchmarks.training import throughput_rows, training_rows
    except ImportError as missing:
        parser.error(f"--training needs {missing.name}, which is not installed: {WANTED}")
    try:
        game = numduel_env.find_game(args.training).name if args.training else None
    except ValueError as wrong:
        parser.error(str(wrong))
    for other in ("json", "only", "peers"):
        if getattr(args, other):
            parser.error(f"--training goes with no --{other}")
    for line in itertools.chain(throughput_rows(), [""], training_rows(game)):
        tqdm.write(line)
    return 0


def rllib_measures(seconds: float) -> list[Measure]:
    """Time RLlib's sampling of our games and of PettingZoo's connect_four_v3 in turns."""
    from train.benchmarks.rllib import sampling_loops

    yardstick, ours = sampling_loops()
    measures = []
    for what, loop in tqdm(ours.items(), leave=False):
        own = what in GAMES
        row = compare(what, loop, yardstick, None, seconds)
        measures.append(Measure(f"{what}, sampled", row.plies_per_second, "plies/s", ""))
        bar = "at least 2" if own else ""
        measures.append(Measure(f"{what}, beside connect_four_v3", row.ratio, "times as fast", bar))
    return measures


SECTIONS = ("environments", "solvers", "matches")
MORE_SECTIONS = ("rllib",)  # only when asked for: they need an environment of their own


def main() -> int:
    """Measure and report."""
    parser = OneLineParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", metavar="F", help="write the results as JSON into this file (-: standard output)")
    parser.add_argument("--only", choices=(*SECTIONS, *MORE_SECTIONS), help="one section alone")
    parser.add_argument("--peers", action="store_true", help="time Pgx and OpenSpiel too")
    learned = "whole training runs instead, of all games or of one; nothing else should run beside them"
    parser.add_argument("--training", nargs="?", const="", metavar="GAME", help=learned)
    parser.add_argument("--seconds", type=float, default=0.4, help="how long each timing takes (default: %(default)s)")
    args = parser.parse_args()
    if args.seconds <= 0:
        parser.error(f"--seconds must be positive, not {args.seconds}")
    if args.json not in (None, "-"):
        check_writable(parser, "--json", args.json)
    if args.training is not None:
        return report_training(parser, args)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

    sections = [args.only] if args.only else SECTIONS
    rows, measures = [], []
    if "environments" in sections:
        rows = environment_rows(args.seconds) + (peer_rows(args.seconds) if args.peers else [])
        measures.append(Measure("import numduel_env", import_seconds(), "s", "under 0.6"))
    if "solvers" in sections:
        measures += solver_measures() + (minimax_measures() if args.peers else [])
    if "matches" in sections:
        measures += match_measures()
    if "rllib" in sections:
        try:
            measures += rllib_measures(args.seconds)
        except ImportError as missing:
            parser.error(f"--only rllib needs {missing.name}, which is not installed: make .venv-rllib/installed")
    result = {"command": sys.argv, "rows": [asdict(row) for row in rows], "measures": [asdict(m) for m in measures]}
    if args.json == "-":
        print(json.dumps(result, indent=2))
        return 0
    if rows:
        print("| what | plies/s | times tictactoe_v3 | bar |\n|---|---:|---:|---:|")
        for row in rows:
            bar = f"{row.bar:,.0f}x" if row.bar else ""
            print(f"| {row.what} | {row.plies_per_second:,.0f} | {row.ratio:,.1f}x | {bar} |")
        print()
    print("| what | measured | bar |\n|---|---:|---:|")
    for measure in measures:
        digits = 3 if measure.measured < 10 else 0
        print(f"| {measure.what} | {measure.measured:,.{digits}f} {measure.unit} | {measure.bar} |")
    if args.json:
        write_atomically(args.json, json.dumps(result, indent=2))
    return 0


if __name__ == "__main__":
    raise SystemExit(politely(main))
