"""The README's code runs, and its table is the table of games."""

from __future__ import annotations

import re

import pytest

from numduel_env import GAMES
from tests.support import ROOT
from tests.support.toys import forget

README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS, ids=[f"block {number}" for number in range(1, len(BLOCKS) + 1)])
def test_code_runs(block):
    names = set(GAMES)
    exec(compile(block, "README.md", "exec"), {"__name__": "readme"})
    for added in set(GAMES) - names:
        forget(GAMES[added])


def test_there_is_code_to_run():
    assert len(BLOCKS) >= 5


def test_games_table():
    table = README.split("<!-- games -->\n")[1].split("<!-- /games -->")[0]
    rows = [
        f"| `{spec.name}` | {spec.title} | `{spec.gymnasium_id}` | `{spec.pettingzoo_id}` | "
        + ", ".join(f"`{name}={value!r}`" for name, value in spec.params.items())
        + " |\n"
        for spec in GAMES.values()
    ]
    assert table == "".join(rows)


def test_pictures_exist():
    for picture in re.findall(r"!\[.*?\]\((.*?)\)", README):
        assert (ROOT / picture).read_bytes().startswith(b"\x89PNG")
