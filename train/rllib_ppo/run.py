"""The folder of a training run with RLlib: our own checkpoint, RLlib's beside it, and a copy at a URI if wanted.

The card and the weights are the agent, and reading them runs nothing. RLlib's own checkpoint holds pickles; it is read
only when the run that wrote it goes on.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pyarrow
from pyarrow import fs

from agents.checkpoint import CARD, BadCheckpoint, Tensors, read_card, rules_of, write_checkpoint
from agents.learned import read_network
from train.runs.folder import new_folder, unfinished_card
from train.runs.record import check_record

PACKAGES = ("gymnasium", "numpy", "pettingzoo", "ray", "torch")
ALGORITHM = "rllib"
"""The key of the card under which the name of RLlib's checkpoint stands, and the first word of that name."""


class Run:
    """Where a run is saved: a local ``folder``, and a copy of it at ``uri`` if one is wanted.

    A save writes RLlib's checkpoint into a new folder, then the weights, then the card that names them all: whoever is
    killed in between leaves the save before. Make one with ``begin`` or ``resume``, which raise ``BadCheckpoint``.
    """

    def __init__(self, folder: Path, uri: str | None = None) -> None:
        self.folder, self.uri = folder, uri
        self._fetched: tempfile.TemporaryDirectory[str] | None = None

    @classmethod
    def begin(cls, out: str | None, game: str) -> Run:
        """Return a new run at ``out``: a folder or a URI, new or empty."""
        if out is None or not is_uri(out):
            return cls(new_folder(out, game))
        with Remote(out) as remote:
            if remote.names():
                raise BadCheckpoint(f"{out} is not empty. Choose another --out: nothing is overwritten")
            remote.make()
        return cls(new_folder(None, game), out)

    @classmethod
    def resume(cls, place: str, program: str) -> tuple[Run, dict[str, Any]]:
        """Return the unfinished run of ``program`` in the folder or at the URI ``place``, and its card."""
        if not is_uri(place):
            folder = Path(place)
            card = whole_card(folder, program)
            out = card["arguments"].get("out")
            run = cls(folder, out if isinstance(out, str) and is_uri(out) else None)
            run._refuse_to_fall_behind(card)
            return run, card
        # It gets a folder of its own when it is settled.
        fetched = tempfile.TemporaryDirectory()
        run = cls(Path(fetched.name), place)
        run._fetched = fetched
        with Remote(place) as remote:
            if CARD not in remote.names():
                raise BadCheckpoint(f"there is no {CARD} at {place}")
            remote.fetch(run.folder)
        try:
            return run, whole_card(run.folder, program)
        except BadCheckpoint as wrong:
            raise BadCheckpoint(str(wrong).replace(fetched.name, place)) from None

    def _refuse_to_fall_behind(self, card: dict[str, Any]) -> None:
        """Raise ``BadCheckpoint`` if the copy at the URI has learned on since ``card`` was saved here."""
        if self.uri is None:
            return
        with Remote(self.uri) as remote:
            copied = remote.card()
        if copied and copied["progress"]["plies"] > card["progress"]["plies"]:
            raise BadCheckpoint(f"the copy at {self.uri} has learned on: --resume {self.uri}")

    def settled(self, game: str) -> Run:
        """Return the run where it can go on: one that was fetched from a URI gets a local folder of its own."""
        if self._fetched is None:
            return self
        folder = new_folder(None, game)
        shutil.copytree(self.folder, folder, dirs_exist_ok=True)
        self._fetched.cleanup()
        return Run(folder, self.uri)

    def save(self, algorithm: Any, card: dict[str, Any], weights: Tensors) -> None:
        """Write the state of ``algorithm``, the ``weights``, and the ``card``, which is told here what to name."""
        name = f"{ALGORITHM}-{card['progress']['plies']:012d}"
        if card.get(ALGORITHM) != name:
            shutil.rmtree(self.folder / name, ignore_errors=True)
            algorithm.save_to_path(str((self.folder / name).absolute()))
            card[ALGORITHM] = name
        write_checkpoint(self.folder, card, {"weights": weights})
        for old in self.folder.glob(f"{ALGORITHM}-*"):
            if old.name != name:
                shutil.rmtree(old, ignore_errors=True)

    def copy(self) -> None:
        """Bring the copy at the URI up to date, if one is wanted; raises ``BadCheckpoint`` if that cannot be done."""
        if self.uri:
            with Remote(self.uri) as remote:
                remote.send(self.folder)

    def restore(self, algorithm: Any, card: dict[str, Any]) -> Tensors:
        """Set ``algorithm`` to what was saved, and return the best weights so far; or raise ``BadCheckpoint``."""
        place = self.folder / card[ALGORITHM]
        try:
            algorithm.restore_from_path(str(place.absolute()))
        except Exception as wrong:
            # Unpickling a damaged or a stranger's checkpoint can raise anything.
            reason = " ".join(str(wrong).split()) or type(wrong).__name__
            raise BadCheckpoint(f"RLlib cannot restore {place}: {reason}") from wrong
        *_, weights = read_network(self.folder, card, rules_of(card))
        return weights

    def __str__(self) -> str:
        return f"{self.folder} and {self.uri}" if self.uri else str(self.folder)


class Remote:
    """A folder at a URI that pyarrow can reach; as a context, it tells what goes wrong as ``BadCheckpoint``."""

    def __init__(self, uri: str) -> None:
        self.uri = uri

    def __enter__(self) -> Remote:
        try:
            self._system, self._path = fs.FileSystem.from_uri(self.uri)
        except (pyarrow.ArrowException, OSError, ValueError) as wrong:
            raise BadCheckpoint(f"{self.uri} cannot be used: {' '.join(str(wrong).split())}") from None
        return self

    def __exit__(self, kind: Any, wrong: BaseException | None, trace: Any) -> None:
        if isinstance(wrong, pyarrow.ArrowException | OSError):
            raise BadCheckpoint(f"{self.uri} cannot be used: {' '.join(str(wrong).split())}") from None

    def names(self) -> set[str]:
        """Return what stands in the folder; nothing if there is none."""
        return {
            info.base_name for info in self._system.get_file_info(fs.FileSelector(self._path, allow_not_found=True))
        }

    def card(self) -> dict[str, Any] | None:
        """Return the card of the run that is saved here, if one is."""
        if CARD not in self.names():
            return None
        with tempfile.TemporaryDirectory() as place:
            fs.copy_files(f"{self._path}/{CARD}", f"{place}/{CARD}", self._system, fs.LocalFileSystem())
            card = read_card(Path(place))
        check_record(card, self.uri)
        return card

    def make(self) -> None:
        """Make the folder."""
        self._system.create_dir(self._path)

    def fetch(self, folder: Path) -> None:
        """Copy everything here into a local folder."""
        fs.copy_files(self._path, str(folder.absolute()), self._system, fs.LocalFileSystem())

    def send(self, folder: Path) -> None:
        """Make this a copy of a local folder: first what is new, then the card, and what is old goes last."""
        card = json.loads((folder / CARD).read_text(encoding="utf-8"))
        wanted = {card[ALGORITHM], *(entry["name"] for entry in card["files"].values())}
        for name in wanted:
            self._send(folder / name, name)
        self._send(folder / CARD, f"{CARD}.tmp")
        self._system.move(f"{self._path}/{CARD}.tmp", f"{self._path}/{CARD}")
        for name in self.names() - wanted - {CARD}:
            path = f"{self._path}/{name}"
            if self._system.get_file_info(path).is_file:
                self._system.delete_file(path)
            else:
                self._system.delete_dir(path)

    def _send(self, local: Path, name: str) -> None:
        fs.copy_files(str(local.absolute()), f"{self._path}/{name}", fs.LocalFileSystem(), self._system)


def is_uri(place: str) -> bool:
    """Return whether a place is named by a URI rather than by a path."""
    return "://" in place


def whole_card(folder: Path, program: str) -> dict[str, Any]:
    """Return the card of a run of RLlib's that can go on, or raise ``BadCheckpoint``."""
    card = unfinished_card(folder, program)
    name = card.get(ALGORITHM)
    if not isinstance(name, str) or Path(name).name != name or not (folder / name).is_dir():
        raise BadCheckpoint(f"{folder} has no checkpoint of RLlib: there is no {folder / str(name)}")
    return card
