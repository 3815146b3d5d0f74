"""What is known of a run while it learns: its card, kept up to date, and its best weights."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import asdict, replace
from importlib.metadata import version

import numpy as np

from agents.cards import Card, CurvePoint, Evaluation, GameCard, Session, Settings, TrainingCard, TrainingProgress
from agents.checkpoint import BadCheckpoint, Tensors
from agents.learned import Architecture, LearnedAgent
from numduel_env.agent import RandomAgent
from numduel_env.evaluation.match import Entrant
from train.runs.evaluation import score_against
from train.runs.grading import Grader
from train.runs.task import ArgumentsT, Task

MOST_POINTS = 2_000
"""Of the curve on a card, which is written anew at every save: it must not grow for as long as a run goes on."""

QUICK_DUELS = 200
"""Played against random for each point of the curve."""


class Record:
    """The ``card`` of a run as it stands, and its ``best`` weights.

    The best are those with the fewest mistakes by the solver's grade, since further training may lose again what was
    learned; or the latest, where there is no solver or it is not to choose (``latest``).
    """

    def __init__(self, card: Card, grader: Grader | None, *, latest: bool = False) -> None:
        self.card, self.grader, self.latest = card, grader, latest
        self._best: Tensors | None = None

    @property
    def training(self) -> TrainingCard:
        """The part of the card that learning changes."""
        assert self.card.training is not None
        return self.card.training

    @property
    def best(self) -> Tensors:
        """The best weights so far; there are some once a point was added."""
        assert self._best is not None
        return self._best

    def keep(self, weights: Tensors) -> None:
        """Take these weights, which have the standing on the card, for the best so far."""
        self._best = weights

    @property
    def perfect(self) -> bool:
        """Whether the best weights play perfectly."""
        return self.training.standing is not None and self.training.standing.perfect

    def add(self, weights: Tensors, agent: LearnedAgent, plies: int, seconds: float) -> CurvePoint:
        """Grade what has been learned so far, keep the weights if they are the best, and return the new point."""
        score = score_against(Entrant("random", RandomAgent(agent.rules)), agent, QUICK_DUELS)
        best_so_far = self.training.standing
        standing = self.grader.grade(agent, best_so_far) if self.grader else None
        if (
            self._best is None
            or self.latest
            or standing is None
            or best_so_far is None
            or standing.at_least(best_so_far)
        ):
            self._best = weights
            self._update(replace(self.training, standing=standing))
        kept = standing.sample.kept if standing else None
        point = CurvePoint(plies, round(seconds, 2), (score.first + score.second) / 2, kept)
        self._update(replace(self.training, curve=thinned((*self.training.curve, point))))
        return point

    def advance(self, plies: int, seconds: float, *, finished: bool = False) -> None:
        """Note how far the run has come."""
        self._update(replace(self.training, progress=TrainingProgress(plies, round(seconds, 2), finished=finished)))

    def keep_state(self, name: str) -> None:
        """Note under which name a framework keeps what learning goes on from."""
        self._update(replace(self.training, state=name))

    def conclude(self, evaluation: Evaluation) -> None:
        """Note what the agent can do, in the end."""
        self.card = replace(self.card, evaluation=evaluation)

    def _update(self, training: TrainingCard) -> None:
        self.card = replace(self.card, training=training)


def thinned(curve: tuple[CurvePoint, ...]) -> tuple[CurvePoint, ...]:
    """Return a curve of at most ``MOST_POINTS``, with the first and the last point: else every other one goes."""
    return curve if len(curve) <= MOST_POINTS else (*curve[:-1:2], curve[-1])


def describe(point: CurvePoint) -> str:
    """Return a point of the curve for the end of a progress bar."""
    kept = "" if point.kept is None else f", kept {point.kept:.1%}"
    return f"against random {point.against_random:.1%}{kept}"


def begin_card(
    task: Task[ArgumentsT],
    program: str,
    architecture: Architecture,
    preset: Settings,
    device: str,
    packages: Sequence[str],
) -> Card:
    """Return the card of a run at the beginning of a session: of a new run, or of the one that goes on.

    Raises ``BadCheckpoint`` if that one has learned with another preset.
    """
    before = task.before
    if before and before.preset != preset:
        raise BadCheckpoint(f"{task.arguments.resume} was trained with another preset: {before.preset}")
    progress = before.progress if before else TrainingProgress(0, 0.0, finished=False)
    session = begin_session(progress.plies, task.arguments.seed, device, packages)
    training = TrainingCard(
        program=program,
        arguments=asdict(task.arguments),
        preset=preset,
        progress=progress,
        curve=before.curve if before else (),
        standing=before.standing if before else None,
        sessions=(*(before.sessions if before else ()), session),
        state=before.state if before else None,
    )
    return Card(GameCard.of(task.spec, task.params), *architecture, training)


def session_seed(seed: int, plies: int) -> int:
    """Return the seed of the session that begins after ``plies``: a run that goes on draws other random numbers."""
    return int(np.random.SeedSequence([seed, plies]).generate_state(1)[0] // 2)


def begin_session(plies: int, seed: int, device: str, packages: Sequence[str]) -> Session:
    """Return the session that begins now; the versions of the ``packages`` stand on the card."""
    versions = {"python": platform.python_version()} | {name: version(name) for name in ("numduel-env", *packages)}
    return Session(plies, session_seed(seed, plies), device, versions)
