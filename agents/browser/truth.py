"""What perfect play says of the legal moves of a game."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from numduel_env.agent import SolverAgent
from numduel_env.batch import any_legal, batch_of_one, take_rows
from numduel_env.duel import Duel
from numduel_env.solvers import Solver
from numduel_env.solvers.sieve import SieveSolver

CHEAP = 100
"""In games of at most this many numbers, principal lines are played out: all replies to all moves are a small batch."""


class MoveTruth(NamedTuple):
    """The value of a move to the one who makes it, and the Grundy value after it, where the game has such.

    ``line`` is the principal line from this action to the end of the game, where it is known.
    """

    value: int
    grundy: int | None
    line: list[int] | None


def truths(solver: Solver[Any], duel: Duel[Any]) -> dict[int, MoveTruth]:
    """Return the truth of each legal action."""
    rules, actions = duel.rules, duel.legal.nonzero()[0]
    values = solver.action_values(duel.position)
    after = rules.play(take_rows(batch_of_one(duel.position), np.zeros(len(actions), np.intp)), actions)
    grundy = solver.nimber(after).tolist() if isinstance(solver, SieveSolver) else [None] * len(actions)
    left = rules.max_plies - len(duel.actions)
    lines = principal_lines(solver, after, left) if len(rules.numbers) <= CHEAP else [None] * len(actions)
    return {
        action: MoveTruth(int(values[action]), nimber, None if line is None else [action, *line])
        for action, nimber, line in zip(actions.tolist(), grundy, lines)
    }


def principal_lines(solver: Solver[Any], position: Any, most: int) -> list[list[int] | None]:
    """Return for each position of a batch the actions to the end of the game, None if ``most`` plies do not reach it.

    Both players play as :class:`SolverAgent` does, and of equal moves the one with the smallest number.
    """
    rules, agent = solver.rules, SolverAgent(solver.rules, solver)
    rows = np.arange(len(rules.legal(position)))
    lines: list[list[int]] = [[] for _ in rows]
    for _ in range(most):
        going = any_legal(rules.legal(position))
        rows, position = rows[going], take_rows(position, going.nonzero()[0])
        if not len(rows):
            break
        replies = agent.preferred(position, rules.legal(position)).argmax(-1)
        for row, reply in zip(rows.tolist(), replies.tolist()):
            lines[row].append(reply)
        position = rules.play(position, replies)
    return [None if row in rows else line for row, line in enumerate(lines)]
