"""What perfect play makes of each game: who wins, and with which openings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from numduel_env import GAMES, Duel, GameSpec, solver_for
from numduel_env.__main__ import Solution, principal_line
from numduel_env.games.prime_duel_sum import ENDINGS
from numduel_env.solvers.exhaustive import ExhaustiveSolver
from numduel_env.solvers.matching import MatchingSolver
from numduel_env.solvers.sieve import SieveSolver
from numduel_env.text import in_short, listed
from tables import Row, table

THEORIES = {
    SieveSolver: "[Sprague-Grundy theory](../perfect-play.md#the-sieve-games-nimbers)",
    MatchingSolver: "[maximum matchings](../perfect-play.md#factor-chain-duel-matchings)",
    ExhaustiveSolver: "[retrograde analysis](../perfect-play.md#both-prime-duels-retrograde-analysis)",
}

OUTCOMES = {1: "first player", 0: "nobody: a draw", -1: "second player"}

OPENINGS = ["game", "winner", "winning openings", "solved by"]


def variants(spec: GameSpec) -> list[dict[str, Any]]:
    """Return the parameters with which a game is described: the book's, and other endings."""
    endings = [ending for ending in ENDINGS if ending != spec.params.get("when_empty")]
    return [{}, *({"when_empty": ending} for ending in endings if "when_empty" in spec.params)]


class Solved:
    """A game's first position under perfect play."""

    def __init__(self, spec: GameSpec, params: dict[str, Any]) -> None:
        self.name = ", ".join([f"`{spec.name}`", *(f'`{name}="{value}"`' for name, value in params.items())])
        self.rules = spec.make_rules(**params)
        self.solver = solver_for(self.rules)
        self.duel: Duel[Any] = Duel(self.rules)
        self.solution = Solution.of(spec, params, self.solver, self.duel)

    def cells(self) -> Row:
        """Return the row of ``OPENINGS``: who wins, and what every opening brings."""
        by_value: dict[int, list[int]] = {1: [], 0: [], -1: []}
        for number, value in self.solution.action_values.items():
            by_value[value].append(int(number))
        winning = listed(by_value[1], "none")
        if len(by_value[1]) > len(self.rules.numbers) / 2 > 6:
            winning = f"all but {listed(by_value[-1])}"
        drawing = f" ({listed(by_value[0])} draw)" if by_value[0] else ""
        if len(by_value[0]) == len(self.solution.action_values):
            drawing = " (all draw)"
        return [self.name, OUTCOMES[self.solution.value], winning + drawing, THEORIES[type(self.solver)]]

    def facts(self) -> Iterator[str]:
        """Yield what else is known of the whole game."""
        if isinstance(self.solver, SieveSolver):
            nimber = self.solver.nimber(self.duel.position)
            yield f"The nimber of the full {in_short(self.rules.numbers.tolist())} is {nimber}."
        if isinstance(self.solver, ExhaustiveSolver):
            unfinished = int((~self.rules.over(self.solver.positions)).sum())
            yield (
                f"{unfinished:,} unfinished positions can arise; those that somebody can win are decided within "
                f"{self.solver.longest} plies."
            )
        line = listed(principal_line(self.solver, self.duel))
        yield f"A line of perfect play: {line}."


def openings_table() -> str:
    """Return the table of winners and winning openings."""
    solved = [Solved(spec, params) for spec in GAMES.values() for params in variants(spec)]
    return table(OPENINGS, [one.cells() for one in solved]).replace("../perfect-play.md", "")
