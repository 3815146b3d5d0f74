"""Whom a learner meets: snapshots of itself, and positions in the middle of the game."""

from __future__ import annotations

import numpy as np
import pytest

from agents.checkpoint import BadCheckpoint
from numduel_env import GAMES
from numduel_env.duel import Duel
from numduel_env.duels import Duels, Openings
from numduel_env.envs.vector import NumduelVectorEnv
from numduel_env.observation import AfterstateObserver
from tests.support.variants import each_variant
from tests.training.learners import constant_weights
from train.sb3_ppo.pool import SNAPSHOTS, Pool


def test_the_pool_plays_its_snapshots_and_is_restored():
    # With 5 to 9 alone no number is a multiple of another, so a move takes just its own number away.
    rules = GAMES["divider-duel"].make_rules(lowest=5, highest=9)
    observer = AfterstateObserver(rules)
    pool = Pool(rules, observer)
    position = rules.initial((400,))
    legal, generator = rules.legal(position), np.random.default_rng(0)
    assert set(pool.choose(position, legal, generator)) == set(range(5))
    for number in range(SNAPSHOTS + 2):
        pool.add(constant_weights(observer, number % 2))
    assert len(pool.snapshots) == SNAPSHOTS
    assert set(pool.choose(position, legal, generator)) == {0, 1}
    twin = Pool(rules, observer)
    twin.restore(pool.tensors(), [])
    first, second = (p.choose(position, legal, np.random.default_rng(5)) for p in (pool, twin))
    np.testing.assert_array_equal(first, second)
    with pytest.raises(BadCheckpoint, match="does not fit"):
        Pool(rules, observer).restore(pool.tensors(), [4])


@each_variant
def test_random_openings_leave_games_unfinished(game, params):
    rules = GAMES[game].make_rules(**params)
    duels = Duels(rules, 200)
    wanted = np.arange(200) % 30
    actions = duels.play_randomly(wanted, np.random.default_rng(0))
    assert duels.legal.any(-1).all()
    assert (duels.plies <= wanted).all()
    np.testing.assert_array_equal((actions >= 0).sum(-1), duels.plies)

    for share in (0.0, 0.5, 1.0):
        environment = NumduelVectorEnv(game, 400, opponent="self", random_openings=share, **params)
        _, infos = environment.reset(seed=0)
        assert infos["action_mask"].any(-1).all()
        opened = (environment.duels.plies > 0).mean()
        # Every opening plays a ply, unless the first one drawn would have ended the game.
        assert opened <= share + 0.1
        assert (opened > 0) == (share > 0 and rules.max_plies > 1)
        np.testing.assert_array_equal(environment.reset(seed=0)[1]["action_mask"], infos["action_mask"])
    with pytest.raises(ValueError, match="random_openings must be a share"):
        NumduelVectorEnv(game, 2, random_openings=1.5, **params)


@each_variant
def test_games_from_the_stock_are_those_that_were_begun(game, params):
    """Each is handed out once, at the position that its actions lead to; what was there before is gone."""
    rules = GAMES[game].make_rules(**params)
    duels, stock, generator = Duels(rules, 50), Openings(rules, 0.8), np.random.default_rng(0)
    for count in (7, 50, 1, 30, 50, 50, 50, 50):
        rows = generator.permutation(50)[:count]
        plies_before = duels.total_plies
        actions = stock.begin(duels, rows, generator)
        assert duels.total_plies - plies_before == (actions >= 0).sum()
        for row, played in zip(rows, actions):
            duel = Duel(rules, played[played >= 0].tolist())
            assert not duels.finished[row]
            assert duels.plies[row] == len(duel.actions)
            np.testing.assert_array_equal(duels.legal[row], duel.legal)
            for field, expected in zip(duels.position, duel.position):
                np.testing.assert_array_equal(field[row], expected)


def test_another_seed_draws_other_openings_and_the_same_seed_the_same():
    environment = NumduelVectorEnv("prime-rumble", 20, opponent="self", random_openings=1.0)
    masks = [environment.reset(seed=seed)[1]["action_mask"] for seed in (1, 2, 1)]
    assert (masks[0] == masks[2]).all()
    assert (masks[0] != masks[1]).any()
    # Without a seed the stock goes on.
    assert (environment.reset()[1]["action_mask"] != masks[2]).any()
