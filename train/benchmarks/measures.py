"""What the benchmark prints: rates as multiples of a yardstick that is timed in the same run, and single measures."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

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
                bar = f"{row.bar:,.0f}x" if row.bar else ""
                lines.append(f"| {row.what} | {row.plies_per_second:,.0f} | {row.ratio:,.1f}x | {bar} |")
            tables.append("\n".join(lines))
        if self.measures:
            lines = ["| what | measured | bar |", "|---|---:|---:|"]
            for measure in self.measures:
                digits = 3 if measure.measured < 10 else 0
                lines.append(f"| {measure.what} | {measure.measured:,.{digits}f} {measure.unit} | {measure.bar} |")
            tables.append("\n".join(lines))
        return "\n\n".join(tables)


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
    """Time a loop."""
    start = time.perf_counter()
    plies = loop(seconds)
    return plies / (time.perf_counter() - start)


def seconds_of(call: Callable[[], Any], repeats: int = 3) -> float:
    """Return the time of the fastest of some calls."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)
