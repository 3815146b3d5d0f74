"""All that learning goes on from, as plain tensors: the weights, and the optimiser's state of each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from agents.cards import Card
from agents.checkpoint import BadCheckpoint, Tensors, read_tensors


def training_tensors(policy: Any) -> Tensors:
    """Return the state of a policy and of its optimiser."""
    tensors = {f"policy.{name}": tensor for name, tensor in policy.state_dict().items()}
    for number, state in policy.optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{number}.{name}": tensor for name, tensor in state.items()}
    return {name: tensor.detach().cpu().numpy().astype(np.float32) for name, tensor in tensors.items()}


LARGEST = 1e9
"""No weight, moment or step of a learner that learns is beyond this; what is, soon makes infinities."""


def is_sound(tensors: Tensors) -> bool:
    """Return whether a learner can go on from this state: from numbers of a sensible size, as an optimiser has them."""
    for name, tensor in tensors.items():
        if not (np.abs(tensor) <= LARGEST).all():
            return False
        if name.endswith((".exp_avg_sq", ".step")) and (tensor < 0).any():
            return False
    return True


def restore(policy: Any, folder: Path, card: Card) -> None:
    """Set a policy and its optimiser to what was saved; raises ``BadCheckpoint`` if it is of another network."""
    arrays = read_tensors(folder, card, "state")
    if not is_sound(arrays):
        raise BadCheckpoint(f"the state in {folder} is none that a learner was ever in: some numbers are absurd")
    tensors = {name: torch.from_numpy(array.copy()) for name, array in arrays.items()}
    optimizer = policy.optimizer.state_dict()
    weights: dict[str, torch.Tensor] = {}
    moments: dict[int, dict[str, torch.Tensor]] = {}
    try:
        for name, tensor in tensors.items():
            kind, _, rest = name.partition(".")
            if kind == "policy":
                weights[rest] = tensor
            else:
                number, _, moment = rest.partition(".")
                moments.setdefault(int(number), {})[moment] = tensor
        policy.load_state_dict(weights)
        if not moments and not _has_learned(weights, card):
            return
        learning = [parameter for parameter in policy.parameters() if parameter.requires_grad]
        for place, parameter in enumerate(learning):
            shape = tuple(parameter.shape)
            found = {moment: tuple(tensor.shape) for moment, tensor in moments.get(place, {}).items()}
            if found != {"step": (), "exp_avg": shape, "exp_avg_sq": shape}:
                raise ValueError(f"the optimiser's state of weight {place}")
        policy.optimizer.load_state_dict({"state": moments, "param_groups": optimizer["param_groups"]})
    except (RuntimeError, ValueError, KeyError) as wrong:
        reason = " ".join(str(wrong).split())
        raise BadCheckpoint(f"the state in {folder} does not fit this network: {reason}") from None


def _has_learned(weights: dict[str, torch.Tensor], card: Card) -> bool:
    """Return whether there was an update before the state was saved: some networks count them."""
    if "updates" in weights:
        return bool(weights["updates"] > 0)
    return card.training is None or card.training.progress.plies > 0
