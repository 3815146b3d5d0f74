"""The network over parts, as it learns: ``agents.nimbers.NimberNetwork`` plays it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import nn

from train.runs.averaged import PlayableNetwork


class ResidualLayers(PlayableNetwork):
    """Linear layers of which each but the first and the last adds to what it is given."""

    def __init__(self, widths: Sequence[int]) -> None:
        super().__init__()
        self.part = nn.ModuleList(nn.Linear(inputs, outputs) for inputs, outputs in pairwise(widths))

    def forward(self, signal: torch.Tensor) -> torch.Tensor:
        first, *inner, last = self.part
        signal = first(signal)
        for layer in inner:
            signal = signal + layer(signal.relu())
        return last(signal.relu())  # type: ignore[no-any-return]
