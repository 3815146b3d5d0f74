"""The rules in words, and the words that serve any game."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from numduel_env import GAMES, Duel, Rules, find_game
from numduel_env.batch import BoolArray
from numduel_env.text import Wording, in_short
from tests.support.toys import Subtraction, TwoHeaps
from tests.support.variants import each_variant


def rules_text(game: str, **params: Any) -> str:
    spec = GAMES[game]
    return spec.wording.rules(spec.make_rules(**params))


@each_variant
def test_the_rules_are_paragraphs_that_name_the_numbers(game, params):
    text = rules_text(game, **params)
    paragraphs = text.split("\n\n")
    assert len(paragraphs) >= 3
    assert all(paragraph.endswith(".") and "\n" not in paragraph for paragraph in paragraphs)
    rules = GAMES[game].make_rules(**params)
    assert in_short(rules.numbers.tolist()) in text
    if hasattr(rules, "target"):
        assert f"exactly {rules.target:,} wins" in text


@pytest.mark.parametrize(
    ("game", "params", "says"),
    [
        ("prime-rumble", {"highest": 30}, "the pool holds the numbers 2 to 30."),
        ("divider-duel", {}, "the list holds the numbers 2, 3, 4, 5, 6, 7, 8, 9."),
        ("factor-chain-duel", {}, "whoever opens with 29, 31, 37, 41, 43, 47 wins at once"),
        ("factor-chain-duel", {"highest": 1000}, "whoever opens with 503, 509, 521, 523, ..., 991, 997 wins"),
        ("prime-duel-product", {"target": 60, "primes_below": 12}, "one of the primes 2, 3, 5, 7, 11:"),
        ("prime-duel-product", {"primes_below": 100}, "one of the primes 2, 3, 5, 7, ..., 89, 97:"),
        ("prime-duel-sum", {}, "nobody chooses more than 5 of them, and the largest 5 make 40."),
        ("prime-duel-sum", {"highest": 9}, "nobody chooses more than 4 of them, and the largest 4 make 30."),
        ("prime-duel-sum", {}, "the higher score wins, and equal scores are a draw."),
        ("prime-duel-sum", {"when_empty": "draw"}, "When the list is empty, the game is a draw."),
        ("prime-duel-sum", {"when_empty": "refill"}, "After 200 plies the game is stopped"),
        ("prime-duel-sum", {"lowest": 3, "highest": 14}, "If it is prime (3, 5, 7, 11, 13), it is taken"),
    ],
)
def test_the_rules_are_those_of_these_parameters(game, params, says):
    assert says in rules_text(game, **params)


def test_what_can_be_reached_is_not_called_out_of_reach():
    assert "always comes to that" not in rules_text("prime-duel-sum", target=40)
    assert "always comes to that" not in rules_text("prime-duel-sum", when_empty="refill")


def test_headings_tell_the_two_prime_duels_apart():
    headings = [spec.heading(spec.make_rules()) for spec in GAMES.values()]
    assert headings[-2:] == ["Prime Duel (multiply to 1,000)", "Prime Duel (add to 50)"]
    assert len(set(headings)) == len(headings)
    spec = GAMES["prime-duel-sum"]
    assert spec.heading(spec.make_rules(target=21)) == "Prime Duel (add to 21)"
    with pytest.raises(ValueError, match="choose prime-duel-product or prime-duel-sum"):
        find_game("Prime Duel")


# Any game


class Marks(NamedTuple):
    """A mask over the numbers, a mask of another size, and a number."""

    pool: BoolArray
    flags: BoolArray
    theirs: np.int64


class Marking(Rules[Marks]):
    numbers = np.array([2, 4, 8])
    max_plies = 3

    def initial(self, shape=()):
        return Marks(np.array([True, False, True]), np.array([True, False]), np.int64(7))

    def legal(self, position):
        return position.pool

    def play(self, position, action):
        return position

    def features(self, position):
        return {"pool": position.pool}


def test_a_game_without_words_shows_the_fields_of_its_position():
    duel = Duel(Marking())
    assert Wording().screen(duel) == (
        "Player 1, it's your turn.\npool: 2, 8\nflags: True, False\ntheirs: 7\nAvailable Numbers: 2, 8\n"
    )
    heaps = Duel(TwoHeaps())
    heaps.push(13)
    assert Wording().screen(heaps) == (
        "Player 1 chose 13.\n\nPlayer 2, it's your turn.\nleft: 0, 4\nAvailable Numbers: 21, 22, 23, 24\n"
    )


def test_a_game_without_words_has_the_rules_of_its_docstring():
    assert Wording().rules(Subtraction(11, 3)) == (
        "Take one to ``most`` counters from a heap; whoever takes the last one wins."
    )
    assert Wording().rules(Marking()) == "Marking has no docstring that says its rules."


@pytest.mark.parametrize(
    ("game", "params", "says"),
    [
        ("prime-rumble", {"highest": 400}, "401 is not one of the numbers 2 to 400."),
        ("divider-duel", {}, "401 is not one of the numbers 2, 3, 4, 5, 6, 7, 8, 9."),
        ("prime-duel-product", {"primes_below": 400}, "401 is not one of the numbers 2, 3, 5, 7, ..., 389, 397."),
    ],
)
def test_a_wrong_number_does_not_list_a_large_game(game, params, says):
    spec = GAMES[game]
    assert spec.wording.refusal(Duel(spec.make_rules(**params)), 401) == says
