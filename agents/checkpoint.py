"""A trained agent on disk: a folder with a card (JSON) and tensors (safetensors). Reading one never runs anything.

The card tells the game, its parameters and version, what the network sees and how it is built, how it was trained and
what it scored. Its ``files`` name the tensor files with their digests. The card is replaced after everything else has
been written, so a reader finds one whole checkpoint, the old or the new, at whatever moment the writer was killed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from numduel_env.games import GameSpec, find_game
from numduel_env.rules import Rules
from numduel_env.storage import write_atomically

CARD = "card.json"
SCHEMA = 1
"""Counts the changes of the card's layout that older readers would misread."""

LARGEST_FILE = 2**30
"""No file of a checkpoint has more bytes."""

Tensors = dict[str, NDArray[np.float32]]

WANTED = "pip install -c constraints.txt -e '.[train]'"
"""What brings the packages that training and trained agents need."""


class BadCheckpoint(ValueError):  # noqa: N818 - it says what it is
    """A folder that holds no usable checkpoint; the message says what does not fit."""


def write_checkpoint(folder: Path, card: dict[str, Any], files: Mapping[str, Tensors]) -> None:
    """Write ``files`` (tensors by the file's purpose) and then the card that names them; earlier files go away."""
    from safetensors.numpy import save

    named = {}
    for purpose, tensors in files.items():
        content = save(tensors)
        digest = hashlib.sha256(content).hexdigest()
        named[purpose] = {"name": f"{purpose}-{digest[:12]}.safetensors", "sha256": digest}
        write_atomically(folder / named[purpose]["name"], content)
    whole_card = {"schema": SCHEMA, **card, "files": named}
    write_atomically(folder / CARD, json.dumps(whole_card, indent=2, allow_nan=False) + "\n")
    current = {entry["name"] for entry in named.values()}
    # A writer that was killed may have left something unfinished, too.
    for old in [*folder.glob("*-????????????.safetensors"), *folder.glob("*.tmp")]:
        if old.name not in current:
            with suppress(OSError):
                old.unlink()


def read_card(folder: Path) -> dict[str, Any]:
    """Return the card of a checkpoint, or raise ``BadCheckpoint``."""
    path = folder / CARD
    try:
        card = json.loads(_content(path).decode("utf-8"))
    except FileNotFoundError:
        what = "is not the folder of a trained agent" if folder.is_dir() else "is no folder"
        raise BadCheckpoint(f"{folder} {what}: there is no {path}") from None
    except (OSError, ValueError, RecursionError) as wrong:
        raise BadCheckpoint(f"{path} cannot be read: {wrong}") from None
    if not isinstance(card, dict) or not isinstance(card.get("files"), dict):
        raise BadCheckpoint(f"{path} is no card of a trained agent")
    if card.get("schema") != SCHEMA:
        raise BadCheckpoint(f"{path} has schema {card.get('schema')!r}; this version reads schema {SCHEMA}")
    return card


def _content(path: Path) -> bytes:
    """Return what is in a file; a pipe or a device, which might never end, is none."""
    size = path.stat().st_size
    if not path.is_file() or size > LARGEST_FILE:
        raise OSError(f"it is no file of at most {LARGEST_FILE:,} bytes")
    return path.read_bytes()


def card_of_game(game: GameSpec, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a card says of the game that was played: ``params`` and otherwise the book's."""
    return {"name": game.name, "version": game.version, "parameters": {**game.params, **params}}


def rules_of(card: dict[str, Any]) -> Rules:
    """Return the rules that a card names, or raise ``BadCheckpoint``."""
    try:
        told = card["game"]
        game = find_game(str(told["name"]))
        rules = game.make_rules(**told["parameters"])
    except (KeyError, TypeError, ValueError) as wrong:
        what = f"it has no {wrong}" if isinstance(wrong, KeyError) else wrong
        raise BadCheckpoint(f"the card names no game that is known here: {what}") from None
    if told.get("version") != game.version:
        raise BadCheckpoint(
            f"the card is of version {told.get('version')!r} of {game.name}, which is now at version {game.version}"
        )
    return rules


def name_of_game(card: dict[str, Any]) -> str:
    """Return the game that a card names, with its parameters, for people."""
    try:
        told = card["game"]
        return f"{told['name']} ({', '.join(f'{name}={value}' for name, value in told['parameters'].items())})"
    except (KeyError, TypeError, AttributeError):
        return "an unknown game"


def read_tensors(folder: Path, card: dict[str, Any], purpose: str) -> Tensors:
    """Return the tensors of one of a card's files, or raise ``BadCheckpoint``."""
    try:
        from safetensors import SafetensorError
        from safetensors.numpy import load
    except ImportError as missing:
        raise BadCheckpoint(f"trained agents need {missing.name}, which is not installed: {WANTED}") from None
    entry = card["files"].get(purpose)
    if not isinstance(entry, dict) or not isinstance(name := entry.get("name"), str) or Path(name).name != name:
        raise BadCheckpoint(f"{folder / CARD} names no file of {purpose}")
    path = folder / name
    try:
        content = _content(path)
    except (OSError, ValueError) as wrong:
        raise BadCheckpoint(f"{path} cannot be read: {wrong}") from None
    if hashlib.sha256(content).hexdigest() != entry.get("sha256"):
        raise BadCheckpoint(f"{path} is not the file that the card describes: its SHA-256 differs")
    try:
        tensors: Tensors = load(content)
    except (SafetensorError, ValueError, TypeError, KeyError) as wrong:
        raise BadCheckpoint(f"{path} is no safetensors file: {wrong}") from None
    for key, tensor in tensors.items():
        if tensor.dtype != np.float32 or not np.isfinite(tensor).all():
            raise BadCheckpoint(f"{path}: {key} must be finite float32 numbers")
    return tensors
