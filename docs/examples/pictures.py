"""Draw the pictures of the games in docs/pictures, or in the folder that is given.

    python docs/examples/pictures.py [FOLDER]

docs/pictures/report.png is a screenshot of a report in a browser, 1200 pixels wide:

    numduel evaluate --game divider-duel random greedy solver:0.2 solver --duels 400 --exploit --report report.html
    chromium --headless --hide-scrollbars --window-size=1200,1500 --screenshot=docs/pictures/report.png report.html
"""

from __future__ import annotations

import sys
from pathlib import Path

from PIL import Image

from numduel_env import Duel, find_game
from numduel_env.picture import draw

GAMES = {
    "prime-rumble": (17, 3, 25),
    "factor-chain-duel": (15, 5, 25, 50, 10, 20, 4, 16, 8, 24),
    "divider-duel": (5, 3),
    "prime-duel-product": (5, 7, 13),
    "prime-duel-sum": (7, 9, 5),
}
"""The numbers that have been played in each picture."""


def main(folder: Path) -> None:
    """Draw every game."""
    for name, numbers in GAMES.items():
        game = find_game(name)
        duel = Duel(game.make_rules())
        for number in numbers:
            duel.push(number)
        Image.fromarray(draw(game, duel)).save(folder / f"{name}.png", optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/pictures"))
