"""Duels in writing: how replies are read, what they lead to, and how they are graded."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numduel_env import GAMES, Duel, find_game, solver_for
from numduel_env.dialogue import Unreadable, briefing, read_number, situation
from numduel_env.envs.text import TextDuel
from numduel_env.evaluation.grading import graded_moves
from tests.support.agents import Babble, Cheat, Fixed, Lowest
from tests.support.hostile import FAULTS, IN_PROCESS
from tests.support.toys import TWO_HEAPS
from tests.support.variants import each, each_variant

READ = {
    "[7]": 7,
    "7": 7,
    " 7\n": 7,
    "[ 7 ]": 7,
    "[\n7\n]": 7,
    "[+7]": 7,
    "[-7]": -7,
    "-7": -7,
    "[007]": 7,
    "[[7]]": 7,
    "I'd avoid [4]; [7]": 7,
    "[4] or [7]? I choose [4].": 4,
    "My choice of [2, 3, 7] is [7] (see [rule 4])": 7,
    "[7] beats [the 9 others]": 7,
    "<b>[7]</b> **[8]**": 8,
    "\x1b[31m[7]\x1b[0m": 7,
    "[4]" * 5000 + "[9]": 9,
    "[7] " + "x" * 100_000: 7,
}

UNREADABLE = {
    "": "There is no number in square brackets.",
    " \n\t": "There is no number in square brackets.",
    "I choose 7.": "There is no number in square brackets.",
    "7 8": "There is no number in square brackets.",
    "(7)": "The number is not a whole number in plain digits.",
    "seven": "There is no number in square brackets.",
    "[]": "There is no number in square brackets.",
    "[seven]": "There is no number in square brackets.",
    "[N]": "There is no number in square brackets.",
    "[2, 3]": "There is no number in square brackets.",
    "{'number': 7}": "There is no number in square brackets.",
    "x" * 100_000 + " 7": "There is no number in square brackets.",
    "[[[[" * 50_000: "There is no number in square brackets.",
    "\x1b[2J\x07": "There is no number in square brackets.",
    "[7": "The last bracket is not closed.",
    "I'd avoid [4]; [7": "The last bracket is not closed.",
    "７": "The number is not a whole number in plain digits.",
    "[７]": "The number is not a whole number in plain digits.",
    "I'd avoid [4]; [７]": "The number is not a whole number in plain digits.",
    "[٧]": "The number is not a whole number in plain digits.",
    "[²]": "The number is not a whole number in plain digits.",
    "[Ⅶ]": "The number is not a whole number in plain digits.",
    "7.0": "The number is not a whole number in plain digits.",
    "[7.0]": "The number is not a whole number in plain digits.",
    "[4] then [7.0]": "The number is not a whole number in plain digits.",
    "[--7]": "The number is not a whole number in plain digits.",
    "[1_0]": "The number is not a whole number in plain digits.",
    "[1,000]": "The number is not a whole number in plain digits.",
    "[7/1]": "The number is not a whole number in plain digits.",
    "[" + "9" * 5000 + "]": "The number has more digits than any number of the game.",
    "9" * 5000: "The number has more digits than any number of the game.",
}


@pytest.mark.parametrize(("reply", "number"), READ.items(), ids=[ascii(reply[:20]) for reply in READ])
def test_a_number_in_brackets_or_alone_is_read(reply, number):
    assert read_number(reply) == number


@pytest.mark.parametrize(("reply", "reason"), UNREADABLE.items(), ids=[ascii(reply[:20]) for reply in UNREADABLE])
def test_nothing_else_is_read(reply, reason):
    with pytest.raises(Unreadable) as wrong:
        read_number(reply)
    assert str(wrong.value) == reason


@given(st.text() | st.text("[]0123456789 -+.x\x1b７"))
def test_whatever_is_replied_a_number_is_read_only_where_it_stands(reply):
    try:
        number = read_number(reply)
    except Unreadable:
        return
    digits = str(abs(number))
    assert digits in reply
    assert reply.strip().lstrip("+-0") in (digits, "") or f"{digits}]" in "".join(reply.split())


@given(st.text())
def test_nothing_that_is_replied_comes_back(reply):
    """A refusal can be shown anywhere: it is in our words, and so is everything that follows."""
    duel = TextDuel("divider-duel", Lowest, seat="first", retries=0)
    duel.reset(seed=0)
    text = duel.step(f"\x1b]0;{reply}\x07<script>{reply}").text
    assert text.replace("\n", "").isprintable() and "<" not in text


def play(duel, choose):
    """Play a duel to its end with the numbers that are chosen for each copy of it."""
    while not duel.finished:
        turn = duel.step(f"I choose [{choose(duel.duel)}].")
    return turn


def random_number(generator, duel):
    return int(generator.choice(duel.legal_numbers))


def test_what_is_done_to_the_duel_in_hand_changes_no_game():
    duel = TextDuel("divider-duel", seat="first", openings=0)
    duel.reset(seed=0)
    before = duel.observe()
    mine = duel.duel
    mine.legal[:] = False
    mine.position.pool[:] = False
    assert mine.legal_numbers == []
    assert duel.duel.legal_numbers == [2, 3, 4, 5, 6, 7, 8, 9] and duel.duel.moves == []
    assert duel.observe() == before and duel.step("[2]").refusal is None


@each_variant
def test_every_duel_ends_graded_as_the_whole_game_is(game, params):
    duel = TextDuel(game, openings=3, list_legal=True, **params)
    generator = np.random.default_rng(0)
    for seed in range(3):
        duel.reset(seed=seed)
        verdicts = []
        while not duel.finished:
            told = duel.observe()
            assert f"Legal numbers: {', '.join(map(str, duel.duel.legal_numbers))}" in told
            turn = duel.step(str(random_number(generator, duel.duel)))
            verdicts.append(turn.move.verdict)
            assert turn.reward == turn.payoff
        outcome, rules = duel.outcome, duel.rules
        replayed = Duel(rules, np.searchsorted(rules.numbers, outcome.moves).tolist())
        judge = None if "left out" in duel.grading else solver_for(rules)
        expected = graded_moves(replayed, judge, outcome.opening)
        own = [move.verdict for move in expected[outcome.opening :] if move.seat == outcome.seat]
        assert verdicts == own and outcome.replies == len(own)
        assert outcome.grade.graded == own.count("kept") + own.count("blunder")
        assert outcome.grade.blunders == own.count("blunder")
        assert outcome.payoff == replayed.payoff[outcome.seat]
        graded = outcome.grade.graded
        assert outcome.kept == (pytest.approx(own.count("kept") / graded) if graded else None)
        assert ("win" if outcome.payoff > 0 else "lose" if outcome.payoff < 0 else "draw") in turn.text[-10:]


@each([(name, {}) for name in GAMES])
def test_perfect_replies_keep_everything_and_win_where_the_first_player_wins(game, params):
    duel = TextDuel(game, "solver", seat="first")
    solver = solver_for(duel.rules)
    duel.reset(seed=1)
    play(duel, lambda now: now.rules.numbers[solver.best(now.position)][0])
    assert duel.outcome.kept == 1
    assert duel.payoff == 1


def test_the_rules_are_said_once_in_their_own_words():
    duel = TextDuel("divider-duel", Lowest, seat="second")
    first = duel.reset(seed=0)
    rules = GAMES["divider-duel"].wording.rules(duel.rules)
    assert rules in first and first == duel.observe()
    assert "You are Player 2. Player 1, your opponent, opens the game." in first
    assert first.endswith("Moves so far, Player 1's first: 2\nIn the list: 3, 5, 7, 9\nIt is your turn, Player 2.")
    later = "Moves so far, Player 1's first: 2, 3, 5\nIn the list: 7\nIt is your turn, Player 2."
    assert duel.step("[3]").text == duel.observe() == later


@each_variant
def test_a_position_without_its_history_can_be_told(game, params):
    spec = find_game(game)
    rules = spec.make_rules(**params)
    played = Duel(rules)
    played.play(int(np.flatnonzero(played.legal)[-1]))
    if not played.finished:
        alone = Duel.from_position(rules, played.position)
        told = situation(spec, alone, list_legal=True)
        assert "Moves so far" not in told and "is empty" not in told
        assert briefing(spec, rules, 0) != briefing(spec, rules, 1)


def test_a_game_of_ones_own_is_told_by_its_fields():
    duel = TextDuel(TWO_HEAPS, "solver", seat="first", first=3, second=1)
    told = duel.reset(seed=0)
    assert "Nim with two heaps" in told and "left: 3, 1" in told
    turn = duel.step("[12]")
    assert turn.move.verdict == "kept"


@pytest.mark.parametrize(
    ("game", "moves", "reply", "reason"),
    [
        ("divider-duel", [4], "[4]", "4 is not in the list."),
        ("prime-rumble", [2], "[51]", "51 is not one of the numbers 2 to 50."),
        ("factor-chain-duel", [24], "[7]", "7 is not a factor or multiple of 24."),
        ("factor-chain-duel", [24], "[24]", "24 has already been used."),
        ("prime-duel-product", [], "[4]", "4 is not one of the numbers 2, 3, 5, 7, 11, 13, 17, 19, 23, 29."),
        ("prime-duel-sum", [4], "[4]", "Number 4 has already been selected."),
        ("divider-duel", [], "[-7]", "-7 is not one of the numbers 2, 3, 4, 5, 6, 7, 8, 9."),
    ],
)
def test_an_illegal_number_is_refused_with_the_books_own_reason(game, moves, reply, reason):
    duel = TextDuel(game, Lowest, seat=("first", "second")[len(moves) % 2])
    duel.reset(moves=moves)
    turn = duel.step(reply)
    assert reason in turn.text and "(2 tries left)" in turn.text
    assert (turn.refusal, turn.move, turn.finished, turn.reward) == ("illegal", None, False, 0)


def test_refused_replies_may_be_repeated_and_then_lose():
    duel = TextDuel("prime-duel-sum", "random", seat="first", retries=1)
    duel.reset(seed=0)
    assert not duel.step("nothing").finished
    assert duel.step("[9]").move.verdict == "kept"
    assert not duel.step("[9]").finished  # the count begins again after a move
    turn = duel.step("[9")
    assert turn.finished and turn.payoff == turn.reward == -1 and turn.refusal == "unreadable"
    assert turn.text.endswith("No move could be played after 2 replies in a row.\nYou lose.")
    outcome = duel.outcome
    assert outcome.fault == "unreadable"
    assert outcome.refusals == {"unreadable": 2, "illegal": 1}
    assert outcome.replies == 4
    with pytest.raises(ValueError, match="finished"):
        duel.step("[2]")


def test_a_fault_in_a_position_that_is_not_lost_is_a_blunder():
    duel = TextDuel("divider-duel", "solver", seat="first", retries=0)
    duel.reset(seed=0)
    turn = duel.step("pass")
    assert turn.move.verdict == "blunder" and turn.move.number is None and turn.move.better == (4,)
    assert (duel.outcome.kept, duel.outcome.grade.thrown) == (0, 1)


def test_kept_of_no_graded_move_is_missing():
    duel = TextDuel("divider-duel", "solver", seat="second", retries=0)
    duel.reset(seed=0)
    assert duel.outcome.kept is None
    assert duel.step("pass").move.verdict == "lost"
    assert duel.outcome.kept is None and duel.outcome.fault == "unreadable"
    ungraded = TextDuel("divider-duel", seat="first", graded=False)
    ungraded.reset(seed=0)
    assert ungraded.step("[4]").move.verdict == "ungraded" and ungraded.outcome.kept is None


def test_moves_are_rewarded_where_asked_for():
    duel = TextDuel("divider-duel", Fixed(find_game("divider-duel").make_rules(), 7), seat="first", reward="move")
    duel.reset(seed=0)
    assert duel.step("nonsense").reward == 0
    assert duel.step("[4]").reward == 1  # 7 is answered
    blunder = duel.step("[9]")
    assert blunder.reward == -1 and blunder.move.better and blunder.payoff == 0
    second = TextDuel("divider-duel", "solver", seat="second", reward="move", retries=0)
    second.reset(seed=0)
    assert second.step("[").reward == 0  # nothing to keep


def test_the_same_seed_and_replies_give_the_same_duel():
    def once(seed):
        duel = TextDuel("prime-rumble", openings=6)
        texts = []
        for _ in range(4):
            texts.append(duel.reset(seed=seed))
            seed = None
            play(duel, partial(random_number, np.random.default_rng(3)))
            texts.append(duel.outcome)
        return texts

    assert once(5) == once(5) != once(6)


def test_seats_and_openings_are_those_asked_for():
    seats, openings = set(), set()
    duel = TextDuel("prime-rumble", openings=3)
    for seed in range(40):
        duel.reset(seed=seed)
        seats.add(duel.seat)
        openings.add(duel.outcome.opening)
        assert duel.duel.seat == duel.seat
    assert seats == {0, 1} and openings == {0, 1, 2, 3}


def test_an_opponent_may_win_before_the_first_turn():
    opener = Fixed(find_game("factor-chain-duel").make_rules(), 29)
    duel = TextDuel("factor-chain-duel", opener, seat="second")
    told = duel.reset(seed=0)
    assert duel.finished and duel.payoff == -1
    assert told.endswith("No valid moves for Player 2. Player 1 wins!\nYou lose.")
    assert duel.outcome.kept is None
    with pytest.raises(ValueError, match="finished"):
        duel.step("[2]")


@pytest.mark.parametrize(
    ("agent", "says"),
    [
        (Cheat, "played an illegal move, action 0"),
        (Babble, "answered with"),
        *((kind, FAULTS[kind]) for kind in IN_PROCESS),
    ],
)
def test_an_opponent_that_fails_loses_with_a_reason(agent, says):
    duel = TextDuel("divider-duel", agent, seat="first")
    duel.reset(seed=0)
    turn = duel.step("[2]")
    assert turn.finished and turn.payoff == 1 and turn.move.number == 2
    assert f"Player 2 gives no legal answer: it {says}" in turn.text and turn.text.endswith("\nYou win.")
    assert duel.outcome.opponents_fault.startswith(says) and duel.outcome.payoff == 1 and duel.outcome.fault is None
    assert "You are Player 1" in duel.reset(seed=1) and duel.outcome.opponents_fault is None


def test_a_game_too_large_to_solve_is_played_without_grades():
    duel = TextDuel("prime-rumble", highest=400, seat="first")
    duel.reset(seed=0)
    assert "left out" in duel.grading
    assert duel.step("[9]").move.verdict == "ungraded"
    with pytest.raises(ValueError, match="perfect play"):
        TextDuel("prime-rumble", highest=400, reward="move")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"seat": "third"}, "first, second, random"),
        ({"retries": -1}, "retries must be an integer of at least 0"),
        ({"openings": 1.5}, "openings must be an integer"),
        ({"reward": "often"}, "end, move"),
        ({"opponent": "nobody"}, "there is no agent 'nobody'"),
        ({"highest": 1}, "highest must be"),
    ],
)
def test_wrong_options_are_refused(options, says):
    with pytest.raises(ValueError, match=says):
        TextDuel("divider-duel", **options)


def test_wrong_calls_are_refused():
    duel = TextDuel("divider-duel", Lowest, seat="first")
    for early in (duel.observe, lambda: duel.step("[4]"), lambda: duel.outcome, lambda: duel.duel):
        with pytest.raises(ValueError, match="before reset"):
            early()
    with pytest.raises(ValueError, match=r"move 1 \(51\) is illegal"):
        duel.reset(moves=[51])
    with pytest.raises(ValueError, match="finish the game"):
        duel.reset(moves=[2, 3, 5, 7])
    with pytest.raises(ValueError, match="seed must be"):
        duel.reset(seed=-1)
    duel.reset(seed=0)
    with pytest.raises(TypeError, match="a reply is a text, not a int"):
        duel.step(7)


def test_a_duel_in_hand_is_a_copy():
    duel = TextDuel("divider-duel", Lowest, seat="first")
    duel.reset(seed=0)
    duel.duel.push(4)
    assert duel.duel.moves == []
