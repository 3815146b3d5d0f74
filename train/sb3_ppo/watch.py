"""What happens beside learning: grading, keeping the best weights, saving, and reporting progress."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stable_baselines3.common.callbacks import BaseCallback

from agents.checkpoint import BadCheckpoint, Tensors, write_checkpoint
from agents.learned import LearnedAgent
from agents.networks import AfterstateNetwork
from numduel_env.observation import AfterstateObserver
from train.runs.progress import Budget, Report, Stopwatch, silent_report
from train.runs.record import Record, describe
from train.runs.state import is_sound, training_tensors
from train.sb3_ppo.pool import Pool

UPDATES_PER_CHECK = 4
"""The learner is graded and saved every few updates."""

LEAST_ANNEALING = 0.1
"""The learning rate and the entropy bonus fall to this share of their first values."""


class Watch(BaseCallback):
    """Grades and saves a learner every few updates, keeps the best of its weights, and ends the run in time.

    ``record`` holds the card that the checkpoint will have, and is kept up to date here. A ``pool`` gets a snapshot at
    every check.
    """

    def __init__(
        self,
        folder: Path,
        record: Record,
        observer: AfterstateObserver,
        budget: Budget,
        pool: Pool | None = None,
        report: Report = silent_report,
    ) -> None:
        super().__init__()
        self.folder, self.record, self.observer = folder, record, observer
        self.budget, self.pool, self.report = budget, pool, report
        progress = record.training.progress
        self.plies, self._stopwatch = progress.plies, Stopwatch(progress.seconds)
        """How many plies have been learned from: fewer than were played, while a rollout is collected."""
        self._ended: float | None = None
        self._updates = 0
        self._is_playing = False
        self._state: Tensors = {}
        self._enough = record.perfect

    def _on_training_start(self) -> None:
        self._first_entropy_bonus = self.ppo.ent_coef

    def _on_rollout_start(self) -> None:
        self._is_playing = True
        self._learned()
        # The curve begins with the untrained network, and from then on there is something to resume.
        if self._updates % UPDATES_PER_CHECK == 0 and (self._updates or not self.record.training.curve):
            self.check()
        self._enough |= self.spent >= 1
        self.ppo.ent_coef = self._first_entropy_bonus * self.annealing
        self.report(self.plies, self.spent)

    def _on_step(self) -> bool:
        return not self._enough

    def _on_rollout_end(self) -> None:
        self._is_playing = False
        self._updates += 1

    def _on_training_end(self) -> None:
        if not self._is_playing:
            self._learned()
        curve = self.record.training.curve
        if not (curve and curve[-1].plies == self.plies):
            self.check()
        self.report(self.plies, self.spent)
        self.logger.dump(self.plies)
        self._ended = self.seconds

    def _learned(self) -> None:
        """Note that an update is complete: a run that is stopped in the middle of the next one goes on from here."""
        self.refuse_divergence()
        self.plies, self._state = self.num_timesteps, training_tensors(self.ppo.policy)

    def refuse_divergence(self) -> None:
        """Raise ``BadCheckpoint`` if nothing can be learned from the weights and the optimiser's state any more."""
        if not is_sound(training_tensors(self.ppo.policy)):
            raise BadCheckpoint(f"learning has diverged after {self.plies:,} plies; what was saved before is kept")

    @property
    def seconds(self) -> float:
        """How many CPU seconds this run has learned, in all its sessions, without grading and saving."""
        return self._stopwatch.seconds if self._ended is None else self._ended

    @property
    def spent(self) -> float:
        """The share of the budget that is spent."""
        return self.budget.spent(self.plies, self.seconds)

    @property
    def annealing(self) -> float:
        """The factor of the learning rate and of the entropy bonus: it falls with what is left of the budget."""
        return max(1 - self.spent, LEAST_ANNEALING)

    def check(self) -> None:
        """Grade the learner, keep its weights if they are the best, and save everything."""
        weights = self.ppo.policy.tensors()
        agent = LearnedAgent(self.observer.rules, AfterstateNetwork(self.observer, weights))
        with self._stopwatch.stopped():
            point = self.record.add(weights, agent, self.plies, self.seconds)
            if self.pool:
                self.pool.add(weights)
            self.save(finished=False)
        self.logger.record("grade/against random", point.against_random)
        if point.kept is not None:
            self.logger.record("grade/kept", point.kept)
        self.report(self.plies, self.spent, describe(point))
        self._enough |= self.record.perfect

    def save_unfinished(self) -> None:
        """Write the checkpoint as it is after the last complete update, if there is one to be written."""
        if self._state and self.record.training.curve:
            self.save(finished=False)

    def save(self, *, finished: bool) -> None:
        """Write the checkpoint as it is after the last complete update."""
        self.record.advance(self.plies, self.seconds, finished=finished)
        files = {"weights": self.record.best, "state": self._state}
        if self.pool:
            files["pool"] = self.pool.tensors()
        self.record.card = write_checkpoint(self.folder, self.record.card, files)

    @property
    def ppo(self) -> Any:
        """The learner; its class is that of all algorithms to a type checker."""
        return self.model
