"""Results as one HTML page that stands alone: nothing in it is fetched from anywhere."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from numduel_env.evaluation.charts import heat_map, kept_chart, percent, seat_chart
from numduel_env.evaluation.results import Results
from numduel_env.evaluation.tables import settings_line
from numduel_env.outside import spelled_out
from numduel_env.text import listed

LONGEST_TEXT = 10_000
"""No text on the page is longer, in characters."""


def report_page(results: Results) -> str:
    """Return the page; whatever stands in the results is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("numduel_env.evaluation", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"percent": percent, "some": some, "readable": readable, "settings": settings_line}
    return environment.get_template("report.html").render(
        results=results,
        heat_map=heat_map(results),
        seat_chart=seat_chart(results.agents),
        kept_chart=kept_chart(results.agents),
        command=spelled_out(shlex.join(results.command)),
    )


def readable(text: str) -> str:
    """Return what somebody wrote as it may stand on a page: nothing invisible, and not without end."""
    more = len(text) - LONGEST_TEXT
    return spelled_out(text[:LONGEST_TEXT]) + (f"\n(and {more:,} more characters)" if more > 0 else "")


def some(numbers: Sequence[int], most: int = 12) -> str:
    """Return the first ``most`` numbers, separated by commas, and how many more there are."""
    more = len(numbers) - most
    return listed(numbers[:most]) + (f" and {more} more" if more > 0 else "")
