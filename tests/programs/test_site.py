"""The site builds strictly, holds every page, and fetches nothing from anywhere else."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser

import pytest

from tests.support import ROOT


def build(source, target):
    """Build the site of a checkout into a folder."""
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(target)],
        cwd=source,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    target = tmp_path_factory.mktemp("site")
    built = build(ROOT, target)
    assert built.returncode == 0, built.stderr
    return target


class Loaded(HTMLParser):
    """Collects what a browser loads by itself when it shows a page: not what a reader may click on."""

    def __init__(self):
        super().__init__()
        self.addresses = []

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name in ("src", "srcset", "data", "poster") or (tag == "link" and name == "href"):
                self.addresses.append(value)


def test_every_page_is_there(site):
    pages = {page.relative_to(ROOT / "docs").with_suffix(".html") for page in (ROOT / "docs").rglob("*.md")}
    assert len(pages) >= 10
    for page in pages:
        assert (site / page).is_file(), page
    for page in ("index.html", "changelog.html", "contributing.html"):
        assert (site / page).is_file(), page


def test_nothing_is_fetched_from_elsewhere(site):
    pages = sorted(site.rglob("*.html"))
    for page in pages:
        loaded = Loaded()
        loaded.feed(page.read_text(encoding="utf-8"))
        assert loaded.addresses, page
        for address in loaded.addresses:
            assert not re.match(r"([a-z]+:)?//", address), f"{page.name}: {address}"
            if not address.startswith(
                ("data:", "/")
            ):  # the page of a server that found nothing, 404, begins at its root
                assert (page.parent / address.partition("#")[0].partition("?")[0]).exists(), f"{page.name}: {address}"
    for style in site.rglob("*.css"):
        assert not re.search(r"(url\(|@import)\s*[\"']?(https?:)?//", style.read_text(encoding="utf-8")), style


def test_the_api_is_documented(site):
    import numduel_env

    page = (site / "api.html").read_text(encoding="utf-8")
    for name in numduel_env.__all__:
        assert re.search(rf'id="numduel_env\.[\w.]*\b{name}"', page) or name in ("GAMES", "__version__"), name


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ("[a page](nowhere.md)", "nowhere.md"),
        ("[a heading](agents.md#nowhere)", "nowhere"),
        ("[a name][numduel_env.nowhere]", "numduel_env.nowhere"),
    ],
)
def test_a_broken_link_fails_the_build(broken, said, tmp_path):
    for folder in ("docs", "numduel_env"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("mkdocs.yml", "README.md", "CHANGELOG.md", "CONTRIBUTING.md"):
        shutil.copy(ROOT / file, tmp_path)
    with (tmp_path / "docs" / "glossary.md").open("a", encoding="utf-8") as page:
        page.write(f"\n{broken}\n")
    built = build(tmp_path, tmp_path / "site")
    assert built.returncode != 0
    assert said in built.stderr
