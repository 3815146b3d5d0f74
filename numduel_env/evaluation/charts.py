"""The charts of the report as lists of shapes; the page's template draws them, its style sheet colours them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from numduel_env.evaluation.results import AgentResult, KeptAt, Results

SERIES = 8
"""The style sheet has this many colours for lines."""

MOST_BINS = 16
"""More places than this are put together, so that each has moves enough to mean something."""


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
    """A drawing with a description for those who cannot see it."""

    label: str
    width: float
    height: float
    shapes: tuple[Shape, ...]


def heat_map(results: Results) -> Chart:
    """Return the scores of the rows against the columns, wins and losses in two colours."""
    names = [agent.name for agent in results.agents]
    size, high, margin = min(110, 700 // len(names)), 46, _label_width(names)
    shapes: list[Shape] = []
    for row, (name, scores) in enumerate(zip(names, results.matrix)):
        top = 26 + row * high
        shapes.append(Text(margin - 10, top + high / 2 + 5, name, "end"))
        for column, score in enumerate(scores):
            left = margin + column * size
            style = "none" if score is None else "win" if score > 0.5 else "loss"
            strength = 0.0 if score is None else abs(2 * score - 1)
            shapes.append(Tile(left, top, size - 3, high - 3, style, strength))
            if score is not None:
                ink = "bright" if strength > 0.8 else ""
                shapes.append(Text(left + size / 2 - 1, top + high / 2 + 4, percent(score), "middle", ink))
    for column, name in enumerate(names):
        shapes.append(Text(margin + column * size + size / 2, 16, _shortened(name, size // 8), "middle"))
    label = "Score of the row against the column, in percent"
    return Chart(label, margin + size * len(names), 30 + high * len(names), tuple(shapes))


def seat_chart(agents: Sequence[AgentResult]) -> Chart:
    """Return each agent's score from either seat, with its interval."""
    margin, width, high = _label_width([agent.name for agent in agents]) + 60, 560, 52
    bottom = high * len(agents) + 6
    shapes: list[Shape] = []
    for share in range(0, 101, 25):
        x = margin + width * share / 100
        shapes.append(Line(((x, 0), (x, bottom)), "axis" if share == 50 else "grid"))
        shapes.append(Text(x, bottom + 16, f"{share}%", "middle", "quiet"))
    for row, agent in enumerate(agents):
        shapes.append(Text(0, row * high + 32, agent.name))
        for place, (word, seat) in enumerate(zip(("first", "second"), agent.seats)):
            y = row * high + 16 + 20 * place
            low, top, middle = (margin + width * share for share in (*seat.interval, seat.score))
            shapes += [
                Text(margin - 12, y + 4, word, "end", "quiet"),
                Line(((low, y), (top, y)), f"interval series{place}"),
                Dot(middle, y, f"series{place}"),
                Text(margin + width + 16, y + 4, percent(seat.score), "start", "quiet"),
            ]
    label = "Score by seat in percent, with 95% intervals"
    return Chart(label, margin + width + 60, bottom + 24, tuple(shapes))


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
    left, width, height = 48, 640, 260

    def across(number: int) -> float:
        return left + width * bins.share(number)

    shapes: list[Shape] = []
    for share in range(0, 101, 25):
        y = 10 + height * (1 - share / 100)
        shapes += [Line(((left, y), (left + width, y)), "grid"), Text(left - 10, y + 4, f"{share}%", "end", "quiet")]
    for number in range(bins.count):
        shapes.append(Text(across(number), height + 28, bins.label(number), "middle", "quiet"))
    shapes.append(Text(left + width / 2, height + 48, axis, "middle", "quiet"))
    for row, (agent, course) in enumerate(zip(agents, courses)):
        style, y = f"series{row % SERIES} dash{row % 3}", 22 + 22 * row
        points = tuple((across(number), 10 + height * (1 - share)) for number, share in bins.shares(course))
        shapes += [Line(points, style), *(Dot(*point, f"series{row % SERIES}") for point in points)]
        shapes.append(Line(((left + width + 24, y - 4), (left + width + 54, y - 4)), style))
        shapes.append(Text(left + width + 62, y, _shortened(agent.name, 24)))
    label = f"Share of moves kept, in percent, by {axis}"
    return Chart(label, left + width + 240, max(height + 58, 30 + 22 * len(agents)), tuple(shapes))


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


def _label_width(names: Iterable[str]) -> int:
    return 20 + 8 * max(len(name) for name in names)


def _shortened(name: str, most: int) -> str:
    """Return a name cut in front: the end of ``module:attribute`` distinguishes agents."""
    return name if len(name) <= most else "…" + name[len(name) - most + 1 :]
