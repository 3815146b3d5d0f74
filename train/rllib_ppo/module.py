"""The network that RLlib trains: two plain stacks of layers, so that its weights are an agent without RLlib."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import torch
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.apis.value_function_api import ValueFunctionAPI
from ray.rllib.core.rl_module.torch import TorchRLModule
from ray.rllib.utils.torch_utils import FLOAT_MIN

from train.rllib_ppo.duels import MASK, SEEN


class MaskedModule(TorchRLModule, ValueFunctionAPI):
    """Prefers legal moves only, and values positions; ``agents.networks.FlatNetwork`` reads its weights as they are.

    ``model_config`` holds ``layers``, the widths of the hidden layers, and may name the ``seen`` part of the
    observation. The preferences for illegal moves are as low as can be.
    """

    def setup(self) -> None:
        self._seen = self.model_config.get("seen", SEEN)
        size = int(np.prod(self.observation_space[self._seen].shape))
        hidden = self.model_config["layers"]
        self.policy = stack([size, *hidden, int(self.action_space.n)])
        self.value = stack([size, *hidden, 1])

    def _forward(self, batch: dict[str, Any], **_: Any) -> dict[str, Any]:
        observation = batch[Columns.OBS]
        preferences = through(self.policy, observation[self._seen])
        return {Columns.ACTION_DIST_INPUTS: preferences.masked_fill(observation[MASK] == 0, FLOAT_MIN)}

    def compute_values(self, batch: dict[str, Any], embeddings: Any = None) -> torch.Tensor:
        return through(self.value, batch[Columns.OBS][self._seen]).squeeze(-1)


def stack(widths: list[int]) -> torch.nn.ModuleList:
    """Return linear layers of these widths, input and output included."""
    return torch.nn.ModuleList(torch.nn.Linear(before, after) for before, after in pairwise(widths))


def through(layers: torch.nn.ModuleList, seen: torch.Tensor) -> torch.Tensor:
    """Return what a stack says, with ReLU between its layers."""
    signal = seen.flatten(1).float()
    for layer in layers[:-1]:
        signal = layer(signal).relu()
    said: torch.Tensor = layers[-1](signal)
    return said
