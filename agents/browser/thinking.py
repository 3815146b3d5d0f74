"""Agents in processes of their own: one that hangs, ends or raises loses its game, and the server goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import numpy as np
from starlette.concurrency import run_in_threadpool

from numduel_env.batch import batch_of_one
from numduel_env.duel import Duel
from numduel_env.evaluation.answers import Answers, Question, answers, takes_histories
from numduel_env.evaluation.process import ProcessAgent
from numduel_env.rules import Rules

MOST = 2
"""No agent is asked about more games than that at the same time; more have to wait."""

SECONDS_BETWEEN_LOOKS = 0.2
"""How often it is looked whether anybody still waits for an answer."""


class NobodyWaits(Exception):  # noqa: N818 - it says what happened
    """Whoever asked has gone, or has interrupted the agent."""


class Thinker:
    """The agent of a name, made in processes where ``prepare`` has been called.

    Raises a ``ValueError`` if it cannot be made.
    """

    def __init__(
        self, name: str, rules: Rules[Any], move_seconds: float, seed: int | None, prepare: Callable[[], object]
    ) -> None:
        self._make = lambda: ProcessAgent(name, rules, move_seconds, prepare)
        self._seed = seed
        self._idle = [self._make()]
        self._busy: set[ProcessAgent] = set()
        self._room = asyncio.Semaphore(MOST)

    async def answer(self, duel: Duel[Any], gone: Callable[[], Awaitable[bool]]) -> int | str:
        """Return the agent's legal action, or why it gave none; raises ``NobodyWaits`` as soon as ``gone()`` is true.

        With a seed, the same game gets the same answer.
        """
        generator = np.random.default_rng(None if self._seed is None else [self._seed, *duel.actions])
        async with self._room:
            try:
                agent = self._idle.pop() if self._idle else await run_in_threadpool(self._make)
            except ValueError as wrong:
                return f"could not be made again: {wrong}"
            self._busy.add(agent)
            asked = asyncio.ensure_future(run_in_threadpool(_asked, agent, duel, generator))
            try:
                while not (await asyncio.wait({asked}, timeout=SECONDS_BETWEEN_LOOKS))[0]:
                    if await gone():
                        raise NobodyWaits
            except BaseException:
                agent.close()
                raise
            finally:
                self._busy.discard(agent)
            answered = asked.result()
            if answered.reasons:
                # It may be in any state by now: the next game begins with another process.
                agent.close()
                return answered.reasons[0].text
            self._idle.append(agent)
            return int(answered.actions[0])

    def close(self) -> None:
        """End all processes."""
        for agent in (*self._idle, *self._busy):
            agent.close()


def _asked(agent: ProcessAgent, duel: Duel[Any], generator: np.random.Generator) -> Answers:
    histories = [duel] if takes_histories(agent) else None
    question = Question(batch_of_one(duel.position), duel.legal[None], np.arange(1), histories)
    return answers(agent, question, generator)
