"""Perfect play: every game solved exactly, by theory where there is one and by exhaustion elsewhere.

``sieve/`` solves Prime Rumble and Divider Duel by Sprague-Grundy theory, ``matching.py`` the Factor Chain Duel by
maximum matchings, ``exhaustive.py`` any other game by retrograde analysis.
"""

from __future__ import annotations

from typing import Any, cast
from weakref import WeakValueDictionary

from numduel_env.batch import PositionT
from numduel_env.games.factor_chain import FactorChain
from numduel_env.games.sieve import Sieve
from numduel_env.progress import Progress, silent
from numduel_env.rules import Rules
from numduel_env.solvers.exhaustive import ExhaustiveSolver
from numduel_env.solvers.matching import MatchingSolver
from numduel_env.solvers.sieve import SieveSolver
from numduel_env.solvers.solver import ILLEGAL, Solver, TooLargeToSolve

__all__ = ["ILLEGAL", "Solver", "TooLargeToSolve", "solver_for"]


def solver_for(rules: Rules[PositionT], budget: int | None = None, progress: Progress = silent) -> Solver[PositionT]:
    """Return a solver for a game; all who ask for the same at the same time share one.

    ``budget`` is how many bytes of tables (sieve games) or positions (games without a theory) it may hold; a game that
    needs more is refused with ``TooLargeToSolve``. The Factor Chain Duel is solved by theory at any size.

    ``progress`` is called while tables are being made; the last call of each task has ``done == total``.
    """
    if not isinstance(rules, Rules):
        raise TypeError(f"solver_for takes the rules of a game, such as find_game(name).make_rules(), not {rules!r}")
    solver = _IN_USE.get((rules, budget))
    if solver is None:
        solver = _IN_USE[rules, budget] = _new_solver(rules, {} if budget is None else {"budget": budget}, progress)
    # The class of the rules decides what a position is, which a type checker cannot see.
    return cast("Solver[PositionT]", solver)


_IN_USE: WeakValueDictionary[tuple[Rules[Any], int | None], Solver[Any]] = WeakValueDictionary()


def _new_solver(rules: Rules[Any], limit: dict[str, int], progress: Progress) -> Solver[Any]:
    # Exactly these classes: a subclass may have other rules.
    if type(rules) is FactorChain:
        return MatchingSolver(rules)
    if type(rules) is Sieve:
        return SieveSolver(rules, **limit, progress=progress)
    return ExhaustiveSolver(rules, **limit, progress=progress)
