"""check_rules passes every game of ours, and says what to change in each of many broken ones."""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np
import pytest

from numduel_env import GAMES, check_rules
from tests.support.toys import Heaps, Subtraction, TwoHeaps
from tests.support.variants import each_variant


@each_variant
def test_our_games_keep_the_contract(game, params):
    check_rules(GAMES[game].make_rules(**params))


@pytest.mark.parametrize("rules", [Subtraction(11, 3), TwoHeaps(), TwoHeaps(9, 9)])
def test_other_games_keep_it(rules):
    check_rules(rules)


def broken(**methods):
    """Return the two-heap game with other methods; ``__init__`` is called after the real one."""
    after = methods.pop("__init__", lambda self: None)

    class Broken(TwoHeaps):
        def __init__(self):
            super().__init__()
            after(self)

    for name, method in methods.items():
        setattr(Broken, name, method)
    return Broken()


def in_place(self, position, action):
    left = position.left
    left[..., 0] = np.maximum(left[..., 0] - 1, 0)
    return Heaps(left)


def random_play(self, position, action):
    return Heaps(np.random.default_rng().integers(0, 3, position.left.shape))


def remembering(self, position):
    self.asked = getattr(self, "asked", 0) + 1
    return np.full(np.shape(position.left)[:-1], 1 - 2 * (self.asked % 2))


def two_layouts(self, position):
    name = "few" if position.left.sum() < 5 else "many"
    return {name: position.left / 9}


def failing(self, position):
    raise KeyError("heap")


class Bare(NamedTuple):
    left: list


CASES = {
    "numbers must ascend": {"__init__": lambda self: setattr(self, "numbers", self.numbers[::-1].copy())},
    "set self.numbers": {"__init__": lambda self: setattr(self, "numbers", [11, 12])},
    "set self.max_plies": {"__init__": lambda self: setattr(self, "max_plies", 0)},
    "a position must be a NamedTuple": {"initial": lambda self, shape=(): np.zeros((*shape, 2))},
    r"initial\(\(32,\)\).left must be an array of shape": {"initial": lambda self, shape=(): Heaps(self.heaps.copy())},
    "no legal move": {"legal": lambda self, p: np.zeros((*p.left.shape[:-1], len(self.numbers)), bool)},
    "legal must be an array of bool": {"legal": lambda self, p: (p.left[..., self.heap] >= self.count).astype(int)},
    "over must be True exactly": {"over": lambda self, p: p.left.sum(-1) <= 2},
    r"the feature 'left' must be within \[0, 1\], not from 3 to 4": {"features": lambda self, p: {"left": p.left}},
    "the feature 'left' must be finite": {"features": lambda self, p: {"left": p.left / np.nan}},
    "features must return a dict": {"features": lambda self, p: p.left / 9},
    "features must keep one layout|features must give a game alone": {"features": two_layouts},
    "value of a finished game must be -1, 0 or 1": {"value": lambda self, p: np.full(p.left.shape[:-1], 2)},
    "value gave two answers": {"value": remembering},
    "play gave two answers|play must give a game alone": {"play": random_play},
    "play changed its arguments": {"play": in_place},
    "legal raised KeyError: 'heap'": {"legal": failing},
    "turned twice must give the position back": {"turned": lambda self, p: Heaps(p.left[..., ::-1] + 1)},
    "must give a game alone what it gives it in a batch": {
        "value": lambda self, p: np.where(np.ndim(p.left) > 1, -1, 1) * np.ones(p.left.shape[:-1], int)
    },
    "a position holds integers and booleans; left is an array of float64": {
        "initial": lambda self, shape=(): Heaps(np.broadcast_to(self.heaps, (*shape, 2)).astype(float))
    },
    "features must return at least one part": {"features": lambda self, p: {}},
    "available must be True wherever legal is": {
        "available": lambda self, p: np.zeros((*p.left.shape[:-1], len(self.numbers)), bool)
    },
    "removed must be an array of bool": {"removed": lambda self, p, action: np.zeros(3, bool)},
    "none of 32 random games ended within max_plies = 20: either legal is never all False": {
        "__init__": lambda self: setattr(self, "max_plies", 20),
        "play": lambda self, p, action: p,
    },
    "appraise raised SystemExit: 3": {"appraise": lambda self, p: sys.exit(3)},
    "a method changed rules.notes: rules have no memory": {
        "__init__": lambda self: setattr(self, "notes", []),
        "appraise": lambda self, p: self.notes.append(p) or p.left.sum(-1),
    },
    "cannot be pickled": {"__init__": lambda self: setattr(self, "helper", lambda: None)},
}


@pytest.mark.parametrize("message", CASES)
def test_a_broken_game_is_told_what_to_change(message):
    with pytest.raises(ValueError, match=message) as wrong:
        check_rules(broken(**CASES[message]))
    assert "\n" not in str(wrong.value)


def test_only_rules_are_checked():
    with pytest.raises(ValueError, match="must be an instance of a subclass of numduel_env\\.Rules, not str"):
        check_rules("divider-duel")
