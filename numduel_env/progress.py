"""Progress of long work: the library calls a function, and programs let it draw a bar."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Called from time to time with what is being done, how much of it is done, and how much there is in all."""

    def __call__(self, task: str, done: int, total: int, /) -> object: ...


def silent(task: str, done: int, total: int, /) -> None:
    """Report nothing."""
