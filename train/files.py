"""Writing results: all at once, and refused before the work rather than after it."""

from __future__ import annotations

import argparse
import os
from contextlib import suppress


def write_atomically(path: str, text: str) -> None:
    """Write a file at once: whoever reads it finds the old text or the new."""
    unfinished = f"{path}.{os.getpid()}.tmp"
    try:
        with open(unfinished, "w", encoding="utf-8") as file:
            file.write(text)
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
