"""Random games played twice: by the real rules, and by a naive reading of the rule books."""

import random

import gymnasium
import numpy as np
import pytest

import numduel_env
from numduel_env.duels import Duel
from numduel_env.games import GAMES
from tests.support.naive import NAIVE

SEATS = ("player_0", "player_1")

OTHER_SIZES = [
    ("prime-rumble", {"highest": 2}),
    ("prime-rumble", {"lowest": 3, "highest": 40}),
    ("prime-rumble", {"lowest": 7, "highest": 90}),
    ("prime-rumble", {"highest": 130}),
    ("factor-chain-duel", {"highest": 2}),
    ("factor-chain-duel", {"highest": 12}),
    ("factor-chain-duel", {"lowest": 5, "highest": 60}),
    ("factor-chain-duel", {"highest": 100}),
    ("divider-duel", {"highest": 20}),
    ("divider-duel", {"lowest": 4, "highest": 33}),
    ("divider-duel", {"highest": 80}),
    ("prime-duel-product", {"target": 2, "primes_below": 3}),
    ("prime-duel-product", {"target": 1024, "primes_below": 3}),
    ("prime-duel-product", {"target": 12, "primes_below": 4}),
    ("prime-duel-product", {"target": 360, "primes_below": 8}),
    ("prime-duel-product", {"target": 97, "primes_below": 100}),
    ("prime-duel-product", {"target": 10**15, "primes_below": 400}),
    ("prime-duel-sum", {"when_empty": "refill"}),
    ("prime-duel-sum", {"when_empty": "refill", "max_plies": 25}),
    ("prime-duel-sum", {"when_empty": "refill", "max_plies": 1}),
    ("prime-duel-sum", {"when_empty": "draw"}),
    ("prime-duel-sum", {"lowest": 3, "highest": 12, "target": 20}),
    ("prime-duel-sum", {"lowest": 3, "highest": 12, "target": 20, "when_empty": "refill"}),
    ("prime-duel-sum", {"lowest": 3, "highest": 12, "target": 20, "when_empty": "draw"}),
    ("prime-duel-sum", {"highest": 70, "target": 300}),
    ("prime-duel-sum", {"highest": 70, "target": 300, "when_empty": "refill"}),
    ("prime-duel-sum", {"highest": 2, "target": 4, "when_empty": "refill"}),
    # Everything overshoots: only the primes do anything, and there is nothing to hit.
    ("prime-duel-sum", {"lowest": 11, "highest": 14, "target": 9}),
    ("prime-duel-sum", {"lowest": 11, "highest": 14, "target": 9, "when_empty": "refill", "max_plies": 30}),
]


def described(case):
    name, params = case
    return " ".join([name, *(f"{key}={value}" for key, value in params.items())])


every_size = pytest.mark.parametrize(
    ("name", "params"),
    [pytest.param(*case, id=described(case)) for case in [*((name, {}) for name in GAMES), *OTHER_SIZES]],
)


def new_naive(name, params):
    return NAIVE[name](**{**GAMES[name].params, **params})


def dice(name, params, salt):
    return random.Random(f"{described((name, params))} {salt}")


def payoff(naive):
    return (0, 0) if naive.winner is None else (1, -1) if naive.winner == 0 else (-1, 1)


def marked(rules, mask):
    """The numbers that a mask allows."""
    return rules.numbers[np.asarray(mask, bool)].tolist()


def left(duel):
    return marked(duel.rules, duel.rules.available(duel.position))


def scores(duel):
    """The scores by seat, or None; a position tells them from the side of the player to move."""
    position = duel.position
    if not hasattr(position, "mine"):
        return None
    seen = [int(position.mine), int(position.theirs)]
    return seen[::-1] if duel.seat else seen


def assert_same(duel, naive):
    assert marked(duel.rules, duel.legal) == naive.legal()
    assert scores(duel) == naive.scores
    assert duel.seat == naive.to_move
    assert (duel.finished, duel.truncated) == (naive.over, naive.truncated)
    assert duel.winner == naive.winner
    assert duel.payoff == payoff(naive)


@every_size
def test_a_duel_follows_the_books(name, params):
    rules, rng = GAMES[name].make_rules(**params), dice(name, params, "duel")
    actions = {number: action for action, number in enumerate(rules.numbers.tolist())}
    assert sorted(actions) == new_naive(name, params).available()
    for _ in range(200):
        duel, naive = Duel(rules), new_naive(name, params)
        while not naive.over:
            assert_same(duel, naive)
            number = rng.choice(naive.legal())
            removed = marked(rules, rules.removed(duel.position, actions[number]))
            duel.play(actions[number])
            naive.play(number)
            assert removed == naive.removed
            # A reached target closes the list, whatever is left on it.
            if getattr(naive, "target", None) not in (naive.scores or ()):
                assert left(duel) == naive.available()
        assert_same(duel, naive)
        assert len(duel.actions) <= rules.max_plies


@every_size
def test_the_pettingzoo_face_follows_the_books(name, params):
    env, rng = numduel_env.env(name, **params), dice(name, params, "aec")
    actions = {number: action for action, number in enumerate(env.rules.numbers.tolist())}
    for _ in range(40):
        env.reset()
        naive = new_naive(name, params)
        while True:
            mover, waiting = SEATS[naive.to_move], SEATS[1 - naive.to_move]
            assert env.agent_selection == mover
            for mask in (env.observe(mover)["action_mask"], env.infos[mover]["action_mask"]):
                assert marked(env.rules, mask) == naive.legal()
            assert not env.observe(waiting)["action_mask"].any()
            assert not env.infos[waiting]["action_mask"].any()
            assert env.rewards == dict(zip(SEATS, payoff(naive)))
            assert env.terminations == dict.fromkeys(SEATS, naive.over and not naive.truncated)
            assert env.truncations == dict.fromkeys(SEATS, naive.truncated)
            if naive.over:
                break
            number = rng.choice(naive.legal())
            env.step(actions[number])
            naive.play(number)
        for seat in (mover, waiting):
            assert env.agent_selection == seat
            assert env.last()[1] == payoff(naive)[SEATS.index(seat)]
            env.step(None)
        assert env.agents == []


@every_size
def test_the_vector_face_follows_the_books(name, params):
    count = 64
    env = gymnasium.make_vec(
        GAMES[name].gymnasium_id, num_envs=count, opponent="self", autoreset_mode="SameStep", **params
    )
    rules, rng = GAMES[name].make_rules(**params), dice(name, params, "vector")
    actions = {number: action for action, number in enumerate(rules.numbers.tolist())}
    games = [new_naive(name, params) for _ in range(count)]
    _, infos = env.reset(seed=1)
    for _ in range(60):
        for row, naive in enumerate(games):
            assert marked(rules, infos["action_mask"][row]) == naive.legal()
            assert infos["seat"][row] == naive.to_move
        chosen = [rng.choice(naive.legal()) for naive in games]
        movers = [naive.to_move for naive in games]
        _, rewards, terminations, truncations, infos = env.step(np.array([actions[number] for number in chosen]))
        ended = infos.get("_final_info", np.zeros(count, bool))
        for row, naive in enumerate(games):
            naive.play(chosen[row])
            assert rewards[row] == payoff(naive)[movers[row]]
            assert terminations[row] == (naive.over and not naive.truncated)
            assert truncations[row] == naive.truncated
            assert ended[row] == naive.over
            if naive.over:
                assert infos["final_info"]["seat"][row] == naive.to_move
                assert not infos["final_info"]["action_mask"][row].any()
                games[row] = new_naive(name, params)
    env.close()
