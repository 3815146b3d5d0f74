"""What stands at every index of an observation, as a section of a game's page."""

from __future__ import annotations

from typing import Any

import numpy as np

from numduel_env import GameSpec, env
from numduel_env.games.factor_chain import FactorChain
from numduel_env.games.prime_duel_product import PrimeDuelProduct
from numduel_env.games.prime_duel_sum import PrimeDuelSum
from numduel_env.games.sieve import Sieve
from numduel_env.rules import Rules
from numduel_env.text import in_short, is_range
from tables import table

FEATURES = {
    "pool": "1 while {number} is still in the game, else 0",
    "followers": "1 while {number} may be chosen now, else 0",
    "mine": "the observer's own score, ",
    "theirs": "the other player's score, ",
}
"""What each part of an observation holds."""

SCALES = {
    PrimeDuelProduct: "as the fourth root of its share of the target times the largest prime",
    PrimeDuelSum: "as a share of the target",
}
"""How a score is scaled into [0, 1]."""

OUTLOOKS = {
    Sieve: (
        "1 if the pool is empty",
        *(
            f"parity of the count of {what}"
            for what in (
                "numbers left",
                "lone numbers (related to no other)",
                "pairs (related to each other alone)",
                "groups of three in which one number divides the two others",
                "groups of three in which one number is divided by the two others",
                "chains of three factors",
            )
        ),
    ),
    FactorChain: ("1 if the opponent has no reply", "the share of the numbers that are replies"),
    PrimeDuelProduct: (
        "1 if the score just made is the target",
        "1 if it is above the target",
        "1 if it divides the target",
        "its size, scaled as `mine`",
        "how often it can still be doubled, as a share of the most",
        "how often the opponent's score can still be doubled, likewise",
    ),
    PrimeDuelSum: (
        "the opponent's score as a share of the target",
        "the score just made, likewise",
        "1 if it is the target",
        "1 if the list is empty",
        "1 for each number that would bring the opponent to the target",
        "1 for each number that would bring the player who has just moved to the target",
    ),
}
"""What the lookahead says of the position that each move leads to."""


def observation_section(spec: GameSpec) -> str:
    """Return the spaces, and what stands at every index of an observation."""
    plain, ahead = env(spec), env(spec, lookahead=True)
    seat = plain.possible_agents[0]
    numbers = plain.rules.numbers.tolist()
    box, wide = (one.observation_space(seat)["observation"] for one in (plain, ahead))
    rows, at = [], 0
    for part, size in plain.observer.layout.items():
        rows.append([places(at, size), f"`{part}`", meaning(plain.rules, part, numbers, at)])
        at += size
    return "\n\n".join(
        [
            f"Actions: `{plain.action_space(seat)}`. Action `a` chooses `numbers[a]`, of {in_short(numbers)}.",
            f"Observation: `{box}`, from the side of the observer:",
            table(["index", "part", "what it holds"], rows).strip(),
            f"With `lookahead=True`: `{wide}`. {lookahead(plain.rules, at)}",
        ]
    )


def places(first: int, size: int) -> str:
    """Return a range of indices."""
    return str(first) if size == 1 else f"{first} to {first + size - 1}"


def meaning(rules: Rules[Any], part: str, numbers: list[int], at: int) -> str:
    """Return what a part of an observation holds."""
    text = FEATURES[part]
    if "{number}" not in text:
        return text + SCALES[type(rules)]
    assert is_range(numbers), "the index of a number can be given in one row only if the numbers are consecutive"
    step = numbers[0] - at
    number = f"the number *index* {'+' if step >= 0 else '-'} {abs(step)}"
    return text.format(number=number)


def lookahead(rules: Rules[Any], first: int) -> str:
    """Return what stands behind the features with ``lookahead``."""
    parts, numbers = OUTLOOKS[type(rules)], len(rules.numbers)
    total = int(np.shape(rules.outlook(rules.initial()))[-1])
    per_number = sum("each number" in part for part in parts)
    assert len(parts) - per_number + per_number * numbers == total, f"OUTLOOKS has {len(parts)} parts of {total}"
    rows, at = [], 0
    for part in parts:
        size = numbers if "each number" in part else 1
        rows.append([places(at, size), part])
        at += size
    return (
        f"From index {first} on there are {total} values for each action, those of action `a` from "
        f"{first} + {total}`a` on. They describe the position that it leads to, and are zero where it is illegal:\n\n"
        + table(["offset", "what it holds"], rows)
    )
