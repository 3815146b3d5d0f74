"""The one set of hyperparameters for all games; each is a flag of train/ppo.py."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

from agents.cards import Settings
from numduel_env.cli import truth
from train.runs.arguments import POSITIVE, SHARE, Checked, Limits, option, widths_of

COUNT = Limits(1, 2**24)
AT_LEAST_ZERO = Limits(0)
LAYERS = "64,64"


@dataclass(frozen=True)
class Preset(Checked):
    """Hyperparameters by the names that Stable-Baselines3 has for them; the last ones are those of the environment.

    The learning rate and the entropy bonus fall with the budget: see ``Watch.annealing``.
    """

    learning_rate: float = option(
        "the first one: it falls with what is left of the budget, to a tenth ({})",
        1e-3,
        type=float,
        limits=POSITIVE,
    )
    n_steps: int = option("plies in each game between two updates ({})", 32, type=int, limits=COUNT)
    batch_size: int = option("plies in a minibatch ({})", 512, type=int, limits=Limits(2, 2**24))
    n_epochs: int = option("passes over the plies of an update ({})", 4, type=int, limits=COUNT)
    gamma: float | None = option(
        "the discount: -1 where the next step is the opponent's (-1 in self-play, else 1)",
        type=float,
        limits=Limits(-1, 1),
    )
    gae_lambda: float = option("lambda of generalized advantage estimation ({})", 0.7, type=float, limits=SHARE)
    clip_range: float = option("how far the probability ratio may go from 1 ({})", 0.2, type=float, limits=POSITIVE)
    clip_range_vf: float | None = option("how far an update may move the critic (any)", type=float, limits=POSITIVE)
    normalize_advantage: bool = option(
        "whether advantages are normalized in each minibatch ({})", True, type=truth, metavar="BOOL"
    )
    ent_coef: float = option(
        "weight of the entropy bonus, at first: it falls as the learning rate does ({})",
        0.03,
        type=float,
        limits=AT_LEAST_ZERO,
    )
    vf_coef: float = option("weight of the critic's loss ({})", 1.0, type=float, limits=AT_LEAST_ZERO)
    max_grad_norm: float = option("norm to which gradients are clipped ({})", 0.5, type=float, limits=POSITIVE)
    target_kl: float | None = option("KL divergence at which an update stops (none)", type=float, limits=POSITIVE)
    net_arch: str | None = option(f"the widths of the network's hidden layers ({LAYERS}, or those of --init)")
    n_envs: int = option("games played side by side ({})", 256, type=int, limits=Limits(1, 65_536))
    random_openings: float = option(
        "open up to this share of the games at random: else a learner sees only the lines it prefers ({})",
        0.5,
        type=float,
        limits=SHARE,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self.layers  # noqa: B018 - it refuses what is none
        if self.batch_size > self.plies_per_update:
            played = f"--n-envs times --n-steps, which is {self.plies_per_update:,}"
            raise ValueError(f"--batch-size must be at most {played}, not {self.batch_size:,}")

    @property
    def layers(self) -> tuple[int, ...]:
        """The widths of the hidden layers."""
        return widths_of(LAYERS if self.net_arch is None else self.net_arch)

    @property
    def plies_per_update(self) -> int:
        """How many plies are played between two updates."""
        return self.n_envs * self.n_steps

    def settled(self, opponent: str) -> Preset:
        """Return the hyperparameters of a run against this opponent, with nothing left open.

        In self-play the discount is -1: what is good for the next mover is bad for this one.
        """
        gamma = -1.0 if opponent == "self" else 1.0
        return replace(
            self, gamma=gamma if self.gamma is None else self.gamma, net_arch=",".join(map(str, self.layers))
        )

    def settings(self) -> Settings:
        """Return what stands on the card."""
        return asdict(self)

    def of_the_learner(self) -> Settings:
        """Return what MaskablePPO is made with, but for the learning rate, which is a schedule."""
        others = ("learning_rate", "net_arch", "n_envs", "random_openings")
        return {name: value for name, value in self.settings().items() if name not in others}


PRESET = Preset()
