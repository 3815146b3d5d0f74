"""The native vector environment as Stable-Baselines3 wants it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv

from numduel_env.envs.vector import NumduelVectorEnv
from numduel_env.observation import MoveObserver


class SB3VectorEnv(VecEnv):
    """Many games in one batch for Stable-Baselines3, with masks for MaskablePPO.

    ``environment`` must reset its rows in the same step. The rewards are as there: in self-play those of the player who
    has just moved, so train with ``gamma=-1``; against an opponent the learner's own, so train with ``gamma=1``.
    """

    def __init__(self, environment: NumduelVectorEnv, seed: int) -> None:
        if environment.autoreset_mode.value != "SameStep":
            raise ValueError(
                f"the environment must have autoreset_mode SameStep, not {environment.autoreset_mode.value}"
            )
        self.environment = environment
        self._seed_at_reset: int | None = seed
        self._actions: NDArray[Any] = np.zeros(environment.num_envs, np.int64)
        super().__init__(environment.num_envs, environment.single_observation_space, environment.single_action_space)

    def reset(self) -> NDArray[np.float32]:
        observations, _ = self.environment.reset(seed=self._seed_at_reset)
        self._seed_at_reset = None
        return observations

    def step_async(self, actions: NDArray[Any]) -> None:
        self._actions = actions

    def step_wait(self) -> Any:
        observations, rewards, terminated, truncated, infos = self.environment.step(self._actions)
        told: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for row in np.flatnonzero(truncated):
            told[row] = {"terminal_observation": infos["final_obs"][row], "TimeLimit.truncated": True}
        return observations, rewards.astype(np.float32), terminated | truncated, told

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


class MoveVectorEnv(SB3VectorEnv):
    """The same, but what is observed is where each legal move leads: ``[A, 1 + k]`` for each game, flat.

    An action's first number tells whether it is legal; the rest is what ``MoveObserver`` tells, zero if it is not.
    """

    def __init__(self, environment: NumduelVectorEnv, seed: int) -> None:
        super().__init__(environment, seed)
        self.observer = MoveObserver(environment.rules)
        self._shape = (len(environment.rules.numbers), 1 + self.observer.size)
        self.observation_space = Box(0, 1, (self._shape[0] * self._shape[1],), np.float32)

    def reset(self) -> NDArray[np.float32]:
        super().reset()
        return self._seen()

    def step_wait(self) -> Any:
        _, rewards, ended, told = super().step_wait()
        for row in np.flatnonzero(ended):
            if "terminal_observation" in told[row]:
                # Nobody moves in a game that was truncated.
                told[row]["terminal_observation"] = np.zeros(self._shape, np.float32).ravel()
        return self._seen(), rewards, ended, told

    def _seen(self) -> NDArray[np.float32]:
        legal = self.environment.duels.legal
        seen = np.zeros((self.num_envs, *self._shape), np.float32)
        seen[legal, 0] = 1
        seen[legal, 1:] = self.observer(self.environment.duels.position, legal)
        return seen.reshape(self.num_envs, -1)
