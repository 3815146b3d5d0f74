"""Positions as sums of independent parts: how they split, and which games do not."""

from __future__ import annotations

import numpy as np
import pytest

from numduel_env import GAMES, Rules, check_rules
from numduel_env.games.sieve import Sieve
from numduel_env.parts import NotASum, Parts
from tests.support.toys import Kayles, TwoHeaps


def as_set(parts, word):
    """Return the actions in a word."""
    return frozenset(np.flatnonzero(parts.sets(np.array([word], np.uint64))[0]).tolist())


def connected(disturbs, numbers):
    """Return the connected sets of numbers, one number at a time."""
    found, left = set(), set(numbers)
    while left:
        part, frontier = set(), {left.pop()}
        while frontier:
            number = frontier.pop()
            part.add(number)
            near = {other for other in left if disturbs[number, other] or disturbs[other, number]}
            left -= near
            frontier |= near
        found.add(frozenset(part))
    return found


@pytest.mark.parametrize("rules", [Sieve(2, 9), Sieve(2, 50), Sieve(2, 65), Sieve(12, 40), Kayles(9)], ids=repr)
def test_words_split_into_what_hangs_together(rules):
    parts = Parts(rules)
    words = np.unique(parts.random_words(20, np.random.default_rng(3)))
    rows, found, lone = parts.split(words)
    for row, word in enumerate(words):
        expected = connected(rules.disturbs(), as_set(parts, word))
        several = {part for part in expected if len(part) > 1}
        assert {as_set(parts, part) for part in found[rows == row]} == several
        assert len(found[rows == row]) == len(several) and lone[row] == (len(expected) - len(several)) % 2


def test_moves_of_words_are_those_of_the_rules():
    for rules in (Sieve(2, 30), Kayles(7)):
        parts = Parts(rules)
        words = parts.random_words(5, np.random.default_rng(4))
        for row, action, after in zip(*parts.moves(words)):
            position = rules.position_of(parts.sets(words[row : row + 1])[0])
            left = np.flatnonzero(rules.legal(rules.play(position, int(action))))
            assert as_set(parts, after) == set(left.tolist())
        assert len(parts.moves(words).rows) == np.bitwise_count(words).sum()


REASONS = {
    "factor-chain-duel": "do not split",
    "prime-duel-sum": "not impartial",
    "prime-duel-product": "not impartial",
}


@pytest.mark.parametrize("game", REASONS)
def test_games_that_are_no_sums_are_refused_with_the_reason(game):
    with pytest.raises(NotASum, match=REASONS[game]):
        Parts(GAMES[game].make_rules())


def test_a_game_must_say_so_and_fit_into_a_word():
    with pytest.raises(NotASum, match="does not say"):
        Parts(TwoHeaps())
    with pytest.raises(NotASum, match="65 numbers"):
        Parts(Sieve(2, 66))


class Apart(Kayles):
    """Says that no number disturbs another, which is not true."""

    def disturbs(self):
        return np.zeros((len(self.numbers), len(self.numbers)), bool)


class Misere(Kayles):
    """Who knocks over the last pin loses."""

    def value(self, position):
        return np.ones(position.standing.shape[:-1], np.int8)


class OtherWay(Kayles):
    """Returns another position than was asked for."""

    def position_of(self, legal):
        return super().position_of(np.zeros_like(legal))


class Misshapen(Kayles):
    """Returns a relation of the wrong shape."""

    def disturbs(self):
        return np.ones(3, bool)


class Unsaid(Kayles):
    """Has not said which position has given legal numbers, where there are more numbers than pins."""

    position_of = Rules.position_of


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (Apart, "do not hang together"),
        (Misere, "has not always lost"),
        (OtherWay, "other legal numbers"),
        (Misshapen, "array of bool of shape"),
        (Unsaid, "must say which position"),
    ],
)
def test_a_game_that_does_not_keep_its_promise_is_refused(kind, reason):
    with pytest.raises(NotASum, match=reason):
        Parts(kind())


def test_the_games_of_these_tests_are_games():
    check_rules(Kayles(5))
