"""How fast the environments are, as ratios measured in one run on one core.

    python train/benchmark.py            a table
    python train/benchmark.py --json F   the same as JSON in a file (- for standard output)
    python train/benchmark.py --peers    with Pgx and OpenSpiel, where they are installed

Everything plays uniformly random legal moves to the end and starts again. The yardstick, 1x, is PettingZoo's
`tictactoe_v3.env()` in the same loop; it is timed again beside every measurement, because machines are noisy.
"""

from __future__ import annotations

import os

# One core for everybody: libraries read this when they are loaded.
for _library in ("OMP", "OPENBLAS", "MKL"):
    os.environ[f"{_library}_NUM_THREADS"] = "1"

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import gymnasium
import numpy as np
import pettingzoo
from tqdm import tqdm

import numduel_env
from numduel_env import GAMES, GameSpec, random_legal

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


def pgx_loop() -> Plies:
    """Return random play of Pgx's tic_tac_toe in one compiled batch, with resets."""
    import jax  # type: ignore[import-not-found]
    import pgx  # type: ignore[import-not-found]
    from pgx.experimental.wrappers import auto_reset  # type: ignore[import-not-found]

    environment = pgx.make("tic_tac_toe")

    @jax.jit  # type: ignore[untyped-decorator]
    def ply(states: Any, key: Any) -> Any:
        keys = jax.random.split(key, BOARDS + 1)
        logits = jax.numpy.where(states.legal_action_mask, 0.0, -jax.numpy.inf)
        actions = jax.random.categorical(keys[0], logits, axis=-1)
        return jax.vmap(auto_reset(environment.step, environment.init))(states, actions, keys[1:])

    key = jax.random.PRNGKey(0)
    states = jax.jit(jax.vmap(environment.init))(jax.random.split(key, BOARDS))
    states = jax.block_until_ready(ply(states, key))

    def play(seconds: float) -> int:
        nonlocal states, key
        plies, end = 0, time.perf_counter() + seconds
        while time.perf_counter() < end:
            key, now = jax.random.split(key)
            states = jax.block_until_ready(ply(states, now))
            plies += BOARDS
        return plies

    return play


def open_spiel_loop() -> Plies:
    """Return random play of OpenSpiel's nim from Python."""
    import pyspiel  # type: ignore[import-not-found]

    game = pyspiel.load_game("nim")
    generator = np.random.default_rng(0)

    def play(seconds: float) -> int:
        plies, end = 0, time.perf_counter() + seconds
        while time.perf_counter() < end:
            state = game.new_initial_state()
            while not state.is_terminal():
                legal = state.legal_actions()
                state.apply_action(legal[int(generator.random() * len(legal))])
                plies += 1
        return plies

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
    for what, make in (("Pgx tic_tac_toe, 4,096 boards", pgx_loop), ("OpenSpiel nim from Python", open_spiel_loop)):
        try:
            loop = make()
        except ImportError as missing:
            print(f"{what}: left out, {missing.name} is not installed", file=sys.stderr)
            continue
        rows.append(compare(what, loop, quick, None, seconds))
    return rows


def main() -> int:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", metavar="F", help="write the results as JSON into this file (-: standard output)")
    parser.add_argument("--peers", action="store_true", help="time Pgx and OpenSpiel too")
    parser.add_argument("--seconds", type=float, default=0.4, help="how long each timing takes (default: %(default)s)")
    args = parser.parse_args()
    if args.seconds <= 0:
        parser.error(f"--seconds must be positive, not {args.seconds}")
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

    rows = environment_rows(args.seconds) + (peer_rows(args.seconds) if args.peers else [])
    imported = import_seconds()
    result = {"command": sys.argv, "import_seconds": imported, "rows": [asdict(row) for row in rows]}
    if args.json == "-":
        print(json.dumps(result, indent=2))
        return 0
    print("| what | plies/s | times tictactoe_v3 | bar |\n|---|---:|---:|---:|")
    for row in rows:
        bar = f"{row.bar:,.0f}x" if row.bar else ""
        print(f"| {row.what} | {row.plies_per_second:,.0f} | {row.ratio:,.1f}x | {bar} |")
    print(f"\nimport numduel_env: {imported:.2f} s (bar: 0.6 s)")
    if args.json:
        with open(args.json, "w") as file:
            json.dump(result, file, indent=2)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
