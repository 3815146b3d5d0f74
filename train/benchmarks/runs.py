"""Whole runs of the training programs, from the start to the final table."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agents.cards import Card, Evaluation, TrainingProgress
from agents.checkpoint import read_card

PROGRAMS = Path(__file__).parent.parent
EXAMPLES = PROGRAMS.parent / "docs" / "examples"
"""Where games of one's own are found, such as nim:Nim."""


@dataclass(frozen=True)
class FinishedRun:
    """One finished run: its card, its folder and the seconds of the whole process."""

    card: Card
    folder: Path
    seconds: float

    @property
    def progress(self) -> TrainingProgress:
        """How long it has learned."""
        assert self.card.training is not None
        return self.card.training.progress

    @property
    def evaluation(self) -> Evaluation:
        """What its agent can do."""
        assert self.card.evaluation is not None
        return self.card.evaluation

    @property
    def perfect(self) -> bool:
        """Whether nothing is thrown or spoiled against every opponent line nor, if all are known, in any position."""
        return not any(exam.grade.blunders or exam.refusal for exam in self.evaluation.exams)

    @property
    def kept(self) -> float:
        """The share of moves kept on random positions."""
        sample = self.evaluation.sample
        return (sample and sample.grade.kept) or 0.0

    @property
    def kept_later(self) -> float:
        """The same without the game's first position."""
        sample = self.evaluation.sample
        return (sample and sample.later.kept) or 0.0

    @property
    def against_random(self) -> float:
        """The score in the worse of the two seats."""
        scores = self.evaluation.scores["random"]
        return min(scores.first, scores.second)


def finished_run(program: str, options: Sequence[str], seed: int, folder: Path) -> FinishedRun:
    """Run train/PROGRAM.py to its end."""
    command = [sys.executable, str(PROGRAMS / f"{program}.py"), *options, "--seed", str(seed), "--out", str(folder)]
    start = time.perf_counter()
    environment = os.environ | {"PYTHONPATH": str(EXAMPLES)}
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    seconds = time.perf_counter() - start
    if ran.returncode:
        raise RuntimeError(f"{' '.join(command)} failed: {ran.stderr}")
    return FinishedRun(read_card(folder), folder, seconds)
