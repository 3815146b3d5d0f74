"""The loop of learners that keep an average of their weights: learn, now and then grade and save, stop in time."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from agents.checkpoint import Tensors, write_checkpoint
from agents.learned import LearnedAgent
from train.runs.averaged import AveragedNetwork
from train.runs.progress import Budget, Report, Stopwatch, silent_report
from train.runs.record import Record, describe
from train.runs.state import training_tensors

CHECK_SHARE, CHECK_SECONDS = 0.05, 30.0
"""The learner is graded and saved after this share of the budget, or this many CPU seconds if that is sooner."""


class Learner(Protocol):
    """What learns."""

    averaged: AveragedNetwork

    def learn(self, spent: float) -> int:
        """Learn for a while, when this share of the budget is spent; returns how many plies were played for it."""

    def weights(self) -> Tensors:
        """Return the weights that play: the average."""

    def agent(self, weights: Tensors) -> LearnedAgent:
        """Return the agent with such weights."""


class Loop:
    """Lets a learner learn in ``folder``. The budget's seconds are CPU seconds, without grading and saving.

    The solver grades, and has no say in what is learned; only with ``until_perfect`` does its grade end a run early.
    """

    def __init__(
        self,
        folder: Path,
        record: Record,
        learner: Learner,
        budget: Budget,
        until_perfect: bool = False,
        report: Report = silent_report,
    ) -> None:
        self.folder, self.record, self.learner = folder, record, learner
        self.budget, self.until_perfect, self.report = budget, until_perfect, report
        progress = record.training.progress
        self.plies, self._watch = progress.plies, Stopwatch(progress.seconds)
        self._checked_at = self._watch.seconds, self.spent
        self._learned()

    @property
    def spent(self) -> float:
        """The share of the budget that is spent."""
        return self.budget.spent(self.plies, self._watch.seconds)

    def run(self) -> None:
        """Learn until the budget is spent."""
        # The curve begins with the untrained network, and from then on there is something to resume.
        if not self.record.training.curve:
            self.check()
        while (spent := self.spent) < 1 and not (self.until_perfect and self.record.perfect):
            plies = self.learner.learn(spent)
            self.plies += plies
            self._learned()
            self.report(self.plies, self.spent)
            seconds, share = self._checked_at
            if self.spent - share >= CHECK_SHARE or self._watch.seconds - seconds >= CHECK_SECONDS:
                self.check()
        if self.record.training.curve[-1].plies != self.plies:
            self.check()

    def _learned(self) -> None:
        """Note that the learner has learned for a while: a run that is stopped in the middle goes on from here."""
        self._at = self.plies, self._watch.seconds
        self._weights, self._state = self.learner.weights(), training_tensors(self.learner.averaged)

    def check(self) -> None:
        """Grade the learner and save everything."""
        self._checked_at = self._watch.seconds, self.spent
        with self._watch.stopped():
            point = self.record.add(self._weights, self.learner.agent(self._weights), *self._at)
            self.save(finished=False)
        self.report(self.plies, self.spent, describe(point))

    def save_unfinished(self) -> None:
        """Write what has been learned by a run that is stopped, if there is a checkpoint already."""
        if self.record.training.curve:
            self.record.keep(self._weights)
            self.save(finished=False)

    def save(self, *, finished: bool) -> None:
        """Write the checkpoint as it is."""
        self.record.advance(*self._at, finished=finished)
        files = {"weights": self.record.best, "state": self._state}
        self.record.card = write_checkpoint(self.folder, self.record.card, files)
