"""Which games, at which sizes, the tests play."""

from __future__ import annotations

from typing import Any

import pytest

from numduel_env import GAMES

UNUSUAL: list[tuple[str, dict[str, Any]]] = [
    ("prime-rumble", {"highest": 12}),
    ("prime-rumble", {"lowest": 3, "highest": 80}),
    ("factor-chain-duel", {"lowest": 3, "highest": 21}),
    ("factor-chain-duel", {"highest": 70}),
    ("divider-duel", {"highest": 20}),
    ("prime-duel-product", {"target": 60, "primes_below": 12}),
    ("prime-duel-product", {"target": 10**6, "primes_below": 100}),
    ("prime-duel-sum", {"when_empty": "draw"}),
    ("prime-duel-sum", {"when_empty": "refill"}),
    ("prime-duel-sum", {"when_empty": "refill", "max_plies": 7}),
    ("prime-duel-sum", {"lowest": 3, "highest": 14, "target": 21}),
]

BY_THE_BOOK: list[tuple[str, dict[str, Any]]] = [(name, {}) for name in GAMES]


def name_of(variant: tuple[str, dict[str, Any]]) -> str:
    name, params = variant
    return " ".join([name, *(f"{key}={value}" for key, value in params.items())])


def each(variants: list[tuple[str, dict[str, Any]]]) -> Any:
    """Run a test for every variant, as its arguments ``game`` and ``params``."""
    return pytest.mark.parametrize(("game", "params"), variants, ids=[name_of(variant) for variant in variants])


each_game = each(BY_THE_BOOK)
# Every prime is legal on every turn of Prime Duel (multiply).
each_game_with_illegal_moves = each([variant for variant in BY_THE_BOOK if variant[0] != "prime-duel-product"])
each_variant = each(BY_THE_BOOK + UNUSUAL)
