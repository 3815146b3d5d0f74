"""The folder of one training run: what it may be, what is saved in it, and how a run that was killed goes on."""

from __future__ import annotations

import fcntl
import os
import platform
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from agents.checkpoint import CARD, BadCheckpoint, Tensors, name_of_game, read_card, read_tensors
from numduel_env.cli import flag
from train.runs.grading import tables
from train.runs.record import check_record, history

LOCK, LOGS = "lock", "tensorboard"
"""What a run folder holds before anything is saved."""


def new_folder(out: str | None, game: str) -> Path:
    """Return a folder made for a new run; raises ``BadCheckpoint`` where one must not or cannot be made.

    What a run has left that was killed before its first save may be there.
    """
    folder = Path("runs") / f"{game}-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}" if out is None else Path(out)
    try:
        if folder.is_dir() and {path.name for path in folder.iterdir()} - {LOCK, LOGS}:
            holds = "is not empty"
            if (folder / CARD).exists():
                holds = f"holds a run of {name_of_game(read_card(folder))}; --resume goes on with one"
            raise BadCheckpoint(f"{folder} {holds}. Choose another --out: nothing is overwritten")
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as wrong:
        raise BadCheckpoint(f"nothing can be written to {folder}: {wrong.strerror}") from None
    return folder


@contextmanager
def occupied(folder: Path) -> Iterator[None]:
    """Keep a run's folder for this process alone; raises ``BadCheckpoint`` if another has it or it is read-only.

    The lock goes with the process, however that ends.
    """
    try:
        # A stranger's folder may have a link in this place: nothing is written through it, nor ever into the file.
        lock = os.fdopen(os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666), "w")
    except OSError as wrong:
        raise BadCheckpoint(f"nothing can be written to {folder}: {wrong.strerror}") from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BadCheckpoint(f"another process is training in {folder}") from None
        yield


def run_in(folder: Path, program: str, learn: Callable[[], str]) -> int:
    """Learn in a folder, print what ``learn`` says in the end, and return the exit code.

    Where it is interrupted, or the disk is full, one line tells how the run goes on.
    """
    with occupied(folder):
        try:
            said = learn()
        except KeyboardInterrupt:
            why, code = "stopped", 130
        except OSError as wrong:
            why, code = f"nothing more can be saved: {wrong}", 1
        else:
            print(said)
            return 0
    saved = (folder / CARD).exists()
    then = f"to go on: python {program} --resume {shlex.quote(str(folder))}" if saved else "nothing has been saved yet"
    print(f"{why}; {then}", file=sys.stderr)
    return code


def session_seed(seed: int, plies: int) -> int:
    """Return the seed of the session that begins after so many plies: a run that goes on throws other dice."""
    return int(np.random.SeedSequence([seed, plies]).generate_state(1)[0] // 2)


def begun(before: dict[str, Any] | None, seed: int, device: str, packages: Sequence[str]) -> dict[str, Any]:
    """Return ``history(before)`` with one more session: after how many plies, with what dice, where and with what."""
    so_far = history(before)
    plies = so_far["progress"]["plies"]
    names = ("numduel-env", *packages)
    versions = {"python": platform.python_version()} | {name: version(name) for name in names}
    now = {"from_plies": plies, "seed": session_seed(seed, plies), "device": device, "versions": versions}
    return so_far | {"sessions": [*so_far["sessions"], now]}


def summary(card: dict[str, Any], params: dict[str, Any], written: str, agent: str) -> str:
    """Return what is said of a finished run: how it learned, what it scored, what was written, and how to play it."""
    game, progress = card["game"]["name"], card["progress"]
    given = [part for name, value in params.items() for part in (flag(name), str(value))]
    lines = ["", f"{game}: {progress['plies']:,} plies in {progress['seconds']:.0f} s of learning"]
    if card["grade"]:
        lines.append("The weights are the best of the run, chosen by the solver's grade.")
    lines += ["", tables(card["evaluation"]), "", written]
    lines.append("Play it: " + shlex.join(["python", "agents/play.py", "--game", game, *given, "--second", agent]))
    return "\n".join(lines)


def unfinished_card(folder: Path, program: str) -> dict[str, Any]:
    """Return the card of a run that ``program`` can go on with, or raise ``BadCheckpoint``."""
    card = read_card(folder)
    if card.get("program") != program:
        raise BadCheckpoint(f"{folder} was not written by {program}")
    check_record(card, folder)
    if not isinstance(card.get("arguments"), dict):
        raise BadCheckpoint(f"the card in {folder} does not say how it was trained")
    if card["progress"]["finished"]:
        raise BadCheckpoint(f"{folder} is finished ({card['progress']['plies']:,} plies): there is nothing to resume")
    return card


def training_tensors(policy: Any) -> Tensors:
    """Return all that learning goes on from: the weights, and the optimiser's state of each."""
    tensors = {f"policy.{name}": tensor for name, tensor in policy.state_dict().items()}
    for number, state in policy.optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{number}.{name}": tensor for name, tensor in state.items()}
    return {name: tensor.detach().cpu().numpy().astype(np.float32) for name, tensor in tensors.items()}


def restore(policy: Any, folder: Path, card: dict[str, Any]) -> None:
    """Set a policy and its optimiser to what ``training_tensors`` saved; raises ``BadCheckpoint`` if they differ."""
    import torch

    tensors = {name: torch.from_numpy(array.copy()) for name, array in read_tensors(folder, card, "state").items()}
    optimizer = policy.optimizer.state_dict()
    weights: dict[str, Any] = {}
    moments: dict[int, dict[str, Any]] = {}
    try:
        for name, tensor in tensors.items():
            kind, _, rest = name.partition(".")
            if kind == "policy":
                weights[rest] = tensor
            else:
                number, _, moment = rest.partition(".")
                moments.setdefault(int(number), {})[moment] = tensor
        policy.load_state_dict(weights)
        if not moments and not card["progress"]["plies"]:
            return  # nothing had been learned yet
        for place, parameter in enumerate(policy.parameters()):
            shape = tuple(parameter.shape)
            found = {moment: tuple(tensor.shape) for moment, tensor in moments.get(place, {}).items()}
            if found != {"step": (), "exp_avg": shape, "exp_avg_sq": shape}:
                raise ValueError(f"the optimiser's state of weight {place}")
        policy.optimizer.load_state_dict({"state": moments, "param_groups": optimizer["param_groups"]})
    except (RuntimeError, ValueError, KeyError) as wrong:
        reason = " ".join(str(wrong).split())
        raise BadCheckpoint(f"the state in {folder} does not fit this network: {reason}") from None
