"""Results as one HTML page that stands alone: nothing in it is fetched from anywhere."""

from __future__ import annotations

import shlex

from numduel_env.evaluation.charts import heat_map, kept_chart, percent, seat_chart
from numduel_env.evaluation.results import Results


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
    environment.filters["percent"] = percent
    return environment.get_template("report.html").render(
        results=results,
        heat_map=heat_map(results),
        seat_chart=seat_chart(results.agents),
        kept_chart=kept_chart(results.agents),
        command=shlex.join(results.command),
    )
