"""The results of an evaluation as frozen dataclasses: printed as tables, stored as JSON, shown as a page.

``docs/results.md`` describes the JSON field by field.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from numduel_env.evaluation.exploitability import Exam
from numduel_env.evaluation.grading import Grade, GradedMove
from numduel_env.evaluation.ratings import wilson
from numduel_env.games import Params
from numduel_env.storage import Amount, Count, Share, from_json, to_json, write_atomically
from numduel_env.writing import Settings

SCHEMA = 2
"""Counts the changes of the layout."""


@dataclass(frozen=True)
class Game:
    """The game that was played."""

    name: str
    title: str
    version: int
    parameters: Params

    def __str__(self) -> str:
        return f"{self.name} ({', '.join(f'{name}={value}' for name, value in self.parameters.items())})"


@dataclass(frozen=True)
class Score:
    """How some duels ended; ``score`` counts a draw as half a win, ``interval`` is Wilson's 95%."""

    duels: Count
    wins: Count
    draws: Count
    losses: Count
    score: Share
    interval: tuple[Share, Share]

    @classmethod
    def of(cls, points: NDArray[np.float64]) -> Score:
        """Return the score of duels that brought these points each."""
        wins, draws = int((points == 1).sum()), int((points == 0.5).sum())
        interval = wilson(float(points.sum()), len(points))
        return cls(len(points), wins, draws, len(points) - wins - draws, float(points.mean()), interval)


@dataclass(frozen=True)
class KeptAt:
    """How many of the ``graded`` moves were kept at one place: with this many numbers left, or at this ply."""

    place: int
    kept: Count
    graded: Count


@dataclass(frozen=True)
class Written:
    """What an agent wrote that answers in writing, and how it was set.

    ``refused`` counts the refused ``replies`` by kind, ``faults`` the duels that they lost; ``seconds`` are those of
    all requests, one after another. Tokens are None where nobody counted them.
    """

    settings: Settings
    replies: Count
    refused: dict[str, Count]
    faults: dict[str, Count]
    prompt_tokens: Count | None
    completion_tokens: Count | None
    seconds: Amount


@dataclass(frozen=True)
class AgentResult:
    """Everything measured about one agent; ``kept`` is None where no move was graded.

    ``written`` is None for an agent that does not answer in writing.
    """

    name: str
    total: Score
    seats: tuple[Score, Score]
    grade: Grade
    kept: Share | None
    blunders_per_duel: float
    kept_by_numbers_left: tuple[KeptAt, ...]
    kept_by_ply: tuple[KeptAt, ...]
    mean_length: float
    moves: Count
    ms_per_move: float
    faults: Count
    reasons: dict[str, int]
    rating: float | None
    written: Written | None = None


@dataclass(frozen=True)
class Exploit:
    """The exams of one agent: walks against every opponent line, or samples."""

    name: str
    exams: tuple[Exam, ...]


@dataclass(frozen=True)
class Remark:
    """A prompt at a ply, and the reply to it; ``refusal`` is the kind of refusal, if any."""

    ply: Count
    prompt: str
    reply: str
    refusal: str | None


@dataclass(frozen=True)
class Sample:
    """One duel, move by move. ``winner`` is None for a draw; ``fault`` is why it was lost without a legal move.

    ``remarks`` are there where somebody answers in writing.
    """

    seats: tuple[str, str]
    opening_plies: int
    moves: tuple[GradedMove, ...]
    winner: str | None
    fault: str | None
    remarks: tuple[Remark, ...] = ()


@dataclass(frozen=True)
class Results:
    """What an evaluation found. ``print`` shows the tables; ``save`` and ``load`` use JSON, ``report`` writes HTML.

    ``matrix[i][j]`` is the score of agent ``i`` against agent ``j``. ``grading`` says how moves were graded, or why
    not. ``command`` is the command line, empty where there was none.
    """

    schema: int
    command: tuple[str, ...]
    versions: dict[str, str]
    game: Game
    seed: int
    duels_per_pair: Count
    openings: int
    openings_per_block: int
    graded: bool
    grading: str
    agents: tuple[AgentResult, ...]
    matrix: tuple[tuple[Share | None, ...], ...]
    exploits: tuple[Exploit, ...]
    samples: tuple[Sample, ...]

    def __str__(self) -> str:
        from numduel_env.evaluation.tables import tables

        return tables(self)

    def to_json(self) -> str:
        """Return the results as JSON."""
        return to_json(self).decode()

    def save(self, path: str | Path) -> None:
        """Write the results as JSON."""
        write_atomically(path, self.to_json())

    @classmethod
    def load(cls, path: str | Path) -> Results:
        """Return saved results; raises a ``ValueError`` that names what is wrong with the file."""
        return from_json(Path(path).read_bytes(), cls)

    def report(self, path: str | Path) -> None:
        """Write one self-contained HTML page with charts and sample duels."""
        from numduel_env.evaluation.report import report_page

        write_atomically(path, report_page(self))
