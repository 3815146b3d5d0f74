"""What perfect play has to say to a person: hints before a move, and an analysis after the game."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numduel_env.duel import Duel
from numduel_env.evaluation.grading import BLUNDER, KEPT, LOST, VERDICTS, GradedMove
from numduel_env.solvers import Solver
from numduel_env.text import chosen, listed, player


def hint(solver: Solver[Any], duel: Duel[Any]) -> str:
    """Return which moves win, or failing that draw."""
    value = int(solver.value(duel.position))
    if value < 0:
        return "Hint: every move loses."
    best = listed(chosen(duel, solver.best(duel.position)))
    return f"Hint: winning moves: {best}." if value else f"Hint: no move wins; drawing moves: {best}."


def analysis(moves: Sequence[GradedMove]) -> str:
    """Return a line for each move of a duel with its verdict, and how many moves each player kept."""
    lines = [f"{ply:>3}. {graded(move)}" for ply, move in enumerate(moves, start=1)]
    kept = ", ".join(f"{player(seat)} {tally(moves, seat)}" for seat in (0, 1))
    return "\n".join(["Analysis:", *lines, f"Kept, where not lost already: {kept}."])


def graded(move: GradedMove) -> str:
    """Return a move with its verdict; after a blunder, with the moves that would have been kept."""
    number = "(no legal answer)" if move.number is None else move.number
    why = f"; better: {listed(move.better)}" if move.better else ""
    if move.verdict == VERDICTS[LOST]:
        why = "; every move loses"
    return f"{player(move.seat)}: {number} {move.verdict}{why}"


def tally(moves: Sequence[GradedMove], seat: int) -> str:
    """Return how many of a player's moves were kept, of how many that could be."""
    verdicts = [move.verdict for move in moves if move.seat == seat]
    kept, blunders = (verdicts.count(VERDICTS[verdict]) for verdict in (KEPT, BLUNDER))
    return f"{kept} of {kept + blunders}"
