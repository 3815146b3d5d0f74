"""The sample games and sample displays of the five rule books, and what the program shows in their place.

``CLAIMS`` is what the books say about numbers, mistakes included; ``ERRATA`` is what is wrong with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Any, NamedTuple

from numduel_env.duel import Duel
from numduel_env.games import GAMES
from numduel_env.rules import Rules
from numduel_env.text import available, chosen, taken

Numbers = tuple[int, ...]


@cache
def book_rules(book: str, **params: object) -> Rules[Any]:
    return GAMES[book].make_rules(**params)


def after(book: str, moves: Iterable[int], **params: object) -> Duel[Any]:
    """Return the duel in which ``moves``, all of them legal, have been played."""
    rules = book_rules(book, **params)
    numbers = rules.numbers.tolist()
    duel = Duel(rules, map(numbers.index, moves))
    assert duel.offence is None
    return duel


def transcript(book: str, duel: Duel[Any], entries: Iterable[int]) -> str:
    """Return what a terminal shows from here on while ``entries`` are typed; the last line has no line end.

    After a refusal only the last line of the prompt is repeated.
    """
    wording = GAMES[book].wording
    numbers = duel.rules.numbers.tolist()
    pieces = [wording.opening(duel)]
    asking = False
    for number in entries:
        prompt = wording.prompt(duel)
        if not asking:
            pieces.append(wording.status(duel))
        pieces.append((prompt.rpartition("\n")[2] if asking else prompt) + str(number))
        asking = number not in numbers or not duel.legal[numbers.index(number)]
        if asking:
            pieces.append(wording.refusal(duel, number))
            continue
        duel.play(numbers.index(number))
        pieces.append(wording.result(duel))
    if duel.finished:
        pieces.append(wording.ending(duel))
    return "\n".join(pieces).strip("\n")


def abbreviated(sample: str) -> re.Pattern[str]:
    """Return the pattern of the texts that ``sample`` abbreviates.

    Three dots among numbers stand for numbers, three dots on a line of their own for any number of lines.
    """
    pattern = re.escape(sample.strip("\n"))
    dots = re.escape("...")
    pattern = pattern.replace(re.escape("\n") + dots + re.escape("\n"), r"\n(?:.*\n)*")
    return re.compile(pattern.replace(dots, r"\d[\d, ]*\d"))


# What the books say about numbers


class Claim(NamedTuple):
    """In ``book``, at ``place``, after ``moves``: the numbers that were ``asked`` for, as the book ``says``."""

    book: str
    place: str
    moves: Numbers
    asked: str
    says: Numbers

    def ours(self) -> Numbers:
        duel = after(self.book, self.moves)
        answers = {"removed": taken, "left": available, "choices": lambda duel: chosen(duel, duel.legal)}
        return tuple(answers[self.asked](duel))


class Erratum(NamedTuple):
    """What a claim leaves out, and what it has too much."""

    left_out: Numbers = ()
    too_much: Numbers = ()


ERRATA = {
    ("prime-rumble", "turn 3, removed"): Erratum(too_much=(45,)),  # 3 took it at turn 2
    ("factor-chain-duel", "turn 9, choices"): Erratum(left_out=(32, 48)),  # both multiples of 16
    ("factor-chain-duel", "turn 10, choices"): Erratum(too_much=(28, 36, 44)),  # no multiples of 8
    ("factor-chain-duel", "display after 24"): Erratum(left_out=(30, 40)),  # never played
    ("factor-chain-duel", "display after 12"): Erratum(left_out=(30, 40)),
}


def corrected(claim: Claim) -> Numbers:
    """Return the claim's numbers with its erratum, if there is one, put right."""
    erratum = ERRATA.get((claim.book, claim.place), Erratum())
    says = set(claim.says)
    assert says >= set(erratum.too_much)
    assert says.isdisjoint(erratum.left_out)
    return tuple(sorted(says - set(erratum.too_much) | set(erratum.left_out)))


PRIME_RUMBLE = [  # the number chosen, the numbers removed, the pool afterwards
    (
        2,
        (2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34, 36, 38, 40, 42, 44, 46, 48, 50),
        (3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31, 33, 35, 37, 39, 41, 43, 45, 47, 49),
    ),
    (3, (3, 9, 15, 21, 27, 33, 39, 45), (5, 7, 11, 13, 17, 19, 23, 25, 29, 31, 35, 37, 41, 43, 47, 49)),
    (5, (5, 25, 35, 45), (7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 49)),
    (7, (7, 49), (11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47)),
    (11, (11,), (13, 17, 19, 23, 29, 31, 37, 41, 43, 47)),
    (13, (13,), (17, 19, 23, 29, 31, 37, 41, 43, 47)),
    (17, (17,), (19, 23, 29, 31, 37, 41, 43, 47)),
    (19, (19,), (23, 29, 31, 37, 41, 43, 47)),
    (23, (23,), (29, 31, 37, 41, 43, 47)),
    (29, (29,), (31, 37, 41, 43, 47)),
    (31, (31,), (37, 41, 43, 47)),
    (37, (37,), (41, 43, 47)),
    (41, (41,), (43, 47)),
    (43, (43,), (47,)),
    (47, (47,), ()),
]

DIVIDER_DUEL = [  # the number chosen, the numbers it divides, the list afterwards
    (5, (5,), (2, 3, 4, 6, 7, 8, 9)),
    (3, (3, 6, 9), (2, 4, 7, 8)),
    (2, (2, 4, 8), (7,)),
    (7, (7,), ()),
]

FACTOR_CHAIN = [  # the choices at the start of a turn, the number chosen
    (tuple(range(2, 51)), 15),
    ((3, 5, 30, 45), 5),
    ((10, 20, 25, 30, 35, 40, 45, 50), 25),
    ((50,), 50),
    ((2, 10), 10),
    ((2, 20, 30, 40), 20),
    ((2, 4, 40), 4),
    ((2, 8, 12, 16, 24, 28, 32, 36, 40, 44, 48), 16),
    ((2, 8), 8),
    ((2, 24, 28, 32, 36, 40, 44, 48), 24),
]

CHAIN_MOVES = tuple(number for _, number in FACTOR_CHAIN)

# fmt: off
DISPLAYED_AFTER_24 = (
    2, 3, 6, 7, 9, 11, 12, 13, 14, 17, 18, 19, 21, 22, 23, 26, 27, 28, 29, 31, 32, 33, 34, 35, 36, 37, 38, 39, 41, 42,
    43, 44, 45, 46, 47, 48, 49,
)
DISPLAYED_AFTER_12 = (
    2, 3, 6, 7, 9, 11, 13, 14, 17, 18, 19, 21, 22, 23, 26, 27, 28, 29, 31, 32, 33, 34, 35, 36, 37, 38, 39, 41, 42, 43,
    44, 45, 46, 47, 48, 49,
)
# fmt: on

PRIME_DUEL_PRODUCT = [  # the prime chosen, the scores of players 1 and 2 afterwards
    (5, (5, 1)),
    (7, (5, 7)),
    (13, (65, 7)),
    (11, (65, 77)),
    (2, (130, 77)),
    (2, (130, 154)),
    (7, (910, 154)),
    (5, (910, 770)),
]

PRIME_DUEL_SUM = [  # the number chosen, the scores of players 1 and 2 and the numbers left afterwards
    (7, (7, 0), (2, 3, 4, 5, 6, 8, 9, 10)),
    (9, (7, 9), (2, 3, 4, 5, 6, 8, 10)),
    (5, (12, 4), (2, 3, 4, 6, 8, 10)),
    (10, (12, 14), (2, 3, 4, 6, 8)),
    (3, (15, 11), (2, 4, 6, 8)),
]


def claims() -> Iterable[Claim]:
    """Yield every claim about numbers in the books' sample games, displays and examples."""
    for book, numbers in (
        ("prime-rumble", range(2, 51)),
        ("factor-chain-duel", range(2, 51)),
        ("divider-duel", range(2, 10)),
        ("prime-duel-product", (2, 3, 5, 7, 11, 13, 17, 19, 23, 29)),
        ("prime-duel-sum", range(2, 11)),
    ):
        yield Claim(book, "setup", (), "left", tuple(numbers))
    for book, turns in (("prime-rumble", PRIME_RUMBLE), ("divider-duel", DIVIDER_DUEL)):
        moves: Numbers = ()
        for turn, (number, removed, left) in enumerate(turns, start=1):
            moves += (number,)
            yield Claim(book, f"turn {turn}, removed", moves, "removed", removed)
            yield Claim(book, f"turn {turn}, left", moves, "left", left)
    book = "prime-rumble"
    yield Claim(book, "example of 3", (3,), "removed", tuple(range(3, 51, 3)))
    book = "factor-chain-duel"
    for turn, (choices, number) in enumerate(FACTOR_CHAIN, start=1):
        used = CHAIN_MOVES[: turn - 1]
        yield Claim(book, f"turn {turn}, choices", used, "choices", choices)
        used += (number,)
        yield Claim(book, f"turn {turn}, left", used, "left", tuple(n for n in range(2, 51) if n not in used))
    yield Claim(book, "example of 12", (12,), "choices", (2, 3, 4, 6, 24, 36, 48))
    yield Claim(book, "display after 24", CHAIN_MOVES, "left", DISPLAYED_AFTER_24)
    yield Claim(book, "display after 12", (*CHAIN_MOVES, 12), "left", DISPLAYED_AFTER_12)
    moves = ()
    for turn, (number, _, left) in enumerate(PRIME_DUEL_SUM, start=1):
        moves += (number,)
        yield Claim("prime-duel-sum", f"turn {turn}, left", moves, "left", left)


CLAIMS = {(claim.book, claim.place): claim for claim in claims()}


# The list is used up twice and then begun again, which brings player 1 to 47 and player 2 to 46.
# fmt: off
TOWARDS_50 = (
    2, 3, 4, 5, 6, 7, 8, 9, 10,
    2, 3, 4, 5, 6, 7, 8, 9, 10,
    9, 3, 5, 7, 10, 2,
)
# fmt: on


# Sample displays

PRIME_RUMBLE_SAMPLE = """
--- Prime Rumble Game Start ---
Initial Number Pool:
2, 3, 4, 5, ..., 50

Player 1's Turn:
Enter a number from the pool: 2

Numbers removed: 2, 4, 6, ..., 50
Updated Pool:
3, 5, 7, 9, ..., 49

Player 2's Turn:
Enter a number from the pool: 3

Numbers removed: 3, 9, 15, ..., 45
Updated Pool:
5, 7, 11, 13, ..., 49

...

Player 1's Turn:
Enter a number from the pool: 47

Numbers removed: 47
Updated Pool:
(empty)

Player 2's Turn:
No valid moves remaining. Player 1 wins!
"""


DIVIDER_DUEL_SAMPLES = [
    """
Shared List: [2, 3, 4, 5, 6, 7, 8, 9]

Player 1, it's your turn.
Enter the number you wish to remove: 5

You removed 5.
Numbers divisible by 5 have been removed.
Updated Shared List: [2, 3, 4, 6, 7, 8, 9]
""",
    """
Player 2, it's your turn.
Enter the number you wish to remove: 3

You removed 3.
Numbers divisible by 3 have been removed.
Updated Shared List: [2, 4, 7, 8]
""",
    """
Player 1, it's your turn.
Enter the number you wish to remove: 2

You removed 2.
Numbers divisible by 2 have been removed.
Updated Shared List: [7]

Player 2, it's your turn.
Enter the number you wish to remove: 7

You removed 7.
Numbers divisible by 7 have been removed.
Updated Shared List: []

Player 2 wins the game!
""",
]


FACTOR_CHAIN_SAMPLES = [
    """
Current Chain: 15 → 5 → 25 → 50 → 10 → 20 → 4 → 16 → 8 → 24
Last Number Played: 24
Available Numbers: {after_24}
""",
    """
Player 1, it's your turn.
Select a number that is a factor or multiple of 24: 12
""",
    """
Current Chain: 15 → 5 → 25 → 50 → 10 → 20 → 4 → 16 → 8 → 24 → 12
Last Number Played: 12
Available Numbers (after move): {after_12}
""",
]


PRIME_DUEL_PRODUCT_SAMPLES = [
    """
Player 1 Turn:
Current Scores - You: 1, Opponent: 1
Available Primes: 2, 3, 5, 7, 11, 13, 17, 19, 23, 29
Select a prime number to multiply your score: 5
Your new score is 5.
""",
    """
Player 2 Turn:
Current Scores - You: 1, Opponent: 5
Available Primes: 2, 3, 5, 7, 11, 13, 17, 19, 23, 29
Select a prime number to multiply your score: 7
Your new score is 7.
""",
]


TURN_SAMPLE = """
--------------------------------------------------
Player 1's Turn
Available Numbers: 2, 3, 4, 5, 6, 7, 8, 9, 10
Your Score: 0
Opponent's Score: 0
Select a number to add to your score:
> 7
You selected 7.
7 is a prime number!
Your score increases by 7 to 7.
Opponent's score decreases by 7 to 0.
--------------------------------------------------
"""

INVALID_SELECTION_SAMPLE = """
--------------------------------------------------
Player 2's Turn
Available Numbers: 2, 3, 4, 5, 6, 8, 9, 10
Your Score: 0
Opponent's Score: 7
Select a number to add to your score:
> 7
Error: Number 7 has already been selected. Please choose another number.
> 9
You selected 9.
9 is not a prime number.
Your score increases by 9 to 9.
Opponent's score remains at 7.
--------------------------------------------------
"""

OVER_50_SAMPLE = """
--------------------------------------------------
Player 1's Turn
Available Numbers: 4, 6, 8
Your Score: 47
Opponent's Score: 46
Select a number to add to your score:
> 4
Adding 4 would exceed 50. Your score remains at 47.
Number 4 is no longer available.
--------------------------------------------------
"""
