"""The folder of one training run: what it may be, who may write to it, and how a run ends that is interrupted."""

from __future__ import annotations

import os
import shlex
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from agents.cards import Card
from agents.checkpoint import ANNOUNCED, CARD, BadCheckpoint, announce, is_unfinished, read_card, remove_leftovers
from numduel_env.cli import LONGEST_ERROR
from numduel_env.outside import described, is_reference, one_line
from numduel_env.stopping import stopped_as_by_ctrl_c, undisturbed

LOCK, LOGS = "lock", "tensorboard"
"""What a run folder holds before anything is saved."""


def new_folder(out: str | None, game: str) -> Path:
    """Return a folder made for a new run; raises ``BadCheckpoint`` where one must not or cannot be made.

    A run that died before its first card begins again in the same folder.
    """
    folder = Path("runs") / f"{game}-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}" if out is None else Path(out)
    try:
        if folder.is_dir() and not _is_vacant(folder):
            holds = "is not empty"
            if (folder / CARD).exists():
                holds = f"holds a run of {read_card(folder).game}; --resume goes on with one"
            raise BadCheckpoint(f"{folder} {holds}. Choose another --out: nothing is overwritten")
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as wrong:
        raise BadCheckpoint(f"nothing can be written to {folder}: {wrong.strerror}") from None
    return folder


def _is_vacant(folder: Path) -> bool:
    """Return whether nothing is in a folder but what a run leaves that died before its first card."""
    found = {path.name for path in folder.iterdir() if not is_unfinished(path)}
    return CARD not in found and (ANNOUNCED in found or not found - {LOCK, LOGS})


@contextmanager
def occupied(folder: Path) -> Iterator[None]:
    """Keep a run's folder for this process alone; raises ``BadCheckpoint`` if another has it or it is read-only.

    The lock is the operating system's: it goes with the process, however that ends. What an earlier process had to
    leave half written is removed.
    """
    from filelock import FileLock, Timeout

    path = folder / LOCK
    # Somebody else's folder may have a link in this place, or a file that is no lock: neither is touched.
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise BadCheckpoint(f"nothing can be written to {folder}: {path} is no lock")
    for logs in (folder / LOGS, *(folder / LOGS).glob("*")):
        if logs.is_symlink():
            raise BadCheckpoint(f"nothing can be written to {folder}: {logs} is a link")
    lock = FileLock(path, timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise BadCheckpoint(f"another process is training in {folder}") from None
    except OSError as wrong:
        raise BadCheckpoint(f"nothing can be written to {folder}: {wrong.strerror}") from None
    try:
        try:
            remove_leftovers(folder)
            if not (folder / CARD).exists():
                announce(folder)
        except OSError as wrong:
            raise BadCheckpoint(f"nothing can be written to {folder}: {wrong.strerror}") from None
        yield
    finally:
        lock.release()


@contextmanager
def saving_when_stopped(save: Callable[[], object]) -> Iterator[None]:
    """If learning is stopped in here, save what has been learned until then."""
    try:
        yield
    except KeyboardInterrupt:
        with undisturbed():
            save()
        raise


def run_in(folder: Path, program: str, game: str, learn: Callable[[], str]) -> int:
    """Learn a game in a folder, print what ``learn`` returns, and return the exit code.

    Where it is stopped, by Ctrl-C or as schedulers do, or the disk is full, one line says how the run goes on.
    """
    with occupied(folder), stopped_as_by_ctrl_c(), threads_that_fail_in_one_line():
        try:
            summary = learn()
        except KeyboardInterrupt:
            why, code = "stopped", 130
        except OSError as wrong:
            why, code = f"nothing more can be saved: {wrong}", 1
        else:
            print(summary)
            return 0
    then = "nothing has been saved yet; the same command begins again"
    if (folder / CARD).exists():
        # No card can make a program import a game: whoever goes on names it.
        named = ["--game", game] if is_reference(game) else []
        then = f"to go on: python {shlex.join([program, '--resume', str(folder), *named])}"
    print(one_line(f"{why}; {then}", LONGEST_ERROR), file=sys.stderr)
    return code


@contextmanager
def threads_that_fail_in_one_line() -> Iterator[None]:
    """Let no thread print a traceback: TensorBoard's writer is one, and ends when the disk is full."""
    before = threading.excepthook
    threading.excepthook = lambda failed: print(
        f"a thread has ended: {described(failed.exc_value or failed.exc_type())}", file=sys.stderr
    )
    try:
        yield
    finally:
        threading.excepthook = before


def card_of_run(folder: Path, program: str) -> Card:
    """Return the card of a run of ``program``, or raise ``BadCheckpoint``."""
    if (folder / ANNOUNCED).is_file() and not (folder / CARD).exists():
        raise BadCheckpoint(f"{folder} has saved nothing yet: begin again, with --game and --out {folder}")
    card = read_card(folder)
    if card.training is None or card.training.program != program:
        raise BadCheckpoint(f"{folder} was not written by {program}")
    return card
