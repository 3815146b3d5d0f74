"""What README and docs say is true: code runs and passes type checkers, tables are generated, links lead somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
import types

import pytest

import numduel_env
from numduel_env import GAMES
from tests.support import ROOT
from tests.support.programs import run_program
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


def test_what_is_made_from_the_code_is_up_to_date(tmp_path):
    """If not: ``python docs/generate``."""
    assert run_program("docs/generate", "--into", tmp_path).code == 0
    made = sorted(tmp_path.rglob("*.md"))
    assert {f"{game}.md" for game in GAMES} < {page.name for page in made}
    for page in made:
        assert page.read_text() == (ROOT / page.relative_to(tmp_path)).read_text(), page.relative_to(tmp_path)


@pytest.mark.parametrize("game", GAMES)
def test_the_page_of_a_game_says_what_stands_at_every_index(game):
    """The rows of its tables give every index once, with and without lookahead, and numbers where they are."""
    text = (ROOT / "docs" / "games" / f"{game}.md").read_text()
    plain, ahead = (numduel_env.env(game, lookahead=lookahead) for lookahead in (False, True))
    plain_size, ahead_size = (one.observation_space("player_0")["observation"].shape[0] for one in (plain, ahead))
    head, _, tail = text.partition("| offset |")
    rows = re.findall(r"^\| (\d+)(?: to (\d+))? \| `(\w+)` \| (.*) \|$", head, re.MULTILINE)
    assert indices(rows) == list(range(plain_size))
    per_action = re.findall(r"^\| (\d+)(?: to (\d+))? \| (?!`)(.*) \|$", tail, re.MULTILINE)
    numbers = plain.rules.numbers.tolist()
    assert len(indices(per_action)) * len(numbers) == ahead_size - plain_size
    plain.reset()
    plain.step(len(numbers) // 2)
    observation = plain.last()[0]["observation"]
    masks = {"pool": plain.rules.available(plain.duel.position), "followers": plain.duel.legal}
    for first, last, part, meaning in rows:
        if part in masks:
            sign, shift = re.search(r"\*index\* ([+-]) (\d+)", meaning).groups()
            for index in range(int(first), int(last) + 1):
                number = index + int(sign + shift)
                assert observation[index] == masks[part][numbers.index(number)], (part, number)


def indices(rows):
    return [index for first, last, *_ in rows for index in range(int(first), int(last or first) + 1)]


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
    for page in PAGES:
        for picture in re.findall(r"!\[.*?\]\((.*?)\)", page.read_text()):
            assert (page.parent / picture).read_bytes().startswith((b"\x89PNG", b"GIF89a")), picture


def test_the_front_page_is_short():
    assert len(README.read_text().splitlines()) <= 150


def test_the_citation_is_of_this_version():
    assert f"\nversion: {numduel_env.__version__}\n" in (ROOT / "CITATION.cff").read_text()
