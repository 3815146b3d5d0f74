"""Standard input and output: for a person at a terminal, and as a readable transcript when they are piped."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import re
import shutil
import sys
import textwrap

from numduel_env.outside import spelled_out

BOLD, DIM = "1", "2"
"""Styles, as terminals number them."""

WIDEST = 88
"""Paragraphs are no wider than this, whatever the terminal."""


class InputEnded(Exception):  # noqa: N818 - it says what happened
    """Standard input has ended, so nobody can enter anything any more."""


class Terminal:
    """Standard input and output: coloured only on a terminal, with a line editor where the system has one.

    ``typed`` says whether entries are typed at a terminal; piped entries are printed behind their prompts.
    """

    def __init__(self) -> None:
        for stream in (sys.stdin, sys.stdout):
            if isinstance(stream, io.TextIOWrapper):
                # A byte that is no text, or an arrow that the locale cannot show, should not end the game.
                stream.reconfigure(errors="replace")
        self.typed = sys.stdin is not None and sys.stdin.isatty()
        plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
        self._coloured = sys.stdout.isatty() and not plain
        if self.typed:
            with contextlib.suppress(ImportError):
                importlib.import_module("readline")  # input() uses it from now on

    def say(self, text: str, style: str = "") -> None:
        """Print a text and a line end; an empty text prints nothing."""
        if text and style and self._coloured:
            text = f"\x1b[{style}m{text}\x1b[0m"
        if text:
            print(text, flush=True)

    def explain(self, text: str) -> None:
        """Print paragraphs, their lines broken to fit."""
        width = min(WIDEST, shutil.get_terminal_size().columns)
        self.say("\n".join(textwrap.fill(line, width) for line in text.splitlines()))

    def request(self, prompt: str) -> None:
        """Print a prompt, behind which an entry is to appear."""
        print(prompt, end="", flush=True)

    def ask(self, prompt: str) -> str:
        """Return the next line that is entered, without the blanks around it; raises ``InputEnded``."""
        # A line editor draws its prompt anew when a line is edited: it must be one line.
        above, line_end, prompt = prompt.rpartition("\n")
        self.request(above + line_end)
        if self.typed:
            try:
                return input(prompt).strip()
            except EOFError:
                raise InputEnded from None
        self.request(prompt)
        line = sys.stdin.readline() if sys.stdin is not None else ""
        if not line:
            raise InputEnded
        text = line.strip()
        print(spelled_out(text), flush=True)
        return text

    def forget_typed(self) -> None:
        """Discard what has been typed and not been read, so that the next entry is an answer to the next prompt."""
        if self.typed:
            discard_typed()


def discard_typed() -> None:
    """Empty the input queue of the terminal at standard input."""
    # Each kind of system has a module of its own for this, and not the other's.
    with contextlib.suppress(ImportError):
        termios = importlib.import_module("termios")
        termios.tcflush(sys.stdin, termios.TCIFLUSH)
    with contextlib.suppress(ImportError):
        msvcrt = importlib.import_module("msvcrt")
        while msvcrt.kbhit():
            msvcrt.getwch()


def whole(text: str) -> int | None:
    """Return the number that ``text`` writes in plain digits, or None."""
    # Python refuses to read more digits than that.
    return int(text) if re.fullmatch("[+-]?[0-9]{1,4000}", text) else None
