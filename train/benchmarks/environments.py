"""How fast the environments play random legal moves to the end and start again."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Collection
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pettingzoo
from gymnasium.envs.registration import EnvSpec
from tqdm import tqdm

import numduel_env
from numduel_env import GAMES, GameSpec, random_legal
from numduel_env.envs.single import NumduelEnv
from numduel_env.envs.vector import NumduelVectorEnv
from train.benchmarks.measures import Measure, Plies, Row, compare
from train.benchmarks.peers import open_spiel_loop, pgx_loop

BOARDS = 4096
"""The number of games in a vector environment."""


def environment_rows(specs: Collection[GameSpec], seconds: float) -> list[Row]:
    """Time the environments of some games; only games of the table have bars."""
    quick, sampled = (aec_loop(tictactoe(), choose) for choose in (quick_choice, space_choice))
    contests: list[tuple[str, Callable[[GameSpec], Plies], Plies, float | None]] = [
        ("AEC {}", lambda spec: aec_loop(numduel_env.env(spec), quick_choice), quick, 8),
        ("AEC {}, action_space.sample", lambda spec: aec_loop(numduel_env.env(spec), space_choice), sampled, 6),
        ("gymnasium.make {}", lambda spec: single_loop(spec, quick_action), sampled, 8),
        ("gymnasium.make {}, action_space.sample", lambda spec: single_loop(spec, space_action), sampled, 6),
        ("vector {}", vector_loop, quick, 700),
        ("vector {}, self-play", lambda spec: vector_loop(spec, opponent="self"), quick, None),
    ]
    return [
        compare(what.format(spec.name), make(spec), yardstick, bar if spec in GAMES.values() else None, seconds)
        for what, make, yardstick, bar in tqdm(contests, leave=False)
        for spec in tqdm(specs, leave=False)
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


def import_measure() -> Measure:
    """Time ``import numduel_env`` in a new interpreter, by its processor; the best of three counts."""
    program = "import time; start = time.process_time(); import numduel_env; print(time.process_time() - start)"
    runs = [
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True) for _ in range(3)
    ]
    return Measure("import numduel_env", min(float(run.stdout) for run in runs), "CPU s", "under 0.6")


def tictactoe() -> Any:
    """Return the yardstick: PettingZoo's public ``tictactoe_v3.env()``."""
    return pettingzoo.make("aec", "classic/tictactoe_v3")


def quick_choice(environment: Any, agent: str, mask: Any, generator: np.random.Generator) -> int:
    """Choose as cheaply as NumPy can."""
    (legal,) = mask.nonzero()
    return int(legal[int(generator.random() * len(legal))])


def space_choice(environment: Any, agent: str, mask: Any, generator: np.random.Generator) -> Any:
    """Choose as the PettingZoo documentation does."""
    return environment.action_space(agent).sample(mask)


def aec_loop(environment: Any, choose: Callable[..., Any]) -> Plies:
    """Return the ``agent_iter`` loop over an environment."""
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


def quick_action(environment: Any, mask: Any, generator: np.random.Generator) -> int:
    """Choose as cheaply as NumPy can; anything where the opponent has ended the game at once."""
    return quick_choice(environment, "", mask, generator) if mask.any() else 0


def space_action(environment: Any, mask: Any, generator: np.random.Generator) -> Any:
    """Choose as the Gymnasium documentation does."""
    return environment.action_space.sample(mask)


def single_loop(spec: GameSpec, choose: Callable[..., Any]) -> Plies:
    """Return the loop over the single environment against the random opponent, counting the plies of both seats."""
    generator = np.random.default_rng(0)
    # A game of one's own has no id that is registered.
    environment: Any = gymnasium.make(EnvSpec(spec.gymnasium_id, partial(NumduelEnv, spec)))
    unwrapped = environment.unwrapped

    def play(seconds: float) -> int:
        plies, end = 0, time.perf_counter() + seconds
        while time.perf_counter() < end:
            _, info = environment.reset()
            done = False
            while not done:
                _, _, terminated, truncated, info = environment.step(
                    choose(environment, info["action_mask"], generator)
                )
                done = terminated or truncated
            plies += len(unwrapped._duel.actions)
        return plies

    return play


def vector_loop(spec: GameSpec, **options: Any) -> Plies:
    """Return the loop over the native vector environment, counting the plies of both seats."""
    generator = np.random.default_rng(0)
    environment = NumduelVectorEnv(spec, BOARDS, **options)
    duels = environment.duels
    masks = environment.reset(seed=0)[1]["action_mask"]

    def play(seconds: float) -> int:
        nonlocal masks
        before, end = duels.total_plies, time.perf_counter() + seconds
        while time.perf_counter() < end:
            masks = environment.step(random_legal(masks, generator))[4]["action_mask"]
        return int(duels.total_plies - before)

    return play
