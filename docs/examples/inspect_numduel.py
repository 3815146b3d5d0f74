"""Text duels as a task of Inspect: win rate, faults and kept, each with its standard error.

inspect eval docs/examples/inspect_numduel.py --model openai/MODEL -T game=prime-rumble -T opponent=solver -T duels=100

Where OPENAI_BASE_URL names a server that has chat completions alone, add -M responses_api=false.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessageUser
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, mean, metric, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver

from numduel_env.envs.text import TextDuel

MakeDuel = Callable[[], TextDuel]


@task
def numduel(
    game: str = "divider-duel",
    opponent: str = "solver",
    seat: str = "random",
    openings: int = 0,
    duels: int = 100,
    seed: int = 0,
    retries: int = 2,
    list_legal: bool = False,
    params: dict[str, Any] | None = None,
) -> Task:
    """Play duels with one seed after another; those that are lost before the player's first turn are left out.

    The options are those of ``TextDuel``; ``params`` are the game's own.
    """

    def make_duel() -> TextDuel:
        return TextDuel(
            game, opponent, seat=seat, openings=openings, retries=retries, list_legal=list_legal, **(params or {})
        )

    if duels < 1:
        raise ValueError(f"duels must be at least 1, not {duels}")
    duel, samples = make_duel(), []
    while len(samples) < duels:
        prompt = duel.reset(seed)
        if not duel.finished:
            samples.append(Sample(input=prompt, id=f"{game}-{seed}", metadata={"seed": seed}))
        seed += 1
    return Task(dataset=samples, solver=play(make_duel), scorer=graded())


@solver
def play(make_duel: MakeDuel) -> Solver:
    """Let the model reply until the duel is finished."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        duel = make_duel()
        duel.reset(state.metadata["seed"])
        while not duel.finished:
            state = await generate(state)
            turn = duel.step(state.output.completion)
            if not turn.finished:
                state.messages.append(ChatMessageUser(content=turn.text))
            store(state, duel)
        return state

    return solve


def store(state: TaskState, duel: TextDuel) -> None:
    """Keep what the scorer needs; it is there too if a limit ends the duel before its time."""
    outcome = duel.outcome
    state.store.set("finished", outcome.finished)
    state.store.set("payoff", outcome.payoff)
    state.store.set("fault", outcome.fault)
    state.store.set("moves", list(outcome.moves))
    state.store.set("graded", outcome.grade.graded)
    state.store.set("blunders", outcome.grade.blunders)


@metric
def pooled() -> Metric:
    """Kept over all moves of all duels, as everywhere in numduel_env."""

    def of(scores: list[SampleScore]) -> float:
        return kept_and_error(scores)[0]

    return of


@metric
def pooled_stderr() -> Metric:
    """Its standard error; the moves of one duel are not taken as independent."""

    def of(scores: list[SampleScore]) -> float:
        return kept_and_error(scores)[1]

    return of


def kept_and_error(scores: list[SampleScore]) -> tuple[float, float]:
    """Return kept and its standard error, as a ratio of sums over duels; NaN where nothing was graded."""
    counts = [(one.score.metadata["graded"], one.score.metadata["blunders"]) for one in scores if one.score.metadata]
    graded, duels = sum(graded for graded, _ in counts), len(counts)
    if not graded:
        return math.nan, math.nan
    kept = 1 - sum(blunders for _, blunders in counts) / graded
    squares = sum((own - blunders - kept * own) ** 2 for own, blunders in counts)
    return kept, math.sqrt(duels / (duels - 1) * squares) / graded if duels > 1 else math.nan


@scorer(
    metrics=[
        {"won": [mean(), stderr()], "fault": [mean(), stderr()], "kept": [pooled(), pooled_stderr()]},
    ]
)
def graded() -> Scorer:
    """Score a duel: whether it was won, whether a fault lost it, and the share of its moves that were kept.

    Kept is missing, not 1, where no move was graded. A duel that a limit has ended is lost by a fault.
    """

    async def score(state: TaskState, target: Target) -> Score:
        graded, blunders = state.store.get("graded", 0), state.store.get("blunders", 0)
        finished = state.store.get("finished", False)
        return Score(
            value={
                "won": float(finished and state.store.get("payoff") == 1),
                "fault": float(not finished or state.store.get("fault") is not None),
                "kept": 1 - blunders / graded if graded else math.nan,
            },
            explanation=f"moves: {state.store.get('moves', [])}",
            metadata={"graded": graded, "blunders": blunders},
        )

    return score
