"""The network over afterstates, as MaskablePPO learns it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import torch
from sb3_contrib.common.maskable.distributions import MaskableDistribution
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from torch import nn

from agents.checkpoint import Tensors

LOGIT_OF_ILLEGAL = -1e8


class AfterstatePolicy(MaskableActorCriticPolicy):
    """An actor and a critic in one: a logit and an action value for each legal move, from the afterstate's features.

    An observation is ``[A, 1 + features]``, flat, as ``AfterstateVectorEnv`` makes it.

    The critic is a Q function: the return that follows a move is the target of Q(s, a) for the move that was made, as
    in Sarsa. The state value, which GAE bootstraps from and which is the baseline of the advantage, is its expectation
    under the policy, V(s) = sum over a of pi(a|s) Q(s, a), as in Expected Sarsa (Sutton & Barto, *Reinforcement
    Learning*, 2nd edition, section 6.6; van Seijen et al. 2009). Stable-Baselines3 regresses whatever
    ``evaluate_actions`` returns as values on the returns: here these are Q(s, a), and not V(s).
    """

    def __init__(self, *args: Any, features: int, layers: tuple[int, ...], **kwargs: Any) -> None:
        self._features, self._layers = features, layers
        super().__init__(*args, **kwargs)

    def _build(self, lr_schedule: Any) -> None:
        widths = [self._features, *self._layers, 2]
        linear = [nn.Linear(inputs, outputs) for inputs, outputs in pairwise(widths)]
        for layer in linear:
            nn.init.orthogonal_(layer.weight, np.sqrt(2))
            nn.init.zeros_(layer.bias)
        # So the first policy is nearly uniform.
        nn.init.orthogonal_(linear[-1].weight, 0.01)
        alternating = [part for layer in linear for part in (layer, nn.ReLU())]
        self.move = nn.Sequential(*alternating[:-1])
        options = {"lr": lr_schedule(1), **self.optimizer_kwargs}
        self.optimizer = self.optimizer_class(self.parameters(), **options)

    def _outputs(self, obs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the logit and the action value of each move ``[N, A]``; of illegal ones -1e8 and 0."""
        moves = obs.view(len(obs), -1, 1 + self._features)
        legal = moves[..., 0] > 0
        outputs = self.move(moves[legal][:, 1:])
        logits = torch.full(legal.shape, LOGIT_OF_ILLEGAL, device=obs.device).masked_scatter(legal, outputs[:, 0])
        action_values = torch.zeros(legal.shape, device=obs.device)
        return logits, action_values.masked_scatter(legal, torch.tanh(outputs[:, 1]))

    def _distribution(self, logits: torch.Tensor, action_masks: Any) -> MaskableDistribution:
        distribution = self.action_dist.proba_distribution(action_logits=logits)
        if action_masks is not None:
            distribution.apply_masking(action_masks)
        return distribution

    def forward(
        self, obs: torch.Tensor, deterministic: bool = False, action_masks: Any = None
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        logits, action_values = self._outputs(obs)
        distribution = self._distribution(logits, action_masks)
        actions = distribution.get_actions(deterministic=deterministic)
        return actions, state_value(logits, action_values), distribution.log_prob(actions)

    def evaluate_actions(
        self, obs: torch.Tensor, actions: torch.Tensor, action_masks: Any = None
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
        """Return Q(s, a) of the actions, their log probabilities and the policy's entropy."""
        logits, action_values = self._outputs(obs)
        distribution = self._distribution(logits, action_masks)
        return action_values.gather(1, actions[:, None]), distribution.log_prob(actions), distribution.entropy()

    def get_distribution(self, obs: Any, action_masks: Any = None) -> MaskableDistribution:
        return self._distribution(self._outputs(obs)[0], action_masks)

    def predict_values(self, obs: Any) -> torch.Tensor:
        return state_value(*self._outputs(obs))

    def tensors(self) -> Tensors:
        """Return copies of the weights, named as ``agents.networks.AfterstateNetwork`` has them."""
        return {name: weight.detach().cpu().numpy().copy() for name, weight in self._named_weights().items()}

    def set_tensors(self, tensors: Tensors) -> None:
        """Set the weights to those that ``tensors`` returned."""
        with torch.no_grad():
            for name, weight in self._named_weights().items():
                weight.copy_(torch.from_numpy(tensors[name].copy()))

    def _named_weights(self) -> dict[str, nn.Parameter]:
        linear = [layer for layer in self.move if isinstance(layer, nn.Linear)]
        return {
            f"move.{number}.{name}": weight
            for number, layer in enumerate(linear)
            for name, weight in layer.named_parameters()
        }


def state_value(logits: torch.Tensor, action_values: torch.Tensor) -> torch.Tensor:
    """Return ``[N, 1]``: the mean of the action values under the policy."""
    return (logits.softmax(-1) * action_values).sum(-1, keepdim=True)
