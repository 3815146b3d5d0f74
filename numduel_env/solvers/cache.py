"""Tables kept on disk between runs, so that a long computation is made once.

A file is a magic word, a BLAKE2b digest of everything behind it, the length of a JSON header, the header (format,
key, version, and the name, type and shape of each array) and the arrays as raw bytes. Nothing is ever unpickled. A
file that is not exactly what was asked for counts as missing, and a folder that cannot be used is no error: whoever
asks must be able to do without.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAGIC = b"numduel tables\r\n"
FORMAT = 1
DIGEST_SIZE = 32
LENGTH_SIZE = 8
ALIGNMENT = 64
KINDS = "biuf"
"""The kinds of arrays that are stored: booleans, integers, floats; all plain bytes."""


def folder() -> Path:
    """Return where tables are kept: ``$NUMDUEL_CACHE``, or a folder of our own where the system keeps caches.

    Raises ``RuntimeError`` if the user has no home.
    """
    chosen = os.environ.get("NUMDUEL_CACHE")
    if chosen:
        return Path(chosen)
    shared = os.environ.get("XDG_CACHE_HOME")
    if not shared and sys.platform == "win32":
        shared = os.environ.get("LOCALAPPDATA")
    if shared and Path(shared).is_absolute():
        return Path(shared) / "numduel_env"
    caches = "Library/Caches" if sys.platform == "darwin" else ".cache"
    return Path.home() / caches / "numduel_env"


def file_name(key: str) -> str:
    """Return the name of the file of ``key``, which must be made of letters, digits, dots and dashes."""
    if key.startswith(".") or not key.replace("-", "").replace(".", "").isalnum():
        raise ValueError(f"a cache key is made of letters, digits, dots and dashes; {key!r} is not")
    return f"{key}.tables"


def load(key: str, version: int) -> dict[str, NDArray[Any]] | None:
    """Return the arrays stored under ``key`` by the same ``version`` (to be read, not written), or None."""
    name = file_name(key)
    try:
        with (folder() / name).open("rb") as file:
            # Whoever put a huge file of another kind here should not have it read to the end.
            if file.read(len(MAGIC)) != MAGIC:
                return None
            digest = file.read(DIGEST_SIZE)
            content = file.read()
        if hashlib.blake2b(content, digest_size=DIGEST_SIZE).digest() != digest:
            return None
        return _unpack(content, key, version)
    except (OSError, RuntimeError, MemoryError, ArithmeticError, LookupError, TypeError, ValueError):
        # Whatever a file that others wrote can make go wrong, it is not ours.
        return None


def store(key: str, version: int, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Keep ``arrays`` under ``key`` if the folder allows it; a reader sees the old file or the new one, never half."""
    name = file_name(key)
    header, payload = _pack(key, version, arrays)
    digest = hashlib.blake2b(header, digest_size=DIGEST_SIZE)
    for part in payload:
        digest.update(part)
    with contextlib.suppress(OSError, RuntimeError):
        place = folder()
        place.mkdir(parents=True, exist_ok=True)
        # Every writer has a temporary file of its own, so two at once replace each other's equal work.
        handle, temporary = tempfile.mkstemp(prefix=f"{key}-", suffix=".part", dir=place)
        try:
            with os.fdopen(handle, "wb") as file:
                file.writelines([MAGIC, digest.digest(), header, *payload])
            os.replace(temporary, place / name)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise


def _pack(key: str, version: int, arrays: Mapping[str, NDArray[Any]]) -> tuple[bytes, list[bytes | memoryview]]:
    """Return the header, its length in front, and the bytes of the arrays, each padded to the alignment."""
    table = []
    payload: list[bytes | memoryview] = []
    for name, array in arrays.items():
        if array.dtype.kind not in KINDS:
            raise TypeError(f"{name} cannot be stored: it is an array of {array.dtype}")
        table.append({"name": name, "dtype": array.dtype.str, "shape": array.shape})
        payload += [np.ascontiguousarray(array).reshape(-1).view(np.uint8).data, b"\0" * (-array.nbytes % ALIGNMENT)]
    text = json.dumps({"format": FORMAT, "key": key, "version": version, "arrays": table}).encode()
    # Spaces behind the JSON let the first array, too, begin on a multiple of the alignment.
    text += b" " * (-(LENGTH_SIZE + len(text)) % ALIGNMENT)
    return len(text).to_bytes(LENGTH_SIZE, "little") + text, payload


def _unpack(content: bytes, key: str, version: int) -> dict[str, NDArray[Any]] | None:
    """Return the arrays of a file, or None if they answer another question; raises if it was packed otherwise."""
    start = LENGTH_SIZE + int.from_bytes(content[:LENGTH_SIZE], "little")
    header = json.loads(content[LENGTH_SIZE:start])
    if (header["format"], header["key"], header["version"]) != (FORMAT, key, version):
        return None
    arrays = {}
    for entry in header["arrays"]:
        dtype = np.dtype(str(entry["dtype"]))
        shape = tuple(int(length) for length in entry["shape"])
        if dtype.kind not in KINDS or min(shape, default=0) < 0:
            return None
        count = math.prod(shape)
        arrays[str(entry["name"])] = np.frombuffer(content, dtype, count, start).reshape(shape)
        start += count * dtype.itemsize
        start += -start % ALIGNMENT
    return arrays if start == len(content) else None
