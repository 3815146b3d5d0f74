"""Whoever trains for days: no face of a game takes more memory with every step."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import gymnasium
import numpy as np
import pytest

import numduel_env
from numduel_env import GAMES, random_legal
from numduel_env.transitions import BYTES

STEPS = 1_000_000
STATUS = Path("/proc/self/statm")


def aec(spec):
    environment, generator = numduel_env.env(spec), np.random.default_rng(0)

    def play(steps):
        while steps > 0:
            environment.reset()
            for _agent in environment.agent_iter():
                observation, _, terminated, truncated, _ = environment.last()
                over = terminated or truncated
                environment.step(None if over else int(random_legal(observation["action_mask"], generator)))
                steps -= 1

    return play


def single(spec):
    environment, generator = gymnasium.make(spec.gymnasium_id), np.random.default_rng(0)

    def play(steps):
        while steps > 0:
            _, info = environment.reset()
            over = False
            while not over:
                action = int(random_legal(info["action_mask"], generator))
                _, _, terminated, truncated, info = environment.step(action)
                over = terminated or truncated
                steps -= 1

    return play


def vector(spec, count=256, **options):
    environment, generator = gymnasium.make_vec(spec.gymnasium_id, count, **options), np.random.default_rng(0)
    environment.reset(seed=0)

    def play(steps):
        masks = environment.unwrapped.action_masks()
        for _ in range(steps // count):
            masks = environment.step(random_legal(masks, generator))[4]["action_mask"]

    return play


def with_openings(spec):
    return vector(spec, opponent="self", autoreset_mode="SameStep", random_openings=0.5)


def resident():
    """Return the bytes of memory that this process has now."""
    gc.collect()
    return int(STATUS.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.slow
@pytest.mark.skipif(not STATUS.exists(), reason="the memory of a process is read as Linux shows it")
@pytest.mark.parametrize("face", [aec, single, vector, with_openings])
@pytest.mark.parametrize("game", ["prime-rumble", "prime-duel-sum"])
def test_memory_stays_flat(game, face):
    play, at_first = face(GAMES[game]), resident()
    play(STEPS // 2)
    half_way = resident()
    play(STEPS // 2)
    # Single games remember positions, up to a bound that large games reach early on.
    assert half_way - at_first < 3 * BYTES
    assert resident() - half_way < 4_000_000
