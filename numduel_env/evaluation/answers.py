"""Agents asked for moves in many games at once: what each answered, or why it gave no legal answer."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from numduel_env.agent import Agent, BadAnswer, HistoryAgent, ask, ask_in
from numduel_env.batch import BoolArray
from numduel_env.duel import Duel
from numduel_env.writing import Exchange, Notes, WritingPlayer

NO_ACTION = -1


class Reason(NamedTuple):
    """Why an agent gave no legal answer; ``kind`` says it without particulars, so that reasons can be counted."""

    kind: str
    text: str


@dataclass(frozen=True)
class Answers:
    """The actions that were answered, ``NO_ACTION`` with a reason by its place where none was legal.

    ``exchanges`` are what was written, by place.
    """

    actions: NDArray[np.int64]
    reasons: dict[int, Reason]
    seconds: float
    exchanges: dict[int, list[Exchange]] = field(default_factory=dict)


class Question(NamedTuple):
    """A batch of games in whose ``rows`` an agent is asked to move.

    ``histories`` are the duels of these rows, for an agent that wants them.
    """

    position: Any
    legal: BoolArray
    rows: NDArray[np.intp]
    histories: Sequence[Duel[Any]] | None = None

    def part(self, places: slice) -> Question:
        """Return the question about some of the rows."""
        histories = None if self.histories is None else self.histories[places]
        return self._replace(rows=self.rows[places], histories=histories)


def takes_histories(agent: Agent) -> bool:
    """Return whether an agent wants to know the moves that were played."""
    return isinstance(agent, HistoryAgent) and agent.wants_history


def answers(agent: Agent, question: Question, generator: np.random.Generator) -> Answers:
    """Return an agent's answers.

    An agent that fails on the batch is asked row by row, so that only the rows that it fails on are lost.
    """
    start = time.perf_counter()
    actions, reasons = _answered(agent, question, generator)
    return _refused_illegal(question, actions, reasons, time.perf_counter() - start)


def written_answers(player: WritingPlayer, question: Question, notes: Notes) -> Answers:
    """Return the answers of a player that answers in writing; raises ``Unavailable`` if nobody answers any more."""
    start = time.perf_counter()
    answered = player.converse(list(question.histories or ()), notes)
    actions = np.array([NO_ACTION if isinstance(answer, BadAnswer) else answer for answer in answered], np.int64)
    reasons = {
        place: Reason(answer.kind, answer.reason)
        for place, answer in enumerate(answered)
        if isinstance(answer, BadAnswer)
    }
    return _refused_illegal(question, actions, reasons, time.perf_counter() - start, notes.exchanges)


def _refused_illegal(
    question: Question,
    actions: NDArray[np.int64],
    reasons: dict[int, Reason],
    seconds: float,
    exchanges: dict[int, list[Exchange]] | None = None,
) -> Answers:
    """Return answers in which no action is illegal: those that were have reasons instead."""
    rows, legal = question.rows, question.legal
    size = legal.shape[1]
    outside = (actions < 0) | (actions >= size)
    illegal = ~outside & ~legal[rows, actions.clip(0, size - 1)]
    for place in np.flatnonzero(outside).tolist():
        text = f"answered {actions[place]}, which is no action: they are 0 to {size - 1}"
        reasons.setdefault(place, Reason("answered what is no action", text))
    for place in np.flatnonzero(illegal).tolist():
        reasons[place] = Reason("played an illegal move", f"played an illegal move, action {actions[place]}")
    actions[outside | illegal] = NO_ACTION
    return Answers(actions, reasons, seconds, exchanges or {})


def _answered(
    agent: Agent, question: Question, generator: np.random.Generator
) -> tuple[NDArray[np.int64], dict[int, Reason]]:
    """Return what an agent answers, legal or not, and where it failed, ``NO_ACTION`` and the reasons by place."""
    count = len(question.rows)
    try:
        if isinstance(agent, HistoryAgent) and question.histories is not None:
            return ask_in(agent, list(question.histories), generator), {}
        return ask(agent, question.position, question.legal, question.rows, generator), {}
    except BadAnswer as wrong:
        if count == 1:
            return np.array([NO_ACTION]), {0: Reason(wrong.kind, wrong.reason)}
    actions, reasons = np.full(count, NO_ACTION), {}
    for place in range(count):
        alone = slice(place, place + 1)
        actions[alone], why = _answered(agent, question.part(alone), generator)
        if why:
            reasons[place] = why[0]
    return actions, reasons


def refuse_misfits(actions: NDArray[np.int64], reasons: dict[int, Reason], legal: BoolArray) -> None:
    """Raise a ``ValueError`` unless these can be answers to a question with the masks ``legal``: legal or reasoned."""
    silent = set(np.flatnonzero(actions == NO_ACTION).tolist())
    count, size = legal.shape
    if actions.shape != (count,) or reasons.keys() != silent or (actions >= size).any() or (actions < NO_ACTION).any():
        raise ValueError("the answers of the journal are not those to this question")
    played = np.flatnonzero(actions != NO_ACTION)
    if not legal[played, actions[played]].all():
        raise ValueError("the journal has an illegal move")
