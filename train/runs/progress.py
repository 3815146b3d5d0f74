"""How far a run has come: its budget, and the bar that shows how much of it is spent."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple, Protocol


class Budget(NamedTuple):
    """When a run ends: after this many plies or seconds, whichever comes first."""

    plies: float
    seconds: float

    def spent(self, plies: int, seconds: float) -> float:
        """Return the share of the budget that is spent."""
        return float(max(plies / self.plies, seconds / self.seconds))


class Stopwatch:
    """Counts the CPU seconds of this process, whatever else the machine does, on top of those ``before``."""

    def __init__(self, before: float) -> None:
        self._before = before
        self._began: float | None = time.process_time()

    @property
    def seconds(self) -> float:
        """The CPU seconds so far."""
        return self._before + (0 if self._began is None else time.process_time() - self._began)

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Leave out what happens meanwhile."""
        self._before, self._began = self.seconds, None
        try:
            yield
        finally:
            self._began = time.process_time()


class Report(Protocol):
    """Called from time to time with the plies learned from and the share of the budget that is spent.

    ``note`` says how well the learner plays, where it was graded anew; ``event`` gets a line of its own.
    """

    def __call__(self, plies: int, spent: float, note: str = "", event: str = "") -> object: ...


def silent_report(plies: int, spent: float, note: str = "", event: str = "") -> None:
    """Show nothing."""


@contextmanager
def learning_bar(plies: int = 0) -> Iterator[Report]:
    """Draw a bar on standard error that begins at ``plies``."""
    from tqdm import tqdm

    with tqdm(initial=plies, unit=" plies", unit_scale=True) as bar:

        def report(plies: int, spent: float, note: str = "", event: str = "") -> None:
            if event:
                bar.write(event)
            if note:
                bar.set_postfix_str(note, refresh=False)
            bar.n = plies
            # Whichever limit comes first, as a number of plies.
            bar.total = int(plies / spent) if plies and spent else None
            bar.refresh()

        yield report
