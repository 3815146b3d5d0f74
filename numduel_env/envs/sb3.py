"""Stable-Baselines3, both ways: the native vector environment for its learners, and its trained models as agents.

from sb3_contrib import MaskablePPO
from numduel_env import evaluate
from numduel_env.envs.sb3 import SB3Agent, SB3VectorEnv
from numduel_env.envs.vector import NumduelVectorEnv

games = NumduelVectorEnv("divider-duel", 64, opponent="self", autoreset_mode="SameStep")
model = MaskablePPO("MlpPolicy", SB3VectorEnv(games, seed=0), gamma=-1.0)
model.learn(100_000)
print(evaluate("divider-duel", {"mine": SB3Agent(model, games.rules), "random": "random"}))
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from numduel_env.batch import BoolArray
from numduel_env.envs.base import Info
from numduel_env.envs.vector import NumduelVectorEnv
from numduel_env.observation import Observer
from numduel_env.rules import Rules

try:
    import torch
    from stable_baselines3.common.base_class import BaseAlgorithm
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


class SB3Agent:
    """A trained model as an agent: ``SB3Agent(MaskablePPO.load("mine.zip"), rules)``.

    ``lookahead`` is that of the environment in which the model was trained. MaskablePPO gets the masks; a model without
    masks (PPO, DQN) plays what it prefers, legal or not. Unless ``deterministic``, moves are drawn from the policy.
    """

    def __init__(
        self, model: BaseAlgorithm, rules: Rules[Any], lookahead: bool = False, *, deterministic: bool = True
    ) -> None:
        self.rules = rules
        self.observer = Observer(rules, lookahead)
        self.deterministic = deterministic
        self._predict: Any = model.predict
        self._takes_masks = "action_masks" in inspect.signature(model.predict).parameters
        self._check(model)

    def _check(self, model: BaseAlgorithm) -> None:
        """Raise a ``ValueError`` unless the model was trained on this game, at this size and with this lookahead."""
        actions, numbers = getattr(model.action_space, "n", None), len(self.rules.numbers)
        if actions != numbers:
            raise ValueError(f"the model chooses among {model.action_space}, but the game has {numbers} numbers")
        shape, size, lookahead = model.observation_space.shape, self.observer.size, self.observer.lookahead
        if shape != (size,):
            hint = ""
            if shape == (Observer(self.rules, not lookahead).size,):
                hint = f"; it was trained with lookahead={not lookahead}: SB3Agent(model, rules, {not lookahead})"
            raise ValueError(
                f"the model observes {model.observation_space}, but the game with lookahead={lookahead} shows "
                f"{size} features{hint}"
            )

    def choose(self, position: Any, legal: BoolArray, generator: np.random.Generator) -> NDArray[np.int64]:
        if not len(legal):
            return np.zeros(0, np.int64)  # a policy fails on an empty batch
        observations = self.observer(position, legal, (len(legal),))
        masks = {"action_masks": legal} if self._takes_masks else {}
        if self.deterministic:
            actions, _ = self._predict(observations, deterministic=True, **masks)
        else:
            # A policy draws from torch's global state, an agent from its generator alone.
            with torch.random.fork_rng():
                torch.manual_seed(int(generator.integers(2**63)))
                actions, _ = self._predict(observations, **masks)
        return np.asarray(actions, np.int64)
