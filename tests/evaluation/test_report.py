"""The report as a page: what a screen reader says of it, whether it can be read, and what it shows of the duels."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from importlib import resources

import pytest

from numduel_env import evaluate
from numduel_env.evaluation.charts import Dot, Line, Text, heat_map, kept_chart, seat_chart
from numduel_env.evaluation.report import report_page, some
from numduel_env.evaluation.results import Results
from tests.support.agents import Cheat, Largest
from tests.support.colours import contrast

LONG = "somewhere.in.a.package.with.a.long.name:AgentOfMine"


@pytest.fixture(scope="module")
def results() -> Results:
    agents = {"random": "random", LONG: Largest, "solver": "solver", "cheat": Cheat}
    return evaluate("divider-duel", agents, duels=40, exploit=True)


class Page(HTMLParser):
    """The elements of a page: tags with their attributes, and which tags are inside which."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None], tuple[str, ...]]] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs), tuple(self.open)))
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def all(self, tag):
        return [attributes for one, attributes, _ in self.elements if one == tag]


def test_a_screen_reader_finds_its_way(results):
    page = Page(report_page(results))
    ids = [attributes["id"] for _, attributes, _ in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    charts = page.all("svg")
    assert len(charts) == 3
    for chart in charts:
        assert chart["role"] == "img" and chart["aria-label"] and chart["aria-describedby"] in ids
    for tag in ("title", "desc"):
        assert sum(inside[-1:] == ("svg",) for one, _, inside in page.elements if one == tag) == 3
    assert len(page.all("table")) == len(page.all("caption")) == 2
    assert {cell["scope"] for cell in page.all("th")} == {"col", "row"}
    for box in page.all("div"):
        if box.get("class") == "wide":
            assert box["role"] == "region" and box["aria-labelledby"] in ids and box["tabindex"] == "0"
    assert len(page.all("main")) == len(page.all("h1")) == 1
    assert page.all("html") == [{"lang": "en"}]


def test_the_charts_say_what_they_show(results):
    first, second = results.agents[0].seats
    assert f"random in the first seat: {100 * first.score:.1f}; " in seat_chart(results.agents).summary
    assert f"random in the second seat: {100 * second.score:.1f}; " in seat_chart(results.agents).summary
    assert f"solver against random: {100 * results.matrix[2][0]:.1f}; " in heat_map(results).summary
    kept = kept_chart(results.agents)
    assert kept is not None and "numbers left before the move" in kept.label
    assert "solver: 100.0 at 1, 100.0 at 2" in kept.summary and f"{LONG}: " in kept.summary


def test_everything_in_a_chart_is_within_it(results):
    for chart in (heat_map(results), seat_chart(results.agents), kept_chart(results.agents)):
        assert chart is not None
        for shape in chart.shapes:
            if isinstance(shape, Line):
                points = shape.points
            elif isinstance(shape, Text):
                # Seven units a letter, and half of them to the left of a middle.
                before = {"start": 0, "middle": 0.5, "end": 1}[shape.anchor] * 7 * len(shape.words)
                points = ((shape.x - before, shape.y), (shape.x - before + 7 * len(shape.words), shape.y))
            elif isinstance(shape, Dot):
                points = ((shape.x, shape.y),)
            else:
                points = ((shape.x, shape.y), (shape.x + shape.width, shape.y + shape.height))
            for x, y in points:
                assert 0 <= x <= chart.width and 0 <= y <= chart.height, shape


def test_a_phone_shows_the_page_at_its_own_width(results):
    page = Page(report_page(results))
    viewport = {"name": "viewport", "content": "width=device-width, initial-scale=1"}
    assert viewport in page.all("meta")
    # Whatever may be wide is in a box that scrolls.
    scrolling = [("div" in inside) for tag, _, inside in page.elements if tag in ("table", "svg")]
    assert all(scrolling) and len([box for box in page.all("div") if box.get("class") == "wide"]) == 5


def colours() -> list[dict[str, str]]:
    """Return the colours of the style sheet by name: the light scheme's, and the dark one's."""
    text = resources.files("numduel_env.evaluation").joinpath("report.html").read_text()
    light, dark = re.findall(r":root \{(.*?)\}", text, re.DOTALL)
    return [dict(re.findall(r"--([\w-]+): (#\w+);", scheme)) for scheme in (light, dark)]


@pytest.mark.parametrize("scheme", colours(), ids=["light", "dark"])
def test_words_can_be_read_in_both_schemes(scheme):
    grounds = {
        "ink": ("paper", "card", "empty", "win", "loss", "shade"),
        "quiet": ("paper", "card", "shade"),
        "good-ink": ("good",),
        "bad-ink": ("bad",),
        "none-ink": ("none",),
    }
    for ink, behind in grounds.items():
        for ground in behind:
            assert contrast(scheme[ink], scheme[ground]) >= 4.5, (ink, ground)
    for line in range(8):
        assert contrast(scheme[f"s{line}"], scheme["paper"]) >= 3, line


def test_sample_duels_show_what_each_move_took(results):
    page = report_page(results)
    for sample in results.samples:
        for move in sample.moves:
            name = sample.seats[move.seat]
            if move.number is None:
                assert f"{name} makes no legal move: {move.verdict}" in page
            else:
                assert move.number in move.taken
                taken = ", ".join(map(str, move.taken))
                assert f'<span class="move {move.verdict}">{move.number}</span> {name} takes {taken}: ' in page


def test_where_nothing_leaves_the_game_nothing_is_taken():
    results = evaluate("prime-duel-product", ["random", "solver"], duels=4, openings=0)
    assert not any(move.taken for move in results.samples[0].moves)
    page = report_page(results)
    assert " takes " not in page and re.search(r"</span> (solver|random) plays \d+: (kept|blunder|lost)", page)
    assert "<h1>Prime Duel (multiply to 1,000)</h1>" in page


def test_long_lists_are_cut():
    assert some(range(2, 6)) == "2, 3, 4, 5"
    assert some(range(2, 27)) == "2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13 and 13 more"
