"""The arguments of train/ppo.py, besides the hyperparameters (``preset.py``) and the game's own parameters."""

from __future__ import annotations

from dataclasses import dataclass

from train.runs.arguments import Limits, LocalArguments, option
from train.runs.progress import Budget

DEFAULT_PLIES = 1_000_000
OPPONENTS = ("self", "pool", "random", "greedy", "solver")


@dataclass(frozen=True)
class PPOArguments(LocalArguments):
    """What is to be learned, from whom and for how long."""

    plies: int | None = option(
        f"learn from this many plies, in whole updates ({DEFAULT_PLIES:,}, or with --minutes no limit)",
        ends_run=True,
        type=int,
        limits=Limits(1),
    )
    opponent: str = option("whom to learn against ({}); pool: snapshots of itself", "self", choices=OPPONENTS)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.opponent not in OPPONENTS:
            raise ValueError(f"--opponent must be one of {', '.join(OPPONENTS)}, not {self.opponent}")

    @property
    def budget(self) -> Budget:
        """When the run ends."""
        no_limit = self.plies is None and self.minutes is None
        return super().budget._replace(plies=DEFAULT_PLIES) if no_limit else super().budget
