"""A line that tells a waiting person how far a long computation is."""

from __future__ import annotations

import sys
import time
from types import TracebackType

PATIENCE = 1.0
"""Seconds before anything is shown: most computations are over by then."""

INTERVAL = 0.2
"""Seconds between updates."""


class Progress:
    """Shows ``title: 42%`` on stderr, rewritten in place; silent for the first second and where nobody is watching.

    A context manager: leaving it wipes the line, whether or not the work was finished.
    """

    def __init__(self, title: str, total: int) -> None:
        self.title = title
        self.total = max(total, 1)
        self._count = 0
        self._watched = sys.stderr is not None and sys.stderr.isatty()
        self._due = time.monotonic() + PATIENCE
        self._shown = 0

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:
            self._write("")
            sys.stderr.write("\r")
            sys.stderr.flush()

    def advance(self, count: int = 1) -> None:
        """Say that ``count`` more of the ``total`` steps are behind us."""
        self._count += count
        if self._watched and time.monotonic() >= self._due:
            self._due = time.monotonic() + INTERVAL
            self._write(f"{self.title}: {100 * self._count // self.total}%")

    def _write(self, line: str) -> None:
        sys.stderr.write("\r" + line.ljust(self._shown))
        sys.stderr.flush()
        self._shown = len(line)
