"""The one set of hyperparameters for all games."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from agents.cards import Settings

LAYERS = (256, 128)
"""The widths of the network's hidden layers."""


@dataclass(frozen=True)
class Preset:
    """How a network learns the values of afterstates from games that are played side by side."""

    boards: int = 512
    random_seats: float = 0.5
    """The share of seats that play at random in all of a game."""
    random_moves: float = 0.05
    """The share of random moves of the others."""
    random_openings: float = 0.5
    """The share of games that begin with random plies: as many as a uniform draw of up to half of the longest game."""
    buffer: int = 524_288
    """So many of the latest afterstates are learned from."""
    first_update: int = 20_000
    """Learning begins with so many afterstates."""
    samples_per_ply: float = 4.0
    batch_size: int = 1024
    learning_rate: float = 2e-3
    weight_decay: float = 0.0
    average_decay: float = 0.999
    gamma: float = 0.99
    """The discount where a game may go on for ever; elsewhere there is none."""

    def settings(self) -> Settings:
        """Return what stands on the card."""
        return asdict(self)


PRESET = Preset()
