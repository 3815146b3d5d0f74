"""Moves graded by perfect play: the one definition of *kept*.

A move is **kept** if it preserves the value of a position that is not lost for the mover, and a **blunder** if it does
not: it throws away a win, or spoils a draw. In a lost position there is nothing to keep, and moves are not counted.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from numduel_env.duel import Duel
from numduel_env.solvers import ILLEGAL, Solver
from numduel_env.storage import Count

KEPT, BLUNDER, LOST, UNGRADED = 1, 0, -1, -2
"""Verdicts on a move; UNGRADED stands for what nobody graded, such as the random plies of an opening."""

VERDICTS = {KEPT: "kept", BLUNDER: "blunder", LOST: "lost", UNGRADED: "ungraded"}
"""Verdicts as they are shown and stored."""


def verdicts(before: Any, after: Any) -> NDArray[np.int8]:
    """Return the verdicts on moves: ``before`` and ``after`` are the values to the mover, ``ILLEGAL`` for no move."""
    kept = np.equal(after, before)
    return np.where(np.less(before, 0), LOST, np.where(kept, KEPT, BLUNDER)).astype(np.int8)


@dataclass(frozen=True)
class Grade:
    """How many won positions were thrown away and how many drawn ones spoiled, of how many; lost ones do not count."""

    won: Count = 0
    thrown: Count = 0
    drawn: Count = 0
    spoiled: Count = 0

    @classmethod
    def of(cls, before: NDArray[np.int8], after: NDArray[np.int8]) -> Grade:
        """Return the grade of moves from their values ``before`` and ``after``, as :func:`verdicts` takes them."""
        blunder = verdicts(before, after) == BLUNDER
        won, drawn = before == 1, before == 0
        return cls(int(won.sum()), int((won & blunder).sum()), int(drawn.sum()), int((drawn & blunder).sum()))

    def __add__(self, other: Grade) -> Grade:
        mine, theirs = asdict(self), asdict(other)
        return Grade(**{name: mine[name] + theirs[name] for name in mine})

    @property
    def graded(self) -> int:
        """The number of positions that were not lost."""
        return self.won + self.drawn

    @property
    def blunders(self) -> int:
        """The number of moves that were not kept."""
        return self.thrown + self.spoiled

    @property
    def kept(self) -> float | None:
        """The share of moves that were kept; None where there was nothing to keep."""
        return 1 - self.blunders / self.graded if self.graded else None

    def __str__(self) -> str:
        said = f"{self.thrown:,} of {self.won:,} won positions thrown"
        return said + (f", {self.spoiled:,} of {self.drawn:,} drawn ones spoiled" if self.drawn else "")


@dataclass(frozen=True)
class GradedMove:
    """One ply of a duel. ``number`` is None for a player who gave no legal answer.

    ``taken`` are the numbers that left the game with the move; ``better`` are those that would have been kept.
    """

    seat: int
    number: int | None
    taken: tuple[int, ...]
    numbers_left: int
    verdict: str
    better: tuple[int, ...]


def graded_moves(
    duel: Duel[Any], solver: Solver | None, opening: int = 0, forfeited: bool = False
) -> tuple[GradedMove, ...]:
    """Return the plies of a duel with their verdicts; the ``opening`` plies and, without a solver, all are ungraded.

    ``better`` names the moves that would have kept the value, after a blunder. With ``forfeited``, the player to move
    at the end gave no legal answer.
    """
    rules, replayed, moves = duel.rules, Duel(duel.rules), []
    actions: list[int | None] = [*duel.actions]
    if forfeited:
        actions.append(None)
    for ply, action in enumerate(actions):
        verdict, better = UNGRADED, np.zeros(0, np.int64)
        taken = [] if action is None else rules.numbers[rules.removed(replayed.position, action)].tolist()
        if solver is not None and ply >= opening:
            values = solver.action_values(replayed.position)
            after = ILLEGAL if action is None else values[action]
            verdict = int(verdicts(values.max(), after))
            if verdict == BLUNDER:
                better = rules.numbers[values == values.max()]
        moves.append(
            GradedMove(
                seat=replayed.seat,
                number=None if action is None else int(rules.numbers[action]),
                taken=tuple(taken),
                numbers_left=int(rules.available(replayed.position).sum()),
                verdict="opening" if ply < opening else VERDICTS[verdict],
                better=tuple(better.tolist()),
            )
        )
        if action is not None:
            replayed.play(action)
    return tuple(moves)
