"""What the learner observes and learns: afterstates, their logits and action values, and returns in self-play."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import torch
from sb3_contrib.common.maskable.utils import get_action_masks
from stable_baselines3.common.utils import obs_as_tensor

from agents.learned import LearnedAgent
from agents.networks import AfterstateNetwork
from numduel_env import GAMES, random_legal
from numduel_env.batch import take_rows
from numduel_env.observation import Observer
from tests.support.variants import each_game, each_variant
from tests.training.learners import afterstate_games, dense, learner


@each_variant
def test_observed_of_each_move_is_where_it_leads(game, params):
    rules = GAMES[game].make_rules(**params)
    adapted = afterstate_games(game, 16, seed=3, opponent="self", random_openings=0.5, **params)
    observed, generator = adapted.reset(), np.random.default_rng(0)
    plain = Observer(rules)
    for _ in range(12):
        position, masks = adapted.environment.duels.position, get_action_masks(adapted)
        np.testing.assert_array_equal(observed["legal"], masks)
        moves = dense(observed)
        assert adapted.observation_space.contains(moves[0])
        moves = moves.reshape(16, len(rules.numbers), -1)[masks][:, 1:]
        after = rules.play_all(position)
        np.testing.assert_allclose(moves[:, : plain.size], plain(after, None, masks.shape)[masks], rtol=1e-6)
        behind = np.concatenate([rules.outlook(after), rules.afterstate_features(after)], axis=-1)
        np.testing.assert_allclose(moves[:, plain.size :], behind[masks], rtol=1e-6)
        observed, _, _, infos = adapted.step(random_legal(masks, generator))
        for info in infos:
            assert adapted.observation_space.contains(info.get("terminal_observation", dense(observed)[0]))


@each_game
def test_a_learner_and_its_agent_agree(game, params):
    """What is played from a checkpoint, in NumPy, is what MaskablePPO has learned, in PyTorch."""
    rules = GAMES[game].make_rules(**params)
    adapted = afterstate_games(game, 64, seed=1, opponent="self", random_openings=1.0, **params)
    model = learner(adapted, layers=(16, 8), batch_size=256)
    model.learn(1024)
    agent = LearnedAgent(rules, AfterstateNetwork(adapted.environment.afterstates, model.policy.tensors()))
    observations, masks = dense(adapted.reset()), get_action_masks(adapted)
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
    observations, masks = torch.from_numpy(dense(adapted.reset())), get_action_masks(adapted)
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
    assert observed["features"].any()


@each_game
def test_the_policy_is_what_masked_distributions_say(game, params):
    """Actions, log probabilities and entropies, without a distribution and from the legal moves alone."""
    adapted = afterstate_games(game, 64, seed=1, opponent="self", random_openings=1.0, **params)
    policy = learner(adapted, layers=(16, 8)).policy
    torch.nn.init.orthogonal_(policy.move[-1].weight, 3.0)  # else it is nearly uniform
    observed, masks = adapted.reset(), get_action_masks(adapted)
    legal_moves = obs_as_tensor(observed, torch.device("cpu"))
    with torch.no_grad():
        distribution = policy.get_distribution(torch.from_numpy(dense(observed)), masks)
        drawn = [policy(legal_moves, action_masks=masks) for _ in range(400)]
        shares = sum(torch.nn.functional.one_hot(actions, masks.shape[1]) for actions, _, _ in drawn) / len(drawn)
        np.testing.assert_allclose(shares, distribution.distribution.probs, atol=0.15)
        for actions, values, log_probabilities in drawn[:20]:
            np.testing.assert_allclose(log_probabilities, distribution.log_prob(actions), atol=1e-5)
            np.testing.assert_allclose(values, policy.predict_values(legal_moves))
            _, again, entropy = policy.evaluate_actions(legal_moves, actions)
            np.testing.assert_allclose(again, log_probabilities, atol=1e-6)
            np.testing.assert_allclose(entropy, distribution.entropy(), atol=1e-5)
        best, _, _ = policy(legal_moves, deterministic=True)
        np.testing.assert_array_equal(best, distribution.mode())


@each_game
def test_a_rollout_comes_back_as_it_was_played(game, params):
    """Every position once, with its own legal moves and what was done and predicted there."""
    adapted = afterstate_games(game, 8, seed=2, opponent="self", random_openings=0.5, **params)
    model = learner(adapted, n_steps=16)
    played = []
    forward = model.policy.forward

    def remembering(observed, *args, **options):
        answer = forward(observed, *args, **options)
        actions, _, log_probabilities = (part.numpy() for part in answer)
        for row, position in enumerate(dense({name: part.numpy() for name, part in observed.items()})):
            played.append((position.tobytes(), int(actions[row]), float(log_probabilities[row])))
        return answer

    model.policy.forward = remembering
    model.learn(128)
    batches = list(model.rollout_buffer.get(30))
    assert [len(batch.actions) for batch in batches] == [30, 30, 30, 30, 8]
    given = []
    for batch in batches:
        np.testing.assert_array_equal(batch.observations["legal"], batch.action_masks)
        positions = dense({name: part.numpy() for name, part in batch.observations.items()})
        given += [(row.tobytes(), int(a), float(p)) for row, a, p in zip(positions, batch.actions, batch.old_log_prob)]
    assert sorted(given) == sorted(played)
