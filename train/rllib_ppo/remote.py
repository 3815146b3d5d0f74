"""A folder at a URI: a run is copied to it, and fetched from it."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pyarrow
from pyarrow import fs

from agents.cards import Card
from agents.checkpoint import ANNOUNCED, CARD, WRITTEN, BadCheckpoint, announce, announced, names_on, read_card


def is_uri(place: str) -> bool:
    """Return whether a place is named by a URI rather than by a path."""
    return "://" in place


class RemoteFolder:
    """A folder at a URI that pyarrow can reach; as a context, it raises ``BadCheckpoint`` for what goes wrong."""

    def __init__(self, uri: str) -> None:
        self.uri = uri

    def __enter__(self) -> RemoteFolder:
        try:
            self._system, self._path = fs.FileSystem.from_uri(self.uri)
        except (pyarrow.ArrowException, OSError, ValueError) as wrong:
            raise BadCheckpoint(f"{self.uri} cannot be used: {' '.join(str(wrong).split())}") from None
        return self

    def __exit__(self, kind: Any, wrong: BaseException | None, trace: Any) -> None:
        if isinstance(wrong, pyarrow.ArrowException | OSError):
            raise BadCheckpoint(f"{self.uri} cannot be used: {' '.join(str(wrong).split())}") from None

    def names(self) -> set[str]:
        """Return the names of what is in the folder; none if there is no folder."""
        here = fs.FileSelector(self._path, allow_not_found=True)
        return {info.base_name for info in self._system.get_file_info(here)}

    def card(self) -> Card | None:
        """Return the card of the run that is saved here, if one is."""
        if CARD not in self.names():
            return None
        with tempfile.TemporaryDirectory() as place:
            self._fetch_file(CARD, place)
            return read_card(Path(place))

    def make(self) -> None:
        """Make the folder."""
        self._system.create_dir(self._path)

    def fetch(self, folder: Path) -> None:
        """Copy everything into a local folder."""
        fs.copy_files(self._path, str(folder.absolute()), self._system, fs.LocalFileSystem())

    def is_vacant(self) -> bool:
        """Return whether nothing is in the folder but what a run leaves that died before its first card."""
        names = self.names()
        return not names or (ANNOUNCED in names and CARD not in names)

    def send(self, folder: Path) -> None:
        """Copy the run in a local folder here: first the new files, then the card; what the earlier card named goes.

        What is about to be copied is announced beforehand, as in a local folder: see ``agents/checkpoint.py``.
        """
        wanted = names_on(read_card(folder))
        earlier = self._announced() | (names_on(card) if (card := self.card()) else set())
        with tempfile.TemporaryDirectory() as place:
            announce(Path(place), wanted | earlier)
            self._send(Path(place) / ANNOUNCED, ANNOUNCED)
        for name in wanted:
            self._send(folder / name, name)
        self._send(folder / CARD, f"{CARD}.tmp")
        self._system.move(f"{self._path}/{CARD}.tmp", f"{self._path}/{CARD}")
        old = {name for name in earlier - wanted if WRITTEN.fullmatch(name)}
        for name in [*(old & self.names()), ANNOUNCED]:
            path = f"{self._path}/{name}"
            if self._system.get_file_info(path).is_file:
                self._system.delete_file(path)
            else:
                self._system.delete_dir(path)

    def _announced(self) -> set[str]:
        """Return what a copy that did not end was to bring here."""
        if ANNOUNCED not in self.names():
            return set()
        with tempfile.TemporaryDirectory() as place:
            self._fetch_file(ANNOUNCED, place)
            return announced(Path(place))

    def _fetch_file(self, name: str, place: str) -> None:
        fs.copy_files(f"{self._path}/{name}", f"{place}/{name}", self._system, fs.LocalFileSystem())

    def _send(self, local: Path, name: str) -> None:
        fs.copy_files(str(local.absolute()), f"{self._path}/{name}", fs.LocalFileSystem(), self._system)
