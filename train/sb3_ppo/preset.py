"""The one set of hyperparameters for all games."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from agents.cards import Settings

LAYERS = (64, 64)
"""The widths of the network's hidden layers."""


@dataclass(frozen=True)
class Preset:
    """Hyperparameters by the names that Stable-Baselines3 has for them, and those of the environment.

    The learning rate and the entropy bonus fall with the budget: see ``Watch.annealing``.
    """

    num_envs: int = 256
    random_openings: float = 0.5
    """Else a learner sees only the lines it prefers, and in Factor Chain nothing but the first move."""
    n_steps: int = 32
    batch_size: int = 512
    n_epochs: int = 4
    learning_rate: float = 1e-3
    gae_lambda: float = 0.7
    ent_coef: float = 0.03
    vf_coef: float = 1.0

    @property
    def plies_per_update(self) -> int:
        """How many plies are played between two updates."""
        return self.num_envs * self.n_steps

    def settings(self, gamma: float) -> Settings:
        """Return what stands on the card."""
        return asdict(self) | {"gamma": gamma}


PRESET = Preset()


def gamma_against(opponent: str) -> float:
    """Return the discount: -1 in self-play, where the next step is the opponent's; 1 where a step has its answer."""
    return -1.0 if opponent == "self" else 1.0
