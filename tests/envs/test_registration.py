"""The ids: found by their module in a fresh process, on every PettingZoo, and kept in an environment's spec."""

from __future__ import annotations

import subprocess
import sys

import gymnasium
import numpy as np
import pettingzoo
import pytest

from numduel_env import GameSpec, register_game
from tests.support import ROOT
from tests.support.toys import Subtraction, forget

ID = "numduel_env:numduel/DividerDuel-v0"

# Nobody has imported numduel_env here: Gymnasium does, by the prefix of the id.
BY_PREFIX = """
import sys
import gymnasium

{}
assert environment.reset(seed=0)[0].shape[-1] == 8
assert "numduel_env" in sys.modules
"""
WAYS = {
    "make": f"environment = gymnasium.make({ID!r}, highest=9)",
    "make_vec": f"environment = gymnasium.make_vec({ID!r}, num_envs=3)",
    "make_vec, sync": f"environment = gymnasium.make_vec({ID!r}, num_envs=3, vectorization_mode='sync')",
    "SyncVectorEnv": f"environment = gymnasium.vector.SyncVectorEnv([lambda: gymnasium.make({ID!r})] * 3)",
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_the_prefix_of_an_id_is_enough_in_a_fresh_process(way):
    subprocess.run([sys.executable, "-c", BY_PREFIX.format(way)], check=True, cwd=ROOT)


def test_a_spec_in_json_recovers_the_environment_with_its_opponent():
    made = gymnasium.make(ID, opponent="tests.support.agents:Lowest", seat="second", highest=12)
    text = made.spec.to_json()
    recovered = gymnasium.make(gymnasium.envs.registration.EnvSpec.from_json(text))
    for environment in (made, recovered):
        environment.reset(seed=0)
        assert environment.unwrapped.duel.moves == [2]
        np.testing.assert_array_equal(environment.unwrapped.rules.numbers, np.arange(2, 13))


def test_an_older_pettingzoo_has_no_registry_and_needs_none(monkeypatch):
    monkeypatch.delattr(pettingzoo, "register", raising=False)
    spec = GameSpec("without-registry", "Subtraction", Subtraction, {"heap": 11, "most": 3})
    register_game(spec)
    try:
        assert gymnasium.make(spec.gymnasium_id).reset(seed=0)[1]["action_mask"].tolist() == [1, 1, 1]
        if hasattr(pettingzoo, "env_registry"):
            assert spec.pettingzoo_id not in pettingzoo.env_registry.registration.aec_registry
    finally:
        forget(spec)
