"""The leaderboard: how near to perfect play each agent comes, and what it costs.

    python train/leaderboard.py                                   the table of every game; takes some minutes
    python train/leaderboard.py --into docs/leaderboard.md        and put the tables into the page
    python train/leaderboard.py --game prime-rumble mine:Agent    the row of an agent of your own

Expert: the share of moves kept on random positions. Champion: what is thrown or spoiled against every opponent line,
from the first position on, in both seats.
"""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from agents import make_agent
from agents.checkpoint import BadCheckpoint, read_card
from agents.learned import reference_for
from numduel_env.agent import Agent
from numduel_env.batch import take_rows
from numduel_env.cli import OneLineParser, chosen_game, progress_bar, run_program
from numduel_env.evaluation.exploitability import BUDGET, Exam, WalkTooLong, grade_sample, random_positions, walk
from numduel_env.games import GAMES, GameSpec, Params
from numduel_env.outside import one_line
from numduel_env.rules import Rules
from numduel_env.solvers import solver_for
from numduel_env.storage import write_atomically

MARK = "<!-- tables -->\n"
"""Behind it, a page has the tables."""

AGENTS = (
    *("random", "greedy", "mcts:100", "mcts:1000"),
    *("ppo:reference", "mcts:100:ppo:reference", "values:reference", "nimbers:reference", "nimbers:reference:24"),
)
"""The agents in the table of every game, trained ones where there are some."""

HEAD = (
    *("agent", "CPU s to learn", "CPU ms a move", "expert: kept", "without the first position"),
    "champion: thrown or spoiled, first / second seat",
)

TIMED = 200
"""The cost of a move is measured on this many random positions in one batch."""

SLOW = 0.5
"""Opponent lines are not walked against an agent that needs more milliseconds a move."""


@dataclass(frozen=True)
class Row:
    """What an agent reaches in a game, and what it costs."""

    agent: str
    learning_seconds: float | None
    ms_per_move: float
    expert: Exam
    champion: tuple[Exam, Exam] | str
    """The walk in both seats, or why there is none."""

    def __str__(self) -> str:
        cells = [
            f"`{one_line(self.agent)}`",
            "-" if self.learning_seconds is None else f"{self.learning_seconds:.0f}",
            f"{self.ms_per_move:.3f}",
            _share(self.expert.grade.kept),
            _share(self.expert.later.kept),
            self.champion if isinstance(self.champion, str) else " / ".join(map(_champion, self.champion)),
        ]
        return f"| {' | '.join(cells)} |"


def _share(kept: float | None) -> str:
    return "-" if kept is None else f"{kept:.2%}"


def _champion(exam: Exam) -> str:
    return f"{exam.grade.blunders:,} of {exam.grade.graded:,}{'' if exam.exact else ' (one sample)'}"


def row(name: str, rules: Rules[Any]) -> Row:
    """Measure an agent."""
    agent, solver = make_agent(name, rules), solver_for(rules)
    cost = _ms_per_move(agent, rules)
    champion: tuple[Exam, Exam] | str = "too slow to walk them all"
    if cost <= SLOW:
        try:
            champion = walk(agent, solver, BUDGET)
        except WalkTooLong:
            champion = f"more than {BUDGET:,} positions"
    return Row(name, _learning_seconds(name, rules), cost, grade_sample(agent, solver), champion)


def _ms_per_move(agent: Agent, rules: Rules[Any]) -> float:
    position = random_positions(rules, TIMED, seed=1)
    legal, generator = rules.legal(position), np.random.default_rng(0)
    agent.choose(take_rows(position, np.arange(2)), legal[:2], generator)  # loads what the first move needs
    start = time.process_time()
    agent.choose(position, legal, generator)
    return 1000 * (time.process_time() - start) / TIMED


def _learning_seconds(name: str, rules: Rules[Any]) -> float | None:
    """Return how long the reference agent that is named, or that guides the one named, has learned."""
    program = trained_by(name)
    training = read_card(reference_for(rules, program)).training if program else None
    return training.progress.seconds if training else None


def trained_by(name: str) -> str | None:
    """Return the program that has trained the reference agent in a name; None if there is none in it."""
    before, reference, _ = name.partition(":reference")
    return f"train/{before.rpartition(':')[2]}.py" if reference else None


def is_there(name: str, rules: Rules[Any]) -> bool:
    """Return whether an agent's reference, if it needs one, comes with the project for this game."""
    program = trained_by(name)
    with suppress(BadCheckpoint):
        return program is None or reference_for(rules, program).is_dir()
    return False


def title(spec: GameSpec, params: Params) -> str:
    """Return the heading of a game's table."""
    given = ", ".join(f"{name}={value!r}" for name, value in params.items())
    return f"## {spec.heading(spec.make_rules(**params))}{', ' if given else ''}{given}"


def table(spec: GameSpec, params: Params, agents: list[str]) -> str:
    """Return the table of a game, measured now: of these agents, or of all that there are."""
    rules = spec.make_rules(**params)
    agents = agents or [name for name in AGENTS if is_there(name, rules)]
    rows = []
    with progress_bar() as progress:
        for done, name in enumerate(agents):
            progress(spec.name, done, len(agents))
            rows.append(str(row(name, rules)))
    return "\n".join([f"| {' | '.join(HEAD)} |", "|---|---:|---:|---:|---:|---|", *rows])


def main() -> int:
    """Print the tables asked for."""
    parser = OneLineParser(prog="train/leaderboard.py", description=__doc__)
    parser.add_argument("agents", nargs="*", metavar="AGENT", help="these instead of those of the page")
    parser.add_argument("--game", help="this game alone: " + ", ".join(GAMES))
    parser.add_argument("--into", type=Path, metavar="PAGE", help=f"put the tables into this page, behind {MARK!r}")
    parser.add_parameter_flags()
    args = parser.parse_args()
    if args.into and (args.game or args.agents):
        parser.error("--into makes the whole page: it goes with no game and no agents")
    try:
        before = text_before_tables(args.into) if args.into else ""
        with threadpool_limits(1):
            parts = [f"{title(*game)}\n\n{table(*game, args.agents)}" for game in games(parser, args)]
    except ValueError as wrong:
        parser.error(str(wrong))
    print("\n\n".join(parts))
    if args.into:
        write_atomically(args.into, before + MARK + "\n" + "\n\n".join(parts) + "\n")
    return 0


def text_before_tables(page: Path) -> str:
    """Return what stands before the tables of a page, or raise a ``ValueError``."""
    try:
        before, mark, _ = page.read_text(encoding="utf-8").partition(MARK)
    except (OSError, UnicodeDecodeError) as wrong:
        raise ValueError(f"--into {page}: {wrong}") from None
    if not mark:
        raise ValueError(f"--into {page}: the page has no line {MARK.strip()}")
    return before


def games(parser: argparse.ArgumentParser, args: argparse.Namespace) -> list[tuple[GameSpec, Params]]:
    """Return the games whose tables are asked for, with their parameters."""
    if args.game is not None:
        spec, params, _ = chosen_game(parser, args)
        return [(spec, params)]
    every: list[tuple[GameSpec, Params]] = [(spec, {}) for spec in GAMES.values()]
    return [*every, (GAMES["prime-duel-sum"], {"when_empty": "refill"})]


if __name__ == "__main__":
    sys.exit(run_program(main))
