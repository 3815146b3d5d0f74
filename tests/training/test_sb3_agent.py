"""Trained models of Stable-Baselines3 as agents: they see what they were trained on, with their masks."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3 import DQN, PPO

from numduel_env import evaluate, find_game, random_legal
from numduel_env.batch import batch_of_one
from numduel_env.envs.sb3 import SB3Agent, SB3VectorEnv
from tests.support.variants import each_game
from tests.training.learners import games

RULES = find_game("divider-duel").make_rules()


def maskable(game="divider-duel", lookahead=False, **options):
    """Return an untrained model: its moves are as good as any to be followed."""
    adapted = SB3VectorEnv(games(game, opponent="self", lookahead=lookahead, **options), seed=0)
    return MaskablePPO("MlpPolicy", adapted, seed=0, device="cpu")


def factory(rules):
    return SB3Agent(maskable(), rules)


def positions(rules, count=40):
    """Return unfinished positions of one batch, and their masks."""
    generator = np.random.default_rng(0)
    position = rules.initial((count,))
    for _ in range(2):
        position = rules.play(position, random_legal(rules.legal(position), generator))
    legal = rules.legal(position)
    return position._make(field[legal.any(-1)] for field in position), legal[legal.any(-1)]


@pytest.mark.parametrize("lookahead", [False, True])
@each_game
def test_it_plays_what_the_model_predicts_from_the_observation_and_the_mask(game, params, lookahead):
    model = maskable(game, lookahead)
    rules = model.env.environment.rules
    agent = SB3Agent(model, rules, lookahead)
    position, legal = positions(rules)
    chosen = agent.choose(position, legal, np.random.default_rng(0))
    assert legal[np.arange(len(legal)), chosen].all()
    for row in range(len(legal)):
        single = position._make(field[row] for field in position)
        observation = agent.observer(single, legal[row])
        action, _ = model.predict(observation, action_masks=legal[row], deterministic=True)
        assert chosen[row] == action
        one = agent.choose(batch_of_one(single), legal[row][None], np.random.default_rng(0))
        assert one.tolist() == [action]


def test_an_empty_batch():
    legal = np.zeros((0, len(RULES.numbers)), bool)
    assert factory(RULES).choose(RULES.initial((0,)), legal, np.random.default_rng(0)).shape == (0,)


def test_sampling_draws_from_the_generator_alone():
    agent = SB3Agent(maskable(), RULES, deterministic=False)
    position, legal = positions(RULES, 200)
    state = torch.random.get_rng_state()
    first, again, other = (agent.choose(position, legal, np.random.default_rng(seed)) for seed in (0, 0, 1))
    assert torch.equal(torch.random.get_rng_state(), state)
    assert legal[np.arange(len(legal)), first].all()
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


@pytest.mark.parametrize("algorithm", [PPO, DQN])
def test_a_model_without_masks_plays_what_it_prefers(algorithm):
    model = algorithm("MlpPolicy", gymnasium.make("numduel/DividerDuel-v0"), seed=0, device="cpu")
    agent = SB3Agent(model, RULES)
    position, legal = positions(RULES)
    chosen = agent.choose(position, legal, np.random.default_rng(0))
    expected, _ = model.predict(agent.observer(position, legal, (len(legal),)), deterministic=True)
    np.testing.assert_array_equal(chosen, expected)
    assert not legal[np.arange(len(legal)), chosen].all()


def test_it_is_an_opponent_and_an_entrant():
    model = maskable()
    agent = SB3Agent(model, RULES)
    environment = gymnasium.make("numduel/DividerDuel-v0", opponent=agent, seat="second")
    environment.reset(seed=0)
    (expected,) = agent.choose(RULES.initial((1,)), RULES.legal(RULES.initial((1,))), np.random.default_rng(0))
    assert environment.unwrapped.duel.actions == [expected]
    by_name = f"{__name__}:factory"
    results = evaluate("divider-duel", {"object": agent, "name": by_name, "random": "random"}, duels=20)
    assert [result.faults for result in results.agents] == [0, 0, 0]
    assert results.agents[0].kept is not None


def test_what_does_not_fit_is_refused_with_the_way_out():
    with pytest.raises(ValueError, match=r"lookahead=True shows 64 features; it was trained with lookahead=False"):
        SB3Agent(maskable(), RULES, lookahead=True)
    with pytest.raises(ValueError, match=r"trained with lookahead=True: SB3Agent\(model, rules, True\)"):
        SB3Agent(maskable(lookahead=True), RULES)
    with pytest.raises(ValueError, match=r"chooses among Discrete\(8\), but the game has 9 numbers"):
        SB3Agent(maskable(), find_game("prime-duel-sum").make_rules())
    with pytest.raises(ValueError, match=r"observes Box\(0.0, 1.0, \(8,\).*lookahead=False shows 10 features$"):
        SB3Agent(maskable(), find_game("prime-duel-sum").make_rules(highest=9))
