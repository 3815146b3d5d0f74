"""A network that learns, and the running average of its weights, which is what plays in the end."""

from __future__ import annotations

import copy

import torch
from torch import nn

LEAST_ANNEALING = 0.02
"""The learning rate falls to this share of its first value."""


class AveragedNetwork(nn.Module):
    """A ``network``, its optimiser, and an exponential moving ``average`` of its weights.

    In the long run the average forgets at ``decay`` a step; at first it forgets faster, so that what the network was
    before it had learned anything does not stay in it for long.
    """

    updates: torch.Tensor

    def __init__(self, network: nn.Module, learning_rate: float, weight_decay: float, decay: float) -> None:
        super().__init__()
        self.network, self.average = network, copy.deepcopy(network).requires_grad_(False)
        self.learning_rate, self.decay = learning_rate, decay
        self.optimizer = torch.optim.AdamW(network.parameters(), learning_rate, weight_decay=weight_decay)
        self.register_buffer("updates", torch.zeros(()))

    def anneal(self, spent: float) -> None:
        """Set the learning rate for when this share of the budget is spent: it falls linearly."""
        for group in self.optimizer.param_groups:
            group["lr"] = self.learning_rate * max(1 - spent, LEAST_ANNEALING)

    def step(self, loss: torch.Tensor) -> None:
        """Take one step down the gradient of a loss, and let the average follow."""
        self.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        self.updates += 1
        updates = float(self.updates)
        forgotten = 1 - min(self.decay, updates / (updates + 20))
        averages, weights = list(self.average.parameters()), [weight.detach() for weight in self.network.parameters()]
        torch._foreach_lerp_(averages, weights, forgotten)
