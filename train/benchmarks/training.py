"""How well and how fast the games are learned: whole runs of train/ppo.py, from the start to the final table."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from tqdm import tqdm

from agents.checkpoint import rules_of
from agents.learned import load_agent
from agents.mcts import MCTSAgent
from numduel_env.evaluation.exploitability import walk
from numduel_env.games import find_game
from numduel_env.solvers import solver_for
from train.benchmarks.runs import FinishedRun, finished_run
from train.sb3_ppo.learner import make_learner
from train.sb3_ppo.preset import PRESET


@dataclass(frozen=True)
class Goal:
    """Runs of training: the options of train/ppo.py, the number of seeds, and what each run has to reach, and how soon.

    ``search`` is the number of simulations of a tree search that the first run's agent is to guide, if one is.
    """

    game: str
    options: tuple[str, ...]
    seeds: int
    bar: str
    seconds: float
    reaches: Callable[[FinishedRun], bool]
    search: int | None = None

    @property
    def name(self) -> str:
        """The game, and what sets it apart."""
        return " ".join([self.game, *self.options])

    def passes(self, run: FinishedRun) -> bool:
        """Return whether a run has reached the bar in time."""
        return run.seconds < self.seconds and self.reaches(run)


def kept_at_least(share: float) -> Callable[[FinishedRun], bool]:
    """Return the condition that a run's agent keeps at least this share on random positions."""
    return lambda run: run.kept >= share


def perfect(run: FinishedRun) -> bool:
    """Return whether a run's agent plays perfectly."""
    return run.perfect


GOALS = [
    Goal("divider-duel", (), 10, "perfect in under 60 s", 60, perfect),
    Goal("prime-duel-sum", (), 5, "perfect in under 60 s", 60, perfect),
    Goal("prime-duel-product", (), 5, "perfect in under 120 s", 120, perfect),
    Goal(
        "prime-duel-sum",
        ("--when-empty", "refill", "--minutes", "4.8"),
        1,
        "kept at least 90% within 5 min",
        300,
        kept_at_least(0.9),
    ),
    Goal(
        "factor-chain-duel",
        ("--minutes", "2.5"),
        1,
        "kept at least 98% within 3 min",
        180,
        kept_at_least(0.98),
        search=32,
    ),
    Goal(
        "prime-rumble",
        ("--minutes", "1.8"),
        1,
        "at least 97% against random in both seats within 2 min",
        120,
        lambda run: run.against_random >= 0.97,
    ),
    Goal("prime-rumble", ("--minutes", "4.7"), 1, "kept at least 50% within 5 min", 300, kept_at_least(0.5)),
]


def training_rows(wanted: str | None) -> Iterator[str]:
    """Yield the lines of a table: for each goal, or those of one game, how its runs went."""
    yield "| game | seeds | bar | reached | seconds, median and most | plies/s | kept | worse seat against random |"
    yield "|---|---:|---|---:|---:|---:|---:|---:|"
    goals = [goal for goal in GOALS if wanted in (None, goal.game)]
    with tempfile.TemporaryDirectory() as place, tqdm(total=sum(goal.seeds for goal in goals), unit="run") as bar:
        for number, goal in enumerate(goals):
            runs = []
            for seed in range(goal.seeds):
                bar.set_postfix_str(f"{goal.name}, seed {seed}")
                runs.append(
                    finished_run("ppo", ("--game", goal.game, *goal.options), seed, Path(place) / f"{number}-{seed}")
                )
                bar.update()
            seconds = [run.seconds for run in runs]
            rates = [run.progress.plies / run.progress.seconds for run in runs]
            cells = [
                goal.name,
                str(goal.seeds),
                goal.bar,
                f"{sum(map(goal.passes, runs))} of {goal.seeds}",
                f"{np.median(seconds):.0f}, {max(seconds):.0f}",
                f"{np.median(rates):,.0f}",
                f"{min(run.kept for run in runs):.2%}",
                f"{min(run.against_random for run in runs):.1%}",
            ]
            yield f"| {' | '.join(cells)} |"
            if goal.search:
                yield search_row(runs[0], goal.search)


def search_row(run: FinishedRun, simulations: int) -> str:
    """Return the line about a tree search that a trained agent guides, on every opponent line."""
    rules = rules_of(run.card.game)
    agent = MCTSAgent(rules, simulations, load_agent(run.folder, rules).evaluate)
    exams = walk(agent, solver_for(rules), budget=10**6)
    grade = exams[0].grade + exams[1].grade
    name = f"{run.card.game.name}, {simulations} simulations"
    sampled = "" if all(exam.exact for exam in exams) else ", by one sample of its choices"
    reached = f"{'no' if grade.blunders else 'yes'}: {grade}{sampled}"
    return f"| {name} | 1 | perfect on every line | {reached} | | | | |"


class ConnectFour(gymnasium.Env):
    """PettingZoo's connect_four_v3 as a single environment in which both seats learn in turn: the usual wrapper."""

    def __init__(self) -> None:
        from pettingzoo.classic import connect_four_v3

        self.game = connect_four_v3.env()
        self.game.reset()
        agent = self.game.possible_agents[0]
        self.observation_space = self.game.observation_space(agent)["observation"]
        self.action_space = self.game.action_space(agent)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.game.reset(seed)
        return self.game.observe(self.game.agent_selection)["observation"], {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        mover = self.game.agent_selection
        self.game.step(int(action))
        observation, _, terminated, truncated, _ = self.game.last()
        return observation["observation"], float(self.game.rewards[mover]), terminated, truncated, {}

    def action_masks(self) -> Any:
        """Return which columns are open, as MaskablePPO asks for it."""
        return self.game.observe(self.game.agent_selection)["action_mask"].astype(bool)


def plies_per_second(model: Any, seconds: float) -> float:
    """Return how fast a learner learns once it is warm."""

    class Until(BaseCallback):
        def _on_step(self) -> bool:
            return time.perf_counter() < end

    end = time.perf_counter() + seconds / 4
    model.learn(10**9, callback=Until())
    start, before = time.perf_counter(), model.num_timesteps
    end = start + seconds
    model.learn(10**9, callback=Until(), reset_num_timesteps=False)
    return float((model.num_timesteps - before) / (time.perf_counter() - start))


def throughput_rows(seconds: float = 20) -> Iterator[str]:
    """Yield a table of how fast games are learned on one core, beside MaskablePPO on connect_four_v3."""
    torch.set_num_threads(1)
    theirs = MaskablePPO("MlpPolicy", ConnectFour(), device="cpu")
    yield "| learning | plies/s | times connect_four_v3 | bar |"
    yield "|---|---:|---:|---|"
    for game in ("divider-duel", "prime-rumble"):
        ours = make_learner(find_game(game), {}, "self", PRESET.settled("self"), seed=0, device="cpu")
        mine, yardstick = (plies_per_second(model, seconds) for model in (ours, theirs))
        bar = "12,000 and 20x" if game == "divider-duel" else ""
        yield f"| train/ppo.py's learner on {game} | {mine:,.0f} | {mine / yardstick:.1f}x | {bar} |"
    yield f"| MaskablePPO on connect_four_v3, one environment | {yardstick:,.0f} | 1.0x | |"
