"""The games as RLlib plays them: an environment for two agents, and an env runner that plays many duels at once."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from gymnasium.spaces import Box, Dict, Discrete
from numpy.typing import NDArray
from ray.rllib.core.columns import Columns
from ray.rllib.env.multi_agent_env import MultiAgentEnv
from ray.rllib.env.multi_agent_env_runner import MultiAgentEnvRunner
from ray.rllib.env.multi_agent_episode import MultiAgentEpisode
from ray.rllib.utils.metrics import (
    EPISODE_LEN_MEAN,
    NUM_ENV_STEPS_SAMPLED,
    NUM_ENV_STEPS_SAMPLED_LIFETIME,
    NUM_EPISODES,
    NUM_EPISODES_LIFETIME,
)

from numduel_env.batch import random_legal
from numduel_env.duels import Duel, Duels
from numduel_env.envs.aec import SEATS
from numduel_env.games import find_game
from numduel_env.observation import Observer
from numduel_env.rules import Position, Rules, take_rows

SEEN, MASK = "observations", "action_mask"
"""Where RLlib's masked modules look for what is seen and what is legal; PettingZoo calls the first "observation"."""

MODULE = "shared"
"""One network plays both seats."""

Sight = dict[str, Any]


def module_of(agent: str, *_: Any, **__: Any) -> str:
    """Return the network that plays a seat."""
    return MODULE


class DuelEnv(MultiAgentEnv):
    """A game for two agents, as RLlib's own runners play it: only the mover sees and acts, rewards come at the end.

    ``config`` holds ``game`` (a name or a ``GameSpec``), its ``params``, ``random_openings``, the share of games that
    start after some random legal plies, and for ``DuelRunner`` the number of ``duels``. An observation tells the legal
    moves and where each of them leads (``lookahead``). When a game is truncated both seats see where it stopped, with
    nothing to move.
    """

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        self.rules = find_game(config["game"]).make_rules(**config.get("params", {}))
        self.observer = Observer(self.rules, lookahead=True)
        self.random_openings = float(config.get("random_openings", 0))
        self.duels = int(config.get("duels", 1))
        self.agents = self.possible_agents = list(SEATS)
        count = len(self.rules.numbers)
        seen = Box(0.0, 1.0, (self.observer.size,), np.float32)
        space = Dict({SEEN: seen, MASK: Box(0, 1, (count,), np.int8)})
        self.observation_spaces = dict.fromkeys(SEATS, space)
        self.action_spaces = dict.fromkeys(SEATS, Discrete(count))
        self._duel = Duel(self.rules)
        self._generator = np.random.default_rng()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Sight], dict[str, Any]]:
        if seed is not None:
            self._generator = np.random.default_rng(seed)
        opening = Duels(self.rules, 1).open_randomly(np.arange(1), self.random_openings, self._generator)[0]
        self._duel = Duel(self.rules, opening[opening >= 0].tolist())
        return self._sight_of_mover(), {}

    def step(self, actions: dict[str, Any]) -> tuple[dict[str, Any], ...]:
        duel = self._duel
        (action,) = actions.values()
        duel.play(int(action))
        if not duel.finished:
            return self._sight_of_mover(), {}, {"__all__": False}, {"__all__": False}, {}
        seen = last_sights(self.rules, self.observer, duel.position, duel.seat) if duel.truncated else {}
        rewards = dict(zip(SEATS, map(float, duel.payoff)))
        return seen, rewards, {"__all__": duel.over}, {"__all__": duel.truncated}, {}

    def _sight_of_mover(self) -> dict[str, Sight]:
        duel = self._duel
        return {SEATS[duel.seat]: sight(self.observer(duel.position, duel.legal), duel.legal.astype(np.int8))}


def sight(seen: Any, mask: Any) -> Sight:
    """Return one observation, or a batch of them, under RLlib's names."""
    return {SEEN: seen, MASK: mask}


def last_sights(rules: Rules, observer: Observer, position: Position, seat: int) -> dict[str, Sight]:
    """Return what both seats see where a game stops with ``seat`` to move: RLlib asks the network what it is worth."""
    nothing = np.zeros(len(rules.numbers), np.int8)
    return {
        SEATS[seat]: sight(observer(position), nothing),
        SEATS[1 - seat]: sight(observer(rules.turned(position)), nothing),
    }


class Ply(NamedTuple):
    """One ply in each of the duels ``rows``: what the movers saw and did, and how likely that was."""

    rows: NDArray[np.intp]
    seats: NDArray[np.int64]
    seen: NDArray[np.float32]
    mask: NDArray[np.int8]
    actions: NDArray[np.int64]
    outputs: dict[str, NDArray[np.float32]]


class DuelRunner(MultiAgentEnvRunner):
    """An env runner for one ``DuelEnv`` that plays as many ``duels`` as its config says in a batch, round after round.

    RLlib's own runner asks every environment by itself and puts each ply through its connectors; here the network and
    the rules see all duels at once, and the finished duels become the same episodes. A round plays every duel to its
    end, so all plies are by the latest weights, nothing is left over between two samples, and a runner that dies takes
    nothing with it but its sample. Connectors and callbacks of episodes are not called.
    """

    def _sample(
        self,
        *,
        num_timesteps: int | None = None,
        num_episodes: int | None = None,
        explore: bool,
        random_actions: bool = False,
        force_reset: bool = False,
    ) -> list[MultiAgentEpisode]:
        if not hasattr(self, "_generator"):
            self._generator = np.random.default_rng(self._seed)
        episodes: list[MultiAgentEpisode] = []
        plies = 0
        while len(episodes) < (num_episodes or 0) or plies < (num_timesteps or 0):
            played = self._play_round(explore, random_actions)
            episodes += played
            plies += sum(episode.env_steps() for episode in played)
        for name, count in ((NUM_ENV_STEPS_SAMPLED, plies), (NUM_EPISODES, len(episodes))):
            self.metrics.log_value(name, count, reduce="sum")
        self.metrics.log_value(NUM_ENV_STEPS_SAMPLED_LIFETIME, plies, reduce="lifetime_sum", with_throughput=True)
        self.metrics.log_value(NUM_EPISODES_LIFETIME, len(episodes), reduce="lifetime_sum")
        self.metrics.log_value(EPISODE_LEN_MEAN, plies / max(len(episodes), 1), window=1)
        return episodes

    def _play_round(self, explore: bool, random_actions: bool) -> list[MultiAgentEpisode]:
        env: DuelEnv = self.env.envs[0].unwrapped
        rules, count = env.rules, env.duels
        duels = Duels(rules, count)
        duels.open_randomly(np.arange(count), env.random_openings, self._generator)
        payoff = np.zeros(count)
        truncated = np.zeros(count, bool)
        plies: list[Ply] = []
        rows = np.arange(count)
        while len(rows):
            position = take_rows(duels.position, rows)
            legal = rules.legal(position)
            seen, mask = env.observer(position, legal, (len(rows),)), legal.astype(np.int8)
            outputs: dict[str, NDArray[np.float32]] = {}
            if random_actions:
                chosen = random_legal(mask, self._generator)
            else:
                chosen, outputs = self._choose(seen, mask, explore)
            seats = duels.seat
            plies.append(Ply(rows, seats[rows], seen, mask, chosen, outputs))
            actions, playing = np.zeros(count, np.int64), np.zeros(count, bool)
            actions[rows], playing[rows] = chosen, True
            led = duels.play(actions, playing)
            payoff += np.where(seats == 0, led.value, -led.value)
            truncated |= led.truncated
            rows = np.flatnonzero(playing & ~led.finished)
        return self._episodes(plies, duels, payoff, truncated)

    def _choose(
        self, seen: NDArray[np.float32], mask: NDArray[np.int8], explore: bool
    ) -> tuple[NDArray[np.int64], dict[str, NDArray[np.float32]]]:
        """Return the network's moves, and what the learner will want to know of them."""
        batch = {Columns.OBS: sight(torch.from_numpy(seen), torch.from_numpy(mask))}
        module = self.module[MODULE]
        forward = module.forward_exploration if explore else module.forward_inference
        preferences = forward(batch)[Columns.ACTION_DIST_INPUTS]
        likelihood = module.get_exploration_action_dist_cls().from_logits(preferences)
        chosen = likelihood.sample() if explore else preferences.argmax(-1)
        outputs = {
            Columns.ACTION_DIST_INPUTS: preferences.numpy(),
            Columns.ACTION_LOGP: likelihood.logp(chosen).numpy(),
        }
        return chosen.numpy(), outputs

    def _episodes(
        self, plies: list[Ply], duels: Duels, payoff: NDArray[np.float64], truncated: NDArray[np.bool_]
    ) -> list[MultiAgentEpisode]:
        """Return the duels of a round as RLlib's episodes."""
        env: DuelEnv = self.env.envs[0].unwrapped
        episodes = [MultiAgentEpisode(agent_to_module_mapping_fn=module_of) for _ in range(duels.count)]
        # Of each duel: who made the last ply, by which action, and what the network said of it.
        before: list[tuple[dict[str, Any], dict[str, Any]]] = [({}, {})] * duels.count
        for ply in plies:
            for place, row in enumerate(ply.rows):
                mover = SEATS[ply.seats[place]]
                sights = {mover: sight(ply.seen[place], ply.mask[place])}
                action, told = before[row]
                if action:
                    episodes[row].add_env_step(sights, action, {}, extra_model_outputs=told)
                else:
                    episodes[row].add_env_reset(observations=sights)
                outputs = {name: output[place] for name, output in ply.outputs.items()}
                before[row] = {mover: ply.actions[place]}, {mover: outputs}
        for row, episode in enumerate(episodes):
            sights = {}
            if truncated[row]:
                position = take_rows(duels.position, [row])
                position = position._make(field[0] for field in position)
                sights = last_sights(env.rules, env.observer, position, int(duels.seat[row]))
            action, told = before[row]
            episode.add_env_step(
                sights,
                action,
                dict(zip(SEATS, (float(payoff[row]), float(-payoff[row])))),
                terminateds={"__all__": not truncated[row]},
                truncateds={"__all__": bool(truncated[row])},
                extra_model_outputs=told,
            )
            episode.to_numpy()
        return episodes
