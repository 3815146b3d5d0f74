"""The charts of the report as lists of shapes; the page's template draws them, its style sheet colours them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from numduel_env.evaluation.results import AgentResult, KeptAt, Results

SERIES = 8
"""The style sheet has this many colours for lines."""

MOST_BINS = 16
"""More places than this are put together, so that each has moves enough to mean something."""

WIDTH = 440
"""A chart is as wide as that, unless it has many columns: two stand side by side, and one can be read on a phone."""

LETTER = 8
"""About how wide a letter is; names longer than ``LONGEST_NAME`` are cut in front."""
LONGEST_NAME = 20


@dataclass(frozen=True)
class Text:
    """Words at a point; ``anchor`` is start, middle or end."""

    x: float
    y: float
    words: str
    anchor: str = "start"
    style: str = ""
    shape: str = "text"


@dataclass(frozen=True)
class Line:
    """A line through points."""

    points: tuple[tuple[float, float], ...]
    style: str
    shape: str = "line"


@dataclass(frozen=True)
class Dot:
    """A filled circle."""

    x: float
    y: float
    style: str
    shape: str = "dot"


@dataclass(frozen=True)
class Tile:
    """A filled rectangle; ``strength`` from 0 to 1 says how much of its colour it shows."""

    x: float
    y: float
    width: float
    height: float
    style: str
    strength: float
    shape: str = "tile"


Shape = Text | Line | Dot | Tile


@dataclass(frozen=True)
class Chart:
    """A drawing; ``label`` says what it shows, ``summary`` says the same as the drawing to those who cannot see it."""

    label: str
    summary: str
    width: float
    height: float
    shapes: tuple[Shape, ...]


def heat_map(results: Results) -> Chart:
    """Return the scores of the rows against the columns, wins and losses in two colours."""
    names = [agent.name for agent in results.agents]
    margin, top, high = 20 + LETTER * min(LONGEST_NAME, max(map(len, names))), 48, 46
    size = min(110, max(56, (WIDTH - margin) // len(names)))
    shapes: list[Shape] = [Text(margin + size * len(names) / 2, 14, "against", "middle", "quiet")]
    said = []
    for column, name in enumerate(names):
        shapes.append(Text(margin + (column + 0.5) * size, 38, _shortened(name, size // LETTER), "middle"))
    for row, (name, scores) in enumerate(zip(names, results.matrix)):
        y = top + row * high
        shapes.append(Text(margin - 10, y + high / 2 + 5, _shortened(name), "end"))
        for column, score in enumerate(scores):
            x = margin + column * size
            style = "none" if score is None else "win" if score > 0.5 else "loss"
            strength = 0.0 if score is None else abs(2 * score - 1)
            shapes.append(Tile(x, y, size - 3, high - 3, style, strength))
            if score is not None:
                shapes.append(Text(x + size / 2 - 1, y + high / 2 + 4, percent(score), "middle"))
                said.append(f"{name} against {names[column]}: {percent(score)}")
    label = "Score of the row against the column, in percent"
    return Chart(label, f"{'; '.join(said)}.", margin + size * len(names), top + high * len(names), tuple(shapes))


def seat_chart(agents: Sequence[AgentResult]) -> Chart:
    """Return each agent's score from either seat, with its interval."""
    left, plot, high = 58, WIDTH - 58 - 50, 72
    bottom = high * len(agents) + 4
    shapes: list[Shape] = []
    for share in range(0, 101, 25):
        x = left + plot * share / 100
        shapes.append(Line(((x, 0), (x, bottom)), "axis" if share == 50 else "grid"))
        shapes.append(Text(x, bottom + 18, f"{share}%", "middle", "quiet"))
    said = []
    for row, agent in enumerate(agents):
        shapes.append(Text(0, row * high + 18, _shortened(agent.name, 50)))
        for place, (word, seat) in enumerate(zip(("first", "second"), agent.seats)):
            y = row * high + 34 + 20 * place
            low, high_end, score = (left + plot * share for share in (*seat.interval, seat.score))
            shapes += [
                Text(left - 12, y + 4, word, "end", "quiet"),
                Line(((low, y), (high_end, y)), f"interval series{place}"),
                Dot(score, y, f"series{place}"),
                Text(WIDTH, y + 4, percent(seat.score), "end", "quiet"),
            ]
            said.append(f"{agent.name} in the {word} seat: {percent(seat.score)}")
    shapes.append(Text(left + plot / 2, bottom + 40, "score, with its 95% interval", "middle", "quiet"))
    return Chart("Score by seat, in percent", f"{'; '.join(said)}.", WIDTH, bottom + 48, tuple(shapes))


def kept_chart(agents: Sequence[AgentResult]) -> Chart | None:
    """Return the share kept in the course of the duels, one line for each agent; None if no move was graded.

    The horizontal axis has the numbers left, or the plies played where no number ever leaves the game.
    """
    if not any(agent.kept_by_numbers_left for agent in agents):
        return None
    by_numbers = len({at.place for agent in agents for at in agent.kept_by_numbers_left}) > 1
    axis = "numbers left before the move" if by_numbers else "plies played before the move"
    courses = [agent.kept_by_numbers_left if by_numbers else agent.kept_by_ply for agent in agents]
    bins = Bins([at.place for course in courses for at in course], falling=by_numbers)
    left, top, plot, high = 50, 30, WIDTH - 50 - 24, 230

    def across(number: int) -> float:
        return left + plot * bins.share(number)

    shapes: list[Shape] = [Text(0, 14, "moves kept", "start", "quiet")]
    for share in range(0, 101, 25):
        y = top + high * (1 - share / 100)
        shapes += [Line(((left, y), (left + plot, y)), "grid"), Text(left - 10, y + 4, f"{share}%", "end", "quiet")]
    for number in range(0, bins.count, bins.label_every(plot)):
        shapes.append(Text(across(number), top + high + 20, bins.label(number), "middle", "quiet"))
    shapes.append(Text(left + plot / 2, top + high + 42, axis, "middle", "quiet"))
    said = []
    for row, (agent, course) in enumerate(zip(agents, courses)):
        style, y = f"series{row % SERIES} dash{row % 3}", top + high + 70 + 22 * row
        points = tuple((across(number), top + high * (1 - share)) for number, share in bins.shares(course))
        shapes += [Line(points, style), *(Dot(*point, f"series{row % SERIES}") for point in points)]
        shapes += [Line(((left, y - 4), (left + 34, y - 4)), style), Text(left + 44, y, _shortened(agent.name, 44))]
        shares = ", ".join(f"{percent(share)} at {bins.label(number)}" for number, share in bins.shares(course))
        said.append(f"{agent.name}: {shares or 'no move graded'}")
    label = f"Moves kept, in percent, by {axis}"
    return Chart(label, f"{'; '.join(said)}.", WIDTH, top + high + 58 + 22 * len(agents), tuple(shapes))


class Bins:
    """Neighbouring places put together into at most ``MOST_BINS``, drawn from high to low if ``falling``."""

    def __init__(self, places: Sequence[int], falling: bool) -> None:
        self.low, self.high, self.falling = min(places), max(places), falling
        self.step = -(-(self.high - self.low + 1) // MOST_BINS)
        self.count = (self.high - self.low) // self.step + 1

    def share(self, number: int) -> float:
        """Return how far to the right a bin is drawn, from 0 to 1."""
        share = number / max(self.count - 1, 1)
        return 1 - share if self.falling else share

    def label(self, number: int) -> str:
        """Return the places in a bin."""
        first = self.low + number * self.step
        last = min(first + self.step - 1, self.high)
        return str(first) if first == last else f"{first}–{last}"

    def label_every(self, width: float) -> int:
        """Return the step at which labels leave each other room in a chart of this width."""
        longest = max(len(self.label(number)) for number in range(self.count))
        return math.ceil((longest + 1) * LETTER * self.count / width)

    def shares(self, course: Iterable[KeptAt]) -> list[tuple[int, float]]:
        """Return the share kept in each bin that has any graded moves."""
        sums: dict[int, tuple[int, int]] = {}
        for at in course:
            number = (at.place - self.low) // self.step
            kept, graded = sums.get(number, (0, 0))
            sums[number] = kept + at.kept, graded + at.graded
        return [(number, kept / graded) for number, (kept, graded) in sorted(sums.items())]


def percent(share: float) -> str:
    """Return a share in percent, with one decimal."""
    return f"{100 * share:.1f}"


def _shortened(name: str, most: int = LONGEST_NAME) -> str:
    """Return a name cut in front: the end of ``module:attribute`` distinguishes agents."""
    return name if len(name) <= most else "…" + name[len(name) - most + 1 :]
