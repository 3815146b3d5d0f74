"""Pictures show every number as it stands."""

from __future__ import annotations

import builtins

import numpy as np
import pytest

import numduel_env
from numduel_env.picture import LOOKS, looks
from tests.support.variants import each_variant


def shown(game, moves, **params):
    environment = numduel_env.env(game, **params)
    environment.reset(options={"moves": moves})
    numbers = environment.rules.numbers.tolist()
    return {look: [n for n, each in zip(numbers, looks(environment.duel)) if each == look] for look in LOOKS}


def test_looks():
    assert shown("divider-duel", [5, 3]) == {
        "legal now": [2, 4, 7, 8],
        "available": [],
        "just taken": [3, 6, 9],
        "gone": [5],
    }
    chain = shown("factor-chain-duel", [10, 5], highest=20)
    assert chain["legal now"] == [15, 20]
    assert chain["just taken"] == [5]
    assert chain["gone"] == [10]
    assert shown("prime-duel-product", [7])["just taken"] == [7]
    assert shown("prime-duel-sum", [7, 9])["gone"] == [7]


def test_a_win_takes_only_the_number_chosen():
    environment = numduel_env.env("prime-duel-sum", target=10)
    environment.reset()
    environment.step(8)
    assert environment.rewards["player_0"] == 1
    assert looks(environment.duel).count("just taken") == 1


@each_variant
def test_every_size_can_be_drawn(game, params):
    environment = numduel_env.env(game, render_mode="rgb_array", **params)
    environment.reset()
    first = environment.render()
    assert first.dtype == np.uint8 and first.ndim == 3 and first.shape[2] == 3
    environment.step(int(np.flatnonzero(environment.last()[0]["action_mask"])[-1]))
    second = environment.render()
    assert second.shape == first.shape
    assert (first != second).any()


def test_without_pillow_the_error_names_the_extra(monkeypatch):
    real = builtins.__import__

    def without_pillow(name, *rest):
        if name.partition(".")[0] == "PIL":
            raise ImportError(name)
        return real(name, *rest)

    environment = numduel_env.env("divider-duel", render_mode="rgb_array")
    environment.reset()
    monkeypatch.setattr(builtins, "__import__", without_pillow)
    with pytest.raises(ImportError, match=r"pip install 'numduel-env\[pictures\]'"):
        environment.render()
