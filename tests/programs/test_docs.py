"""What README and docs say is true: code runs and passes type checkers, tables are generated, links lead somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
import types

import pytest

from numduel_env import GAMES
from tests.support import ROOT
from tests.support.toys import forget

README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").rglob("*.md")), ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
BLOCKS = {
    f"{page.relative_to(ROOT)}, block {number}": block
    for page in PAGES
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL), start=1)
}


@pytest.mark.parametrize("block", BLOCKS.values(), ids=BLOCKS)
def test_code_runs(block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = set(GAMES)
    module = types.ModuleType("page")  # whose classes can be pickled, as those of a script can
    monkeypatch.setitem(sys.modules, "page", module)
    exec(compile(block, "page", "exec"), vars(module))
    for added in set(GAMES) - names:
        forget(GAMES[added])


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_code_passes_type_checkers_as_written(checker, tmp_path):
    for number, block in enumerate(BLOCKS.values()):
        (tmp_path / f"block_{number}.py").write_text(block)
    python = {"mypy": "--python-executable", "pyright": "--pythonpath"}[checker]
    checked = subprocess.run(
        [sys.executable, "-m", checker, python, sys.executable, *map(str, sorted(tmp_path.glob("*.py")))],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_there_is_code_to_run():
    assert sum(name.startswith("README") for name in BLOCKS) >= 2
    assert len(BLOCKS) >= 8


def test_games_table():
    table = README.read_text().split("<!-- games -->\n")[1].split("<!-- /games -->")[0]
    rows = [
        f"| `{spec.name}` | {spec.title} | `{spec.gymnasium_id}` | `{spec.pettingzoo_id}` | "
        + ", ".join(f"`{name}={value!r}`" for name, value in spec.params.items())
        + " |\n"
        for spec in GAMES.values()
    ]
    assert table == "".join(rows)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_and_paths_lead_somewhere(page):
    text = page.read_text()
    for link in re.findall(r"\]\((?!https?:)(.*?)\)", text):
        file, _, heading = link.partition("#")
        target = (page.parent / file) if file else page
        assert target.exists(), link
        if heading:
            headings = re.findall(r"^#+ (.*)$", target.read_text(), re.MULTILINE)
            assert heading in {re.sub(r"[^\w -]", "", one.lower()).replace(" ", "-") for one in headings}, link
    for path in re.findall(r"`((?:numduel_env|agents|train|tests|docs)/[\w/.]+)`", text):
        assert (ROOT / path).exists(), path


def test_pictures_are_pictures():
    for picture in re.findall(r"!\[.*?\]\((.*?)\)", README.read_text()):
        assert (ROOT / picture).read_bytes().startswith(b"\x89PNG")
