"""Single games remember positions; whether they do or not, they play by the rules alone."""

from __future__ import annotations

import pickle
import tracemalloc

import numpy as np
import pytest

import numduel_env.transitions
from numduel_env import GAMES, Duel
from numduel_env.envs.aec import NumduelAECEnv
from numduel_env.rules import own_copy, same_rules
from numduel_env.transitions import State, States
from tests.support.toys import TwoHeaps
from tests.support.variants import each_variant

with_room = pytest.mark.parametrize("room", [numduel_env.transitions.BYTES, 20_000, 0])


def rules_with_room(game, params, room, monkeypatch):
    """Return rules of their own, so that nothing is remembered of other tests."""
    monkeypatch.setattr(numduel_env.transitions, "BYTES", room)
    return own_copy(GAMES[game].make_rules(**params))


@with_room
@each_variant
def test_a_state_is_what_the_rules_say(game, params, room, monkeypatch):
    """The specification of ``States.after``, for what is met once, twice and often."""
    rules = rules_with_room(game, params, room, monkeypatch)
    generator = np.random.default_rng(0)
    for _ in range(60):
        duel, position, plies = Duel(rules), rules.initial(), 0
        while not duel.finished:
            legal = np.flatnonzero(rules.legal(position))
            action = int(legal[int(generator.random() ** 3 * len(legal))])  # the first actions come often
            duel.play(action)
            position, plies = rules.play(position, action), plies + 1
            np.testing.assert_equal(tuple(duel.position), tuple(position))
            np.testing.assert_array_equal(duel.state.legal, rules.legal(position))
            assert duel.state.actions == np.flatnonzero(rules.legal(position)).tolist()
            over = bool(rules.over(position))
            assert duel.over == over
            assert duel.truncated == (not over and plies >= rules.max_plies)
            if over:
                assert duel.payoff[plies & 1] == rules.value(position)


def test_what_comes_a_second_time_is_remembered_once():
    rules = own_copy(GAMES["divider-duel"].make_rules())
    states = [Duel(rules, [2]).state for _ in range(3)]
    assert states[0].after is None
    assert states[1] is states[2] is rules.remembered.at(rules, states[0].position)
    for _ in range(3):
        other_order = [Duel(rules, actions).state for actions in ([2, 3], [3, 2])]
    assert other_order[0] is other_order[1]


@pytest.mark.parametrize("room", [0, 50_000, 500_000])
@each_variant
def test_memory_is_bounded(game, params, room, monkeypatch):
    rules = rules_with_room(game, params, room, monkeypatch)
    duel = Duel(rules)
    generator = np.random.default_rng(0)
    tracemalloc.start()
    try:
        for _ in range(300):
            duel = Duel(rules)
            while not duel.finished:
                duel.play(duel.state.actions[int(generator.random() ** 2 * len(duel.state.actions))])
        del duel
        assert tracemalloc.get_traced_memory()[0] <= room + 30_000
    finally:
        tracemalloc.stop()


def test_large_games_are_not_remembered_beyond_the_room():
    rules = own_copy(GAMES["prime-rumble"].make_rules(highest=5_000))
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(3):
            for first in range(60):
                Duel(rules, [4_900 + first])
        assert tracemalloc.get_traced_memory()[0] - before <= numduel_env.transitions.BYTES
    finally:
        tracemalloc.stop()


@each_variant
def test_remembered_arrays_are_read_only_and_copies_are_not_remembered(game, params):
    rules = own_copy(GAMES[game].make_rules(**params))
    action = int(np.flatnonzero(rules.legal(rules.initial()))[-1])
    for _ in range(3):
        duel = Duel(rules, [action])
    assert duel.state.after is not None
    for array in (*duel.position, duel.legal):
        if isinstance(array, np.ndarray):
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0
    environment = NumduelAECEnv(game, **params)
    environment.reset()
    twin = environment.duel
    for array in (*twin.position, *twin.state.position, twin.legal, twin.state.legal):
        if isinstance(array, np.ndarray):
            assert array.flags.writeable
            array[...] = 0
    np.testing.assert_array_equal(environment.duel.legal, rules.legal(rules.initial()))


def test_a_given_position_is_neither_kept_nor_made_read_only():
    rules = TwoHeaps()
    position = rules.initial()
    duel = Duel.from_position(rules, position)
    position.left[:] = 0
    assert position.left.flags.writeable
    assert duel.legal.any()


@each_variant
def test_what_is_remembered_is_neither_pickled_nor_compared(game, params):
    rules = own_copy(GAMES[game].make_rules(**params))
    size = len(pickle.dumps(rules))
    twin = own_copy(rules)
    for _ in range(3):
        duel = Duel(rules, [0])
    assert len(pickle.dumps(rules)) == size
    assert same_rules(rules, twin)
    restored = pickle.loads(pickle.dumps(duel))
    np.testing.assert_equal(tuple(restored.position), tuple(duel.position))
    assert (restored.actions, restored.payoff, restored.state.over) == (duel.actions, duel.payoff, duel.state.over)


def test_rules_and_what_they_remember_go_together():
    """No cycle keeps either: a state holds no rules."""
    rules = own_copy(GAMES["divider-duel"].make_rules())
    for _ in range(3):
        state = Duel(rules, [2]).state
    assert not any(isinstance(getattr(state, name), type(rules)) for name in State.__slots__)
    assert not any(isinstance(value, type(rules)) for value in vars(States(rules)).values())
