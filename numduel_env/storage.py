"""Writing results: all at once, and refused before the work rather than after it."""

from __future__ import annotations

import argparse
import os
from contextlib import suppress
from pathlib import Path


def write_atomically(path: str | Path, content: str | bytes) -> None:
    """Write a file at once: whoever reads it finds the old content or the new."""
    unfinished = f"{path}.{os.getpid()}.tmp"
    try:
        with open(unfinished, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        os.replace(unfinished, path)
    except BaseException:
        with suppress(OSError):
            os.remove(unfinished)
        raise


def check_writable(parser: argparse.ArgumentParser, option: str, path: str) -> None:
    """End the program if no file can be written at ``path``."""
    # Only a file may be replaced: not a folder, and not /dev/null.
    special = os.path.exists(path) and not os.path.isfile(path)
    if not path or special or not os.access(os.path.dirname(os.path.abspath(path)), os.W_OK):
        parser.error(f"{option} {path}: no file can be written there")
