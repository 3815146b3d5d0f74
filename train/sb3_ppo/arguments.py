"""The arguments of train/ppo.py, besides the hyperparameters (``preset.py``) and the game's own parameters."""

from __future__ import annotations

from dataclasses import dataclass

from train.runs.arguments import INFINITE, Limits, RunArguments, option
from train.runs.progress import Budget

DEFAULT_PLIES = 1_000_000
OPPONENTS = ("self", "pool", "random", "greedy", "solver")


@dataclass(frozen=True)
class PPOArguments(RunArguments):
    """What is to be learned, from whom and for how long."""

    plies: int | None = option(
        f"learn from this many plies, in whole updates ({DEFAULT_PLIES:,}, or with --minutes no limit)",
        ends_run=True,
        type=int,
        limits=Limits(1),
    )
    init: str | None = option(
        "begin with the weights of the agent in this folder, of this game or of one that is observed alike",
        metavar="FOLDER",
    )
    opponent: str = option("whom to learn against ({}); pool: snapshots of itself", "self", choices=OPPONENTS)
    device: str = option("where the network learns, as torch names it ({})", "cpu", changeable=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.opponent not in OPPONENTS:
            raise ValueError(f"--opponent must be one of {', '.join(OPPONENTS)}, not {self.opponent}")

    @property
    def budget(self) -> Budget:
        """When the run ends."""
        default = DEFAULT_PLIES if self.minutes is None else INFINITE
        return super().budget._replace(plies=default if self.plies is None else self.plies)
