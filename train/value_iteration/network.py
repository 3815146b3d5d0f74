"""The network over afterstates, as it learns: ``agents.networks.AfterstateNetwork`` plays it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import nn

from agents.checkpoint import Tensors
from train.runs.averaged import PlayableNetwork


class AfterstateValues(PlayableNetwork):
    """Linear layers with ReLU between them; the value of an afterstate is the hyperbolic tangent of what comes out."""

    def __init__(self, widths: Sequence[int]) -> None:
        super().__init__()
        self.move = nn.ModuleList(nn.Linear(inputs, outputs) for inputs, outputs in pairwise([*widths, 1]))
        with torch.no_grad():
            # So the first values are small.
            self.move[-1].weight.mul_(0.1)  # type: ignore[operator]
            self.move[-1].bias.zero_()  # type: ignore[operator]

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Return ``[N]``, whose hyperbolic tangents are the values."""
        *hidden, last = self.move
        for layer in hidden:
            features = layer(features).relu()
        return last(features)[:, 0]  # type: ignore[no-any-return]

    def tensors(self) -> Tensors:
        """Return the weights as the network that plays has them, with two outputs: a logit and an action value.

        They are one here: the policy prefers the move with the highest value.
        """
        return {name: t.repeat(2, axis=0) if self._is_last(name) else t for name, t in super().tensors().items()}

    def set_tensors(self, tensors: Tensors) -> None:
        """Set the weights to those of a network that plays; of its two outputs the last is the value."""
        super().set_tensors({name: t[1:] if self._is_last(name) else t for name, t in tensors.items()})

    def _is_last(self, name: str) -> bool:
        return name.startswith(f"move.{len(self.move) - 1}.")
