"""TorchRL plays and learns on the PettingZoo environments as they are."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tensordict.nn import TensorDictModule
from torchrl.envs import PettingZooWrapper
from torchrl.envs.utils import MarlGroupMapType, check_env_specs
from torchrl.modules import MaskedCategorical, ProbabilisticActor

import numduel_env
from tests.interop.examples import run_documented_lines, run_example
from tests.support.variants import each_game, each_game_with_illegal_moves

pytestmark = pytest.mark.interop

PLIES = 500
SEEN, MASK, LOGITS, ACTION = [
    ("agents", key) for key in (("observation", "observation"), "action_mask", "logits", "action")
]


@pytest.fixture(autouse=True)
def _one_thread_and_one_seed():
    torch.set_num_threads(1)
    torch.manual_seed(0)


def wrapped(game, **options):
    env = numduel_env.env(game, **options)
    return PettingZooWrapper(env, use_mask=True, group_map=MarlGroupMapType.ALL_IN_ONE_GROUP)


def smallest_number(tensordict):
    """A policy that takes no notice of the mask."""
    return tensordict.set(ACTION, torch.zeros(2, dtype=torch.int64))


def untrained_actor(env):
    size, actions = env.observation_spec[SEEN[0], *SEEN[1]].shape[-1], env.observation_spec[MASK].shape[-1]
    return ProbabilisticActor(
        TensorDictModule(torch.nn.Linear(size, actions), in_keys=[SEEN], out_keys=[LOGITS]),
        in_keys={"logits": LOGITS, "mask": MASK},
        out_keys=[ACTION],
        distribution_class=MaskedCategorical,
    )


@each_game
def test_specs(game, params):
    check_env_specs(wrapped(game, **params))
    by_default = PettingZooWrapper(numduel_env.env(game, **params), use_mask=True)  # a group for each seat
    check_env_specs(by_default)
    actions = len(by_default.rules.numbers)
    for seat in ("player_0", "player_1"):
        assert by_default.observation_spec[seat, "action_mask"].shape == (1, actions)


@each_game
@pytest.mark.parametrize("learner", [False, True], ids=["random", "masked policy"])
def test_the_mask_is_found_and_heeded(game, params, learner):
    env = wrapped(game, lookahead=True, illegal="raise", **params)
    policy = untrained_actor(env) if learner else None
    played = env.rollout(PLIES, policy, break_when_any_done=False)
    assert played.shape == (PLIES,)

    # Move by move the same game, played by its own rules.
    position = env.rules.initial()
    for ply in played:
        seat = int(ply["agents", "mask"].nonzero())
        legal = env.rules.legal(position)
        np.testing.assert_array_equal(ply[MASK][seat], legal)
        action = int(ply[ACTION][seat])
        assert legal[action]
        position = env.rules.play(position, action)
        rewards = ply["next", "agents", "reward"].ravel().tolist()
        assert sum(rewards) == 0
        over = not env.rules.legal(position).any()
        assert bool(ply["next", "done"]) == bool(ply["next", "terminated"]) == over
        if over:
            assert rewards[1 - seat] == env.rules.value(position)
            position = env.rules.initial()
        else:
            assert rewards == [0, 0]
    assert played["next", "done"].sum() > PLIES / env.rules.max_plies - 1


@each_game_with_illegal_moves
def test_a_policy_without_the_mask_is_refused_or_loses(game, params):
    with pytest.raises(ValueError, match="is illegal"):
        wrapped(game, illegal="raise", **params).rollout(PLIES, smallest_number)
    lost = wrapped(game, **params).rollout(PLIES, smallest_number)
    assert lost.shape == (2,)
    assert lost["next", "agents", "reward"][-1].ravel().tolist() == [1, -1]
    assert lost["next", "terminated"][-1]


def test_truncation():
    env = wrapped("prime-duel-sum", when_empty="refill", max_plies=7)
    cut_off = env.rollout(PLIES)
    assert cut_off.shape == (7,)
    last = cut_off[-1]["next"]
    assert (bool(last["done"]), bool(last["terminated"]), bool(last["truncated"])) == (True, False, True)


def test_the_example_learns():
    learned = run_example("torchrl_divider_duel.py")
    assert learned.steps == 8_192
    # 60 would do, but for the untrained networks that happen to score that much; perfect play scores 99.
    assert learned.score >= 90 > learned.untrained


def test_the_documented_lines():
    assert run_documented_lines("TorchRL")["plies"].shape == (100,)
