"""How many simulations a tree search runs, and how long it thinks on one board."""

from __future__ import annotations

import statistics
import time
from collections.abc import Collection
from typing import Any

import numpy as np
from tqdm import tqdm

from agents.mcts import MCTSAgent
from numduel_env import GameSpec
from numduel_env.batch import Position, take_rows
from numduel_env.rules import Rules
from train.benchmarks.environments import aec_loop, quick_choice, tictactoe
from train.benchmarks.measures import Measure, Plies, Row, compare

MANY, FEW_SIMULATIONS = 512, 200
SIMULATIONS = 500
"""On one board."""

PLIES = 4
"""Positions after this many plies are tried."""


def search_rows(specs: Collection[GameSpec], seconds: float) -> list[Row]:
    """Time the search on many boards and on one; simulations take the place of plies."""
    yardstick = aec_loop(tictactoe(), quick_choice)
    rows = []
    for spec in tqdm(specs, leave=False):
        many = f"search {spec.name}, {MANY} boards, {FEW_SIMULATIONS} simulations"
        rows.append(compare(many, search_loop(spec, MANY, FEW_SIMULATIONS), yardstick, 8, seconds))
        one = f"search {spec.name}, 1 board, {SIMULATIONS} simulations"
        rows.append(compare(one, search_loop(spec, 1, SIMULATIONS), yardstick, 0.6, seconds))
    return rows


def thinking_measures(specs: Collection[GameSpec]) -> list[Measure]:
    """Time one move on one board: the median of several."""
    measures = []
    for spec in tqdm(specs, leave=False):
        rules = spec.make_rules()
        position, agent = open_position(rules), MCTSAgent(rules, SIMULATIONS)
        times = []
        for seed in range(9):
            start = time.process_time()
            agent.choose(position, rules.legal(position), np.random.default_rng(seed))
            times.append(1000 * (time.process_time() - start))
        what = f"{spec.name}, one move of mcts:{SIMULATIONS}"
        measures.append(Measure(what, statistics.median(times), "CPU ms", "under 100"))
    return measures


def search_loop(spec: GameSpec, boards: int, simulations: int) -> Plies:
    """Return a loop that searches the same positions anew and counts the simulations that were run."""
    rules = spec.make_rules()
    position = take_rows(open_position(rules), np.zeros(boards, np.int64))
    legal, agent, generator = rules.legal(position), MCTSAgent(rules, simulations), np.random.default_rng(0)

    def play(seconds: float) -> int:
        before, end = agent.simulations_run, time.perf_counter() + seconds
        while time.perf_counter() < end:
            agent.choose(position, legal, generator)
        return agent.simulations_run - before

    return play


def open_position(rules: Rules[Any]) -> Position:
    """Return the first position, or one soon after it: where a search runs the most simulations before a proof."""
    position: Any = rules.initial((1,))
    counts: dict[int, Position] = {}
    for _ in range(PLIES):
        if rules.over(position)[0]:
            break
        agent = MCTSAgent(rules, SIMULATIONS)
        agent.choose(position, rules.legal(position), np.random.default_rng(0))
        counts[agent.simulations_run] = counts.get(agent.simulations_run, position)
        position = most_replies(rules, position)
    return counts[max(counts)]


def most_replies(rules: Rules[Any], position: Position) -> Position:
    """Return the position after the move that leaves the most replies."""
    replies = np.where(rules.legal(position), rules.legal(rules.play_all(position)).sum(-1), -1)
    after: Position = rules.play(position, replies.argmax(-1))
    return after
