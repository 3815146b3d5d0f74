"""A learning curve as a picture."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any


def draw_curve(curve: Sequence[dict[str, Any]], title: str) -> bytes:
    """Return a PNG of what the learner kept, and scored against random, over the plies it learned from."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot()
    plies = [point["plies"] for point in curve]
    for name, label in (("kept", "kept on random positions"), ("random", "score against random")):
        heights = [point[name] for point in curve]
        if None not in heights:
            axes.plot(plies, heights, label=label, marker="." if len(plies) < 50 else "")
    axes.set(title=title, xlabel="plies learned from", ylabel="share", ylim=(0, 1.02), xlim=(0, None))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right")
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=120)
    return picture.getvalue()
