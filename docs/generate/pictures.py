"""The pictures of the documentation: each game some plies after its start, and a whole duel with its verdicts.

docs/pictures/report.png is a screenshot of a report in a browser, 1200 pixels wide:

    numduel evaluate --game divider-duel random greedy solver:0.2 solver --duels 400 --exploit --report report.html
    chromium --headless --hide-scrollbars --window-size=1200,1500 --screenshot=docs/pictures/report.png report.html
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from agents import make_agent
from numduel_env import Duel, find_game, solver_for
from numduel_env.agent import as_player
from numduel_env.evaluation.grading import GradedMove, graded_moves
from numduel_env.picture import INK, MARGIN, PAPER, Pen, draw
from numduel_env.text import listed, player

STARTS = {
    "prime-rumble": (17, 3, 25),
    "factor-chain-duel": (15, 5, 25, 50, 10, 20, 4, 16, 8, 24),
    "divider-duel": (5, 3),
    "prime-duel-product": (5, 7, 13),
    "prime-duel-sum": (7, 9, 5),
}
"""The numbers that have been played in each picture."""

SHOWN = "prime-rumble", {"highest": 30}
"""The game of the animated duel, and its size."""

CONTENDERS = ("greedy", "random")

BAND = 56
"""The height of the line with a move's verdict."""

BANDS = {"kept": "#d8ead2", "blunder": "#f3c9c0", "lost": "#e6e4de", "opening": PAPER}

FRAME_MS, LAST_FRAME_MS = 1800, 5000


def draw_games(folder: Path) -> None:
    """Draw every game."""
    for name, numbers in STARTS.items():
        game = find_game(name)
        duel = Duel(game.make_rules())
        for number in numbers:
            duel.push(number)
        Image.fromarray(draw(game, duel)).save(folder / f"{name}.png", optimize=True)


def draw_duel(folder: Path) -> None:
    """Draw a duel as an animation, every move with its verdict."""
    name, params = SHOWN
    game = find_game(name)
    duel = played(game.make_rules(**params))
    moves = graded_moves(duel, solver_for(duel.rules))
    frames, stage = [framed(draw(game, Duel(duel.rules)), "opening", " against ".join(CONTENDERS))], Duel(duel.rules)
    for move, action in zip(moves, duel.actions):
        stage.play(action)
        frames.append(framed(draw(game, stage), move.verdict, said(move)))
    frames = [frame.quantize(64, dither=Image.Dither.NONE) for frame in frames]
    times = [FRAME_MS] * (len(frames) - 1) + [LAST_FRAME_MS]
    frames[0].save(folder / "duel.gif", save_all=True, append_images=frames[1:], duration=times, loop=0, optimize=True)


def played(rules: Any) -> Duel[Any]:
    """Return a duel between the two contenders."""
    players = [as_player(make_agent(name, rules)) for name in CONTENDERS]
    duel: Duel[Any] = Duel(rules)
    generator = np.random.default_rng(0)
    while not duel.finished:
        duel.play(players[duel.seat].move(duel, generator))
    return duel


def said(move: GradedMove) -> str:
    """Return a move's verdict in words."""
    what = f"{player(move.seat)} ({CONTENDERS[move.seat]}) takes {move.number}: "
    if move.verdict == "blunder":
        return what + f"a blunder. Better: {listed(move.better)}"
    return what + {"kept": "kept, the win stays", "lost": "every move loses"}[move.verdict]


def framed(picture: Any, verdict: str, words: str) -> Image.Image:
    """Return a picture with the verdict in a band below it."""
    height, width = picture.shape[:2]
    frame = Image.new("RGB", (width, height + BAND), BANDS[verdict])
    frame.paste(Image.fromarray(picture))
    pen = Pen(ImageDraw.Draw(frame))
    pen.write(MARGIN, height + BAND / 2, words, 20, width - 2 * MARGIN, ink=INK, anchor="lm")
    return frame
