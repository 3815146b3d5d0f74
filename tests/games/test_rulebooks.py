"""Every sample game and every sample display of the five rule books, replayed."""

from __future__ import annotations

import pytest

from numduel_env.duel import Duel
from numduel_env.games import GAMES
from numduel_env.games.books import scores_by_seat
from numduel_env.games.prime_duel_sum import PoolAndScores
from numduel_env.text import available, chosen
from tests.support.rulebooks import (
    CHAIN_MOVES,
    CLAIMS,
    DIVIDER_DUEL,
    DIVIDER_DUEL_SAMPLES,
    ERRATA,
    FACTOR_CHAIN_SAMPLES,
    INVALID_SELECTION_SAMPLE,
    OVER_50_SAMPLE,
    PRIME_DUEL_PRODUCT,
    PRIME_DUEL_PRODUCT_SAMPLES,
    PRIME_DUEL_SUM,
    PRIME_RUMBLE,
    PRIME_RUMBLE_SAMPLE,
    TOWARDS_50,
    TURN_SAMPLE,
    Claim,
    Numbers,
    abbreviated,
    after,
    book_rules,
    corrected,
    transcript,
)


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=lambda claim: f"{claim.book}: {claim.place}")
def test_the_book_is_right_but_for_its_errata(claim: Claim) -> None:
    assert claim.ours() == corrected(claim)


def test_the_errata_are_exactly_where_the_books_differ() -> None:
    assert {place for place, claim in CLAIMS.items() if claim.ours() != claim.says} == set(ERRATA)


# Sample games


@pytest.mark.parametrize(
    ("book", "turns", "winner"), [("prime-rumble", PRIME_RUMBLE, 0), ("divider-duel", DIVIDER_DUEL, 1)]
)
def test_sample_game_of_removals_has_its_winner(book: str, turns: list, winner: int) -> None:
    moves = [number for number, _, _ in turns]
    assert not after(book, moves[:-1]).finished
    duel = after(book, moves)
    assert duel.over
    assert duel.winner == winner
    assert not duel.legal.any()


def test_factor_chain_goes_on_after_the_sample() -> None:
    duel = after("factor-chain-duel", CHAIN_MOVES)
    assert not duel.finished
    assert duel.seat == 0
    assert chosen(duel, duel.legal) == [2, 3, 6, 12, 48]


def test_scores_of_the_multiplying_sample_game() -> None:
    book = "prime-duel-product"
    moves: Numbers = ()
    assert scores_by_seat(after(book, moves)) == [1, 1]
    for prime, scores in PRIME_DUEL_PRODUCT:
        moves += (prime,)
        duel = after(book, moves)
        assert tuple(scores_by_seat(duel)) == scores
        assert not duel.finished
        assert duel.legal.all()


@pytest.mark.parametrize("prime", [2, 3, 5, 7, 11, 13, 17, 19, 23, 29])
def test_every_prime_loses_at_turn_9_of_the_multiplying_sample_game(prime: int) -> None:
    """The book calls player 1 beaten before the move; here any move is legal, overshoots and loses."""
    book = "prime-duel-product"
    moves = [number for number, _ in PRIME_DUEL_PRODUCT]
    duel = after(book, moves)
    assert not duel.finished
    assert duel.seat == 0
    duel = after(book, [*moves, prime])
    assert duel.over
    assert duel.offence is None
    assert scores_by_seat(duel) == [910 * prime, 770]
    assert duel.payoff == (-1, 1)
    assert GAMES[book].wording.ending(duel) == f"{910 * prime:,} exceeds 1,000: Player 1 loses. Player 2 wins!"


@pytest.mark.parametrize("when_empty", ["higher", "refill", "draw"])
def test_scores_of_the_adding_sample_turns(when_empty: str) -> None:
    book = "prime-duel-sum"
    moves: Numbers = ()
    assert scores_by_seat(after(book, moves)) == [0, 0]
    for number, scores, left in PRIME_DUEL_SUM:
        moves += (number,)
        duel = after(book, moves, when_empty=when_empty)
        assert tuple(scores_by_seat(duel)) == scores
        assert tuple(available(duel)) == left
        assert not duel.finished


def test_over_50_example() -> None:
    duel = after("prime-duel-sum", TOWARDS_50, when_empty="refill")
    assert duel.seat == 0
    assert duel.position.mine == 47
    assert available(duel) == [4, 6, 8]
    duel.play(duel.rules.numbers.tolist().index(4))
    assert scores_by_seat(duel) == [47, 46]
    assert available(duel) == [6, 8]
    assert not duel.finished


def test_over_50_example_needs_a_refilled_list() -> None:
    rules = book_rules("prime-duel-sum")
    turns_of_player_1 = (len(rules.numbers) + 1) // 2
    assert sum(rules.numbers[-turns_of_player_1:].tolist()) == 40  # neither 47 nor 50


@pytest.mark.parametrize("when_empty", ["higher", "refill", "draw"])
def test_exactly_50_wins_at_once(when_empty: str) -> None:
    book = "prime-duel-sum"
    rules = book_rules(book, when_empty=when_empty)
    start = rules.initial()
    duel = Duel.from_position(rules, PoolAndScores(rules.numbers % 2 == 1, start.mine + 47, start.theirs + 46))
    duel.push(3)
    assert duel.over
    assert duel.winner == 0
    assert GAMES[book].wording.ending(duel) == "Player 1 has exactly 50 points and wins!"


# Sample displays


def test_prime_rumble_interaction() -> None:
    book = "prime-rumble"
    text = transcript(book, after(book, ()), [number for number, _, _ in PRIME_RUMBLE])
    assert abbreviated(PRIME_RUMBLE_SAMPLE).fullmatch(text)
    assert "..." not in text
    for claim in CLAIMS.values():
        if claim.book == book and claim.place.startswith("turn"):
            label = "Numbers removed: " if claim.asked == "removed" else "Updated Pool:\n"
            assert f"{label}{', '.join(map(str, corrected(claim))) or '(empty)'}\n" in text


def test_divider_duel_interaction() -> None:
    book = "divider-duel"
    text = transcript(book, after(book, ()), [number for number, _, _ in DIVIDER_DUEL])
    assert text == "".join(DIVIDER_DUEL_SAMPLES).strip("\n")


def test_factor_chain_interaction() -> None:
    book = "factor-chain-duel"
    sample = "".join(FACTOR_CHAIN_SAMPLES).format(
        after_24=list(corrected(CLAIMS[book, "display after 24"])),
        after_12=list(corrected(CLAIMS[book, "display after 12"])),
    )
    assert transcript(book, after(book, CHAIN_MOVES), [12]) == sample.strip("\n")


def test_factor_chain_shows_the_same_state_after_a_move_and_before_the_next() -> None:
    """The book labels the two displays differently; otherwise they agree."""
    wording = GAMES["factor-chain-duel"].wording
    duel = after("factor-chain-duel", CHAIN_MOVES)
    assert wording.result(duel) == "\n" + wording.opening(duel).replace("Numbers:", "Numbers (after move):")


def test_multiplying_prime_duel_interaction() -> None:
    book = "prime-duel-product"
    assert transcript(book, after(book, ()), [5, 7]) == "".join(PRIME_DUEL_PRODUCT_SAMPLES).strip("\n")


@pytest.mark.parametrize(
    ("moves", "entries", "sample"),
    [
        pytest.param((), (7,), TURN_SAMPLE, id="turn"),
        pytest.param((7,), (7, 9), INVALID_SELECTION_SAMPLE, id="invalid selection"),
        pytest.param(TOWARDS_50, (4,), OVER_50_SAMPLE, id="over 50"),
    ],
)
def test_adding_prime_duel_interaction(moves: Numbers, entries: Numbers, sample: str) -> None:
    book = "prime-duel-sum"
    duel = after(book, moves, when_empty="refill")
    assert transcript(book, duel, entries) == sample.strip("\n")


def test_adding_prime_duel_draws_one_line_between_turns() -> None:
    book = "prime-duel-sum"
    line = "-" * 50 + "\n"
    text = transcript(book, after(book, ()), [7, 7, 9])
    assert text == (TURN_SAMPLE + INVALID_SELECTION_SAMPLE).replace(f"{line}\n{line}", line).strip("\n")
