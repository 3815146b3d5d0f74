"""One session of a run with RLlib: learning, grading and saving until the time is spent."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from agents.checkpoint import BadCheckpoint
from agents.learned import LearnedAgent
from agents.networks import FlatNetwork
from numduel_env.observation import Observer
from numduel_env.stopping import undisturbed
from train.rllib_ppo.algorithm import network_tensors
from train.rllib_ppo.folder import RunFolder
from train.runs.progress import Budget, Report, silent_report
from train.runs.record import Record, describe

SAVE_SECONDS = 5.0
"""The learner is graded and saved about this often: a run that is killed loses no more than this."""


class Training:
    """Lets an algorithm learn until the budget is spent or the best weights play perfectly.

    ``record`` holds the card of the run and is kept up to date here.
    """

    def __init__(
        self,
        algorithm: Any,
        folder: RunFolder,
        record: Record,
        observer: Observer,
        budget: Budget,
        report: Report = silent_report,
    ) -> None:
        self.algorithm, self.folder, self.record = algorithm, folder, record
        self.observer, self.budget, self.report = observer, budget, report
        progress = record.training.progress
        self.plies, self.seconds = progress.plies, progress.seconds
        """How many plies the run has learned from, and for how long, in all its sessions."""
        self._restarts = 0

    def learn(self) -> None:
        """Learn; grade and save every few seconds."""
        began = time.perf_counter() - self.seconds
        saved = float("-inf")
        spent = 0.0
        while spent < 1 and not self.record.perfect:
            with undisturbed():
                self._update()
                self.seconds = time.perf_counter() - began
            spent = self.spent
            note = ""
            if spent == 1 or self.seconds - saved >= SAVE_SECONDS:
                note = self.check()
                saved = time.perf_counter() - began
            self.report(self.plies, spent, note)

    @property
    def spent(self) -> float:
        """The share of the budget that is spent."""
        return min(self.budget.spent(self.plies, self.seconds), 1)

    def _update(self) -> None:
        """Let RLlib collect plies and learn from them once."""
        result = self.algorithm.train()
        # NaN if all env runners have died and nothing was played.
        self.plies += int(np.nan_to_num(result["env_runners"].get("num_env_steps_sampled", 0)))
        restarts = self.algorithm.env_runner_group.num_remote_worker_restarts()
        if restarts > self._restarts:
            self.report(self.plies, self.spent, event="an env runner was lost; Ray has started another")
            self._restarts = restarts

    def check(self) -> str:
        """Grade the learner, keep its weights if they are the best, save everything, and describe how it plays."""
        weights = network_tensors(self.algorithm)
        agent = LearnedAgent(self.observer.rules, FlatNetwork(self.observer, weights))
        point = self.record.add(weights, agent, self.plies, self.seconds)
        self.save(finished=False)
        try:
            self.folder.copy()
        except BadCheckpoint as wrong:
            self.report(self.plies, self.spent, event=f"saved here only: {wrong}")
        return describe(point)

    def save_unfinished(self) -> None:
        """Write the run as it is after the last update, if there is a first checkpoint."""
        if self.record.training.curve:
            self.save(finished=False)

    def save(self, *, finished: bool) -> None:
        """Write the run as it is now, to the local folder."""
        self.record.advance(self.plies, self.seconds, finished=finished)
        self.folder.save(self.algorithm, self.record)
