"""How fast RLlib samples our games, beside PettingZoo's connect_four_v3 through RLlib's own wrapper and env runner."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from numduel_env.games import GAMES

ENVIRONMENTS = 64
"""So many games, of either kind, one env runner plays."""

PLIES = 1_024
"""So many plies, at least, are asked for at a time."""


def sampling_loops() -> tuple[Callable[[float], int], dict[str, Callable[[float], int]]]:
    """Return loops that play for some seconds and return the plies: the yardstick's, and ours by what they play.

    Every one is an env runner in this process with the same network and as many games; none has to start Ray.
    """
    from ray.rllib.env.multi_agent_env_runner import MultiAgentEnvRunner
    from ray.rllib.env.wrappers.pettingzoo_env import PettingZooEnv
    from ray.tune.registry import register_env

    from train.rllib_ppo.algorithm import RANDOM_OPENINGS, base_config, hushed
    from train.rllib_ppo.duels import SEEN, DuelEnv, DuelRunner

    def connect_four(_: Any) -> Any:
        from pettingzoo.classic import connect_four_v3

        return PettingZooEnv(connect_four_v3.env())

    register_env("connect_four_v3", connect_four)

    def loop(runner_class: Any, env: Any, seen: str = SEEN, environments: int = ENVIRONMENTS, **options: Any) -> Any:
        config = base_config(env, {"random_openings": RANDOM_OPENINGS, **options}, seen=seen)
        config.env_runners(num_env_runners=0, num_envs_per_env_runner=environments)
        runner = runner_class(config=config.debugging(seed=0, log_level="ERROR"))

        def play(seconds: float) -> int:
            plies, end = 0, time.perf_counter() + seconds
            while time.perf_counter() < end:
                plies += sum(episode.env_steps() for episode in runner.sample(num_timesteps=PLIES))
            return plies

        return play

    with hushed():
        ours = {name: loop(DuelRunner, DuelEnv, environments=1, duels=ENVIRONMENTS, game=name) for name in GAMES}
        slow = loop(MultiAgentEnvRunner, DuelEnv, game="divider-duel")
        ours["divider-duel, by RLlib's own env runner"] = slow
        return loop(MultiAgentEnvRunner, "connect_four_v3", seen="observation"), ours
