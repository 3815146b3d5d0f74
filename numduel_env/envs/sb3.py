"""The native vector environment as Stable-Baselines3 wants it, with masks for MaskablePPO of sb3-contrib.

from sb3_contrib import MaskablePPO
from numduel_env.envs.sb3 import SB3VectorEnv
from numduel_env.envs.vector import NumduelVectorEnv

games = NumduelVectorEnv("divider-duel", 64, opponent="self", autoreset_mode="SameStep")
model = MaskablePPO("MlpPolicy", SB3VectorEnv(games, seed=0), gamma=-1.0)
model.learn(100_000)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from numduel_env.envs.base import Info
from numduel_env.envs.vector import NumduelVectorEnv

try:
    from stable_baselines3.common.vec_env import VecEnv
except ImportError as missing:
    way_out = "pip install 'numduel-env[sb3]'"
    raise ImportError(
        f"numduel_env.envs.sb3 needs {missing.name}, which is not installed: {way_out}", name=missing.name
    ) from missing


class SB3VectorEnv(VecEnv):
    """Many games in one batch for Stable-Baselines3.

    ``environment`` has ``autoreset_mode="SameStep"``. Rewards are as there: in self-play those of the player who has
    just moved, so train with ``gamma=-1`` (what is good for the next mover is bad for this one); against an opponent
    the learner's own, so train with ``gamma=1``. ``seed`` is that of the first reset.
    """

    def __init__(self, environment: NumduelVectorEnv, seed: int | None = None) -> None:
        if environment.autoreset_mode is not AutoresetMode.SAME_STEP:
            raise ValueError(
                f"the environment must have autoreset_mode SameStep, not {environment.autoreset_mode.value}"
            )
        self.environment = environment
        self._seed_at_reset = seed
        self._actions: NDArray[Any] = np.zeros(environment.num_envs, np.int64)
        super().__init__(environment.num_envs, environment.single_observation_space, environment.single_action_space)

    def reset(self) -> NDArray[np.float32]:
        observations, _ = self.environment.reset(seed=self._seed_at_reset)
        self._seed_at_reset = None
        return observations

    def step_async(self, actions: NDArray[Any]) -> None:
        self._actions = actions

    def step_wait(self) -> Any:
        observations, rewards, terminated, truncated, all_infos = self.environment.step(self._actions)
        infos: list[Info] = [{} for _ in range(self.num_envs)]
        for row in np.flatnonzero(truncated):
            infos[row] = {"terminal_observation": all_infos["final_obs"][row], "TimeLimit.truncated": True}
        return observations, rewards.astype(np.float32), terminated | truncated, infos

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> Any:
        """Call a method of the whole batch; its answer has a row for each game."""
        rows = getattr(self.environment, method_name)(*args, **kwargs)
        return rows if indices is None else rows[indices]

    def has_attr(self, attr_name: str) -> bool:
        return hasattr(self.environment, attr_name)

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        return [getattr(self.environment, attr_name)] * len(list(self._get_indices(indices)))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        raise AttributeError(f"{attr_name} cannot be set: the games of a batch share their options")

    def env_is_wrapped(self, wrapper_class: type, indices: int | Iterable[int] | None = None) -> list[bool]:
        return [False] * len(list(self._get_indices(indices)))

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        self._seed_at_reset = seed
        return [seed] * self.num_envs

    def close(self) -> None:
        self.environment.close()
