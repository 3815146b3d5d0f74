"""Terminal play: the books' sample games fed in through a pipe, and every way to win, lose, stop and mistype."""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import subprocess
import sys
import time
import types
from collections.abc import Sequence
from contextlib import contextmanager

import numpy as np
import pytest

from agents.terminal import discard_typed
from numduel_env.games import GAMES, GameSpec, add_game
from tests.support import ROOT
from tests.support.agents import Scripted
from tests.support.hostile import FAULTS
from tests.support.programs import run_program
from tests.support.rulebooks import (
    CHAIN_MOVES,
    CLAIMS,
    DIVIDER_DUEL,
    DIVIDER_DUEL_SAMPLES,
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
    abbreviated,
    after,
    corrected,
    transcript,
)
from tests.support.toys import Subtraction

PROGRAM = [sys.executable, "agents/play.py"]
TWO_PEOPLE = ["--first", "human", "--second", "human"]
LEFT_UNFINISHED = "\nThe input has ended: the game is left unfinished.\n"


@pytest.fixture(autouse=True, scope="module")
def _own_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NUMDUEL_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def play(command: str, *entries: object) -> tuple[int, str]:
    """Run the program on typed entries and return its exit code and what it printed."""
    ran = run_program("agents/play.py", *command.split(), typed="".join(f"{entry}\n" for entry in entries))
    assert ran.err == "" or ran.code == 1
    return ran.code, ran.out + ran.err


def refusal(command: str) -> str:
    """Run a wrong command line and return the one line that says what is wrong."""
    ran = run_program("agents/play.py", *command.split())
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.count("\n") == 1
    assert ran.err.startswith("agents/play.py: ")
    return ran.err


def piped(command: str, text: str | bytes, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Run the program in a process of its own, with piped input."""
    entered = text.encode() if isinstance(text, str) else text
    return subprocess.run(
        [*PROGRAM, *command.split()],
        input=entered,
        capture_output=True,
        cwd=ROOT,
        env={**os.environ, **environment},
        timeout=60,
    )


@contextmanager
def process(command: str, program: Sequence[str] = PROGRAM, **streams: object):
    """Start the program in a process of its own, which does not outlive the test."""
    with subprocess.Popen([*program, *command.split()], cwd=ROOT, **streams) as started:
        try:
            yield started
        finally:
            started.kill()


# The books' samples


def test_prime_rumble_sample_game_through_a_pipe() -> None:
    entries = "".join(f"{number}\n" for number, _, _ in PRIME_RUMBLE)
    finished = piped("--game prime-rumble --first human --second human", entries)
    text = finished.stdout.decode()
    assert finished.returncode == 0
    assert finished.stderr == b""
    assert abbreviated(PRIME_RUMBLE_SAMPLE + "\n").fullmatch(text.strip("\n"))
    for claim in CLAIMS.values():
        if claim.book == "prime-rumble" and claim.place.startswith("turn") and claim.asked == "removed":
            assert f"Numbers removed: {', '.join(map(str, corrected(claim)))}\n" in text


def test_divider_duel_sample_game() -> None:
    code, text = play("--game divider-duel --second human", *[number for number, _, _ in DIVIDER_DUEL])
    assert code == 0
    assert text.strip("\n") == "".join(DIVIDER_DUEL_SAMPLES).strip("\n")


def test_factor_chain_sample() -> None:
    book = "factor-chain-duel"
    code, text = play(f"--game {book} --second human", *CHAIN_MOVES, 12)
    assert code == 1
    left_24, left_12 = (list(corrected(CLAIMS[book, f"display after {number}"])) for number in (24, 12))
    shown, prompted, updated = FACTOR_CHAIN_SAMPLES
    # The display that the book shows before the turn is the one after the previous move.
    shown = shown.replace("Available Numbers:", "Available Numbers (after move):")
    assert "".join([shown, prompted, updated]).format(after_24=left_24, after_12=left_12) in text


def test_multiplying_prime_duel_sample_game() -> None:
    moves = [number for number, _ in PRIME_DUEL_PRODUCT]
    code, text = play("--game prime-duel-product --second human", *moves, 2)
    assert code == 0
    assert text.startswith("".join(PRIME_DUEL_PRODUCT_SAMPLES).removeprefix("\n"))  # no blank line before it
    assert text.endswith("Your new score is 1820.\n\n1,820 exceeds 1,000: Player 1 loses. Player 2 wins!\n")


def test_adding_prime_duel_samples() -> None:
    line = "-" * 50 + "\n"
    _, text = play("--game prime-duel-sum --second human", 7, 7, 9)
    assert text.startswith((TURN_SAMPLE + INVALID_SELECTION_SAMPLE).replace(f"{line}\n{line}", line).strip("\n"))
    _, text = play("--game prime-duel-sum --second human", *[number for number, _, _ in PRIME_DUEL_SUM])
    assert "Your Score: 11\nOpponent's Score: 15\nSelect a number to add to your score:\n> " + LEFT_UNFINISHED in text
    _, text = play("--game prime-duel-sum --when-empty refill --second human", *TOWARDS_50, 4)
    assert OVER_50_SAMPLE in "\n" + text.replace(line, f"{line}\n{line}")


@pytest.mark.parametrize("book", GAMES)
def test_a_random_game_is_shown_in_the_order_of_the_book(book) -> None:
    generator = np.random.default_rng(5)
    duel = after(book, ())
    while not duel.finished:
        duel.play(int(generator.choice(np.flatnonzero(duel.legal))))
    code, text = play(f"--game {book} --second human", *duel.moves)
    assert code == 0
    assert text.strip("\n") == transcript(book, after(book, ()), duel.moves)


# Entries


def test_refused_entries_are_explained_and_asked_again() -> None:
    code, text = play("--game divider-duel --second human", 5, 5, "five", "", "2.5", 99, -3, "1_0", "  3 ", 2, "+7")
    assert code == 0
    asked = "Enter the number you wish to remove: "
    assert (
        f"{asked}5\n5 is not in the list.\n"
        f"{asked}five\n'five' is not a whole number.\n"
        f"{asked}\n"
        f"{asked}2.5\n'2.5' is not a whole number.\n"
        f"{asked}99\n99 is not one of the numbers 2, 3, 4, 5, 6, 7, 8, 9.\n"
        f"{asked}-3\n-3 is not one of the numbers 2, 3, 4, 5, 6, 7, 8, 9.\n"
        f"{asked}1_0\n'1_0' is not a whole number.\n"
        f"{asked}3\n\nYou removed 3.\n"
    ) in text
    assert text.endswith("Player 2 wins the game!\n")


def test_factor_chain_says_which_rule_forbids() -> None:
    _, text = play("--game factor-chain-duel --second human", 15, 15, 7)
    assert "15 has already been used.\n" in text
    assert "7 is not a factor or multiple of 15.\n" in text


@pytest.mark.parametrize("entry", ["9" * 30, "9" * 10_000, "٣", "-+3", "\x1b[31m3"], ids=range(5))
def test_odd_entries_are_refused(entry) -> None:
    code, text = play("--game divider-duel --max-invalid 1", entry)
    assert code == 0
    assert text.endswith("\nPlayer 1 loses by an invalid entry. Player 2 wins!\n")


def test_bytes_that_are_no_text_and_a_terminal_without_arrows() -> None:
    finished = piped("--game factor-chain-duel --second human", b"\xff\xfe\n15\n5\n", PYTHONIOENCODING="ascii")
    assert finished.returncode == 1
    assert finished.stderr == b""
    assert b"Current Chain: 15 ? 5\n" in finished.stdout


def test_the_nth_invalid_entry_in_a_row_loses() -> None:
    command = "--game divider-duel --second human --max-invalid 3"
    code, text = play(command, 1, 1, 5, 5, "x", "", 5)
    assert code == 0
    assert text.endswith("5 is not in the list.\nPlayer 2 loses by 3 invalid entries in a row. Player 1 wins!\n")
    _, text = play(command, 1, 1, 4, 1, 1, 2, 1, 1, 3)  # never three in a row
    assert text.endswith(LEFT_UNFINISHED)


def test_a_person_against_an_agent_sees_its_moves_as_if_typed() -> None:
    _, text = play("--game divider-duel --first solver --second human", 2)
    assert text.startswith(
        "You are Player 2, solver is Player 1.\n\n"
        "Shared List: [2, 3, 4, 5, 6, 7, 8, 9]\n\nPlayer 1, it's your turn.\n"
        "Enter the number you wish to remove: 4\n\nYou removed 4.\n"
    )
    assert "Enter the number you wish to remove: 2\n" in text


def test_a_wrong_number_in_a_large_game_does_not_list_the_numbers() -> None:
    _, text = play("--game prime-rumble --highest 400 --second human", 401)
    assert "pool: 401\n401 is not one of the numbers 2 to 400.\nEnter a number" in text
    _, text = play("--game divider-duel", "x" * 500)
    assert f"\n'{'x' * 58}… is not a whole number.\n" in text


# Commands


def after_prompt(text: str, prompt: str, entry: str) -> str:
    """Return what follows the first ``entry`` behind a prompt."""
    return text.split(f"{prompt}{entry}\n", 1)[1]


REMOVE = "Enter the number you wish to remove: "


def test_help_lists_the_commands() -> None:
    _, text = play("--game divider-duel --second human", "help")
    answer = after_prompt(text, REMOVE, "help")
    assert answer.endswith(REMOVE + LEFT_UNFINISHED)
    for command in ("help", "rules", "board", "undo", "quit"):
        assert re.search(rf"^  {command} +\w", answer, re.MULTILINE)


@pytest.mark.parametrize("book", GAMES)
def test_rules_are_those_of_this_game_in_lines_that_fit(book, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    spec = GAMES[book]
    _, text = play(f"--game {book} --second human", "Rules")
    rules = spec.make_rules()
    assert f"{spec.heading(rules)}\n\n" in text
    assert " ".join(spec.wording.rules(rules).split()) in " ".join(text.split())
    explained = text.split("Rules\n")[1].split(spec.wording.prompt(after(book, ())))[0]
    assert max(map(len, explained.splitlines())) <= 60


def test_the_board_shows_the_game_as_it_stands() -> None:
    _, text = play("--game prime-rumble --highest 9 --second human", 2, "board")
    assert after_prompt(text, "pool: ", "board") == (
        "Numbers removed: 2, 4, 6, 8\nUpdated Pool:\n3, 5, 7, 9\n\nPlayer 2's Turn:\n"
        "Enter a number from the pool: " + LEFT_UNFINISHED
    )
    _, text = play("--game prime-duel-product --second human", 2, "board")
    assert after_prompt(text, "score: ", "board").startswith(
        "Player 2 Turn:\nCurrent Scores - You: 1, Opponent: 2\nAvailable Primes: 2, 3"
    )


def test_undo_takes_back_one_ply_between_two_people() -> None:
    _, text = play("--game divider-duel --second human", 5, 3, "undo", "undo", "undo", 4)
    once = after_prompt(text, REMOVE, "undo")
    assert once.startswith("You removed 5.\n") and "\nPlayer 2, it's your turn.\n" in once
    twice = after_prompt(once, REMOVE, "undo")
    assert twice.startswith("Shared List: [2, 3, 4, 5, 6, 7, 8, 9]\n\nPlayer 1, it's your turn.\n")
    thrice = after_prompt(twice, REMOVE, "undo")
    assert thrice.startswith(f"There is no move to take back.\n{REMOVE}4\n\nYou removed 4.\n")


LOWEST = "tests.support.agents:Lowest"


def test_undo_takes_back_the_answer_too() -> None:
    _, text = play(f"--game divider-duel --second {LOWEST}", 9, 3, "undo", "undo", "undo", 5)
    # 9, answered by 2; 3, answered by 5; that leaves 7.
    once = after_prompt(text, REMOVE, "undo")
    assert once.startswith("You removed 2.\n") and "List: [3, 5, 7]\n\nPlayer 1, it's your turn.\n" in once
    twice = after_prompt(once, REMOVE, "undo")
    assert twice.startswith("Shared List: [2, 3, 4, 5, 6, 7, 8, 9]\n")
    thrice = after_prompt(twice, REMOVE, "undo")
    assert thrice.startswith(f"There is no move to take back.\n{REMOVE}5\n\nYou removed 5.\n")


def test_undo_leaves_an_agent_its_opening() -> None:
    _, text = play(f"--game divider-duel --first {LOWEST} --second human", "undo", 9, "undo", 3)
    refused = after_prompt(text, REMOVE, "undo")
    assert refused.startswith(f"There is no move to take back.\n{REMOVE}9\n")
    undone = after_prompt(refused, REMOVE, "undo")
    assert undone.startswith("You removed 2.\n") and "Player 2, it's your turn.\n" in undone


def test_an_undone_game_ends_and_is_analysed_as_it_was_played() -> None:
    code, text = play("--game divider-duel --second human --analyse", 5, "undo", 4, 5, "undo", 3, 2, 5, 7)
    assert code == 0
    moves = re.findall(r"^ *\d\. Player \d: (\d)", text.split("Analysis:")[1], re.MULTILINE)
    assert moves == ["4", "3", "2", "5", "7"]


def test_commands_are_no_invalid_entries() -> None:
    code, text = play("--game divider-duel --second human --max-invalid 2", 1, "help", "undo", "board", "rules", 1)
    assert code == 0
    assert text.endswith("Player 1 loses by 2 invalid entries in a row. Player 2 wins!\n")


@pytest.mark.parametrize("command", ["--second human", "--second random", "--rounds 3 --first solver --second human"])
def test_quit_leaves(command) -> None:
    code, text = play(f"--game prime-duel-sum {command}", "QUIT", 2, 3)
    assert code == 0
    assert text.endswith("> QUIT\nGoodbye: the game is left unfinished.\n")


# Who is who


@pytest.mark.parametrize(("book", "start"), [("prime-duel-sum", 0), ("prime-duel-product", 1)])
def test_scores_have_names_against_an_agent(book, start) -> None:
    _, text = play(f"--game {book} --second {LOWEST}", 7)
    assert text.startswith(f"You are Player 1, {LOWEST} is Player 2.\n\n")
    assert f"You (Player 1): {start}, {LOWEST} (Player 2): {start}\n" in text
    assert f"You (Player 1): 7, {LOWEST} (Player 2): {start}\n" in text
    _, text = play(f"--game {book} --first {LOWEST} --second human")
    assert text.startswith(f"You are Player 2, {LOWEST} is Player 1.\n\n")
    assert f"{LOWEST} (Player 1): 2, You (Player 2): {start}\n" in text


def test_names_follow_the_seats_of_a_match() -> None:
    _, text = play(f"--game prime-duel-product --second {LOWEST} --max-invalid 1 --rounds 2", 0)
    assert f"Game 2 of 2: {LOWEST} is Player 1, human is Player 2.\n" in text
    assert f"{LOWEST} (Player 1): 2, You (Player 2): 1\n" in text


@pytest.mark.parametrize("command", ["--second human", f"--first random --second {LOWEST}"])
def test_nobody_is_you_where_that_could_be_either_or_none(command) -> None:
    _, text = play(f"--game prime-duel-product {command}", 2, 2)
    assert "You are" not in text and "You (" not in text


# A game of one's own


def test_a_game_of_ones_own_is_played_without_a_word_about_it() -> None:
    code, text = play("--game tests.support.toys:TwoHeaps --second human", "rules", 13, "board", "undo", 23, 99, "quit")
    assert code == 0
    assert "Two Heaps\n\nNim with two heaps: number 23 takes 3 counters" in text
    first = "Player 1, it's your turn.\nleft: 3, 4\nAvailable Numbers: 11, 12, 13, 21, 22, 23, 24\n"
    assert text.count(first) == 2
    assert text.count("Player 2, it's your turn.\nleft: 0, 4\nAvailable Numbers: 21, 22, 23, 24\n") == 2
    assert "99 is not one of the numbers 11, 12, 13, 14, 21, 22, 23, 24.\n" in text


# Matches

LOSE_AT_ONCE = [*TWO_PEOPLE, "--max-invalid", "1"]
"""With these options 0 is a resignation, so whoever opens loses every game."""


def results(text: str) -> list[str]:
    return re.findall(r"^(?:Game|Score|Final).*", text, re.MULTILINE)


def test_rounds_alternate_seats_and_may_be_tied() -> None:
    code, text = play(" ".join(["--game divider-duel --rounds 2", *LOSE_AT_ONCE]), 0, 0)
    assert code == 0
    assert results(text) == [
        "Game 1 of 2: human (first) is Player 1, human (second) is Player 2.",
        "Score: human (first) 0, human (second) 1.",
        "Game 2 of 2: human (second) is Player 1, human (first) is Player 2.",
        "Final score: human (first) 1, human (second) 1. The match is tied.",
    ]


def test_rounds_are_all_played() -> None:
    _, text = play("--game divider-duel --first solver --rounds 5 --seed 1")
    assert text.count("Shared List: [2, 3, 4, 5, 6, 7, 8, 9]\n\nPlayer 1") == 5


@pytest.mark.parametrize(("best_of", "played"), [(1, 1), (2, 2), (3, 2), (4, 3), (5, 3)])
def test_best_of_stops_when_nobody_can_catch_up(best_of, played) -> None:
    crash = "tests.support.agents:Crash"
    code, text = play(f"--game divider-duel --first {crash} --second random --best-of {best_of}")
    assert code == 0
    wins = f"{crash} 0, random {played}."
    assert results(text)[-1] == f"Final score: {wins} random wins the match!"
    assert text.count("Game ") == played


def test_draws_count_for_neither() -> None:
    """With one number in the list and nothing to win, every game is drawn; one resignation then decides."""
    command = "--game prime-duel-sum --when-empty draw --lowest 4 --highest 4 --best-of 3 --max-invalid 1"
    _, text = play(f"{command} --second human", 4, 4, 4)
    assert text.count("The game is a draw.") == 3
    assert results(text)[-1] == "Final score: human (first) 0, human (second) 0, drawn 3. The match is tied."
    _, text = play(f"{command} --second human", 4, 0, 4)
    assert results(text)[3] == "Score: human (first) 1, human (second) 0, drawn 1."
    assert results(text)[-1] == "Final score: human (first) 1, human (second) 0, drawn 2. human (first) wins the match!"


def test_the_toss_is_seeded_and_fair() -> None:
    openers = []
    for seed in range(20):
        command = f"--game divider-duel --first solver --second random --toss --seed {seed}"
        _, text = play(command)
        assert play(command) == (0, text)
        opener = re.match(r"The toss: (solver|random) opens\.\n\nShared List", text)
        assert opener
        openers.append(opener[1])
    assert 5 <= openers.count("solver") <= 15


def test_the_toss_decides_the_first_game_of_a_match() -> None:
    seen = set()
    for seed in range(8):
        _, text = play(f"--game divider-duel --first solver --second random --toss --rounds 2 --seed {seed}")
        opener = text.split()[2]
        other = {"solver": "random", "random": "solver"}[opener]
        games = [line for line in results(text) if line.startswith("Game")]
        assert games[0] == f"Game 1 of 2: {opener} is Player 1, {other} is Player 2."
        assert games[1] == f"Game 2 of 2: {other} is Player 1, {opener} is Player 2."
        seen.add(opener)
    assert seen == {"solver", "random"}


# Advice


def test_hints() -> None:
    _, text = play("--game divider-duel --second human --hint", 4, 5)
    turns = text.split("it's your turn.\n")
    assert turns[1].startswith("Hint: winning moves: 4.\nEnter the number")
    assert turns[2].startswith("Hint: every move loses.\nEnter the number")
    _, text = play("--game prime-duel-sum --lowest 4 --highest 4 --when-empty draw --hint", 4)
    assert "Hint: no move wins; drawing moves: 4.\nSelect a number" in text
    _, text = play("--game divider-duel --first solver --second random --hint")
    assert "Hint" not in text


def test_hints_are_not_repeated_with_the_prompt() -> None:
    _, text = play("--game divider-duel --hint", 1, 1, 1)
    assert text.count("Hint") == 1


def test_analysis() -> None:
    _, text = play("--game divider-duel --second human --analyse", *[number for number, _, _ in DIVIDER_DUEL])
    assert text.endswith(
        "Player 2 wins the game!\n\nAnalysis:\n"
        "  1. Player 1: 5 blunder; better: 4\n"
        "  2. Player 2: 3 blunder; better: 6, 8\n"
        "  3. Player 1: 2 blunder; better: 4\n"
        "  4. Player 2: 7 kept\n"
        "Kept, where not lost already: Player 1 0 of 2, Player 2 1 of 2.\n"
    )
    _, text = play("--game divider-duel --second human --analyse --rounds 2", *[4, 5, 7, 2, 3] * 2)
    assert text.count("  2. Player 2: 5 lost; every move loses\n") == 2
    assert text.count("Kept, where not lost already: Player 1 3 of 3, Player 2 0 of 0.\n") == 2


@pytest.mark.parametrize("book", GAMES)
def test_the_solver_never_blunders(book) -> None:
    _, text = play(f"--game {book} --first solver --second random --analyse --rounds 2 --seed 3")
    games = text.split("Analysis:")[1:]
    assert len(games) == 2
    for seat, game in enumerate(games, start=1):
        assert not re.search(rf"Player {seat}: \d+ blunder", game)


# Agents


@pytest.mark.parametrize("book", GAMES)
def test_agents_play_each_other_reproducibly(book) -> None:
    command = f"--game {book} --first random --second random --seed"
    code, text = play(f"{command} 0")
    assert code == 0
    assert "win" in text
    assert play(f"{command} 0") == (0, text)
    assert any(play(f"{command} {seed}") != (0, text) for seed in (1, 2))


@pytest.mark.parametrize("book", GAMES)
def test_every_kind_of_agent_plays_every_game(book) -> None:
    command = f"--game {book} --first greedy --second mcts:20 --rounds 2 --seed 0"
    code, text = play(command)
    assert code == 0
    assert "illegal" not in text and "error" not in text
    assert "Final score: greedy " in text
    assert play(command) == (0, text)


def answering(answer):
    """Return a factory of agents that always answer the same."""
    return lambda rules: Scripted(lambda position, legal, generator: answer)


half = answering([0.5])
ragged = answering([[1], [2, 3]])
outside = answering(np.array([99]))


class Silent:
    """A player who sees the duel, and gives no answer."""

    def __init__(self, rules):
        pass

    def move(self, duel, generator):
        return None


@pytest.mark.parametrize(
    ("agent", "reason"),
    [
        ("tests.support.agents:Crash", "because it raised RuntimeError: out of <ideas> & time"),
        ("tests.support.agents:Babble", "because it answered with 'seven': actions are whole numbers"),
        (f"{__name__}:half", "because it answered with [0.5]: actions are whole numbers"),
        (f"{__name__}:ragged", "because it answered with [[1], [2, 3]], which is no array"),
        (f"{__name__}:outside", "because it answered 99, which is no action: they are 0 to 7"),
        (f"{__name__}:Silent", "because it answered with [None]: actions are whole numbers"),
    ],
)
def test_an_agent_that_gives_no_answer_loses(agent, reason) -> None:
    code, text = play(f"--game divider-duel --first {agent} --second solver --analyse")
    assert code == 0
    assert text.endswith(
        "Enter the number you wish to remove: (no answer)\n"
        f"Player 1 loses {reason}. Player 2 wins!\n\nAnalysis:\n"
        "  1. Player 1: (no legal answer) blunder; better: 4\n"
        "Kept, where not lost already: Player 1 0 of 1, Player 2 0 of 0.\n"
    )
    code, text = play(f"--game divider-duel --first solver --second {agent} --analyse")
    assert code == 0
    assert f"\nPlayer 2 loses {reason}. Player 1 wins!\n" in text
    assert "  2. Player 2: (no legal answer) lost; every move loses\n" in text


@pytest.mark.parametrize("kind", FAULTS, ids=lambda kind: kind.__name__)
def test_whatever_an_agent_does_costs_its_game_alone(kind) -> None:
    hostile = f"tests.support.hostile:{kind.__name__}"
    code, text = play(f"--game divider-duel --rounds 2 --first random --second {hostile} --seed 1")
    assert code == 0
    # It plays 2 where it opens, and whoever meets a list without 2 loses.
    assert f" loses because it {FAULTS[kind]}." in text
    assert "\x1b" not in text and "\x07" not in text


def test_what_an_agent_prints_is_not_shown() -> None:
    code, text = play("--game divider-duel --first tests.support.hostile:Prints --second solver")
    assert code == 0
    assert "{" not in text and "raw bytes" not in text


def test_an_agent_that_plays_an_illegal_move_loses() -> None:
    cheat = "tests.support.agents:Cheat"
    code, text = play(f"--game divider-duel --first {cheat} --second solver --analyse --seed 0")
    assert code == 0
    end = "remove: 2\n2 is not in the list.\nPlayer 1 loses by an illegal move. Player 2 wins!\n"
    assert f"{end}\nAnalysis:\n" in text
    assert "  3. Player 1: (no legal answer) " in text


def lowest(legal):
    return int(legal.argmax())


def lowest_but_one(legal):
    return int(np.flatnonzero(legal)[:2][-1])


@pytest.mark.parametrize(
    "seats", ["--first {} --second {}", "--first {} --second {lowest}", "--first {lowest} --second {}"]
)
@pytest.mark.parametrize(
    ("agent", "choice"), [("Editor", lowest), ("MaskEditor", lowest_but_one), ("LastMover", lowest)]
)
@pytest.mark.parametrize("book", GAMES)
def test_an_agent_that_writes_into_what_it_sees_changes_nothing(book, agent, choice, seats) -> None:
    place = "tests.support.agents:"
    command = seats.format(place + agent, place + agent, lowest=place + "Lowest")
    duel = after(book, ())
    while not duel.finished:
        duel.play((lowest if command.split()[1 + 2 * duel.seat].endswith("Lowest") else choice)(duel.legal))
    code, text = play(f"--game {book} {command}")
    assert code == 0
    assert text.strip("\n") == transcript(book, after(book, ()), duel.moves)


def test_a_sixth_game_is_played_without_a_word_about_it() -> None:
    add_game(GameSpec("made-up-heap", "Made-up Heap", Subtraction, {"heap": 11, "most": 3}))
    try:
        code, text = play("--game made_up_heap --heap 5 --second solver --hint --analyse", 7, 1, 1)
        assert code == 0
        assert text.startswith(
            "You are Player 1, solver is Player 2.\n\n"
            "Player 1, it's your turn.\ncounters: 5\nAvailable Numbers: 1, 2, 3\nHint: winning moves: 1.\n"
            "Choose a number: 7\n7 is not one of the numbers 1, 2, 3.\nChoose a number: 1\n"
        )
        assert "Player 1: 1 kept\n" in text
        code, text = play("--game made-up-heap --first random --second solver --best-of 3 --toss --seed 4")
        assert code == 0
        assert "solver wins the match!" in text
    finally:
        del GAMES["made-up-heap"]


# Leaving


def test_end_of_input_leaves_politely() -> None:
    code, text = play("--game divider-duel")
    assert code == 1
    assert text.endswith("Enter the number you wish to remove: " + LEFT_UNFINISHED)


def test_a_last_line_without_a_line_end_counts() -> None:
    ran = run_program("agents/play.py", "--game", "divider-duel", "--second", "human", typed="5\n3\n2\n7")
    assert ran.code == 0
    assert ran.out.endswith("Player 2 wins the game!\n")


def test_a_reader_that_stops_reading_gets_no_traceback() -> None:
    command = "--game prime-rumble --first random --rounds 50"
    with process(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as writer:
        assert writer.stdout.readline().startswith(b"Game 1 of 50")
        writer.stdout.close()
        assert writer.stderr.read() == b""
        assert writer.wait(60) == 1


class OnATerminal:
    """The program on a terminal of its own."""

    def __init__(self, program: subprocess.Popen[bytes], terminal: int) -> None:
        self.program, self._terminal = program, terminal
        self.shown = ""

    def wait_for(self, text: str, times: int = 1) -> None:
        """Read on until ``text`` has been shown so many ``times``."""
        deadline = time.monotonic() + 30
        while self.shown.count(text) < times:
            assert time.monotonic() < deadline and self._read(), self.shown

    def type(self, text: str) -> None:
        os.write(self._terminal, text.encode())

    def end(self) -> int:
        """Read all that is left and return the exit code."""
        while self._read():
            pass
        return self.program.wait(30)

    def _read(self) -> bool:
        assert select.select([self._terminal], [], [], 30)[0], f"silence after {self.shown!r}"
        try:
            received = os.read(self._terminal, 4096)
        except OSError:  # how Linux says that the other end is closed
            return False
        self.shown += received.decode().replace("\r\n", "\n")
        return bool(received)


@contextmanager
def on_a_terminal(command: str, program: Sequence[str] = PROGRAM, **environment: str):
    """Start the program on a terminal of its own; neither outlives the test."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    inherited = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    try:
        environment = {**inherited, "TERM": "xterm", **environment}
        with process(command, program, stdin=theirs, stdout=theirs, stderr=theirs, env=environment) as started:
            os.close(theirs)
            yield OnATerminal(started, ours)
    finally:
        os.close(ours)


def test_control_c_leaves_politely() -> None:
    with on_a_terminal("--game divider-duel") as terminal:
        terminal.wait_for("remove: ")
        while terminal.program.poll() is None:
            # A line editor that has shown its prompt, and not begun to wait, sees a signal together with the next one.
            terminal.program.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                terminal.program.wait(1)
        assert terminal.end() == 130
    assert terminal.shown.endswith("remove: \nGoodbye: the game is left unfinished.\n")


def test_control_d_leaves_politely() -> None:
    with on_a_terminal("--game divider-duel") as terminal:
        terminal.wait_for("remove: ")
        terminal.type("\x04")
        assert terminal.end() == 1
    assert terminal.shown.endswith(LEFT_UNFINISHED)


def test_a_line_can_be_edited() -> None:
    pytest.importorskip("readline")
    with on_a_terminal("--game prime-rumble --second human") as terminal:
        terminal.wait_for("pool: ")
        terminal.type("3\x011\n")  # control-A goes to the start of the line
        terminal.wait_for("Numbers removed: 13, 26, 39\n")
        terminal.wait_for("Player 2's Turn:\nEnter a number from the pool: ")
        terminal.type("\x1b[A\x7f7\n")  # the arrow brings the last entry back
        terminal.wait_for("Numbers removed: 17, 34\n")
        terminal.wait_for("Player 1's Turn:\nEnter a number from the pool: ", times=2)
        terminal.type("\x04")
        assert terminal.end() == 1


class Waiting:
    """Plays the smallest legal number as soon as there is a file named by $NUMDUEL_TEST_GO."""

    def __init__(self, rules):
        pass

    def choose(self, position, legal, generator):
        while not os.path.exists(os.environ["NUMDUEL_TEST_GO"]):
            time.sleep(0.01)
        return legal.argmax(-1)


def test_what_is_typed_while_the_opponent_thinks_is_never_played(tmp_path) -> None:
    go = tmp_path / "go"
    command = f"--game divider-duel --second {__name__}:Waiting"
    with on_a_terminal(command, NUMDUEL_TEST_GO=str(go)) as terminal:
        terminal.wait_for("Player 1, it's your turn.\nEnter the number you wish to remove: ")
        terminal.type("9\n")
        terminal.wait_for("Player 2, it's your turn.\nEnter the number you wish to remove: ")
        terminal.type("3\n5\n")
        terminal.wait_for("remove: 3\n5\n")  # as the terminal echoes it
        go.touch()
        terminal.wait_for("Player 1, it's your turn.\nEnter the number you wish to remove: ", times=2)
        terminal.type("7\n")
        terminal.wait_for("You removed 7.\n")
        terminal.wait_for("Player 1, it's your turn.\nEnter the number you wish to remove: ", times=3)
        terminal.type("quit\n")
        assert terminal.end() == 0
    # 3 is what the agent played after 2.
    assert re.findall(r"You removed (\d)", terminal.shown) == ["9", "2", "7", "3"]


def test_people_can_paste_a_whole_game() -> None:
    with on_a_terminal("--game divider-duel --second human") as terminal:
        terminal.wait_for("remove: ")
        terminal.type("".join(f"{number}\n" for number, _, _ in DIVIDER_DUEL))
        assert terminal.end() == 0
    assert "Player 2 wins the game!" in terminal.shown


WITHOUT_POSIX = """
import runpy, sys
sys.modules["termios"] = sys.modules["readline"] = None
sys.argv = ["agents/play.py", *sys.argv[1:]]
runpy.run_path("agents/play.py", run_name="__main__")
"""


def test_a_terminal_without_line_editor_and_input_queue() -> None:
    program = [sys.executable, "-c", WITHOUT_POSIX]
    with on_a_terminal(f"--game divider-duel --second {LOWEST}", program=program) as terminal:
        terminal.wait_for("remove: ")
        terminal.type("rules\n")
        terminal.wait_for("There are no draws.")
        terminal.type("9\n")
        terminal.wait_for("You removed 2.")
        terminal.type("quit\n")
        assert terminal.end() == 0
    assert terminal.shown.endswith("Goodbye: the game is left unfinished.\n")


def test_on_windows_the_input_queue_is_emptied_key_by_key(monkeypatch) -> None:
    keys = list("2\r3\r")
    console = types.SimpleNamespace(kbhit=lambda: bool(keys), getwch=lambda: keys.pop(0))
    monkeypatch.setitem(sys.modules, "termios", None)
    monkeypatch.setitem(sys.modules, "msvcrt", console)
    discard_typed()
    assert keys == []


def whole_game_on_a_terminal(**environment: str) -> str:
    with on_a_terminal("--game divider-duel --second human --hint", **environment) as terminal:
        for turn, (number, _, _) in enumerate(DIVIDER_DUEL, start=1):
            terminal.wait_for("remove: ")
            terminal.shown = terminal.shown.replace("remove: ", f"remove (turn {turn}): ")
            terminal.type(f"{number}\n")
        assert terminal.end() == 0
    return terminal.shown


def test_colour_on_a_terminal() -> None:
    shown = whole_game_on_a_terminal()
    assert "\x1b[1mPlayer 2 wins the game!\x1b[0m" in shown
    assert "\x1b[2mHint: winning moves: 4.\x1b[0m" in shown
    assert "remove (turn 1): 5\n\nYou removed 5." in shown  # echoed once, by the terminal itself


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=str)
def test_no_colour_where_it_is_not_wanted(environment) -> None:
    shown = whole_game_on_a_terminal(**environment)
    assert "\x1b" not in shown
    assert "Player 2 wins the game!\n" in shown


def test_no_colour_in_a_pipe() -> None:
    _, text = play("--game divider-duel --first random --second solver --hint --analyse")
    assert "\x1b" not in text


# The command line


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("", "--game"),
        ("--game prime-duel", "choose prime-duel-product or prime-duel-sum"),
        ("--game chess", "there is no game 'chess'"),
        ("--game divider-duel --highest 1", "highest must be"),
        ("--game divider-duel --highest ten", "--highest"),
        ("--game divider-duel --target 5", "divider-duel has no --target"),
        ("--game divider-duel --second nobody", "argument --second: there is no agent 'nobody'; there are random"),
        (
            "--game divider-duel --first human:5",
            "argument --first: the agent 'human:5': a person plays at the terminal",
        ),
        ("--game divider-duel --first greedy:5", "argument --first: the agent 'greedy:5': nothing is known about '5'"),
        (
            "--game divider-duel --second tests.support.agents:unmakeable",
            "argument --second: tests.support.agents:unmakeable(rules) raised RuntimeError: no weights here",
        ),
        (
            "--game divider-duel --second tests.support.agents:no_agent",
            "argument --second: tests.support.agents:no_agent(rules) must return an object with choose",
        ),
        ("--game divider-duel --first no_such:thing", "no_such:thing cannot be imported: ModuleNotFoundError"),
        ("--game divider-duel --best-of 3 --rounds 3", "not allowed with"),
        ("--game divider-duel --best-of 0", "argument --best-of: must be a whole number of at least 1, not '0'"),
        ("--game divider-duel --rounds x", "argument --rounds: must be a whole number of at least 1, not 'x'"),
        ("--game divider-duel --max-invalid 0", "argument --max-invalid: must be"),
        ("--game divider-duel --seed -1", "argument --seed: "),
        ("--game divider-duel --seed=-1", "argument --seed: must be a whole number of at least 0, not '-1'"),
        ("--game divider-duel --colour", "unrecognized arguments: --colour"),
    ],
)
def test_wrong_command_lines(command, says) -> None:
    assert says in refusal(command)


@pytest.mark.parametrize("options", ["--hint", "--analyse", "--second solver"])
def test_too_large_to_solve(options) -> None:
    code, text = play(f"--game prime-rumble --highest 400 {options}", 2)
    assert code == 1
    assert text.count("\n") == 1
    assert text.startswith("agents/play.py: the numbers 2..400 are too many to solve")


def test_help_states_the_rules_of_a_match_and_the_exit_codes() -> None:
    ran = run_program("agents/play.py", "--help")
    words = " ".join(ran.out.split())
    assert ran.code == 0
    for promise in ("as soon as nobody can catch up", "a draw counts for neither", "130 after Ctrl-C", "--when-empty"):
        assert promise in words
