"""A headless Chromium, and boards for it to open; `make test-browser` installs what these tests need."""

from __future__ import annotations

import contextlib
import re
import shutil
import sys
import time
from functools import cache

import pytest
from playwright.sync_api import sync_playwright

from tests.support import ROOT
from tests.support.processes import running, wait_for

SWITCHES = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)


@contextlib.contextmanager
def board(folder, *arguments, port=0):
    """Serve a board in a process of its own; give the process and the page's address."""
    log = folder / f"board-{len(list(folder.iterdir()))}.log"
    command = [sys.executable, "agents/board.py", "--no-open", "--port", str(port), *map(str, arguments)]
    with running(command, log) as process:
        yield process, wait_for(lambda: re.search(r"http://\S+", log.read_text()), process, log)[0]


@pytest.fixture(scope="session")
def serve(tmp_path_factory):
    """Serve boards, and return their addresses; tests that want the same share one, and nothing else."""
    folder = tmp_path_factory.mktemp("boards")
    with contextlib.ExitStack() as stack:
        yield cache(lambda *arguments: stack.enter_context(board(folder, *arguments))[1])


@pytest.fixture(scope="session")
def chromium():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=SWITCHES.split())
        yield browser
        browser.close()


def until(page, condition, arg=None):
    """Wait until JavaScript says that it is so; Playwright's own way is not allowed by the page's policy."""
    end = time.monotonic() + 30
    while not page.evaluate(condition, arg):
        assert time.monotonic() < end, (condition, page.inner_text("#status"))
        page.wait_for_timeout(20)


@pytest.fixture
def tab(chromium):
    """Open pages; none may report an error or ask anybody but its own server."""
    contexts, errors, elsewhere = [], [], []

    def opened(address, width=1000, height=900, scheme="light", **options):
        context = chromium.new_context(viewport={"width": width, "height": height}, color_scheme=scheme, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        page.on("request", lambda request: elsewhere.append(request.url) if not own(request.url) else None)
        page.goto(address)
        until(page, "history.state !== null")
        return page

    def own(url):
        return url.startswith(("http://127.0.0.1:", "data:,"))

    opened.errors = errors
    yield opened
    for context in contexts:
        context.close()
    assert not errors
    assert not elsewhere


@pytest.fixture(scope="session")
def axe():
    """The source of axe-core, which looks for what people with a disability stumble over."""
    (script,) = (ROOT / "tests" / "browser").glob(".axe/node_modules/axe-core/axe.min.js")
    return script.read_text(encoding="utf-8")
