"""One recorded game of each kind, to be read by people and compared letter by letter.

``NUMDUEL_WRITE_GOLDEN=1 python -m pytest tests/games/test_golden.py`` writes the records anew; the difference then
shows what a change of the rules, the observations or the wording has done.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from numduel_env import GAMES, env, random_legal
from numduel_env.envs.aec import SEATS, NumduelAECEnv
from tests.support import ROOT

GOLDEN = ROOT / "tests" / "golden"
LARGEST_RECORD = 15_000
GAME_NAMES = frozenset(GAMES)


class Record(NamedTuple):
    """A game played at random: the file's name, the game, its seed and its parameters."""

    name: str
    game: str
    seed: int
    params: dict[str, Any]

    @property
    def path(self) -> Path:
        return GOLDEN / f"{self.name}.txt"


RECORDS = [
    Record("prime-rumble", "prime-rumble", 1, {"highest": 20}),
    Record("factor-chain-duel", "factor-chain-duel", 6, {"highest": 20}),
    Record("divider-duel", "divider-duel", 1, {}),
    Record("prime-duel-product", "prime-duel-product", 1, {}),
    Record("prime-duel-sum", "prime-duel-sum", 1, {}),
    Record("prime-duel-sum-refill", "prime-duel-sum", 431, {"when_empty": "refill"}),
    Record("prime-duel-sum-truncated", "prime-duel-sum", 1, {"when_empty": "refill", "max_plies": 11}),
]


def digits(values: NDArray[Any]) -> str:
    """Return values rounded to four digits, whole ones without a point."""
    return " ".join(f"{value:.4f}".rstrip("0").rstrip(".") for value in values.ravel().tolist())


def indented(text: str) -> Iterator[str]:
    """Yield the lines of a display, set off from the record's own."""
    for line in text.splitlines():
        yield f"  | {line}".rstrip()


def observation_lines(environment: NumduelAECEnv, agent: str) -> Iterator[str]:
    """Yield what an agent observes, one line for each part of the layout."""
    observed = environment.observe(agent)
    start = 0
    for part, size in environment.observer.layout.items():
        yield f"{agent} observes {part}: {digits(observed['observation'][start : start + size])}"
        start += size
    yield f"{agent} mask: {digits(observed['action_mask'])}"


def record_lines(record: Record) -> Iterator[str]:
    """Play the game and yield its record."""
    environment = env(record.game, render_mode="ansi", **record.params)
    numbers = environment.rules.numbers
    generator = np.random.default_rng(record.seed)
    environment.reset()
    params = {**environment.game.params, **record.params}
    yield f"game: {record.game}"
    yield f"parameters: {', '.join(f'{name}={value}' for name, value in params.items())}"
    yield f"seed: {record.seed}"
    yield f"numbers: {digits(numbers)}"
    yield f"observation: {environment.observer.layout}"
    for ply in range(environment.rules.max_plies + 1):
        duel = environment.duel
        assert duel is not None
        yield ""
        yield f"# State {ply}"
        yield from indented(environment.render())
        for field, value in duel.position._asdict().items():
            yield f"position {field}: {digits(np.asarray(value).astype(np.int64))}"
        agent = environment.agent_selection
        yield from observation_lines(environment, agent)
        yield f"rewards: {digits(np.array([environment.rewards[seat] for seat in SEATS]))}"
        if duel.finished:
            break
        mask = environment.infos[agent]["action_mask"]
        action = int(random_legal(mask, generator))
        yield f"legal: {digits(numbers[mask.astype(bool)])}"
        yield f"{agent} plays action {action}: {numbers[action]}"
        environment.step(action)
    yield from observation_lines(environment, SEATS[SEATS.index(agent) - 1])
    yield f"terminated: {environment.terminations}"
    yield f"truncated: {environment.truncations}"


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.name)
def test_game_is_as_recorded(record: Record) -> None:
    text = "\n".join(record_lines(record)) + "\n"
    if os.environ.get("NUMDUEL_WRITE_GOLDEN") == "1":
        record.path.write_text(text, encoding="utf-8", newline="\n")
    assert len(text.encode()) <= LARGEST_RECORD
    assert text == record.path.read_text(encoding="utf-8")


def test_every_game_has_a_record_and_every_record_a_test() -> None:
    assert {record.game for record in RECORDS} == GAME_NAMES
    assert {path.stem for path in GOLDEN.iterdir()} == {record.name for record in RECORDS}
