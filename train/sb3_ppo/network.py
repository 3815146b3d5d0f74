"""The network that judges moves by where they lead, as MaskablePPO learns it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import torch
from sb3_contrib.common.maskable.distributions import MaskableDistribution
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from torch import nn

from agents.checkpoint import Tensors


class MovePolicy(MaskableActorCriticPolicy):
    """An actor and a critic in one: each legal move has a preference and a worth, by the position that it leads to.

    An observation is ``[A, 1 + k]``, flat: for each action whether it is legal and what ``MoveObserver`` tells of it.
    The critic judges moves. A position is worth what its moves are, each as likely as it is to be played; and the
    return after a move is held against the worth of that very move, which is what it is an example of.
    """

    def __init__(self, *args: Any, facts: int, layers: list[int], **kwargs: Any) -> None:
        self._facts, self._layers = facts, layers
        super().__init__(*args, **kwargs)

    def _build(self, lr_schedule: Any) -> None:
        widths = [self._facts, *self._layers, 2]
        linear = [nn.Linear(inputs, outputs) for inputs, outputs in pairwise(widths)]
        for layer in linear:
            nn.init.orthogonal_(layer.weight, np.sqrt(2))
            nn.init.zeros_(layer.bias)
        # At first every move is as good as any other.
        nn.init.orthogonal_(linear[-1].weight, 0.01)
        between = [part for layer in linear for part in (layer, nn.ReLU())]
        self.move = nn.Sequential(*between[:-1])
        options = {"lr": lr_schedule(1), **self.optimizer_kwargs}
        self.optimizer = self.optimizer_class(self.parameters(), **options)

    def _judged(self, obs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the preference and the worth of each move ``[N, A]``; those of illegal ones are very low and 0."""
        moves = obs.view(len(obs), -1, 1 + self._facts)
        legal = moves[..., 0] > 0
        judged = self.move(moves[legal][:, 1:])
        preferences = torch.full(legal.shape, -1e8, device=obs.device).masked_scatter(legal, judged[:, 0])
        worth = torch.zeros(legal.shape, device=obs.device).masked_scatter(legal, torch.tanh(judged[:, 1]))
        return preferences, worth

    def _distribution(self, preferences: torch.Tensor, action_masks: Any) -> MaskableDistribution:
        distribution = self.action_dist.proba_distribution(action_logits=preferences)
        if action_masks is not None:
            distribution.apply_masking(action_masks)
        return distribution

    def forward(
        self, obs: torch.Tensor, deterministic: bool = False, action_masks: Any = None
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        preferences, worth = self._judged(obs)
        distribution = self._distribution(preferences, action_masks)
        actions = distribution.get_actions(deterministic=deterministic)
        return actions, expected(preferences, worth), distribution.log_prob(actions)

    def evaluate_actions(
        self, obs: torch.Tensor, actions: torch.Tensor, action_masks: Any = None
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
        preferences, worth = self._judged(obs)
        distribution = self._distribution(preferences, action_masks)
        return worth.gather(1, actions[:, None]), distribution.log_prob(actions), distribution.entropy()

    def get_distribution(self, obs: Any, action_masks: Any = None) -> MaskableDistribution:
        return self._distribution(self._judged(obs)[0], action_masks)

    def predict_values(self, obs: Any) -> torch.Tensor:
        return expected(*self._judged(obs))

    def tensors(self) -> Tensors:
        """Return copies of the weights, named as ``agents.networks.MoveNetwork`` has them."""
        linear = [layer for layer in self.move if isinstance(layer, nn.Linear)]
        return {
            f"move.{number}.{name}": tensor.detach().cpu().numpy().copy()
            for number, layer in enumerate(linear)
            for name, tensor in layer.named_parameters()
        }


def expected(preferences: torch.Tensor, worth: torch.Tensor) -> torch.Tensor:
    """Return ``[N, 1]``: the worth of the moves, each as likely as it is to be played."""
    return (preferences.softmax(-1) * worth).sum(-1, keepdim=True)
