"""How weights are compared while a run learns: by the mistakes they make on the same positions, and on every line."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from agents.cards import Standing
from agents.learned import LearnedAgent
from numduel_env.batch import Position, take_rows
from numduel_env.cli import LONGEST_ERROR
from numduel_env.evaluation.exploitability import BUDGET, SAMPLE, WalkTooLong, random_positions, walk
from numduel_env.evaluation.grading import Grade
from numduel_env.outside import one_line
from numduel_env.progress import Progress, silent
from numduel_env.rules import Rules
from numduel_env.solvers import Solver, TooLargeToSolve, solver_for
from numduel_env.solvers.exhaustive import ExhaustiveSolver

SEED = 1
"""Of the random positions by which weights are chosen: another sample than that of the final evaluation."""


class Grader:
    """Grades a learner against perfect play, always on the same positions: random ones, and all if they are known."""

    def __init__(self, judge: Solver) -> None:
        self.judge = judge
        rules = judge.rules
        self._sample = SolvedPositions(judge, random_positions(rules, SAMPLE, SEED))
        self._all: SolvedPositions | None = None
        if isinstance(judge, ExhaustiveSolver):
            unfinished = np.flatnonzero(~rules.over(judge.positions))
            if len(unfinished) <= BUDGET:
                self._all = SolvedPositions(judge, take_rows(judge.positions, unfinished))
        # A walk that was too long is tried again when the learner makes half as many mistakes: it meets fewer lines.
        self._most_mistakes = float("inf")

    def grade(self, agent: LearnedAgent, best: Standing | None = None) -> Standing:
        """Return how the learner plays now; every line is walked unless it plays worse than the ``best`` so far."""
        sample = self._sample.grade(agent)
        positions = self._all.grade(agent) if self._all else sample
        mistakes = positions.blunders
        walked = None
        if mistakes <= min(best.positions.blunders if best else mistakes, self._most_mistakes):
            try:
                first, second = walk(agent, self.judge)
                walked = first.grade + second.grade
            except WalkTooLong:
                self._most_mistakes = mistakes / 2
        return Standing(sample, positions, walked)


class SolvedPositions:
    """Positions that are not lost, with the value of every move; an agent's network observes them once."""

    def __init__(self, judge: Solver, position: Position) -> None:
        values = judge.action_values(position)
        kept = np.flatnonzero(values.max(-1) >= 0)
        self.position, self.values = take_rows(position, kept), values[kept]
        self.legal = judge.rules.legal(self.position)
        self._observed: Any = None

    def grade(self, agent: LearnedAgent) -> Grade:
        """Return the grade of an agent's moves. All agents that are graded must have networks that observe alike."""
        if self._observed is None:
            self._observed = agent.network.observe(self.position, self.legal)
        chosen = agent.choose_observed(self._observed, self.legal)
        return Grade.of(self.values.max(-1), self.values[np.arange(len(chosen)), chosen])


def judge_of(rules: Rules[Any], progress: Progress = silent) -> Solver | None:
    """Return a solver to grade with, or say on standard error why there is none."""
    try:
        return solver_for(rules, progress=progress)
    except TooLargeToSolve as refusal:
        print(f"no grading: {one_line(str(refusal), LONGEST_ERROR)}", file=sys.stderr)
        return None
