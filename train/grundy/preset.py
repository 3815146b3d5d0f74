"""The hyperparameters of fitted Grundy iteration, for all games."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from agents.cards import Settings


@dataclass(frozen=True)
class Preset:
    """How a network learns the Grundy values of parts, round by round."""

    width: int = 384
    depth: int = 3
    """Residual layers between the first and the last."""
    games: int = 1000
    """Random games of a round: the parts that any of their moves can leave are what is learned from."""
    parts: int = 60_000
    """Of these, as often as they are met, this many are drawn for a round."""
    guesses: int = 4000
    """Of those that are too large for the memory, this many get a soft mex in a round."""
    kept_rounds: int = 6
    """The soft mexes of the last rounds are learned from again."""
    first_guess: float = 0.04
    """Before this share of the budget is spent, the network knows too little to be asked for a soft mex."""
    growth: float = 0.25
    """The memory's limit grows to its full size over this share of the budget, from three quarters of it."""
    batch_size: int = 1024
    learning_rate: float = 2e-3
    weight_decay: float = 0.01
    average_decay: float = 0.998

    @property
    def layers(self) -> tuple[int, ...]:
        """The widths of the network's hidden layers."""
        return (self.width,) * (1 + self.depth)

    def settings(self) -> Settings:
        """Return what stands on the card."""
        return asdict(self)


PRESET = Preset()
