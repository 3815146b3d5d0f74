"""Tables kept on disk between runs, so that a long computation is made once.

A file is what ``np.savez`` writes: one array more than was stored says for which key, version and format, and the
archive's comment is a BLAKE2b digest of every byte before it. A file that is not exactly what was asked for counts as
missing, and nothing is ever unpickled. Nor is a file trusted that others may write, as ssh trusts no such key; then a
line is logged. A folder that cannot be used is no error: callers must be able to do without.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import logging
import math
import os
import stat
import tempfile
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from platformdirs import user_cache_path

from numduel_env.outside import described, one_line

FORMAT = 2
STAMP = "stamp"
"""The array that says what the others are."""

DIGEST_SIZE = 32
HEXADECIMAL = 2 * DIGEST_SIZE

OVERHEAD = 1024
"""Bytes of an archive, at most, beside each array: its headers, its entry in the directory and its share of the end."""

OLD = 86_400
"""Seconds after which an unfinished file has been left over by a process that was killed."""

KINDS = "biuf"
"""The kinds of arrays that are stored: booleans, integers, floats; all plain bytes."""

Kind = tuple[DTypeLike, tuple[int, ...]]
"""The dtype and the shape of an array."""


def folder() -> Path:
    """Return where tables are kept: ``$NUMDUEL_CACHE``, or a folder of our own where the system keeps caches.

    Raises ``RuntimeError`` if the user has no home.
    """
    if chosen := os.environ.get("NUMDUEL_CACHE"):
        return Path(chosen)
    place = user_cache_path("numduel_env", appauthor=False)
    if not place.is_absolute():
        raise RuntimeError(f"there is no home for {place}")
    return place


def file_name(key: str) -> str:
    """Return the name of the file of ``key``, which must be made of letters, digits, dots and dashes."""
    if key.startswith(".") or not key.replace("-", "").replace(".", "").isalnum():
        raise ValueError(f"a cache key is made of letters, digits, dots and dashes; {key!r} is not")
    return f"{key}.npz"


def complain(key: str, why: str) -> None:
    """Log that a file is not used, and why."""
    line = one_line(f"The cached table {file_name(key)} is made anew: {why}.", 300)
    logging.getLogger("numduel_env").warning("%s", line)


class _Distrusted(Exception):  # noqa: N818 - it says what the file is
    """A file that is not used; the message says why."""


def load(key: str, version: int, expected: Mapping[str, Kind]) -> dict[str, NDArray[Any]] | None:
    """Return the arrays stored under ``key`` by the same ``version``, or None: a file that is not used is logged.

    Nothing but arrays of the ``expected`` names, dtypes and shapes is ever read into memory.
    """
    name = file_name(key)
    stamp = _stamp(key, version)
    kinds = {STAMP: (stamp.dtype, stamp.shape)} | {
        name: (np.dtype(kind), shape) for name, (kind, shape) in expected.items()
    }
    try:
        path = folder() / name
        if not os.path.lexists(path):
            return None
        _refuse_what_others_write(path)
        content = _read(path, sum(OVERHEAD + _size(kind) for kind in kinds.values()))
        arrays = _unpack(content, kinds)
        if arrays is None or not np.array_equal(arrays.pop(STAMP), stamp):
            raise _Distrusted("it holds something else, or was written by another version")
    except _Distrusted as wrong:
        complain(key, str(wrong))
    except RuntimeError:
        return None  # there is no home, and so no folder
    except Exception as wrong:  # reading what others wrote can raise nearly anything, and then the file is not ours
        complain(key, f"it cannot be read: {described(wrong)}")
    else:
        return arrays
    return None


def store(key: str, version: int, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Keep ``arrays`` under ``key`` if the folder allows it; a reader sees the old file or the new one, never half."""
    name = file_name(key)
    content = _pack({STAMP: _stamp(key, version), **arrays})
    with contextlib.suppress(OSError, RuntimeError):
        place = folder()
        place.mkdir(parents=True, exist_ok=True)
        _remove_leftovers(place, key)
        # Every writer has a temporary file of its own, so two at once replace each other's equal work.
        handle, temporary = tempfile.mkstemp(prefix=f"{key}-", suffix=".part", dir=place)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            os.replace(temporary, place / name)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise


def _refuse_what_others_write(path: Path) -> None:
    """Raise ``_Distrusted`` if a file may hold what others have written, where there are such users."""
    if not path.is_file():
        raise _Distrusted(f"{path} is no ordinary file")
    if not hasattr(os, "getuid"):
        return
    for place in (path, path.parent):
        status = place.stat()
        if status.st_uid not in (0, os.getuid()):
            raise _Distrusted(f"{place} belongs to somebody else")
        # In a folder such as /tmp, with the sticky bit, nobody can replace the files of another.
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not status.st_mode & stat.S_ISVTX:
            raise _Distrusted(f"others may write to {place}")


def _remove_leftovers(place: Path, key: str) -> None:
    """Remove what earlier writers of this key left behind when they were killed."""
    for leftover in place.glob(f"{key}-*.part"):
        with contextlib.suppress(OSError):
            if time.time() - leftover.stat().st_mtime > OLD:
                leftover.unlink()


def _stamp(key: str, version: int) -> NDArray[np.uint8]:
    return np.frombuffer(f"numduel_env tables, format {FORMAT}: {key}, version {version}".encode(), np.uint8)


def _size(kind: tuple[np.dtype[Any], tuple[int, ...]]) -> int:
    """Return how many bytes an array takes."""
    dtype, shape = kind
    return dtype.itemsize * math.prod(shape)


def _digest(content: bytes | memoryview) -> bytes:
    return hashlib.blake2b(content, digest_size=DIGEST_SIZE).hexdigest().encode()


def _pack(arrays: Mapping[str, NDArray[Any]]) -> bytes | memoryview:
    """Return the archive of some arrays, the digest at its end."""
    for name, array in arrays.items():
        if array.dtype.kind not in KINDS:
            raise TypeError(f"{name} cannot be stored: it is an array of {array.dtype}")
    file = io.BytesIO()
    np.savez(file, **arrays)  # type: ignore[arg-type]
    with zipfile.ZipFile(file, "a") as archive:
        archive.comment = b"0" * HEXADECIMAL
    content = file.getbuffer()
    content[-HEXADECIMAL:] = _digest(content[:-HEXADECIMAL])
    return content


def _read(path: Path, limit: int) -> bytes:
    """Return what a file of at most ``limit`` bytes holds, or raise ``_Distrusted`` unless its digest is right."""
    if path.stat().st_size > limit:
        raise _Distrusted(f"it is larger than the {limit:,} bytes that such a table may have")
    with path.open("rb") as file:
        content = file.read(limit + 1)
    if len(content) > limit or _digest(memoryview(content)[:-HEXADECIMAL]) != content[-HEXADECIMAL:]:
        raise _Distrusted("it is damaged: its digest is wrong")
    return content


def _unpack(
    content: bytes, kinds: Mapping[str, tuple[np.dtype[Any], tuple[int, ...]]]
) -> dict[str, NDArray[Any]] | None:
    """Return the arrays of an archive if they are of the expected kinds; it may raise anything if they are not."""
    if not content.startswith(b"PK"):
        # ``np.load`` reads other kinds of files, too.
        return None
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        # A right digest proves no good will: what the archive claims is checked before anything is unpacked.
        entries = archive.zip.infolist()
        if sorted(entry.filename for entry in entries) != sorted(f"{name}.npy" for name in kinds):
            return None
        for entry in entries:
            kind = kinds[entry.filename.removesuffix(".npy")]
            with archive.zip.open(entry) as member:
                # An entry that is not compressed has one size, and it cannot be more than the file's.
                exact = _header(member) == kind and member.tell() + _size(kind) == entry.file_size
                if not exact or entry.file_size != entry.compress_size:
                    return None
        return {name: archive[name] for name in kinds}


def _header(member: Any) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """Return the dtype and shape that an array's header claims."""
    if np.lib.format.read_magic(member) != (1, 0):
        raise ValueError("not what np.savez writes for arrays of numbers")
    shape, _, dtype = np.lib.format.read_array_header_1_0(member)
    return dtype, shape
