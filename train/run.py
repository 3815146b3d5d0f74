"""The folder of one training run: what it may be, what is saved in it, and how a run that was killed goes on."""

from __future__ import annotations

import argparse
import fcntl
import os
import platform
import shlex
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from agents.checkpoint import CARD, BadCheckpoint, Tensors, name_of_game, read_card, read_tensors, rules_of
from numduel_env.commandline import chosen_game, flag
from numduel_env.games import GameSpec, find_game
from train.record import check_record


def new_folder(out: str | None, game: str) -> Path:
    """Return a folder made for a new run; raises ``BadCheckpoint`` where one must not or cannot be made."""
    folder = Path("runs") / f"{game}-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}" if out is None else Path(out)
    try:
        if folder.is_dir() and any(folder.iterdir()):
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
        lock = open(folder / "lock", "w")  # noqa: SIM115 - closed below, after everything else
    except OSError as wrong:
        raise BadCheckpoint(f"nothing can be written to {folder}: {wrong.strerror}") from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BadCheckpoint(f"another process is training in {folder}") from None
        yield


def invitation(game: str, params: dict[str, Any], agent: str) -> str:
    """Return the command that plays against a trained agent."""
    given = [part for name, value in params.items() for part in (flag(name), str(value))]
    return "Play it: " + shlex.join(["python", "agents/play.py", "--game", game, *given, "--second", agent])


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


def resumed_game(
    parser: argparse.ArgumentParser, typed: argparse.Namespace, card: dict[str, Any]
) -> tuple[GameSpec, dict[str, Any]]:
    """Return the game and the parameters of the run that ``typed.resume`` names.

    Raises ``BadCheckpoint`` if the command line asks for others.
    """
    rules_of(card)
    game, params = find_game(card["game"]["name"]), card["game"]["parameters"]
    wanted = getattr(typed, "game", None) or game.name
    asked, given = chosen_game(parser, argparse.Namespace(**vars(typed) | {"game": wanted}))
    if asked is not game or given.items() - params.items():
        raise BadCheckpoint(f"{typed.resume} is a run of {name_of_game(card)}, not of the game that is asked for")
    return game, params


def versions(packages: Sequence[str]) -> dict[str, str]:
    """Return the versions of all that a training run depends on."""
    return {"python": platform.python_version()} | {name: version(name) for name in ("numduel-env", *packages)}


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
