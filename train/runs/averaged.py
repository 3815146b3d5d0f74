"""A network that learns, and the running average of its weights, which is what plays in the end."""

from __future__ import annotations

import copy

import torch
from torch import nn

from agents.checkpoint import Tensors

LEAST_ANNEALING = 0.02
"""The learning rate falls to this share of its first value."""

SETTLING = 20
"""The number of updates after which the average has half of its inertia."""


class PlayableNetwork(nn.Module):
    """A network whose weights an agent plays with."""

    def tensors(self) -> Tensors:
        """Return copies of the weights, named as the network that plays has them."""
        return {name: tensor.detach().cpu().numpy().copy() for name, tensor in self.named_parameters()}

    def set_tensors(self, tensors: Tensors) -> None:
        """Set the weights to those that ``tensors`` returned."""
        with torch.no_grad():
            for name, weight in self.named_parameters():
                weight.copy_(torch.from_numpy(tensors[name].copy()))


class AveragedNetwork(nn.Module):
    """A ``network``, its optimiser, and an exponential moving ``average`` of its weights.

    In the long run the average keeps ``decay`` of itself at a step; at first it keeps less, so that what the network
    was before it had learned anything does not stay in it for long.
    """

    updates: torch.Tensor

    def __init__(self, network: PlayableNetwork, learning_rate: float, weight_decay: float, decay: float) -> None:
        super().__init__()
        self.network, self.average = network, copy.deepcopy(network).requires_grad_(False)
        self.learning_rate, self.decay = learning_rate, decay
        self.optimizer = torch.optim.AdamW(network.parameters(), learning_rate, weight_decay=weight_decay)
        self.register_buffer("updates", torch.zeros(()))

    def begin_with(self, tensors: Tensors) -> None:
        """Let these weights be the first."""
        self.network.set_tensors(tensors)
        self.average.set_tensors(tensors)

    def anneal(self, spent: float) -> None:
        """Set the learning rate for when this share of the budget is spent: it falls linearly."""
        for group in self.optimizer.param_groups:
            group["lr"] = self.learning_rate * max(1 - spent, LEAST_ANNEALING)

    def step(self, loss: torch.Tensor) -> None:
        """Take one step down the gradient of a loss, and let the average follow."""
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.updates += 1
        updates = float(self.updates)
        forgotten = 1 - min(self.decay, updates / (updates + SETTLING))
        weights = [weight.detach() for weight in self.network.parameters()]
        torch._foreach_lerp_(list(self.average.parameters()), weights, forgotten)
