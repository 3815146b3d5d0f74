"""How fast the games are solved, and how fast solvers answer."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Collection
from functools import partial
from typing import Any

from tqdm import tqdm

from numduel_env import GAMES
from numduel_env.evaluation.exploitability import random_positions
from numduel_env.games import GameSpec
from numduel_env.solvers import TooLargeToSolve, solver_for
from train.benchmarks.measures import Measure, seconds_of
from train.benchmarks.peers import divider_duel_in_open_spiel

POSITIONS = 10_000


def solver_measures(specs: Collection[GameSpec] | None = None) -> list[Measure]:
    """Time solving and answering in some games; by default in the whole table, and loading from the cache."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NUMDUEL_CACHE"] = folder
        if specs is None:
            return [*_loading_measures(), *map(_answering_measure, tqdm(GAMES.values(), leave=False)), _wide_measure()]
        measures = []
        for spec in specs:
            try:
                solving = seconds_of(partial(solver_for, spec.make_rules()), repeats=1)
            except TooLargeToSolve as refusal:
                print(f"{spec.name}: not solved, {refusal}", file=sys.stderr)
                continue
            measures += [Measure(f"{spec.name}, solved without a cache", solving, "s", ""), _answering_measure(spec)]
        return measures


def _loading_measures() -> list[Measure]:
    """Time solving the largest game; the first call fills the cache, the later ones load from it."""
    rumble = GAMES["prime-rumble"].make_rules()
    cold = seconds_of(lambda: solver_for(rumble), repeats=1)
    return [
        Measure("prime-rumble, solved without a cache", cold, "s", "at most 10"),
        Measure("prime-rumble, loaded", seconds_of(lambda: solver_for(rumble)), "s", "under 0.3"),
    ]


def _answering_measure(spec: GameSpec) -> Measure:
    rules = spec.make_rules()
    solver, position = solver_for(rules), random_positions(rules, POSITIONS, seed=0)
    # Once only: a solver may remember its answers.
    rate = POSITIONS / seconds_of(partial(solver.action_values, position), repeats=1)
    least = {"prime-rumble": 100_000, "factor-chain-duel": 3_000}.get(spec.name, 300_000)
    bar = f"at least {least:,}" if spec in GAMES.values() else ""
    return Measure(f"{spec.name}, action_values", rate, "positions/s", bar)


def _wide_measure() -> Measure:
    wide = GAMES["factor-chain-duel"].make_rules(highest=500)
    once = seconds_of(lambda: solver_for(wide).action_values(wide.initial()))
    return Measure("factor-chain-duel 2..500, one position", once, "s", "under 0.5")


def minimax_measures() -> list[Measure]:
    """Time solving Divider Duel beside OpenSpiel's own minimax, where it is installed."""
    try:
        from open_spiel.python.algorithms import minimax
    except ImportError as missing:
        print(f"OpenSpiel's minimax: left out, {missing.name} is not installed", file=sys.stderr)
        return []
    game = divider_duel_in_open_spiel()
    rules = GAMES["divider-duel"].make_rules()
    ours = seconds_of(lambda: solver_for(rules).value(rules.initial()))
    first = game.new_initial_state()
    searches: dict[str, tuple[Callable[[], Any], str]] = {
        "minimax": (lambda: minimax.expectiminimax(first, rules.max_plies, None, 0), "at least 100"),
        # This one proves the winner and no more.
        "alpha-beta": (lambda: minimax.alpha_beta_search(game), ""),
    }
    measures = []
    for name, (search, bar) in searches.items():
        if search()[0] != solver_for(rules).value(rules.initial()):
            raise AssertionError(f"OpenSpiel's {name} and our solver disagree")
        ratio = seconds_of(search) / ours
        measures.append(Measure(f"divider-duel, solved, beside OpenSpiel's {name}", ratio, "times as fast", bar))
    return measures
