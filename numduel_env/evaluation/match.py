"""What became of the duels between two agents: payoffs, moves, verdicts, faults, as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from numduel_env.agent import Agent
from numduel_env.evaluation.answers import NO_ACTION, Reason
from numduel_env.evaluation.grading import UNGRADED
from numduel_env.writing import Exchange


class Entrant(NamedTuple):
    """An agent in a match, under the name that its random numbers are drawn for."""

    name: str
    agent: Agent


class Fault(NamedTuple):
    """Why a duel was lost without a legal move: ``entrant`` is the place of the offender in the pair."""

    duel: int
    entrant: int
    ply: int
    reason: Reason


class Passage(NamedTuple):
    """What was written about a move: ``entrant`` is the place of the player in the pair."""

    duel: int
    entrant: int
    ply: int
    exchange: Exchange


@dataclass(frozen=True)
class Match:
    """All duels between two entrants; arrays begin with an axis of duels, then of plies where there are any.

    ``opener`` is the entrant (0 or 1) in seat 0, ``opening`` the number of random plies, ``length`` the number of all
    plies, ``payoff`` that of seat 0. ``actions`` is ``NO_ACTION`` where nothing was played, ``left`` the numbers left
    before a ply, ``before`` and ``after`` the values to the mover before and after a graded ply, ``verdicts`` how it
    was graded. ``seconds`` and ``asked`` say how long each entrant thought about how many moves; ``seconds``
    and those of the ``passages`` are the only parts that another run does not repeat.
    """

    opener: NDArray[np.int8]
    opening: NDArray[np.int64]
    length: NDArray[np.int64]
    payoff: NDArray[np.int8]
    actions: NDArray[np.int16]
    left: NDArray[np.int16]
    before: NDArray[np.int8]
    after: NDArray[np.int8]
    verdicts: NDArray[np.int8]
    faults: list[Fault]
    passages: list[Passage]
    seconds: NDArray[np.float64]
    asked: NDArray[np.int64]

    def movers(self) -> NDArray[np.int8]:
        """Return ``[duels, plies]``: which entrant is to move at each ply."""
        return self.opener[:, None] ^ (np.arange(self.actions.shape[1]) & 1).astype(np.int8)

    def scores(self, entrant: int) -> NDArray[np.float64]:
        """Return what ``entrant`` scored in each duel: 1 for a win, one half for a draw."""
        return (1 + np.where(self.opener == entrant, self.payoff, -self.payoff)) / 2


def joined(blocks: Sequence[Match]) -> Match:
    """Return the blocks as one match, faults and passages pointing to its duels."""
    width = max(block.actions.shape[1] for block in blocks)

    def stacked(name: str, fill: int) -> NDArray[Any]:
        tables = [getattr(block, name) for block in blocks]
        return np.concatenate(
            [np.pad(table, ((0, 0), (0, width - table.shape[1])), constant_values=fill) for table in tables]
        )

    faults: list[Fault] = []
    passages: list[Passage] = []
    first = 0
    for block in blocks:
        faults += [fault._replace(duel=fault.duel + first) for fault in block.faults]
        passages += [passage._replace(duel=passage.duel + first) for passage in block.passages]
        first += len(block.opener)
    return Match(
        **{
            name: np.concatenate([getattr(block, name) for block in blocks])
            for name in ("opener", "opening", "length", "payoff")
        },
        actions=stacked("actions", NO_ACTION),
        left=stacked("left", 0),
        before=stacked("before", 0),
        after=stacked("after", 0),
        verdicts=stacked("verdicts", UNGRADED),
        faults=faults,
        passages=passages,
        seconds=sum((block.seconds for block in blocks), np.zeros(2)),
        asked=sum((block.asked for block in blocks), np.zeros(2, np.int64)),
    )
