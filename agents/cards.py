"""What a checkpoint's card says, as frozen dataclasses: JSON is checked against them when a card is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

import msgspec

from numduel_env.evaluation.exploitability import Exam
from numduel_env.evaluation.grading import Grade
from numduel_env.games import GameSpec, Params
from numduel_env.storage import Amount, Count, Share

SCHEMA = 2
"""Counts the changes of a card's layout."""

MOST_UNITS = 65_536
"""No layer is wider."""

Units = Annotated[int, msgspec.Meta(ge=1, le=MOST_UNITS)]

Setting = str | int | float | bool | None

Settings = dict[str, Setting]
"""What a training program was asked to do, or how its learner was set up."""


@dataclass(frozen=True)
class GameCard:
    """The game that was learned, with all its parameters."""

    name: str
    version: int
    parameters: Params

    @classmethod
    def of(cls, spec: GameSpec, params: Mapping[str, object]) -> GameCard:
        """Return the card of a game with these parameters, and the book's for the rest."""
        return cls(spec.name, spec.version, {**spec.params, **params})

    def __str__(self) -> str:
        return f"{self.name} ({', '.join(f'{name}={value}' for name, value in self.parameters.items())})"


@dataclass(frozen=True)
class NetworkCard:
    """A network: its ``kind``, the widths of its hidden layers, and the activation between them."""

    kind: str
    layers: tuple[Units, ...]
    activation: str = "ReLU"


@dataclass(frozen=True)
class ObservationCard:
    """What a network observes: the sizes of the parts of an observation, in order."""

    lookahead: bool
    layout: dict[str, int]


@dataclass(frozen=True)
class File:
    """A file of tensors beside the card, with its SHA-256."""

    name: str
    sha256: str


@dataclass(frozen=True)
class TrainingProgress:
    """How many plies a run has learned from, and for how long, in all its sessions."""

    plies: Count
    seconds: Amount
    finished: bool


@dataclass(frozen=True)
class CurvePoint:
    """How the learner played once in a run: its score against random, and the share kept on random positions."""

    plies: Count
    seconds: Amount
    against_random: Share
    kept: Share | None


@dataclass(frozen=True)
class Standing:
    """How a learner plays beside perfect play, as weights are compared: see ``train/runs/grading.py``.

    ``sample`` is its grade on random positions, ``positions`` on all positions of the game where these are known (else
    the same sample), ``walk`` against every line of the opponent in both seats, if it was walked.
    """

    sample: Grade
    positions: Grade
    walk: Grade | None

    @property
    def perfect(self) -> bool:
        """Whether no position was found in which it fails, against every opponent line."""
        return self.walk is not None and self.walk.blunders == 0 and self.positions.blunders == 0

    def at_least(self, other: Standing) -> bool:
        """Return whether it is at least as good as another; walks count first, where both were walked."""
        if self.walk is None or other.walk is None:
            return self.positions.blunders <= other.positions.blunders
        mine, theirs = ((one.walk.blunders if one.walk else 0, one.positions.blunders) for one in (self, other))
        return mine <= theirs


@dataclass(frozen=True)
class Session:
    """One process that worked on a run: from which ply on, with which seed, on which device, with which packages."""

    from_plies: Count
    seed: Count
    device: str
    versions: dict[str, str]


@dataclass(frozen=True)
class TrainingCard:
    """How an agent was trained, and all that a run needs to go on.

    ``standing`` is that of the best weights, None where the game cannot be solved. ``state`` names the folder in which
    a framework keeps what learning goes on from, if it does.
    """

    program: str
    arguments: Settings
    preset: Settings
    progress: TrainingProgress
    curve: tuple[CurvePoint, ...]
    standing: Standing | None
    sessions: tuple[Session, ...]
    state: str | None = None


@dataclass(frozen=True)
class SeatScores:
    """Scores in the two seats, from the first position; a draw counts one half."""

    first: Share
    second: Share


@dataclass(frozen=True)
class Evaluation:
    """What an agent scored over ``duels`` duels with each opponent, and how it plays beside perfect play.

    ``sample`` is the exam on random positions, ``exams`` are the walks against every line, or what took their place;
    without a solver there are none. ``opening`` is the number that it opens with.
    """

    duels: Count
    scores: dict[str, SeatScores]
    sample: Exam | None
    exams: tuple[Exam, ...]
    opening: int | None = None

    @property
    def champion(self) -> bool | None:
        """Whether nothing is thrown or spoiled on any line of the opponent; None where not all were walked.

        That is *champion* mastery, and *kept* on random positions measures *expert* mastery (Zhou & Riis, *Impartial
        games: a challenge for reinforcement learning*, arXiv 2205.12787).
        """
        walks = [exam for exam in self.exams if exam.where in ("first seat", "second seat")]
        return all(exam.exact and not exam.grade.blunders for exam in walks) if walks else None


@dataclass(frozen=True)
class Card:
    """A trained agent. ``files`` are named by their purpose: ``weights``, and what a run that goes on needs."""

    schema: int = field(default=SCHEMA, kw_only=True)
    game: GameCard
    network: NetworkCard
    observation: ObservationCard
    training: TrainingCard | None = None
    evaluation: Evaluation | None = None
    files: dict[str, File] = field(default_factory=dict)
