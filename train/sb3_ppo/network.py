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
from train.runs.adam import Adam

LOGIT_OF_ILLEGAL = -1e8

Observations = torch.Tensor | dict[str, torch.Tensor]


class AfterstatePolicy(MaskableActorCriticPolicy):
    """An actor and a critic in one: a logit and an action value for each legal move, from the afterstate's features.

    An observation is ``[A, 1 + features]``, flat, or the legal moves alone, as ``AfterstateVectorEnv`` has them.

    The critic is a Q function: the return that follows a move is the target of Q(s, a) for the move that was made, as
    in Sarsa. The state value, which GAE bootstraps from and which is the baseline of the advantage, is its expectation
    under the policy, V(s) = sum over a of pi(a|s) Q(s, a), as in Expected Sarsa (Sutton & Barto, *Reinforcement
    Learning*, 2nd edition, section 6.6; van Seijen et al. 2009). Stable-Baselines3 regresses whatever
    ``evaluate_actions`` returns as values on the returns: here these are Q(s, a), and not V(s).
    """

    def __init__(self, *args: Any, features: int, layers: tuple[int, ...], **kwargs: Any) -> None:
        self._features, self._layers = features, layers
        # Stable-Baselines3 has this eps for Adam, too.
        super().__init__(*args, **kwargs | {"optimizer_class": Adam, "optimizer_kwargs": {"eps": 1e-5}})

    def _build(self, lr_schedule: Any) -> None:
        widths = [self._features, *self._layers, 2]
        linear = [nn.Linear(inputs, outputs) for inputs, outputs in pairwise(widths)]
        for layer in linear:
            nn.init.orthogonal_(layer.weight, np.sqrt(2))
            nn.init.zeros_(layer.bias)
        # So the first policy is nearly uniform.
        nn.init.orthogonal_(linear[-1].weight, 0.01)
        alternating = [part for layer in linear for part in (layer, nn.ReLU(inplace=True))]
        self.move = nn.Sequential(*alternating[:-1])
        self.optimizer: Any = Adam(self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs)

    def _outputs(self, obs: Observations) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the log probability and the action value of each move ``[N, A]``; of illegal ones -1e8 and 0."""
        if isinstance(obs, torch.Tensor):
            moves = obs.view(len(obs), -1, 1 + self._features)
            legal = moves[..., 0] > 0
            features = moves[legal][:, 1:]
        else:
            legal, features = obs["legal"], obs["features"]
        logit, action_value = self.move(features).unbind(-1)
        logits = torch.full(legal.shape, LOGIT_OF_ILLEGAL, device=legal.device).masked_scatter(legal, logit)
        action_values = torch.zeros(legal.shape, device=legal.device).masked_scatter(legal, torch.tanh(action_value))
        return logits.log_softmax(-1), action_values

    # What follows is what Stable-Baselines3 does by ``get_distribution`` with the mask, which takes twice the time: the
    # observation is the mask already, and an illegal move has no probability, exactly.

    def forward(
        self, obs: Observations, deterministic: bool = False, action_masks: Any = None
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        log_probabilities, action_values = self._outputs(obs)
        probabilities = log_probabilities.exp()
        actions = probabilities.argmax(-1) if deterministic else probabilities.multinomial(1)[:, 0]
        return actions, state_value(log_probabilities, action_values), chosen(log_probabilities, actions)

    def evaluate_actions(
        self, obs: Observations, actions: torch.Tensor, action_masks: Any = None
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
        """Return Q(s, a) of the actions, their log probabilities and the policy's entropy."""
        log_probabilities, action_values = self._outputs(obs)
        entropy = -(log_probabilities.exp() * log_probabilities).sum(-1)
        return action_values.gather(1, actions[:, None]), chosen(log_probabilities, actions), entropy

    def get_distribution(self, obs: Any, action_masks: Any = None) -> MaskableDistribution:
        distribution = self.action_dist.proba_distribution(action_logits=self._outputs(obs)[0])
        if action_masks is not None:
            distribution.apply_masking(action_masks)
        return distribution

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


def state_value(log_probabilities: torch.Tensor, action_values: torch.Tensor) -> torch.Tensor:
    """Return ``[N, 1]``: the mean of the action values under the policy."""
    return (log_probabilities.exp() * action_values).sum(-1, keepdim=True)


def chosen(table: torch.Tensor, actions: torch.Tensor) -> torch.Tensor:
    """Return ``[N]``: of each row ``[N, A]`` what it has for the action."""
    return table.gather(1, actions[:, None])[:, 0]
