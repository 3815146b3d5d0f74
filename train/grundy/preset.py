"""The hyperparameters of fitted Grundy iteration, for all games; each is a flag of train/nimbers.py."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

from agents.cards import Settings
from numduel_env.cli import truth
from numduel_env.parts import WIDTH
from train.runs.arguments import POSITIVE, SHARE, Checked, Limits, option

COUNT = Limits(1, 2**24)


@dataclass(frozen=True)
class Preset(Checked):
    """How a network learns the Grundy values of parts, round by round."""

    memory: int = option(
        "back up parts of at most this many numbers by retrograde analysis ({})", 24, type=int, limits=Limits(0, WIDTH)
    )
    growth: float = option(
        "that limit grows, from three quarters of it, over this share of the budget ({})",
        0.25,
        type=float,
        limits=POSITIVE,
    )
    width: int = option("units of each hidden layer ({})", 384, type=int, limits=Limits(1, 4096))
    depth: int = option("residual layers between the first and the last ({})", 3, type=int, limits=Limits(0, 16))
    games: int = option(
        "random games of a round: it learns the parts that a move can leave ({})", 1000, type=int, limits=COUNT
    )
    parts: int = option(
        "how many of these parts are drawn, as often as they are met ({})", 60_000, type=int, limits=COUNT
    )
    guesses: int = option(
        "how many of those too large for the memory get a soft mex in a round ({})", 4000, type=int, limits=COUNT
    )
    kept_rounds: int = option("rounds whose soft mexes are learned from again ({})", 6, type=int, limits=COUNT)
    first_guess: float = option(
        "the share of the budget after which the network is asked for soft mexes ({})", 0.04, type=float, limits=SHARE
    )
    batch_size: int = option("parts in a minibatch ({})", 1024, type=int, limits=COUNT)
    learning_rate: float = option(
        "the first one: it falls with what is left of the budget, to a fiftieth ({})",
        2e-3,
        type=float,
        limits=POSITIVE,
    )
    weight_decay: float = option("the decoupled weight decay of AdamW ({})", 0.01, type=float, limits=Limits(0))
    average_decay: float = option(
        "what the average of the weights keeps at each step ({})", 0.998, type=float, limits=SHARE
    )
    bfloat16: bool | None = option(
        "whether matrices are multiplied in bfloat16 (where the processor has instructions for it)",
        type=truth,
        metavar="BOOL",
    )

    @property
    def layers(self) -> tuple[int, ...]:
        """The widths of the network's hidden layers."""
        return (self.width,) * (1 + self.depth)

    def settled(self) -> Preset:
        """Return the hyperparameters of a run, with nothing left open."""
        return replace(self, bfloat16=multiplies_bfloat16() if self.bfloat16 is None else self.bfloat16)

    def settings(self) -> Settings:
        """Return what stands on the card."""
        return asdict(self)


def multiplies_bfloat16() -> bool:
    """Return whether this processor has instructions for products in bfloat16."""
    import torch

    found = torch.cpu.get_capabilities()
    return any(found.get(name, False) for name in ("amx_bf16", "avx512_bf16", "bf16"))
