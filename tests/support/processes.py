"""Processes that do not outlive the test which started them."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.support import ROOT

PATIENCE = 240
"""Seconds after which a process is given up that does not do what is waited for."""


@contextlib.contextmanager
def running(command: Sequence[str], log: Path, cwd: Path = ROOT, **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """Run a command in a process of its own; what it prints goes into the file ``log``."""
    # Where the tests run in the background, interrupts may be ignored, and a child would inherit that.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    with (
        open(log, "wb") as file,
        subprocess.Popen(command, cwd=cwd, stdout=file, stderr=subprocess.STDOUT, **options) as process,
    ):
        try:
            yield process
        finally:
            process.kill()
            signal.signal(signal.SIGINT, before)


def wait_for(condition: Callable[[], Any], process: subprocess.Popen[bytes], log: Path) -> Any:
    """Return what ``condition()`` returns as soon as that is true; the process must not end before."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if found := condition():
            return found
        assert process.poll() is None, log.read_text()
        time.sleep(0.01)
    raise AssertionError(f"waited {PATIENCE} seconds in vain: {log.read_text()}")
