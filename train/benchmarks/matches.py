"""How fast duels are played, and what grading every move adds to them."""

from __future__ import annotations

import time
from collections.abc import Collection
from functools import partial

from tqdm import tqdm

import agents  # noqa: F401 - mcts is named
from numduel_env import GAMES, evaluate
from numduel_env.agent import make_agent
from numduel_env.evaluation.block import play_match
from numduel_env.evaluation.match import Entrant
from numduel_env.games import GameSpec
from numduel_env.solvers import TooLargeToSolve, solver_for
from train.benchmarks.measures import Measure, seconds_of


def match_measures(specs: Collection[GameSpec] | None = None) -> list[Measure]:
    """Time matches of random against random in some games; by default in the whole table, and one of the solver."""
    games = GAMES.values() if specs is None else specs
    measures = [measure for spec in tqdm(games, leave=False) for measure in _random_matches(spec)]
    return measures if specs is not None else [*measures, _solver_match(), _first_comparison()]


def _solver_match() -> Measure:
    rules = GAMES["prime-rumble"].make_rules()
    pair = (Entrant("solver", make_agent("solver", rules)), Entrant("random", make_agent("random", rules)))
    perfect = seconds_of(partial(play_match, rules, pair, 1_000), repeats=1)
    return Measure("prime-rumble, 1,000 duels of solver against random", perfect, "s", "under 3")


def _first_comparison() -> Measure:
    """Time what the README compares first."""
    entrants = ["random", "greedy", "solver", "mcts:200"]
    start = time.process_time()
    evaluate("prime-rumble", entrants, duels=1_000)
    seconds = time.process_time() - start
    return Measure(f"prime-rumble, 1,000 duels of each pair of {' '.join(entrants)}", seconds, "CPU s", "under 60")


def _random_matches(spec: GameSpec) -> list[Measure]:
    rules = spec.make_rules()
    pair = (Entrant("random", make_agent("random", rules)), Entrant("random", make_agent("random", rules)))
    plain = seconds_of(partial(play_match, rules, pair, 10_000))
    has_bars = spec in GAMES.values()
    what = f"{spec.name}, 10,000 duels of random against random"
    measures = [Measure(what, plain, "s", "under 2" if has_bars else "")]
    try:
        judge = solver_for(rules)
    except TooLargeToSolve:
        return measures
    # Once only: a solver may remember its answers.
    graded = seconds_of(partial(play_match, rules, pair, 10_000, judge=judge), repeats=1)
    # Factor Chain is solved position by position, without a table.
    bar = "under 50" if has_bars and spec.name != "factor-chain-duel" else ""
    return [*measures, Measure(f"{spec.name}, what grading adds", 100 * (graded / plain - 1), "%", bar)]
