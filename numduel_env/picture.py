"""Pictures of a duel, drawn as number tiles. Needs Pillow, the ``pictures`` extra."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from numduel_env.games import GameSpec
from numduel_env.text import player

if TYPE_CHECKING:
    from PIL import ImageDraw

    from numduel_env.duel import Duel

TILE, GAP, MARGIN = 56, 8, 24
HEADING, LINE = 52, 34
MOST_COLUMNS = 10

PAPER = "#fbfaf7"
INK = "#22303c"
FAINT = "#8a949e"
# A tile's fill and text colour by the state of its number; the legend under the tiles names the states.
LOOKS = {
    "legal now": ("#2f6f9f", "#ffffff"),
    "available": ("#cfe0ec", "#22303c"),
    "just taken": ("#e08a3c", "#ffffff"),
    "gone": ("#efece5", "#c4bfb3"),
}


def looks(duel: Duel[Any]) -> list[str]:
    """Return the state of each number, a key of ``LOOKS``."""
    available = duel.rules.available(duel.position)
    taken = np.zeros_like(available)
    if duel.actions:
        taken = duel.rules.removed(duel.before().position, duel.actions[-1])
        # The move itself is marked even in a game where a chosen number stays available.
        taken[duel.actions[-1]] = True
    kinds = np.select([taken, duel.legal, available], ["just taken", "legal now", "available"], "gone")
    names: list[str] = kinds.tolist()
    return names


def draw(game: GameSpec, duel: Duel[Any]) -> NDArray[np.uint8]:
    """Return a picture of the duel, height x width x 3."""
    try:
        from PIL import Image, ImageDraw, ImageFont
    except ImportError as missing:
        raise ImportError("rgb_array pictures need Pillow: pip install 'numduel-env[pictures]'") from missing

    numbers = duel.rules.numbers.tolist()
    # A range is laid out by decades: every number stands below the one that is ten less.
    first = numbers[0] % MOST_COLUMNS if len(numbers) > MOST_COLUMNS and is_range(numbers) else 0
    columns = min(MOST_COLUMNS, len(numbers))
    rows = math.ceil((first + len(numbers)) / columns)
    width = 2 * MARGIN + max(columns, 8) * (TILE + GAP) - GAP
    tiles_bottom = MARGIN + HEADING + rows * (TILE + GAP)
    height = tiles_bottom + 3 * LINE + MARGIN

    image = Image.new("RGB", (width, height), PAPER)
    pen = ImageDraw.Draw(image)
    heading, plain, digits = (ImageFont.load_default(size) for size in (26, 17, 22))
    pen.text((MARGIN, MARGIN), game.title, fill=INK, font=heading)
    pen.text((width - MARGIN, MARGIN + 8), _turn(duel), fill=INK, font=plain, anchor="ra")
    for index, (number, look) in enumerate(zip(numbers, looks(duel))):
        row, column = divmod(first + index, columns)
        left, top = MARGIN + column * (TILE + GAP), MARGIN + HEADING + row * (TILE + GAP)
        fill, ink = LOOKS[look]
        pen.rounded_rectangle((left, top, left + TILE, top + TILE), radius=8, fill=fill)
        pen.text((left + TILE / 2, top + TILE / 2), str(number), fill=ink, font=digits, anchor="mm")
    caption = game.wording.caption(duel)
    pen.text((MARGIN, tiles_bottom + LINE / 2), caption, fill=INK, font=plain)
    _draw_legend(pen, MARGIN, tiles_bottom + 2 * LINE, plain)
    return np.array(image)


def is_range(numbers: list[int]) -> bool:
    """Return whether the numbers are consecutive."""
    return numbers == list(range(numbers[0], numbers[-1] + 1))


def _turn(duel: Duel[Any]) -> str:
    if not duel.finished:
        return f"{player(duel.seat)} to move"
    return "Draw" if duel.winner is None else f"{player(duel.winner)} wins"


def _draw_legend(pen: ImageDraw.ImageDraw, left: float, top: float, font: object) -> None:
    for look, (fill, _) in LOOKS.items():
        pen.rounded_rectangle((left, top + 2, left + 18, top + 20), radius=4, fill=fill)
        pen.text((left + 26, top), look, fill=FAINT, font=font)  # type: ignore[arg-type]
        left += 26 + pen.textlength(look, font=font) + 26  # type: ignore[arg-type]
