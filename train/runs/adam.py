"""Adam without the class ``torch.optim.Adam``, whose first object imports all of torch's compiler: a second or two."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch.optim.adam import adam

BETAS = 0.9, 0.999


class Adam:
    """``torch.optim.Adam`` with its defaults, on its own arithmetic, for parameters that all have gradients.

    It has what learners ask of an optimiser: ``param_groups`` for the learning rate, and a ``state_dict`` with the
    layout of torch's.
    """

    def __init__(self, parameters: Iterable[torch.nn.Parameter], lr: float, eps: float = 1e-8) -> None:
        self.parameters: list[torch.Tensor] = list(parameters)
        self.param_groups: list[dict[str, Any]] = [{"lr": lr, "eps": eps}]
        self._moments: list[dict[str, torch.Tensor]] = []
        """Of each parameter, ``step``, ``exp_avg`` and ``exp_avg_sq``; none before the first step."""

    def zero_grad(self) -> None:
        """Forget the gradients."""
        for parameter in self.parameters:
            parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """Change the parameters by their gradients."""
        if not self._moments:
            self._moments = [
                {
                    "step": torch.zeros((), device=parameter.device),
                    "exp_avg": torch.zeros_like(parameter),
                    "exp_avg_sq": torch.zeros_like(parameter),
                }
                for parameter in self.parameters
            ]
        (group,) = self.param_groups
        steps, means, squares = zip(*(moments.values() for moments in self._moments))
        gradients: list[Any] = [parameter.grad for parameter in self.parameters]
        adam(
            self.parameters,
            gradients,
            list(means),
            list(squares),
            [],
            list(steps),
            fused=True,
            amsgrad=False,
            beta1=BETAS[0],
            beta2=BETAS[1],
            lr=group["lr"],
            weight_decay=0.0,
            eps=group["eps"],
            maximize=False,
        )

    def state_dict(self) -> dict[str, Any]:
        """Return the moments of each parameter by its number, and the learning rate."""
        return {"state": dict(enumerate(self._moments)), "param_groups": self.param_groups}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a ``state_dict``."""
        self._moments = [
            {
                name: state["state"][number][name].clone().to(parameter.device)
                for name in ("step", "exp_avg", "exp_avg_sq")
            }
            for number, parameter in enumerate(self.parameters)
        ]
        self.param_groups = [dict(group) for group in state["param_groups"]]
