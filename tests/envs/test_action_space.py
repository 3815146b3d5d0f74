"""The action space: Gymnasium's ``Discrete``, with the same samples sooner."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest
from gymnasium.spaces import Discrete, MultiDiscrete

import numduel_env
from numduel_env import GAMES
from numduel_env.envs.base import QuickDiscrete
from numduel_env.envs.vector import NumduelVectorEnv
from tests.support.variants import each_variant


@pytest.mark.parametrize("size", [1, 2, 8, 49, 64, 65, 300])
def test_samples_are_those_of_discrete(size):
    quick, plain = QuickDiscrete(size, seed=3), Discrete(size, seed=3)
    generator = np.random.default_rng(size)
    for _ in range(200):
        mask = (generator.random(size) < generator.random()).astype(np.int8)
        one, other = quick.sample(mask), plain.sample(mask)
        assert type(one) is type(other)
        assert one == other
        assert quick.sample() == plain.sample()
        shares = generator.dirichlet(np.ones(size))
        assert quick.sample(probability=shares) == plain.sample(probability=shares)


@pytest.mark.parametrize(
    "mask",
    [
        np.ones(8, bool),
        np.ones(7, np.int8),
        np.ones((1, 8), np.int8),
        np.full(8, 2, np.int8),
        np.array([1, 1, 1, 1, 1, 1, 1, -1], np.int8),
        np.ones(8, np.int64),
        [1] * 8,
        "mask",
    ],
    ids=str,
)
def test_a_wrong_mask_is_refused_in_the_words_of_discrete(mask):
    errors = []
    for space in (QuickDiscrete(8), Discrete(8)):
        with pytest.raises(AssertionError) as error:
            space.sample(mask)
        errors.append(str(error.value))
    assert errors[0] == errors[1]
    with pytest.raises(ValueError, match="Only one of"):
        QuickDiscrete(8).sample(np.ones(8, np.int8), np.full(8, 1 / 8))


def test_nothing_allowed_gives_the_first_action_and_views_count_as_masks():
    space = QuickDiscrete(8, seed=0)
    assert space.sample(np.zeros(8, np.int8)) == 0
    every_other = np.tile(np.array([0, 1], np.int8), 8)[::2]
    every_other[5] = 1
    assert space.sample(every_other) == 5


@each_variant
def test_it_equals_discrete_and_is_copied_and_pickled_as_it(game, params):
    space = numduel_env.env(game, **params).action_space("player_0")
    plain = Discrete(int(space.n))
    assert space == plain
    assert plain == space
    assert repr(space) == repr(plain)
    space.seed(5)
    space.sample()
    mask = np.ones(space.n, np.int8)
    twins = [pickle.loads(pickle.dumps(space)), copy.deepcopy(space)]
    samples = [space.sample(mask) for _ in range(9)]
    for twin in twins:
        assert type(twin) is Discrete
        assert twin == space
        assert [twin.sample(mask) for _ in range(9)] == samples


def test_a_pickled_space_needs_no_numduel_env(tmp_path):
    path = tmp_path / "space"
    path.write_bytes(pickle.dumps(QuickDiscrete(8, seed=1)))
    program = f"import sys, pickle; print(pickle.load(open({str(path)!r}, 'rb')), 'numduel_env' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert shown.split() == ["Discrete(8)", "False"]


@pytest.mark.parametrize("game", GAMES)
def test_a_batch_of_it_is_a_multi_discrete(game):
    space = NumduelVectorEnv(game, 3).action_space
    assert isinstance(space, MultiDiscrete)
    assert space.shape == (3,)


@pytest.mark.parametrize("game", GAMES)
def test_a_seeded_space_repeats_a_game(game):
    def moves():
        environment = numduel_env.env(game)
        environment.reset()
        for seat in environment.possible_agents:
            environment.action_space(seat).seed(7)
        while not environment.duel.finished:
            seat = environment.agent_selection
            environment.step(environment.action_space(seat).sample(environment.observe(seat)["action_mask"]))
        return environment.duel.moves

    assert moves() == moves()
