"""Files and JSON at the edge: files are replaced at once, and what is read is checked against a dataclass."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import IO, Annotated, Any, TypeVar

import msgspec

RecordT = TypeVar("RecordT")

LARGEST = 2**62
"""No number in a record is beyond this."""

Count = Annotated[int, msgspec.Meta(ge=0, le=LARGEST)]
Amount = Annotated[float, msgspec.Meta(ge=0, le=float(LARGEST))]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class BadRecord(ValueError):  # noqa: N818 - it says what it is
    """JSON that is not the record it should be; the message names the place."""


def to_json(record: Any) -> bytes:
    """Return a dataclass as indented JSON; raises a ``ValueError`` for numbers that JSON does not have."""
    # msgspec alone would leave out the fields that were left out where the record was read.
    refuse_nonfinite(builtins := msgspec.to_builtins(asdict(record)))
    return msgspec.json.format(msgspec.json.encode(builtins), indent=2) + b"\n"


def refuse_nonfinite(value: Any) -> None:
    """Raise a ``ValueError`` for NaN and infinities, which JSON would turn into null."""
    if isinstance(value, float) and not abs(value) < float("inf"):
        raise ValueError(f"{value} cannot be written as JSON")
    if isinstance(value, dict):
        for part in value.values():
            refuse_nonfinite(part)
    elif isinstance(value, list | tuple):
        for part in value:
            refuse_nonfinite(part)


def from_json(content: bytes | str, kind: type[RecordT]) -> RecordT:
    """Return the dataclass that JSON describes, or raise ``BadRecord``: every field is checked against its type."""
    try:
        return msgspec.json.decode(content, type=kind)
    except (ValueError, RecursionError) as wrong:
        raise BadRecord(" ".join(str(wrong).split())) from None


def from_builtins(value: Any, kind: type[RecordT]) -> RecordT:
    """Return the dataclass that a value made of dicts and lists describes, or raise ``BadRecord``."""
    try:
        return msgspec.convert(value, type=kind)
    except (ValueError, RecursionError) as wrong:
        raise BadRecord(" ".join(str(wrong).split())) from None


@contextmanager
def replacing(path: str | Path) -> Iterator[IO[bytes]]:
    """Open a temporary file to write into; it replaces ``path`` atomically at the end, or goes with an exception."""
    unfinished = f"{path}.{os.getpid()}.tmp"
    try:
        with open(unfinished, "wb") as file:
            yield file
        os.replace(unfinished, path)
    except BaseException:
        with suppress(OSError):
            os.remove(unfinished)
        raise


def write_atomically(path: str | Path, content: str | bytes) -> None:
    """Replace a file atomically: a reader finds the old content or the new."""
    with replacing(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


def refuse_unwritable(path: str) -> None:
    """Raise a ``ValueError`` if no file can be written at ``path``."""
    # Only a file may be replaced: not a folder, and not /dev/null.
    special = os.path.exists(path) and not os.path.isfile(path)
    if not path or special or not os.access(os.path.dirname(os.path.abspath(path)), os.W_OK):
        raise ValueError(f"{path}: no file can be written there")
