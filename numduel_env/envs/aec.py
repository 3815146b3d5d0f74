"""The PettingZoo environment (AEC): both seats act in turn."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, Literal, TypeVar, overload

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete
from numpy.typing import NDArray
from pettingzoo import AECEnv
from pettingzoo.utils.env_logger import EnvLogger

from numduel_env.duel import Duel
from numduel_env.envs.base import INT8, RENDER_MODES, EnvBase, Info
from numduel_env.games import GameSpec

Value = TypeVar("Value")

SEATS = ("player_0", "player_1")

SET_BY_RESET = ("agents", "agent_selection", "rewards", "terminations", "truncations", "_infos")

Observation = dict[str, NDArray[Any]]


def by_seat(first: Value, second: Value) -> dict[str, Value]:
    """Return what each seat has: ``dict(zip(SEATS, (first, second)))``."""
    return {"player_0": first, "player_1": second}


def not_reset(call: str) -> AssertionError:
    """Return the error that PettingZoo's own order-enforcing wrapper raises."""
    return AssertionError(f"reset() needs to be called before {call}.")


class NumduelAECEnv(AECEnv[str, Observation, int | None], EnvBase):
    """A game for two agents, ``player_0`` (who opens) and ``player_1``.

    The observation is ``{"observation", "action_mask"}``; the mask is int8, all zeros for the waiting seat and after
    the end, and stands in ``infos[agent]["action_mask"]`` too. An illegal action loses at once (or raises, as
    ``illegal`` says); then ``infos[agent]["illegal"]`` of the offender is True, and at all other times there is no such
    key. The checks that PettingZoo's wrappers make are made here, once, so the environment needs none of them. Copies
    and pickles keep the game.

    Every call of ``observe`` gives fresh arrays; ``infos`` is new with every step.
    """

    def __init__(
        self,
        game: str | GameSpec,
        render_mode: str | None = None,
        *,
        illegal: str = "lose",
        lookahead: bool = False,
        **params: Any,
    ) -> None:
        super().__init__()
        self._set_up(game, render_mode, illegal, lookahead, params)
        self.metadata = {
            "name": self.game.pettingzoo_id.partition("/")[2].replace("-", "_"),
            "render_modes": list(RENDER_MODES),
            "is_parallelizable": False,
            "render_fps": 1,
        }
        self.possible_agents = list(SEATS)
        self.observation_spaces = {seat: self._make_observation_space() for seat in SEATS}
        self.action_spaces = {seat: self._make_action_space() for seat in SEATS}
        self._no_move = np.zeros(self.action_count, np.int8)
        self._infos: dict[str, Info]
        self._duel: Duel[Any] | None = None

    @property
    def num_agents(self) -> int:
        if self._duel is None:
            raise AttributeError("num_agents cannot be accessed before reset")
        return len(self.agents)

    @property
    def duel(self) -> Duel[Any]:
        """The game in progress, as a copy: whatever is done to it changes nothing here."""
        if self._duel is None:
            raise not_reset("duel")
        return copy.deepcopy(self._duel)

    def _make_observation_space(self) -> Dict:
        mask = Box(0, 1, (self.action_count,), np.int8)
        return Dict({"observation": self._make_observation_box(), "action_mask": mask})

    def observation_space(self, agent: str) -> Dict:
        space: Dict = self.observation_spaces[agent]
        return space

    def action_space(self, agent: str) -> Discrete:
        space: Discrete = self.action_spaces[agent]
        return space

    def reset(self, seed: int | None = None, options: Info | None = None) -> None:
        """Start a game, after ``options["moves"]`` (numbers) if given; nothing is random, ``seed`` changes nothing."""
        duel = self._opened(options)
        self._duel = duel
        self.agents = list(SEATS)
        self.rewards, self._cumulative_rewards = by_seat(0.0, 0.0), by_seat(0.0, 0.0)
        self.terminations, self.truncations = by_seat(False, False), by_seat(False, False)
        self.agent_selection = SEATS[duel.seat]
        self._infos = {}
        if self.render_mode == "human":
            self.render()

    @property
    def infos(self) -> dict[str, Info]:
        """What ``last`` says of each agent that is in the game; made when it is read, new with every step."""
        infos = self._infos
        for agent in self.agents:
            if agent not in infos:
                infos[agent] = self._info(agent)
        return infos

    @infos.setter
    def infos(self, infos: dict[str, Info]) -> None:
        self._infos = infos

    def _info(self, agent: str) -> Info:
        # The mask alone: TorchRL, which finds it in the observation, fails on infos that hold it beside something else.
        return {"action_mask": self.observe(agent)["action_mask"]}

    def observe(self, agent: str) -> Observation:
        duel = self._duel
        if duel is None:
            raise not_reset("observe")
        if agent == SEATS[len(duel.actions) & 1]:
            return {"observation": self._observed(duel, False), "action_mask": duel.legal.astype(INT8)}
        return {"observation": self._observed(duel, True), "action_mask": self._no_move.copy()}

    def agent_iter(self, max_iter: int = 2**63) -> Iterator[str]:
        if self._duel is None:
            raise not_reset("agent_iter()")
        return self._turns(max_iter)

    def _turns(self, max_iter: int) -> Iterator[str]:
        """Yield whose turn it is until nobody is left: PettingZoo's iterator as a generator, which costs a fifth."""
        while self.agents and max_iter > 0:
            max_iter -= 1
            yield self.agent_selection

    @overload
    def last(self, observe: Literal[True] = True) -> tuple[Observation, float, bool, bool, Info]: ...

    @overload
    def last(self, observe: bool) -> tuple[Observation | None, float, bool, bool, Info]: ...

    def last(self, observe: bool = True) -> tuple[Observation | None, float, bool, bool, Info]:
        agent, infos = self.agent_selection, self._infos
        observation = self.observe(agent) if observe else None
        if agent not in infos:
            infos[agent] = {"action_mask": observation["action_mask"].copy()} if observation else self._info(agent)
        return (
            observation,
            self._cumulative_rewards[agent],
            self.terminations[agent],
            self.truncations[agent],
            infos[agent],
        )

    def step(self, action: int | np.integer | None) -> None:
        duel = self._duel
        if duel is None:
            raise not_reset("step")
        if duel.finished:
            self._leave(action)
            return
        if type(action) is not int or not 0 <= action < self.action_count:
            action = self._checked_action(action)
        if self.illegal == "raise":
            self._refuse_illegal(duel, action)
        duel.play(action)
        # After the end: the seat that would be next.
        self.agent_selection = SEATS[len(duel.actions) & 1]
        self._infos = {}
        if duel.finished:
            self._finish(duel)
        if self.render_mode == "human":
            self.render()

    def _finish(self, duel: Duel[Any]) -> None:
        first, second = duel.payoff
        self.rewards = by_seat(float(first), float(second))
        self._cumulative_rewards = self.rewards.copy()
        self.terminations = by_seat(duel.over, duel.over)
        self.truncations = by_seat(duel.truncated, duel.truncated)
        if duel.offence is not None:
            self.infos[self.agent_selection]["illegal"] = True

    def _leave(self, action: int | np.integer | None) -> None:
        """Take a seat that has seen the end out of the game, as AEC environments do."""
        if not self.agents:
            EnvLogger.warn_step_after_terminated_truncated()
            return
        if action is not None:
            raise ValueError("when an agent is dead, the only valid action is None")
        leaver = self.agent_selection
        self.agents.remove(leaver)
        self._infos.pop(leaver, None)
        for by_seat in (self.rewards, self._cumulative_rewards, self.terminations, self.truncations):
            del by_seat[leaver]
        if self.agents:
            self.agent_selection = self.agents[0]
            self.rewards[self.agent_selection] = 0.0

    def render(self) -> Any:
        if self._duel is None:
            raise not_reset("render")
        return self._rendered(self._duel)

    def close(self) -> None:
        """Nothing is held open."""


class SetByReset:
    """An attribute before reset() has set it: missing, in the words of PettingZoo's own environments.

    A ``__getattr__`` would say so, too, but makes every access to every attribute several times as slow.
    """

    def __init__(self, name: str) -> None:
        self.name = name.removeprefix("_")

    def __get__(self, environment: object, owner: type | None = None) -> Any:
        if environment is None:
            return self
        raise AttributeError(f"{self.name} cannot be accessed before reset")


for _name in SET_BY_RESET:
    setattr(NumduelAECEnv, _name, SetByReset(_name))


def env(game: str | GameSpec, render_mode: str | None = None, **options: Any) -> NumduelAECEnv:
    """Return the PettingZoo environment of a game; :class:`NumduelAECEnv` has the options."""
    return NumduelAECEnv(game, render_mode, **options)
