"""Pictures of a duel, drawn as number tiles. Needs Pillow, the ``pictures`` extra."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from numduel_env.batch import BoolArray
from numduel_env.duel import Duel
from numduel_env.games import GameSpec
from numduel_env.text import is_range, player

if TYPE_CHECKING:
    from PIL import ImageDraw

TILE, GAP, MARGIN = 56, 8, 24
HEADING, LINE = 52, 34
MOST_COLUMNS, LEAST_COLUMNS = 10, 8
BADGE = 9
"""The radius of the mark that says who took a number."""
FRAME = 4
"""How far from its tile a frame is."""

PAPER = "#fbfaf7"
INK = "#22303c"


class Look(NamedTuple):
    """A tile's colours, and the seat whose number it bears."""

    fill: str
    ink: str
    seat: int | None = None


LOOKS = {
    "legal now": Look("#2a6592", "#ffffff"),
    "left": Look("#cfe0ec", INK),
    "taken by Player 1": Look("#f6dfc4", "#6b3d06", 0),
    "taken by Player 2": Look("#e4daf2", "#4c3180", 1),
}
"""How a number stands; the legend under the tiles names it. The tiles of the last ply have a frame besides."""

DARK_PAPER, DARK_INK = "#16191c", "#e8e6e1"

DARK_LOOKS = {
    "legal now": Look("#5aa3d6", "#081722"),
    "left": Look("#293b48", "#c9d8e2"),
    "taken by Player 1": Look("#4a3314", "#f5cb94", 0),
    "taken by Player 2": Look("#382b5a", "#d2c3f7", 1),
}
"""The same for readers who want dark pages; pictures in files are light."""

LAST_PLY = "last ply"

NOBODY = -1


def takers(duel: Duel[Any]) -> NDArray[np.int64]:
    """Return the seat with whose move each number left the game, ``NOBODY`` for those that have not left it."""
    rules, replayed = duel.rules, Duel(duel.rules)
    takers = np.full(len(rules.numbers), NOBODY)
    for action in duel.actions:
        takers[rules.removed(replayed.position, action)] = replayed.seat
        replayed.play(action)
        # A number may come back.
        takers[rules.available(replayed.position)] = NOBODY
    return takers


def looks(duel: Duel[Any]) -> list[str]:
    """Return how each number stands, a key of ``LOOKS``."""
    seats = takers(duel)
    kinds: list[str] = np.select([seats == 0, seats == 1, duel.legal], [*list(LOOKS)[2:], "legal now"], "left").tolist()
    return kinds


def last_ply(duel: Duel[Any]) -> BoolArray:
    """Return which numbers the last ply chose or took; the one that it chose may stay in the game."""
    taken = np.zeros(len(duel.rules.numbers), bool)
    if duel.actions:
        taken |= duel.rules.removed(duel.before().position, duel.actions[-1])
        taken[duel.actions[-1]] = True
    return taken


def places(numbers: Sequence[int]) -> tuple[int, int]:
    """Return in which column of the first row the numbers begin, and how many columns there are."""
    # A range is laid out by decades: every number stands below the one that is ten less.
    first = numbers[0] % MOST_COLUMNS if len(numbers) > MOST_COLUMNS and is_range(numbers) else 0
    return first, min(MOST_COLUMNS, len(numbers))


def draw(game: GameSpec, duel: Duel[Any]) -> NDArray[np.uint8]:
    """Return a picture of the duel, height x width x 3."""
    try:
        from PIL import Image, ImageDraw
    except ImportError as missing:
        raise ImportError("rgb_array pictures need Pillow: pip install 'numduel-env[pictures]'") from missing

    numbers = duel.rules.numbers.tolist()
    first, columns = places(numbers)
    rows = math.ceil((first + len(numbers)) / columns)
    width = 2 * MARGIN + max(columns, LEAST_COLUMNS) * (TILE + GAP) - GAP
    bottom = MARGIN + HEADING + rows * (TILE + GAP)
    image = Image.new("RGB", (width, bottom + 4 * LINE + MARGIN), PAPER)
    pen = Pen(ImageDraw.Draw(image))

    turn = _turn(duel)
    room = width - 2 * MARGIN
    pen.write(MARGIN, MARGIN, game.heading(duel.rules), 26, room - pen.width(turn, 17) - GAP)
    pen.write(width - MARGIN, MARGIN + 8, turn, 17, anchor="ra")
    digits = max(map(str, numbers), key=len)
    for index, (number, look, framed) in enumerate(zip(numbers, looks(duel), last_ply(duel))):
        row, column = divmod(first + index, columns)
        left, top = MARGIN + column * (TILE + GAP), MARGIN + HEADING + row * (TILE + GAP)
        pen.tile(left, top, TILE, LOOKS[look], framed)
        size = pen.fitting(digits, 22, TILE - GAP)
        pen.write(left + TILE / 2, top + TILE / 2 + 2, str(number), size, ink=LOOKS[look].ink, anchor="mm")
    pen.write(MARGIN, bottom + LINE / 2, game.wording.caption(duel), 17, room)
    pen.legend(MARGIN, bottom + 2 * LINE, room)
    return np.array(image)


def _turn(duel: Duel[Any]) -> str:
    if not duel.finished:
        return f"{player(duel.seat)} to move"
    return "Draw" if duel.winner is None else f"{player(duel.winner)} wins"


@cache
def _font(size: int) -> Any:
    from PIL import ImageFont

    return ImageFont.load_default(size)


class Pen:
    """Draws words and tiles."""

    def __init__(self, pen: ImageDraw.ImageDraw) -> None:
        self.pen = pen

    def width(self, words: str, size: int) -> float:
        """Return how wide some words are."""
        return self.pen.textlength(words, font=_font(size))

    def fitting(self, words: str, size: int, room: float) -> int:
        """Return the largest size, ``size`` at most, at which words fit into a width in pixels."""
        while size > 6 and self.width(words, size) > room:
            size -= 1
        return size

    def write(
        self, x: float, y: float, words: str, size: int, room: float = math.inf, ink: str = INK, anchor: str = "la"
    ) -> None:
        """Write words, smaller where there is not room for them."""
        self.pen.text((x, y), words, fill=ink, font=_font(self.fitting(words, size, room)), anchor=anchor)

    def tile(self, left: float, top: float, size: float, look: Look, framed: bool) -> None:
        """Draw a tile; a number that was taken bears the number of the player."""
        self._box(left, top, size, fill=look.fill)
        if framed:
            # With paper between, a frame is seen around any colour.
            self._box(left - FRAME, top - FRAME, size + 2 * FRAME, outline=INK, width=2)
        if look.seat is not None:
            radius = min(BADGE, size / 2)
            x, y = left + size - radius, top + radius
            self.pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=look.ink)
            self.write(x, y, str(look.seat + 1), 14, ink=look.fill, anchor="mm")

    def _box(self, left: float, top: float, size: float, **style: Any) -> None:
        self.pen.rounded_rectangle((left, top, left + size, top + size), radius=size / 7, **style)

    def legend(self, left: float, top: float, room: float) -> None:
        """Say what the looks mean, in as many lines as it takes."""
        x = left
        for name, look in {**LOOKS, LAST_PLY: Look(PAPER, INK)}.items():
            width = 26 + self.width(name, 17)
            if x + width > left + room:
                x, top = left, top + LINE
            framed = name == LAST_PLY
            inset = FRAME if framed else 0
            self.tile(x + inset, top + 1 + inset, 18 - 2 * inset, look, framed)
            self.write(x + 26, top, name, 17)
            x += width + 26
