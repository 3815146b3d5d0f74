"""What is learned without the solver: runs of train/values.py and train/nimbers.py, and Nim for a yardstick."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from agents import make_agent
from agents.checkpoint import rules_of
from numduel_env.batch import take_rows
from numduel_env.evaluation.exploitability import grade_sample, random_positions
from numduel_env.solvers import solver_for
from train.benchmarks.runs import FinishedRun, finished_run


@dataclass(frozen=True)
class Goal:
    """A row of the table: a program, its options, and what its runs are to reach.

    ``exact`` is the size of the parts that are backed up exactly at play in a second row, if there is one.
    """

    program: str
    options: tuple[str, ...]
    bar: str
    goal: str
    exact: int = 0


RUMBLE = ("--game", "prime-rumble")
REFILL = ("--game", "prime-duel-sum", "--when-empty", "refill")
LONG = ("--width", "512", "--depth", "4", "--growth", "0.12")

GOALS = [
    Goal("nimbers", (*RUMBLE, "--minutes", "2.5", "--memory", "12"), "68%", "72%"),
    Goal("nimbers", (*RUMBLE, "--minutes", "5"), "75%", "80%", exact=24),
    Goal("nimbers", (*RUMBLE, "--minutes", "30", *LONG), "80%", "90%", exact=24),
    Goal("values", ("--game", "factor-chain-duel", "--minutes", "3"), "99.7%, at most 10 thrown", "100%, 0 thrown"),
    Goal("values", (*REFILL, "--minutes", "4"), "99.5%, at most 60 thrown or spoiled", "100%, 0"),
]

TIMED_MOVES = 200
"""How long a move with exact parts takes is the mean over this many positions, one by one."""


def goal_rows(program: str, game: str | None, seeds: int) -> Iterator[str]:
    """Yield the table of a program's goals, of one game if it is named, with a line for each seed."""
    yield "| command | seed | CPU s | kept | without the first position | opening | thrown, spoiled | bar | goal |"
    yield "|---|---:|---:|---:|---:|---:|---|---|---|"
    with tempfile.TemporaryDirectory() as place:
        for number, goal in enumerate(GOALS):
            if goal.program != program or game not in (None, goal.options[1]):
                continue
            for seed in range(seeds):
                run = finished_run(goal.program, goal.options, seed, Path(place) / f"{number}-{seed}")
                yield goal_row(goal, seed, run)
                if goal.exact:
                    yield exact_row(goal, seed, run)


def goal_row(goal: Goal, seed: int, run: FinishedRun) -> str:
    """Return the line of one run."""
    exams = "; ".join(f"{exam.where}: {exam.grade}" for exam in run.evaluation.exams)
    cells = [
        f"`train/{goal.program}.py {' '.join(goal.options)}`",
        str(seed),
        f"{run.progress.seconds:.0f}",
        f"{run.kept:.2%}",
        f"{run.kept_later:.2%}",
        str(run.evaluation.opening),
        exams,
        goal.bar,
        goal.goal,
    ]
    return f"| {' | '.join(cells)} |"


def exact_row(goal: Goal, seed: int, run: FinishedRun) -> str:
    """Return the line of a run's agent that backs up small parts at play."""
    rules = rules_of(run.card.game)
    name = f"nimbers:{run.folder}:{goal.exact}"
    # How long a move takes is measured with an agent that remembers nothing yet.
    agent, generator = make_agent(name, rules), np.random.default_rng(0)
    some = random_positions(rules, TIMED_MOVES, 2)
    start = time.process_time()
    for row in range(TIMED_MOVES):
        position = take_rows(some, [row])
        agent.choose(position, rules.legal(position), generator)
    a_move = (time.process_time() - start) / TIMED_MOVES
    exam = grade_sample(make_agent(name, rules), solver_for(rules))
    kept, later = exam.grade.kept or 0.0, exam.later.kept or 0.0
    cells = [f"the same as `nimbers:PATH:{goal.exact}`", str(seed), f"{1000 * a_move:.0f} ms a move", f"{kept:.2%}"]
    return f"| {' | '.join([*cells, f'{later:.2%}', '', '', '81%', '90% within 100 ms'])} |"


NIM_ROWS = (5, 6, 7)
NIM_MINUTES = 0.25
NIM_PROGRAMS: dict[str, tuple[str, ...]] = {"ppo": (), "values": (), "nimbers": ("--memory", "0")}
"""With a memory, every heap would be backed up to the end of the game."""


def nim_rows(seeds: int) -> Iterator[str]:
    """Yield the table of what is kept in Nim with heaps 1, 3, 5, 7 ... by each program in equal CPU time."""
    yield "| heaps | program | seed | CPU s | kept | without the first position | lines: thrown |"
    yield "|---|---|---:|---:|---:|---:|---|"
    with tempfile.TemporaryDirectory() as place:
        for rows in NIM_ROWS:
            heaps = ",".join(str(2 * row + 1) for row in range(rows))
            for program, more in NIM_PROGRAMS.items():
                options = ("--game", "nim:Nim", "--heaps", heaps, "--minutes", str(NIM_MINUTES), *more)
                for seed in range(seeds):
                    run = finished_run(program, options, seed, Path(place) / f"{program}-{rows}-{seed}")
                    exams = "; ".join(f"{exam.where}: {exam.grade}" for exam in run.evaluation.exams)
                    command = " ".join([f"train/{program}.py", *more])
                    cells = [heaps, f"`{command}`", str(seed), f"{run.progress.seconds:.0f}"]
                    cells += [f"{run.kept:.2%}", f"{run.kept_later:.2%}", exams]
                    yield f"| {' | '.join(cells)} |"
