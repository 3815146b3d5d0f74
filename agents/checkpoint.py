"""A trained agent on disk: a folder with a card (JSON) and tensors (safetensors). Reading one never runs anything.

The card (``cards.py``) says which game, with which parameters and version, what the network observes and how it is
built, how it was trained and what it scored. Its ``files`` name the tensor files with their digests. The card is
replaced after everything else has been written, so a reader finds one whole checkpoint, the old or the new, at whatever
moment the writer was killed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.cards import SCHEMA, Card, File, GameCard
from numduel_env.games import find_known_game
from numduel_env.rules import Rules
from numduel_env.storage import BadRecord, from_json, to_json, write_atomically

CARD = "card.json"

LARGEST_FILE = 2**30
"""No file of a checkpoint has more bytes."""

Tensors = dict[str, NDArray[np.float32]]

WANTED = "pip install -c constraints.txt -e '.[train]'"
"""What brings the packages that training and trained agents need."""


class BadCheckpoint(ValueError):  # noqa: N818 - it says what it is
    """A folder that holds no usable checkpoint; the message says what does not fit."""


def write_checkpoint(folder: Path, card: Card, files: Mapping[str, Tensors]) -> Card:
    """Write ``files`` (tensors by their purpose) and then the card that names them, which is returned.

    Earlier files go away. Raises a ``ValueError`` if the card holds a number that JSON does not have.
    """
    from safetensors.numpy import save

    contents = {}
    for purpose, tensors in files.items():
        content = save(tensors)
        digest = hashlib.sha256(content).hexdigest()
        contents[purpose] = File(f"{purpose}-{digest[:12]}.safetensors", digest), content
    card = replace(card, files={purpose: file for purpose, (file, _) in contents.items()})
    text = to_json(card)
    for file, content in contents.values():
        write_atomically(folder / file.name, content)
    write_atomically(folder / CARD, text)
    current = {file.name for file in card.files.values()}
    # A writer that was killed may have left something unfinished, too.
    for old in [*folder.glob("*-????????????.safetensors"), *folder.glob("*.tmp")]:
        if old.name not in current:
            with suppress(OSError):
                old.unlink()
    return card


@dataclass(frozen=True)
class Stamp:
    """What a card of any schema has."""

    schema: int


def read_card(folder: Path) -> Card:
    """Return the card of a checkpoint, or raise ``BadCheckpoint``."""
    path = folder / CARD
    try:
        content = _content(path)
    except FileNotFoundError:
        what = "is not the folder of a trained agent" if folder.is_dir() else "is no folder"
        raise BadCheckpoint(f"{folder} {what}: there is no {path}") from None
    except (OSError, ValueError) as wrong:
        raise BadCheckpoint(f"{path} cannot be read: {wrong}") from None
    try:
        if (schema := from_json(content, Stamp).schema) != SCHEMA:
            raise BadCheckpoint(f"{path} has schema {schema}; this version reads schema {SCHEMA}")
        return from_json(content, Card)
    except BadRecord as wrong:
        raise BadCheckpoint(f"{path} is no card of a trained agent: {wrong}") from None


def _content(path: Path) -> bytes:
    """Return what is in a file; a pipe or a device, which might never end, is none."""
    size = path.stat().st_size
    if not path.is_file() or size > LARGEST_FILE:
        raise OSError(f"it is no file of at most {LARGEST_FILE:,} bytes")
    return path.read_bytes()


def rules_of(game: GameCard) -> Rules[Any]:
    """Return the rules of the game on a card, or raise ``BadCheckpoint``."""
    try:
        spec = find_known_game(game.name)
        rules = spec.make_rules(**game.parameters)
    except (TypeError, ValueError) as wrong:
        raise BadCheckpoint(f"the card names no game that is known here: {wrong}") from None
    if game.version != spec.version:
        raise BadCheckpoint(
            f"the card is of version {game.version} of {spec.name}, which is now at version {spec.version}"
        )
    return rules


def read_tensors(folder: Path, card: Card, purpose: str) -> Tensors:
    """Return the tensors of one of a card's files, or raise ``BadCheckpoint``."""
    try:
        from safetensors import SafetensorError
        from safetensors.numpy import load
    except ImportError as missing:
        raise BadCheckpoint(f"trained agents need {missing.name}, which is not installed: {WANTED}") from None
    file = card.files.get(purpose)
    if file is None or Path(file.name).name != file.name:
        raise BadCheckpoint(f"{folder / CARD} names no file of {purpose}")
    path = folder / file.name
    try:
        content = _content(path)
    except (OSError, ValueError) as wrong:
        raise BadCheckpoint(f"{path} cannot be read: {wrong}") from None
    if hashlib.sha256(content).hexdigest() != file.sha256:
        raise BadCheckpoint(f"{path} is not the file that the card describes: its SHA-256 differs")
    try:
        tensors: Tensors = load(content)
    except (SafetensorError, ValueError, TypeError, KeyError) as wrong:
        raise BadCheckpoint(f"{path} is no safetensors file: {wrong}") from None
    for key, tensor in tensors.items():
        if tensor.dtype != np.float32 or not np.isfinite(tensor).all():
            raise BadCheckpoint(f"{path}: {key} must be finite float32 numbers")
    return tensors
