"""A learning curve as a picture."""

from __future__ import annotations

import io
from collections.abc import Sequence

from agents.cards import CurvePoint


def draw_curve(curve: Sequence[CurvePoint], title: str) -> bytes:
    """Return a PNG of what the learner kept, and scored against random, over the plies it learned from."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot()
    plies = [point.plies for point in curve]
    heights: dict[str, list[float | None]] = {
        "kept on random positions": [point.kept for point in curve],
        "score against random": [point.against_random for point in curve],
    }
    for label, shares in heights.items():
        known = [share for share in shares if share is not None]
        if len(known) == len(plies):
            axes.plot(plies, known, label=label, marker="." if len(plies) < 50 else "")
    axes.set(title=title, xlabel="plies learned from", ylabel="share", ylim=(0, 1.02), xlim=(0, None))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right")
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=120)
    return picture.getvalue()
