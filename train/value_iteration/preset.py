"""The one set of hyperparameters for all games; each is a flag of train/values.py."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from agents.cards import Settings
from train.runs.arguments import POSITIVE, SHARE, Checked, Limits, option, widths_of

COUNT = Limits(1, 2**24)


@dataclass(frozen=True)
class Preset(Checked):
    """How a network learns the values of afterstates from games that are played side by side."""

    net_arch: str = option("the widths of the network's hidden layers ({})", "256,128")
    n_envs: int = option("games played side by side ({})", 512, type=int, limits=Limits(1, 65_536))
    random_seats: float = option(
        "the share of seats that play a whole game at random ({})", 0.5, type=float, limits=SHARE
    )
    exploration: float = option("the share of random moves of the other seats ({})", 0.05, type=float, limits=SHARE)
    random_openings: float = option(
        "the share of games that begin with random plies, up to half of the longest game ({})",
        0.5,
        type=float,
        limits=SHARE,
    )
    buffer_size: int = option("the latest afterstates that are learned from ({})", 2**19, type=int, limits=COUNT)
    learning_starts: int = option(
        "afterstates that are met before anything is learned ({})", 20_000, type=int, limits=COUNT
    )
    samples_per_ply: float = option("afterstates that are learned for each ply ({})", 4.0, type=float, limits=POSITIVE)
    batch_size: int = option("afterstates in a minibatch ({})", 1024, type=int, limits=COUNT)
    learning_rate: float = option(
        "the first one: it falls with what is left of the budget, to a fiftieth ({})",
        2e-3,
        type=float,
        limits=POSITIVE,
    )
    average_decay: float = option(
        "what the average of the weights keeps at each step ({})", 0.999, type=float, limits=SHARE
    )
    gamma: float = option(
        "the discount where only a limit of plies ends every game ({})", 0.99, type=float, limits=SHARE
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self.layers  # noqa: B018 - it refuses what is none

    @property
    def layers(self) -> tuple[int, ...]:
        """The widths of the hidden layers."""
        return widths_of(self.net_arch)

    def settled(self) -> Preset:
        """Return the hyperparameters of a run, with nothing left open."""
        return self

    def settings(self) -> Settings:
        """Return what stands on the card."""
        return asdict(self)
