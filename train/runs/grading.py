"""How much of perfect play a learner has: graded on the way, to keep its best weights, and at the end."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np

from agents import make_agent
from agents.learned import LearnedAgent
from numduel_env.evaluation.exploitability import BUDGET, WalkTooLong, exploitability, random_positions, walk
from numduel_env.evaluation.match import Player, play_match
from numduel_env.rules import Position, Rules, take_rows
from numduel_env.solvers import Solver, TooLargeToSolve, solver_for
from numduel_env.solvers.exhaustive import ExhaustiveSolver

GRADED_POSITIONS = 10_000
QUICK_DUELS, FINAL_DUELS = 200, 1_000
SEED = 0
"""Of the positions and duels of an evaluation, whatever seed trained the learner: so all learners can be compared."""

GRADING_SEED = 1
"""Of the random positions by which weights are chosen: another sample than that of the evaluation."""


class Grade(NamedTuple):
    """How a learner plays: ``kept`` on random positions, mistakes on the graded positions and in a walk, if made.

    ``kept`` is None where every random position is lost.
    """

    kept: float | None
    mistakes: int
    walked: int | None

    @property
    def perfect(self) -> bool:
        """Whether nothing was found to be wrong, against every opponent line."""
        return self.mistakes == 0 and self.walked == 0

    def matches(self, other: Grade) -> bool:
        """Return whether it is at least as good as another; walks count first, where both were walked."""
        if self.walked is None or other.walked is None:
            return self.mistakes <= other.mistakes
        return (self.walked, self.mistakes) <= (other.walked, other.mistakes)


class Grader:
    """Grades a learner against perfect play, always on the same positions: random ones, or all if they are known."""

    def __init__(self, judge: Solver) -> None:
        self.judge = judge
        rules = judge.rules
        self._random = Examination(judge, random_positions(rules, GRADED_POSITIONS, GRADING_SEED))
        self._all = self._random
        if isinstance(judge, ExhaustiveSolver):
            unfinished = np.flatnonzero(~rules.over(judge.positions))
            if len(unfinished) <= BUDGET:
                self._all = Examination(judge, take_rows(judge.positions, unfinished))
        # A walk that was too long is tried again when the learner makes half as many mistakes: it meets fewer lines.
        self._most_mistakes = float("inf")

    def grade(self, agent: LearnedAgent, best: Grade | None = None) -> Grade:
        """Return how the learner plays now; every line is walked unless it plays worse than the ``best`` so far."""
        kept, mistakes = self._random.marks(agent)
        if self._all is not self._random:
            mistakes = self._all.marks(agent)[1]
        walked = None
        if mistakes <= min(best.mistakes if best else mistakes, self._most_mistakes):
            try:
                walked = sum(grade.thrown + grade.spoiled for grade in walk(agent, self.judge))
            except WalkTooLong:
                self._most_mistakes = mistakes / 2
        return Grade(kept, mistakes, walked)


def judge_of(rules: Rules) -> Solver | None:
    """Return a solver to grade with, or say why there is none."""
    try:
        return solver_for(rules)
    except TooLargeToSolve as refusal:
        print(f"no grading: {refusal}", file=sys.stderr)
        return None


class Examination:
    """Positions that are not lost, and the moves that keep their values."""

    def __init__(self, judge: Solver, position: Position) -> None:
        values = judge.action_values(position)
        best = values.max(-1)
        asked = np.flatnonzero(best >= 0)
        self.position = take_rows(position, asked)
        self.legal = judge.rules.legal(self.position)
        self.good = (values == best[:, None])[asked]
        self._seen: Any = None

    def marks(self, agent: LearnedAgent) -> tuple[float | None, int]:
        """Return the share of the positions in which the agent chooses a good move, and the number of the others.

        Of no position there is no share. All agents that are examined must see positions in the same way.
        """
        if self._seen is None:
            self._seen = agent.network.see(self.position, self.legal)
        chosen = agent.choose_seen(self._seen, self.legal)
        keeps = self.good[np.arange(len(chosen)), chosen]
        return float(keeps.mean()) if len(keeps) else None, int((~keeps).sum())


def score_against(name: str, agent: LearnedAgent, duels: int, openings: int = 0) -> list[float]:
    """Return the agent's score as first and as second player against the agent of that name."""
    rules = agent.rules
    pair = (Player("learned", agent), Player(name, make_agent(name, rules, SEED)))
    match = play_match(rules, pair, duels, openings, SEED)
    return [float(match.scores(0)[match.opener == opener].mean()) for opener in (0, 1)]


def evaluate(agent: LearnedAgent, judge: Solver | None) -> dict[str, Any]:
    """Return what a card says an agent can do: scores by seat from the first position, kept, won positions thrown."""
    opponents = ["random", "greedy", *(["solver"] if judge else [])]
    told: dict[str, Any] = {"duels": FINAL_DUELS, "scores": {}, "kept": None, "exploitability": []}
    for name in opponents:
        told["scores"][name] = score_against(name, agent, FINAL_DUELS)
    if judge:
        sample = Examination(judge, random_positions(judge.rules, GRADED_POSITIONS, SEED))
        told["kept"] = sample.marks(agent)[0]
        told["exploitability"] = [asdict(grades) for grades in exploitability(agent, judge, seed=SEED)]
    return told


def tables(evaluation: dict[str, Any]) -> str:
    """Return the score by seat against the baselines, and how much of perfect play was learned."""
    lines = ["| opponent | score as first player | as second player |", "|---|---:|---:|"]
    lines += [f"| {name} | {first:.1%} | {second:.1%} |" for name, (first, second) in evaluation["scores"].items()]
    if evaluation["kept"] is not None:
        lines += ["", f"kept {evaluation['kept']:.2%} on {GRADED_POSITIONS:,} random positions (seed {SEED})"]
    for grades in evaluation["exploitability"]:
        how = grades["refusal"] or f"{grades['positions']:,} positions"
        lines.append(f"{grades['where']}: throws {grades['thrown']:,} of {grades['won']:,} won positions ({how})")
    return "\n".join(lines)
