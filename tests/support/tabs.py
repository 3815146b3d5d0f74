"""Many tabs of a board at the same time, each with a game of its own.

    python agents/board.py --game prime-rumble --second random --no-open
    python -m tests.support.tabs http://127.0.0.1:8000

plays 50 games there at once and prints how long the board took to answer.
"""

from __future__ import annotations

import asyncio
import random
import re
import sys
import time
from typing import NamedTuple

import httpx

GAMES_AT_ONCE = 50


class Played(NamedTuple):
    """The numbers of a game, and how many seconds each answer took, the person's moves first and then the agent's."""

    moves: list[int]
    seconds: dict[str, list[float]]


async def play(client: httpx.AsyncClient, seed: int) -> Played:
    """Play a game in which a person chooses at random."""
    draw, state, seconds = random.Random(seed), {}, {"choose": [], "answer": []}
    action, entry = "show", ""
    while True:
        start = time.perf_counter()
        answer = await client.post("/turn", json={"action": action, "state": state, "entry": entry})
        seconds.setdefault(action, []).append(time.perf_counter() - start)
        assert answer.status_code == 200, answer.text
        shown = answer.json()
        before, after = state.get("moves", []), shown["state"]["moves"]
        # Nobody else's move is in this game.
        assert after[: len(before)] == before and len(after) == len(before) + (action != "show")
        state = shown["state"]
        legal = re.findall(r'data-number="(\d+)"[^>]*aria-disabled="false"', shown["html"])
        if not legal and not shown["thinking"]:
            return Played(after, seconds)
        action, entry = ("answer", "") if shown["thinking"] else ("choose", draw.choice(legal))


async def play_many(client: httpx.AsyncClient, games: int = GAMES_AT_ONCE) -> list[Played]:
    """Play games at the same time."""
    return await asyncio.gather(*(play(client, seed) for seed in range(games)))


async def main(address: str) -> None:
    limits = httpx.Limits(max_connections=GAMES_AT_ONCE)
    async with httpx.AsyncClient(base_url=address, timeout=120, limits=limits) as client:
        for games in (1, 1, GAMES_AT_ONCE, GAMES_AT_ONCE):
            start = time.perf_counter()
            played = await play_many(client, games)
            total = time.perf_counter() - start
            for action in ("choose", "answer"):
                taken = sorted(one for game in played for one in game.seconds[action])
                middle, late, last = (1000 * taken[int(share * (len(taken) - 1))] for share in (0.5, 0.99, 1))
                print(f"{games:>3} games, {action}: median {middle:.0f} ms, 99% {late:.0f} ms, longest {last:.0f} ms")
            plies = sum(len(game.moves) for game in played)
            print(f"{games:>3} games: {plies} plies in {total:.1f} s, {1000 * total / plies:.1f} ms a ply")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
