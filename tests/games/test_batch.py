"""Random legal moves: the fast body answers as its specification does."""

from __future__ import annotations

import numpy as np
import pytest

from numduel_env import GAMES, random_legal
from numduel_env.batch import count_legal, masked_rows
from numduel_env.duel import Duel
from numduel_env.duels import Duels
from tests.support.variants import each_variant


def specified(mask, generator):
    """The specification, mask by mask."""
    drawn = generator.random(len(mask))
    return [
        int(np.flatnonzero(row)[int(share * np.count_nonzero(row))]) if row.any() else 0
        for row, share in zip(mask, drawn)
    ]


@pytest.mark.parametrize("size", [1, 7, 8, 9, 31, 32, 63, 64, 65, 127, 128, 129, 500, 513, 1000])
@pytest.mark.parametrize("share", [0.02, 0.5, 1.0])
def test_it_is_what_the_specification_says(size, share):
    mask = np.random.default_rng(size).random((300, size)) < share
    one, other = (np.random.default_rng(1) for _ in range(2))
    assert random_legal(mask, one).tolist() == specified(mask, other)


@pytest.mark.parametrize("rows", [1, 5, 41, 300])
@pytest.mark.parametrize("size", [1, 8, 49, 64, 65, 200, 700])
def test_few_masks_are_answered_as_many_are(size, rows):
    mask = np.random.default_rng(size).random((rows, size)) < 0.3
    one, other = (np.random.default_rng(1) for _ in range(2))
    assert random_legal(mask, one).tolist() == specified(mask, other)
    assert count_legal(mask).tolist() == mask.sum(-1).tolist()


@each_variant
def test_the_same_on_the_masks_of_games(game, params):
    rules = GAMES[game].make_rules(**params)
    position, generator = rules.initial((50,)), np.random.default_rng(0)
    for _ in range(20):
        legal = rules.legal(position)
        one, other = (np.random.default_rng(2) for _ in range(2))
        actions = random_legal(legal, one)
        assert actions.tolist() == specified(legal, other)
        position = rules.play(position, random_legal(legal, generator))


def test_any_leading_shape_and_type():
    mask = np.random.default_rng(0).random((2, 3, 40)) < 0.3
    expected = random_legal(mask.reshape(6, 40), np.random.default_rng(0)).reshape(2, 3)
    for same in (mask, mask.astype(np.int8), np.asfortranarray(mask)):
        np.testing.assert_array_equal(random_legal(same, np.random.default_rng(0)), expected)
    assert random_legal(mask[0, 0], np.random.default_rng(0)) == expected[0, 0]


@pytest.mark.parametrize("action", [-1, 8, 10**30, 1.5, 1.0, True, "x", None, np.float64(1), np.array([1, 2])])
def test_a_duel_plays_nothing_but_actions(action):
    duel = Duel(GAMES["divider-duel"].make_rules(), [0])
    with pytest.raises(ValueError, match="an action"):
        duel.play(action)
    assert duel.actions == [0] and not duel.finished
    duel.play(np.int64(1))
    assert duel.actions == [0, 1]


@pytest.mark.parametrize("actions", [[-1, 0], [0, 8], [0.5, 0], [0], 0, None, "x", [True, False], [[0, 1]], [2**63, 0]])
def test_duels_play_nothing_but_actions(actions):
    duels = Duels(GAMES["divider-duel"].make_rules(), 2)
    with pytest.raises(ValueError, match="actions must be"):
        duels.play(actions)
    assert not duels.plies.any()
    duels.play([0, 1])
    assert duels.plies.tolist() == [1, 1]


def test_numbers_of_games_are_whole():
    for count in (-1, 1.5, "x", None):
        with pytest.raises(ValueError, match="count must be"):
            Duels(GAMES["divider-duel"].make_rules(), count)


def test_masked_rows_are_the_rows_and_the_flags():
    generator = np.random.default_rng(0)
    table = generator.random((7, 5)) < 0.5
    for rows, shape in [(3, ()), (np.int64(3), ()), (np.array([3]), (1,)), (generator.integers(0, 7, (4, 3)), (4, 3))]:
        flags = generator.random((*shape, 5)) < 0.5
        untouched = table.copy(), flags.copy()
        found = masked_rows(table, rows, flags)
        np.testing.assert_array_equal(found, table[rows] & flags, strict=True)
        found[...] = True
        np.testing.assert_equal((table, flags), untouched)
