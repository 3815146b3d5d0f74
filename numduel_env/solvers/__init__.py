"""Perfect play: every game solved exactly, by theory where there is one and by exhaustion elsewhere."""

from __future__ import annotations

from numduel_env.games.factor_chain import FactorChain
from numduel_env.games.sieve import Sieve
from numduel_env.rules import Rules
from numduel_env.solvers.exhaustive import ExhaustiveSolver
from numduel_env.solvers.matching import GeographySolver
from numduel_env.solvers.policy import SolverPolicy
from numduel_env.solvers.sieve.solver import SieveSolver
from numduel_env.solvers.solver import ILLEGAL, Solver, TooLargeToSolve

__all__ = ["ILLEGAL", "Solver", "SolverPolicy", "TooLargeToSolve", "solver_for"]


def solver_for(rules: Rules, budget: int | None = None) -> Solver:
    """Return a solver for a game.

    ``budget`` is how many table entries (sieve games) or positions (games without a theory) it may hold; past it, the
    game is refused with ``TooLargeToSolve``. The Factor Chain Duel is solved by theory at any size.
    """
    if isinstance(rules, FactorChain):
        return GeographySolver(rules)
    limit = {} if budget is None else {"budget": budget}
    return SieveSolver(rules, **limit) if isinstance(rules, Sieve) else ExhaustiveSolver(rules, **limit)
