"""Make what the documentation takes from the code: a page for each game, tables in other pages, and pictures.

    python docs/generate                 write the pages and tables, in the checkout that this file belongs to
    python docs/generate --pictures      and draw the pictures, too
    python docs/generate --into FOLDER   write all that into a folder instead

Tests compare the pages and tables with what this program writes.
"""

from __future__ import annotations

from pathlib import Path

from game_page import game_page
from numduel_env.cli import OneLineParser, run_program
from numduel_env.games import GAMES
from numduel_env.storage import write_atomically
from openings import openings_table
from pictures import draw_duel, draw_games
from tables import games_table

ROOT = Path(__file__).resolve().parents[2]

TABLES = {"README.md": ("games", games_table), "docs/perfect-play.md": ("openings", openings_table)}
"""Which pages hold a table between ``<!-- NAME -->`` and ``<!-- /NAME -->``, and what makes it."""


def pages() -> dict[str, str]:
    """Return the text of every page that is made from the code, or holds a table that is, by its path."""
    made = {f"docs/games/{name}.md": game_page(ROOT, spec) for name, spec in GAMES.items()}
    for page, (name, make) in TABLES.items():
        text = (ROOT / page).read_text(encoding="utf-8")
        before, _, rest = text.partition(f"<!-- {name} -->\n")
        after = rest.partition(f"<!-- /{name} -->")[2]
        assert after, f"{page} has no place for the table of {name}"
        made[page] = f"{before}<!-- {name} -->\n{make()}<!-- /{name} -->{after}"
    return made


def main() -> int:
    """Write what is asked for."""
    parser = OneLineParser(prog="docs/generate", description=__doc__)
    parser.add_argument("--pictures", action="store_true", help="draw the pictures, too")
    parser.add_argument("--into", type=Path, default=ROOT, metavar="FOLDER", help="write into this folder")
    args = parser.parse_args()
    for page, text in pages().items():
        (args.into / page).parent.mkdir(parents=True, exist_ok=True)
        write_atomically(args.into / page, text)
    if args.pictures:
        folder = args.into / "docs" / "pictures"
        folder.mkdir(parents=True, exist_ok=True)
        draw_games(folder)
        draw_duel(folder)
    return 0


if __name__ == "__main__":
    raise SystemExit(run_program(main))
