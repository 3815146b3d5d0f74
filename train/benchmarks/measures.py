"""What the benchmark prints: rates as multiples of a yardstick that is timed in the same run, and single measures."""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

Plies = Callable[[float], int]
"""Plays for about this many seconds and returns the number of plies."""


@dataclass(frozen=True)
class Row:
    """Plies per second, and how many times the yardstick's that is: the medians of several pairs of timings."""

    what: str
    plies_per_second: float
    ratio: float
    bar: float | None


@dataclass(frozen=True)
class Measure:
    """A number, its unit, and what it has to be."""

    what: str
    measured: float
    unit: str
    bar: str


HOW = """The environments play random legal moves to the end and start again; "vector" counts the plies of both seats on
4,096 boards, observations, masks, rewards and resets included; "gymnasium.make" counts those of both seats, too. For a
search a ply is one simulation. The yardstick, 1x, is PettingZoo's `tictactoe_v3.env()`, timed again beside every
measurement; where we call `action_space.sample`, and beside `gymnasium.make`, it does so too, as its documentation
shows. Everything runs on one core, and rates are by seconds of its time."""


def machine() -> str:
    """Return where and when something was measured."""
    today = datetime.now(UTC).date()
    versions = f"Python {platform.python_version()}, NumPy {np.__version__}"
    return f"on {today}, {platform.system()} {platform.machine()}, {os.cpu_count()} cores, {versions}"


@dataclass(frozen=True)
class Figures:
    """All that one run of the benchmark has measured."""

    command: list[str]
    rows: list[Row]
    measures: list[Measure]

    def __str__(self) -> str:
        tables = []
        if self.rows:
            lines = ["| what | plies/s | times tictactoe_v3 | bar |", "|---|---:|---:|---:|"]
            for row in self.rows:
                bar = f"{row.bar:,g}x" if row.bar else ""
                lines.append(f"| {row.what} | {row.plies_per_second:,.0f} | {row.ratio:,.2f}x | {bar} |")
            tables.append("\n".join(lines))
        if self.measures:
            lines = ["| what | measured | bar |", "|---|---:|---:|"]
            for measure in self.measures:
                digits = 3 if measure.measured < 10 else 0
                lines.append(f"| {measure.what} | {measure.measured:,.{digits}f} {measure.unit} | {measure.bar} |")
            tables.append("\n".join(lines))
        return "\n\n".join(tables)

    def page(self) -> str:
        """Return a page of the documentation: how it was measured, where and when, and the tables."""
        command = " ".join(["python", *self.command])
        return f"# Benchmarks\n\n{HOW}\n\nBy `{command}` {machine()}.\n\n{self}\n"


def compare(what: str, loop: Plies, yardstick: Plies, bar: float | None, seconds: float, repeats: int = 5) -> Row:
    """Time a loop and the yardstick in turns, since machines are noisy."""
    rates, ratios = [], []
    loop(seconds / 4)
    for _ in range(repeats):
        rate, base = (plies_per_second(plays, seconds) for plays in (loop, yardstick))
        rates.append(rate)
        ratios.append(rate / base)
    return Row(what, statistics.median(rates), statistics.median(ratios), bar)


def plies_per_second(loop: Plies, seconds: float) -> float:
    """Time a loop by its processor, which it may have to share."""
    start = time.process_time()
    plies = loop(seconds)
    return plies / (time.process_time() - start)


def seconds_of(call: Callable[[], Any], repeats: int = 3) -> float:
    """Return the time of the fastest of some calls."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)
