"""What a finished run says of its agent: scores against the baselines, and how it plays beside perfect play."""

from __future__ import annotations

import shlex
from contextlib import suppress

import numpy as np

from agents.cards import Card, Evaluation, SeatScores
from agents.learned import LearnedAgent
from numduel_env.agent import GreedyAgent, RandomAgent, SolverAgent
from numduel_env.cli import LONGEST_ERROR, flag
from numduel_env.evaluation.block import play_match
from numduel_env.evaluation.exploitability import Exam, exploitability, grade_sample
from numduel_env.evaluation.match import Entrant
from numduel_env.evaluation.tables import exam_line
from numduel_env.games import Params
from numduel_env.outside import one_line
from numduel_env.progress import Progress, silent
from numduel_env.solvers import Solver

FINAL_DUELS = 1_000

SEED = 0
"""Of the positions and duels of an evaluation, whatever seed trained the learner: so all learners can be compared."""

BEST_BY_GRADE = "The weights are the best of the run, chosen by the solver's grade."


def score_against(opponent: Entrant, agent: LearnedAgent, duels: int) -> SeatScores:
    """Return the agent's scores in the two seats, from the first position."""
    match = play_match(agent.rules, (Entrant("learned", agent), opponent), duels, 0, SEED)
    first, second = (float(match.scores(0)[match.opener == opener].mean()) for opener in (0, 1))
    return SeatScores(first, second)


def evaluate_agent(agent: LearnedAgent, judge: Solver | None, progress: Progress = silent) -> Evaluation:
    """Return what a card says an agent can do; without a judge, its scores alone."""
    rules = agent.rules
    opponents = [Entrant("random", RandomAgent(rules))]
    with suppress(ValueError):  # too large a game for it
        opponents.append(Entrant("greedy", GreedyAgent(rules)))
    sample: Exam | None = None
    exams: tuple[Exam, ...] = ()
    if judge is not None:
        opponents.append(Entrant("solver", SolverAgent(rules, judge)))
        exams = exploitability(agent, judge, seed=SEED, progress=progress)
        samples = [exam for exam in exams if exam.where == "random positions"]
        sample = samples[0] if samples else grade_sample(agent, judge, seed=SEED)
    scores = {opponent.name: score_against(opponent, agent, FINAL_DUELS) for opponent in opponents}
    return Evaluation(FINAL_DUELS, scores, sample, exams, opening_of(agent))


def opening_of(agent: LearnedAgent) -> int:
    """Return the number that an agent opens with."""
    rules = agent.rules
    first = rules.initial((1,))
    (action,) = agent.choose(first, rules.legal(first), np.random.default_rng(SEED))
    return int(rules.numbers[action])


def tables(evaluation: Evaluation) -> str:
    """Return the scores by seat against the baselines, and how the agent plays beside perfect play."""
    lines = ["| opponent | score as first player | as second player |", "|---|---:|---:|"]
    lines += [f"| {name} | {score.first:.1%} | {score.second:.1%} |" for name, score in evaluation.scores.items()]
    if (sample := evaluation.sample) and (kept := sample.grade.kept) is not None:
        lines += ["", f"kept {kept:.2%} on {sample.positions:,} random positions (seed {SEED}): expert mastery"]
        if sample.later.kept is not None:
            lines.append(
                f"kept {sample.later.kept:.2%} without the first position, where it plays {evaluation.opening}"
            )
        lines += [f"kept by numbers left: {stages}"] if (stages := by_stage(sample)) else []
    if evaluation.champion is not None:
        reached = "yes" if evaluation.champion else "no"
        lines.append(f"champion mastery, nothing thrown or spoiled on any line: {reached}")
    return "\n".join([*lines, *map(exam_line, evaluation.exams)])


def by_stage(exam: Exam) -> str:
    """Return the shares kept by how many numbers are left, where there is more than one stage to tell apart."""
    graded = [stage for stage in exam.stages if stage.grade.graded]
    shares = [f"{stage.fewest}-{stage.most} {stage.grade.kept:.1%}" for stage in graded]
    return ", ".join(shares) if len(shares) > 1 else ""


def summary(card: Card, params: Params, chosen: str, written: str, agent: str) -> str:
    """Return what is printed of a finished run: how it learned, what it scored, what was written, how to play it.

    ``chosen`` says which of its weights were chosen.
    """
    assert card.training is not None
    assert card.evaluation is not None
    game, progress = card.game.name, card.training.progress
    given = [part for name, value in params.items() for part in (flag(name), str(value))]
    lines = ["", f"{game}: {progress.plies:,} plies in {progress.seconds:.0f} s of learning"]
    if card.training.standing:
        lines.append(chosen)
    lines += ["", tables(card.evaluation), "", one_line(written, LONGEST_ERROR)]
    command = shlex.join(["python", "agents/play.py", "--game", game, *given, "--second", agent])
    lines.append(one_line(f"Play it: {command}", LONGEST_ERROR))
    return "\n".join(lines)
