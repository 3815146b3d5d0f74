"""How fast RLlib samples our games, beside PettingZoo's connect_four_v3 through RLlib's own wrapper and env runner."""

from __future__ import annotations

import time
from typing import Any

from tqdm import tqdm

from numduel_env.envs.base import Info
from numduel_env.games import GAMES
from train.benchmarks.measures import Measure, Plies, compare

ENVIRONMENTS = 64
"""The number of games that one env runner plays, of either kind."""

PLIES = 1_024
"""At least this many plies are sampled at a time."""


def sampling_measures(seconds: float) -> list[Measure]:
    """Time RLlib's sampling of our games and of PettingZoo's connect_four_v3 in turns."""
    yardstick, ours = sampling_loops()
    measures = []
    for what, loop in tqdm(ours.items(), leave=False):
        row = compare(what, loop, yardstick, None, seconds)
        measures.append(Measure(f"{what}, sampled", row.plies_per_second, "plies/s", ""))
        bar = "at least 2" if what in GAMES else ""
        measures.append(Measure(f"{what}, beside connect_four_v3", row.ratio, "times as fast", bar))
    return measures


def sampling_loops() -> tuple[Plies, dict[str, Plies]]:
    """Return loops that play for some seconds and return the plies: the yardstick's, and ours by what they play.

    Every one is an env runner in this process with the same network and as many games; none has to start Ray.
    """
    from ray.rllib.env.multi_agent_env_runner import MultiAgentEnvRunner
    from ray.rllib.env.wrappers.pettingzoo_env import PettingZooEnv
    from ray.tune.registry import register_env

    from numduel_env.envs.rllib import DuelEnv, DuelRunner
    from train.rllib_ppo.algorithm import base_config
    from train.rllib_ppo.cluster import hushed
    from train.rllib_ppo.preset import PRESET

    def connect_four(_: Any) -> Any:
        from pettingzoo.classic import connect_four_v3

        return PettingZooEnv(connect_four_v3.env())

    register_env("connect_four_v3", connect_four)

    def loop(runner_class: Any, env: Any, environments: int, network: Info, **options: Any) -> Plies:
        config = base_config(env, {"random_openings": PRESET.random_openings, **options}, **network)
        config.env_runners(num_env_runners=0, num_envs_per_env_runner=environments)
        runner = runner_class(config=config.debugging(seed=0, log_level="ERROR"))

        def play(seconds: float) -> int:
            plies, end = 0, time.perf_counter() + seconds
            while time.perf_counter() < end:
                plies += sum(episode.env_steps() for episode in runner.sample(num_timesteps=PLIES))
            return plies

        return play

    with hushed():
        ours = {name: loop(DuelRunner, DuelEnv, 1, {}, duels=ENVIRONMENTS, game=name) for name in GAMES}
        slow = loop(MultiAgentEnvRunner, DuelEnv, ENVIRONMENTS, {}, game="divider-duel")
        ours["divider-duel, by RLlib's own env runner"] = slow
        yardstick = loop(MultiAgentEnvRunner, "connect_four_v3", ENVIRONMENTS, {"observations": "observation"})
    return yardstick, ours
