"""The folder of a training run with RLlib: our own checkpoint, RLlib's beside it, and a copy at a URI if wanted.

The card and the weights are the agent, and reading them runs nothing. RLlib's own checkpoint holds pickles; it is read
only when the run that wrote it goes on.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from agents.cards import Card, TrainingCard
from agents.checkpoint import CARD, WRITTEN, BadCheckpoint, announce, write_checkpoint
from train.rllib_ppo.remote import RemoteFolder, is_uri
from train.runs.folder import card_of_run, new_folder
from train.runs.record import Record


class RunFolder:
    """Where a run is saved: a local ``folder``, and a copy of it at ``uri`` if one is wanted.

    A save writes RLlib's checkpoint into a new subfolder, then the weights, then the card that names them all: if the
    process is killed in between, the save before is still whole. Make one with ``begin`` or ``resume``, which raise
    ``BadCheckpoint``.
    """

    def __init__(self, folder: Path, uri: str | None = None) -> None:
        self.folder, self.uri = folder, uri
        self._fetched: tempfile.TemporaryDirectory[str] | None = None

    @classmethod
    def begin(cls, out: str | None, game: str) -> RunFolder:
        """Return the place of a new run at ``out``: a folder or a URI, new or empty."""
        if out is None or not is_uri(out):
            return cls(new_folder(out, game))
        with RemoteFolder(out) as remote:
            if not remote.is_vacant():
                raise BadCheckpoint(f"{out} is not empty. Choose another --out: nothing is overwritten")
            remote.make()
        return cls(new_folder(None, game), out)

    @classmethod
    def resume(cls, place: str, program: str) -> tuple[RunFolder, Card]:
        """Return the run of ``program`` in the folder or at the URI ``place``, and its card."""
        if not is_uri(place):
            folder = Path(place)
            card, training = whole_card(folder, program)
            out = training.arguments.get("out")
            run = cls(folder, out if isinstance(out, str) and is_uri(out) else None)
            run._refuse_to_fall_behind(training)
            return run, card
        # It gets a folder of its own when it is settled.
        fetched = tempfile.TemporaryDirectory()
        run = cls(Path(fetched.name), place)
        run._fetched = fetched
        with RemoteFolder(place) as remote:
            if CARD not in remote.names():
                raise BadCheckpoint(f"there is no {CARD} at {place}")
            remote.fetch(run.folder)
        try:
            card, _ = whole_card(run.folder, program)
        except BadCheckpoint as wrong:
            raise BadCheckpoint(str(wrong).replace(fetched.name, place)) from None
        return run, card

    def _refuse_to_fall_behind(self, here: TrainingCard) -> None:
        """Raise ``BadCheckpoint`` if the copy at the URI has learned on since the card ``here`` was saved."""
        if self.uri is None:
            return
        with RemoteFolder(self.uri) as remote:
            copy = remote.card()
        if copy and copy.training and copy.training.progress.plies > here.progress.plies:
            raise BadCheckpoint(f"the copy at {self.uri} has learned on: --resume {self.uri}")

    def settled(self, game: str) -> RunFolder:
        """Return the run where it can go on: one that was fetched from a URI gets a local folder of its own."""
        if self._fetched is None:
            return self
        folder = new_folder(None, game)
        shutil.copytree(self.folder, folder, dirs_exist_ok=True)
        self._fetched.cleanup()
        return RunFolder(folder, self.uri)

    def save(self, algorithm: Any, record: Record) -> None:
        """Write the state of ``algorithm``, the best weights, and the card, which then names both."""
        name = f"rllib-{record.training.progress.plies:012d}"
        if record.training.state != name:
            announce(self.folder, [name])
            algorithm.save_to_path(str((self.folder / name).absolute()))
            record.keep_state(name)
        record.card = write_checkpoint(self.folder, record.card, {"weights": record.best})

    def copy(self) -> None:
        """Bring the copy at the URI up to date, if one is wanted; raises ``BadCheckpoint`` if that cannot be done."""
        if self.uri:
            with RemoteFolder(self.uri) as remote:
                remote.send(self.folder)

    def restore(self, algorithm: Any, before: TrainingCard) -> None:
        """Set ``algorithm`` to the state that was saved, or raise ``BadCheckpoint``."""
        place = self.folder / str(before.state)
        try:
            algorithm.restore_from_path(str(place.absolute()))
        except Exception as wrong:
            # Unpickling a damaged or a stranger's checkpoint can raise anything.
            reason = " ".join(str(wrong).split()) or type(wrong).__name__
            raise BadCheckpoint(f"RLlib cannot restore {place}: {reason}") from wrong

    def __str__(self) -> str:
        return f"{self.folder} and {self.uri}" if self.uri else str(self.folder)


def whole_card(folder: Path, program: str) -> tuple[Card, TrainingCard]:
    """Return the card of a run of RLlib's that can go on, and its training part, or raise ``BadCheckpoint``."""
    card = card_of_run(folder, program)
    assert card.training is not None
    name = card.training.state
    if name is None or not WRITTEN.fullmatch(name) or not (folder / name).is_dir():
        raise BadCheckpoint(f"{folder} has no checkpoint of RLlib: there is no {folder / str(name)}")
    return card, card.training
