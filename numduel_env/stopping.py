"""What ends a program from outside: Ctrl-C, and the signals of schedulers and closed terminals, which do the same."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

STOPPING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
"""Windows has no SIGHUP."""

Handler = Callable[[int, FrameType | None], Any]


@contextmanager
def _handled(handler: Handler) -> Iterator[None]:
    """Let ``handler`` answer these signals, but for those that are ignored, as ``nohup`` wants it."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may say who answers signals, and only it is interrupted by them
        return
    answered = [number for number in STOPPING if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, handler) for number in answered}
    try:
        yield
    finally:
        for number, earlier in before.items():
            # None stands for a handler that was not set from Python, and cannot be.
            signal.signal(number, signal.SIG_DFL if earlier is None else earlier)


@contextmanager
def stopped_as_by_ctrl_c() -> Iterator[None]:
    """Raise ``KeyboardInterrupt`` for all of these signals."""
    with _handled(signal.default_int_handler):
        yield


@contextmanager
def undisturbed() -> Iterator[None]:
    """Put a signal off until the end of what is done here; a second one comes through at once."""
    came: list[int] = []

    def put_off(number: int, frame: FrameType | None) -> None:
        if came:
            raise KeyboardInterrupt
        came.append(number)

    with _handled(put_off):
        yield
    if came:
        raise KeyboardInterrupt
