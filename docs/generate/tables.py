"""Tables in Markdown, and that of all games."""

from __future__ import annotations

import inspect

from numduel_env import GAMES, GameSpec

Row = list[str]


def table(head: Row, rows: list[Row]) -> str:
    """Return a table in Markdown."""
    return "".join(f"| {' | '.join(row)} |\n" for row in [head, ["---"] * len(head), *rows])


def games_table() -> str:
    """Return the table of games."""
    return table(
        ["game", "in a sentence", "Gymnasium id", "parameters"],
        [
            [f"[`{spec.name}`](docs/games/{spec.name}.md)", summary(spec), f"`{spec.gymnasium_id}`", parameters(spec)]
            for spec in GAMES.values()
        ],
    )


def summary(spec: GameSpec) -> str:
    """Return the game in a sentence."""
    return (inspect.getdoc(spec.rules) or "").partition("\n")[0]


def parameters(spec: GameSpec) -> str:
    """Return the parameters with their defaults."""
    return ", ".join(f"`{name}={value!r}`" for name, value in spec.params.items())
