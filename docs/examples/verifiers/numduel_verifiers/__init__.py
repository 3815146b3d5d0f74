"""Text duels as a taskset of verifiers: each task is a duel, and its player is graded by perfect play.

vf-eval numduel_verifiers --env.taskset.game divider-duel --env.taskset.opponent solver -n 20 -m MODEL
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, islice
from typing import Any, Literal

import verifiers.v1 as vf

from numduel_env.envs.text import TextDuel, Turn

__all__ = ["DuelEnv", "DuelTaskset"]


class DuelConfig(vf.TasksetConfig):
    """Which duels there are; the options are those of ``TextDuel``."""

    game: str = "divider-duel"
    params: dict[str, Any] = {}
    """The game's own parameters, such as ``highest``."""
    opponent: str = "solver"
    seat: Literal["first", "second", "random"] = "random"
    openings: int = 0
    retries: int = 2
    list_legal: bool = False
    reward: Literal["end", "move"] = "end"
    """The payoff, or the mean over the moves: 1 kept, -1 blunder, 0 where there was nothing to keep."""
    num_tasks: int = 100
    seed: int = 0
    """Of the first duel; each has a seed of its own."""

    def make_duel(self) -> TextDuel:
        """Return a duel that has not begun."""
        return TextDuel(
            self.game,
            self.opponent,
            seat=self.seat,
            openings=self.openings,
            retries=self.retries,
            list_legal=self.list_legal,
            reward=self.reward,
            **self.params,
        )


class DuelData(vf.TaskData):
    """One duel: its prompt is the first text for the player."""

    seed: int


class DuelTask(vf.Task[DuelData, vf.State, vf.TaskConfig]):
    """What is judged are the moves, by ``DuelEnv``."""


class DuelTaskset(vf.Taskset[DuelTask, DuelConfig]):
    """Duels with one seed after another, but for those that are lost before the player's first turn."""

    def load(self) -> Iterator[DuelTask]:
        return islice(self._duels(), self.config.num_tasks)

    def _duels(self) -> Iterator[DuelTask]:
        duel = self.config.make_duel()
        for seed in count(self.config.seed):
            prompt = duel.reset(seed)
            if not duel.finished:
                yield DuelTask(DuelData(name=f"{self.config.game}#{seed}", prompt=prompt, seed=seed), self.config.task)


class DuelEnvConfig(vf.EnvConfig):
    """The player needs no tools, and no box to use them in."""

    player: vf.AgentConfig = vf.AgentConfig(harness={"id": "null"}, runtime={"type": "subprocess"})


class DuelEnv(vf.Env[DuelEnvConfig]):
    """The player replies, the duel answers, until it is finished."""

    async def run(self, task: DuelTask, agents: vf.Agents) -> None:
        duel = self.taskset.config.make_duel()
        duel.reset(task.data.seed)
        turns: list[Turn] = []
        async with agents.player.interaction(task) as interaction:
            segment = await interaction.turn()
            while not segment.terminated:
                turns.append(duel.step(segment.last_reply))
                if turns[-1].finished:
                    break
                segment = await interaction.turn(turns[-1].text)
        record(interaction.trace, duel, turns)


def record(trace: vf.Trace, duel: TextDuel, turns: list[Turn]) -> None:
    """Write the reward and the metrics; a duel that the player left is lost by a fault."""
    outcome = duel.outcome
    payoff = outcome.payoff if outcome.finished else -1
    moves = [turn for turn in turns if turn.move is not None]
    per_move = sum(turn.reward for turn in moves) / max(len(moves), 1)
    by_move = duel.reward == "move"
    trace.record_reward("move_reward" if by_move else "payoff", per_move if by_move else float(payoff), 1.0)
    metrics: dict[str, float | None] = {
        "won": payoff == 1,
        "fault": outcome.fault is not None or not outcome.finished,
        "unreadable": outcome.refusals.get("unreadable", 0),
        "illegal": outcome.refusals.get("illegal", 0),
        "graded": outcome.grade.graded,
        "blunders": outcome.grade.blunders,
        "kept": outcome.kept,
    }
    for name, value in metrics.items():
        # Kept is missing, not 1, where no move was graded.
        if value is not None:
            trace.record_metric(name, float(value))
