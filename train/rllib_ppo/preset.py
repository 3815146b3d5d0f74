"""The one set of hyperparameters for all games, by RLlib's PPO."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from agents.cards import Settings

LAYERS = (128, 128)
"""The widths of the hidden layers of policy and value."""

LEAST_DUELS = 8
"""An env runner plays at least this many duels side by side."""


@dataclass(frozen=True)
class Preset:
    """Hyperparameters by the names that RLlib has for them, and those of the environment."""

    duels: int = 256
    """Played side by side, by all env runners together."""
    random_openings: float = 0.5
    """Else a learner sees only the lines it prefers."""
    train_batch_size_per_learner: int = 4096
    minibatch_size: int = 512
    num_epochs: int = 4
    lr: float = 1e-3
    gamma: float = 1.0
    """Each seat has a trajectory of its own, rewarded at its end."""
    lambda_: float = 0.95
    entropy_coeff: float = 0.1
    vf_loss_coeff: float = 0.5
    clip_param: float = 0.2
    grad_clip: float = 0.5

    def duels_per_env_runner(self, env_runners: int) -> int:
        """Return how many duels each of them plays: however many there are, an update learns from about as much."""
        return max(self.duels // max(env_runners, 1), LEAST_DUELS)

    def settings(self) -> Settings:
        """Return what stands on the card."""
        return asdict(self)


PRESET = Preset()
