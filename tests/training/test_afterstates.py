"""What the learner observes and learns: afterstates, their logits and action values, and returns in self-play."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import torch
from sb3_contrib.common.maskable.utils import get_action_masks

from agents.learned import LearnedAgent
from agents.networks import AfterstateNetwork
from numduel_env import GAMES, random_legal
from numduel_env.batch import take_rows
from numduel_env.observation import Observer
from tests.support.variants import each_game, each_variant
from tests.training.learners import afterstate_games, learner


@each_variant
def test_observed_of_each_move_is_where_it_leads(game, params):
    rules = GAMES[game].make_rules(**params)
    adapted = afterstate_games(game, 16, seed=3, opponent="self", random_openings=0.5, **params)
    observed, generator = adapted.reset(), np.random.default_rng(0)
    plain = Observer(rules)
    for _ in range(12):
        assert adapted.observation_space.contains(observed[0])
        position, masks = adapted.environment.duels.position, get_action_masks(adapted)
        moves = observed.reshape(16, len(rules.numbers), -1)
        np.testing.assert_array_equal(moves[..., 0], masks)
        assert not moves[~masks].any()
        after = rules.play_all(position)
        features = plain(after, None, masks.shape)
        np.testing.assert_allclose(moves[masks][:, 1 : 1 + plain.size], features[masks], rtol=1e-6)
        np.testing.assert_allclose(moves[masks][:, 1 + plain.size :], rules.outlook(after)[masks], rtol=1e-6)
        observed, _, _, infos = adapted.step(random_legal(masks, generator))
        for info in infos:
            assert "terminal_observation" not in info or info["terminal_observation"].shape == observed[0].shape


@each_game
def test_a_learner_and_its_agent_agree(game, params):
    """What is played from a checkpoint, in NumPy, is what MaskablePPO has learned, in PyTorch."""
    rules = GAMES[game].make_rules(**params)
    adapted = afterstate_games(game, 64, seed=1, opponent="self", random_openings=1.0, **params)
    model = learner(adapted, layers=(16, 8), batch_size=256)
    model.learn(1024)
    agent = LearnedAgent(rules, AfterstateNetwork(adapted.environment.afterstates, model.policy.tensors()))
    observations, masks = adapted.reset(), get_action_masks(adapted)
    position = adapted.environment.duels.position
    expected, _ = model.predict(observations, action_masks=masks, deterministic=True)
    np.testing.assert_array_equal(agent.choose(position, masks, np.random.default_rng(0)), expected)
    probabilities, values = agent.evaluate(position, masks)
    with torch.no_grad():
        tensor = torch.from_numpy(observations)
        np.testing.assert_allclose(values, model.policy.predict_values(tensor)[:, 0], atol=1e-5)
        there = model.policy.get_distribution(tensor, masks).distribution.probs
    np.testing.assert_allclose(probabilities, there, atol=1e-5)
    # One position is answered as it is in a batch.
    assert agent.choose(take_rows(position, [5]), masks[[5]], np.random.default_rng(0))[0] == expected[5]


def test_the_critic_regresses_the_action_value_and_bootstraps_from_the_state_value():
    adapted = afterstate_games("divider-duel", 4, opponent="self")
    model = learner(adapted)
    observations, masks = torch.from_numpy(adapted.reset()), get_action_masks(adapted)
    with torch.no_grad():
        policy = model.policy.get_distribution(observations, masks).distribution.probs
        action_values = np.zeros(masks.shape)
        for action in np.flatnonzero(masks.all(0)):
            values, _, _ = model.policy.evaluate_actions(observations, torch.full((4,), action), masks)
            action_values[:, action] = values[:, 0]
        state_values = model.policy.predict_values(observations)[:, 0]
    assert len(set(action_values[0])) > 1
    np.testing.assert_allclose(state_values, (policy.numpy() * action_values).sum(-1), atol=1e-6)


def test_a_truncated_game_has_no_value():
    adapted = afterstate_games("prime-duel-sum", opponent="self", when_empty="refill", max_plies=3)
    model = learner(adapted)
    adapted.reset()
    for _ in range(3):
        _, rewards, _, infos = adapted.step(random_legal(get_action_masks(adapted), np.random.default_rng(0)))
    assert not rewards.any()
    for info in infos:
        assert info["TimeLimit.truncated"]
        assert model.policy.predict_values(torch.from_numpy(info["terminal_observation"][None])).item() == 0


def test_in_self_play_the_next_movers_gain_is_a_loss():
    """Returns alternate in sign along a game: what gamma=-1 is for."""
    adapted = afterstate_games("divider-duel", 4, opponent="self")
    model = learner(adapted, n_steps=32, gae_lambda=1.0)
    model.learn(128)
    buffer = model.rollout_buffer
    checked = 0
    for row in range(4):
        starts = np.flatnonzero(buffer.episode_starts[:, row])
        returns = buffer.swap_and_flatten(buffer.returns).reshape(4, 32)[row]
        for first, end in pairwise(starts):
            # The last mover won, the one before lost, and so on.
            np.testing.assert_allclose(returns[first:end][::-1], (-1.0) ** np.arange(end - first), atol=1e-5)
            checked += 1
    assert checked > 10


def test_no_observation_is_built_that_nobody_takes(monkeypatch):
    """The flat observation of the vector environment is not computed beside the afterstates."""
    adapted = afterstate_games("divider-duel", 16, opponent="self")
    monkeypatch.setattr(adapted.environment, "observer", None)
    adapted.reset()
    observed, _, _, _ = adapted.step(random_legal(get_action_masks(adapted), np.random.default_rng(0)))
    assert observed.any()
