"""What happens beside learning: grading, keeping the best weights, saving, and telling how it goes."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, NamedTuple

from stable_baselines3.common.callbacks import BaseCallback
from tqdm import tqdm

from agents.checkpoint import write_checkpoint
from agents.learned import LearnedAgent
from agents.networks import MoveNetwork
from numduel_env.observation import MoveObserver
from train.runs.folder import training_tensors
from train.runs.record import Record
from train.sb3_ppo.pool import Pool

UPDATES_PER_CHECK = 4
"""So often the learner is graded and saved."""

COLDEST = 0.1
"""To this share of their first values the learning rate and the entropy bonus fall."""


class Budget(NamedTuple):
    """When a run ends: after so many plies or seconds, whichever comes first."""

    plies: float
    seconds: float


class Watch(BaseCallback):
    """Grades and saves a learner every few updates, keeps the best of its weights, and ends the run in time.

    ``record`` holds the card that the checkpoint will have; its ``progress`` is brought up to date here.
    """

    def __init__(self, folder: Path, record: Record, observer: MoveObserver, pool: Pool | None, budget: Budget) -> None:
        super().__init__()
        self.folder, self.record, self.observer, self.pool, self.budget = folder, record, observer, pool, budget
        progress = record.card["progress"]
        self.plies, self._seconds_before = progress["plies"], progress["seconds"]
        """So many plies have been learned from: fewer than were played, in the middle of things."""
        self._began = time.perf_counter()
        self._ended: float | None = None
        self._updates = 0
        self._is_playing = False
        self._enough = record.perfect
        self._bar: Any = None

    def _on_training_start(self) -> None:
        self._first_entropy_bonus = self.ppo.ent_coef
        self._bar = tqdm(initial=self.plies, unit=" plies", unit_scale=True)

    def _on_rollout_start(self) -> None:
        self.plies, self._is_playing = self.num_timesteps, True
        # The curve begins with what nobody taught, and from then on there is something to resume.
        if self._updates % UPDATES_PER_CHECK == 0 and (self._updates or not self.record.card["curve"]):
            self.check()
        self._enough |= self.spent >= 1
        self.ppo.ent_coef = self._first_entropy_bonus * self.warmth
        self._show_progress()

    def _on_step(self) -> bool:
        return not self._enough

    def _on_rollout_end(self) -> None:
        self._is_playing = False
        self._updates += 1

    def _on_training_end(self) -> None:
        if not self._is_playing:
            self.plies = self.num_timesteps
        curve = self.record.card["curve"]
        if not (curve and curve[-1]["plies"] == self.plies):
            self.check()
        self._show_progress()
        self.logger.dump(self.plies)
        self._ended = time.perf_counter()

    def _show_progress(self) -> None:
        self._bar.n = self.plies
        # Whichever limit comes first, as a number of plies.
        self._bar.total = int(self.plies / self.spent) if self.plies else None
        self._bar.refresh()

    def close(self) -> None:
        """Leave the progress bar as it is, so that something can be said below it."""
        if self._bar is not None:
            self._bar.close()

    @property
    def seconds(self) -> float:
        """How long this run has learned, in all its sessions."""
        now = time.perf_counter() if self._ended is None else self._ended
        return float(self._seconds_before + now - self._began)

    @property
    def spent(self) -> float:
        """The share of the budget that is spent."""
        return float(max(self.plies / self.budget.plies, self.seconds / self.budget.seconds))

    @property
    def warmth(self) -> float:
        """By what the learning rate and the entropy bonus are multiplied: it falls with what is left of the budget."""
        return max(1 - self.spent, COLDEST)

    def check(self) -> None:
        """Grade the learner, keep its weights if they are the best, and save everything."""
        weights = self.ppo.policy.tensors()
        agent = LearnedAgent(self.observer.rules, MoveNetwork(self.observer, weights))
        shown = self.record.add(weights, agent, self.plies, self.seconds)
        if self.pool:
            self.pool.add(weights)
        self.save(finished=False)
        for name, share in shown.items():
            self.logger.record(f"grade/{name}", share)
        self._bar.set_postfix_str(", ".join(f"{name} {share:.1%}" for name, share in shown.items()))
        self._enough |= self.record.perfect

    def save(self, *, finished: bool) -> None:
        """Write the checkpoint as it is now."""
        card, best = self.record.card, self.record.best
        assert best is not None
        card["progress"] = {"plies": self.plies, "seconds": round(self.seconds, 2), "finished": finished}
        files = {"weights": best, "state": training_tensors(self.ppo.policy)}
        write_checkpoint(self.folder, card, files | ({"pool": self.pool.tensors()} if self.pool else {}))

    @property
    def ppo(self) -> Any:
        """The learner, by what it is rather than by what every algorithm is."""
        return self.model
