"""How fast the games are solved, and how fast solvers answer."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from typing import Any

from tqdm import tqdm

from numduel_env import GAMES
from numduel_env.evaluation.exploitability import random_positions
from numduel_env.solvers import solver_for
from train.benchmarks.measures import Measure, seconds_of
from train.benchmarks.peers import divider_duel_in_open_spiel

POSITIONS = 10_000


def solver_measures() -> list[Measure]:
    """Time solving, loading and answering."""
    measures = []
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NUMDUEL_CACHE"] = folder
        rumble = GAMES["prime-rumble"].make_rules()
        # The first call solves and fills the cache, the later ones load from it.
        cold = seconds_of(lambda: solver_for(rumble), repeats=1)
        measures.append(Measure("prime-rumble, solved without a cache", cold, "s", "at most 10"))
        measures.append(Measure("prime-rumble, loaded", seconds_of(lambda: solver_for(rumble)), "s", "under 0.3"))
        bars = {"prime-rumble": 100_000, "factor-chain-duel": 3_000}
        for spec in tqdm(GAMES.values(), leave=False):
            rules = spec.make_rules()
            solver, position = solver_for(rules), random_positions(rules, POSITIONS, seed=0)
            # Once only: a solver may remember its answers.
            rate = POSITIONS / seconds_of(partial(solver.action_values, position), repeats=1)
            least = bars.get(spec.name, 300_000)
            measures.append(Measure(f"{spec.name}, action_values", rate, "positions/s", f"at least {least:,}"))
    wide = GAMES["factor-chain-duel"].make_rules(highest=500)
    once = seconds_of(lambda: solver_for(wide).action_values(wide.initial()))
    measures.append(Measure("factor-chain-duel 2..500, one position", once, "s", "under 0.5"))
    return measures


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
