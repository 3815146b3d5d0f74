"""A trained agent on disk: a folder with a card (JSON) and tensors (safetensors). Reading one never runs anything.

The card (``cards.py``) says which game, with which parameters and version, what the network observes and how it is
built, how it was trained and what it scored. Its ``files`` name the tensor files with their digests. The card is
replaced after everything else has been written, so a reader finds one whole checkpoint, the old or the new, at whatever
moment the writer was killed. What a save is about to write is announced beforehand, in ``saving.json``: so what a
killed writer has left can be distinguished from what a user keeps in the folder, and that is never touched.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Iterable, Mapping
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

CARD, CURVE = "card.json", "curve.png"

ANNOUNCED = "saving.json"
"""Is there while a save is written, and from the beginning of a run until its first card."""

WRITTEN = re.compile(r"[a-z]+-[0-9a-f]{12}\.safetensors|rllib-[0-9]{12}")
"""The names of what is written for a card, and goes when a later card does not name it."""

LARGEST_FILE = 2**30
"""No file of a checkpoint has more bytes."""

LARGEST_CARD = 2**22
"""No card has more bytes, nor any other file of JSON."""

Tensors = dict[str, NDArray[np.float32]]

WANTED = "pip install -c constraints.txt -e '.[train]'"
"""What brings the packages that training and trained agents need."""


class BadCheckpoint(ValueError):  # noqa: N818 - it says what it is
    """A folder that holds no usable checkpoint; the message says what does not fit."""


def write_checkpoint(folder: Path, card: Card, files: Mapping[str, Tensors]) -> Card:
    """Write ``files`` (tensors by their purpose) and then the card that names them, which is returned.

    What the earlier card named goes. Raises a ``ValueError`` if the card holds a number that JSON does not have.
    """
    from safetensors.numpy import save

    contents = {}
    for purpose, tensors in files.items():
        content = save(tensors)
        digest = hashlib.sha256(content).hexdigest()
        contents[purpose] = File(f"{purpose}-{digest[:12]}.safetensors", digest), content
    card = replace(card, files={purpose: file for purpose, (file, _) in contents.items()})
    text = to_json(card)
    try:
        announce(folder, names_on(card) | (_names_on_disk(folder) or set()))
        for file, content in contents.values():
            write_atomically(folder / file.name, content)
        write_atomically(folder / CARD, text)
    finally:
        # Now the later card has been written, or the earlier one counts.
        remove_leftovers(folder)
    return card


@dataclass(frozen=True)
class Announcement:
    """What a save writes besides the card, and what the card before it named."""

    names: tuple[str, ...]


def announce(folder: Path, names: Iterable[str] = ()) -> None:
    """Note that ``names`` are about to be written, besides those that were announced before."""
    write_atomically(folder / ANNOUNCED, to_json(Announcement(tuple(sorted({*announced(folder), *names})))))


def remove_leftovers(folder: Path) -> None:
    """Remove what was announced and what the card does not name, and what is half written; nobody else may write."""
    names, current = announced(folder), _names_on_disk(folder)
    if current is None:
        return
    for path in folder.glob("*"):
        if (path.name in names - current and WRITTEN.fullmatch(path.name)) or is_unfinished(path, names):
            with suppress(OSError):
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    if (folder / CARD).exists():
        (folder / ANNOUNCED).unlink(missing_ok=True)


def is_unfinished(path: Path, names: Iterable[str] = ()) -> bool:
    """Return whether a file is what a killed process has left of the card, the announcement or one of ``names``."""
    name, _, process = path.name.removesuffix(".tmp").rpartition(".")
    return path.suffix == ".tmp" and process.isdecimal() and name in {CARD, CURVE, ANNOUNCED, *names}


def announced(folder: Path) -> set[str]:
    """Return what a save that has not ended was to write, and what the card before it named."""
    try:
        return set(from_json(_content(folder / ANNOUNCED, LARGEST_CARD), Announcement).names)
    except (OSError, BadRecord):
        return set()


def names_on(card: Card) -> set[str]:
    """Return the names of all that a card says is beside it."""
    state = {card.training.state} if card.training and card.training.state else set()
    return {file.name for file in card.files.values()} | state


def _names_on_disk(folder: Path) -> set[str] | None:
    """Return what the card in the folder names: nothing if there is no card, None if it cannot be read."""
    try:
        return names_on(read_card(folder)) if (folder / CARD).exists() else set()
    except BadCheckpoint:
        return None


@dataclass(frozen=True)
class Stamp:
    """What a card of any schema has."""

    schema: int


def read_card(folder: Path) -> Card:
    """Return the card of a checkpoint, or raise ``BadCheckpoint``."""
    path = folder / CARD
    try:
        content = _content(path, LARGEST_CARD)
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


def _content(path: Path, limit: int) -> bytes:
    """Return what is in a file; a pipe or a device, which might never end, is none."""
    size = path.stat().st_size
    if not path.is_file() or size > limit:
        raise OSError(f"it is no file of at most {limit:,} bytes")
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
        content = _content(path, LARGEST_FILE)
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
