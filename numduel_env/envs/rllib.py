"""The games for Ray RLlib: an environment for two agents, an env runner that plays many duels at once, and a network.

``DuelEnv`` is an ordinary ``MultiAgentEnv``, which any algorithm and RLlib's own env runner can play. ``DuelRunner``
makes the same episodes faster, and ``MaskedModule`` is a network that respects the mask. ``docs/scaling.md`` has an
example of a config.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete
from numpy.typing import NDArray

from numduel_env.batch import BoolArray, Position, batch_of_one, random_legal, take_rows
from numduel_env.duel import Duel
from numduel_env.duels import Duels
from numduel_env.envs.aec import SEATS
from numduel_env.envs.base import Info
from numduel_env.games import find_game
from numduel_env.observation import Observer

try:
    import torch
    from ray.rllib.core.columns import Columns
    from ray.rllib.core.rl_module.apis.value_function_api import ValueFunctionAPI
    from ray.rllib.core.rl_module.torch import TorchRLModule
    from ray.rllib.env.multi_agent_env import MultiAgentEnv
    from ray.rllib.env.multi_agent_env_runner import MultiAgentEnvRunner
    from ray.rllib.env.multi_agent_episode import MultiAgentEpisode
    from ray.rllib.utils import metrics
    from ray.rllib.utils.torch_utils import FLOAT_MIN
except ImportError as missing:
    way_out = "pip install -c constraints-rllib.txt -e '.[rllib]'"
    raise ImportError(
        f"numduel_env.envs.rllib needs {missing.name}, which is not installed: {way_out}", name=missing.name
    ) from missing

OBSERVATIONS, MASK = "observations", "action_mask"
"""Where RLlib's masked modules look for the observation and the mask; PettingZoo calls the first "observation"."""

MODULE = "shared"
"""The id of the one network that plays both seats."""


def module_of(agent: str, *_: Any, **__: Any) -> str:
    """Return the network that plays a seat, as RLlib's ``policy_mapping_fn``."""
    return MODULE


def observed(observations: Any, mask: Any) -> Info:
    """Return one observation, or a batch of them, under RLlib's names."""
    return {OBSERVATIONS: observations, MASK: mask}


class DuelEnv(MultiAgentEnv):
    """A game for two agents: only the mover observes and acts, rewards come at the end.

    ``config`` holds ``game`` (a name or a ``GameSpec``), its ``params``, ``random_openings`` (up to this share of the
    games start after some random legal plies), and for ``DuelRunner`` the number of ``duels``. An observation has
    ``lookahead``. When a game is truncated both seats observe where it stopped, with an all-zero mask.
    """

    def __init__(self, config: Info) -> None:
        super().__init__()
        self.rules = find_game(config["game"]).make_rules(**config.get("params", {}))
        self.observer = Observer(self.rules, lookahead=True)
        self.random_openings = float(config.get("random_openings", 0))
        self.duels = int(config.get("duels", 1))
        self.agents = self.possible_agents = list(SEATS)
        count = len(self.rules.numbers)
        box = Box(0.0, 1.0, (self.observer.size,), np.float32)
        space = Dict({OBSERVATIONS: box, MASK: Box(0, 1, (count,), np.int8)})
        self.observation_spaces = dict.fromkeys(SEATS, space)
        self.action_spaces = dict.fromkeys(SEATS, Discrete(count))
        self._duel = Duel(self.rules)
        self._generator = np.random.default_rng()

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[dict[str, Info], Info]:
        if seed is not None:
            self._generator = np.random.default_rng(seed)
        opening = Duels(self.rules, 1).open_randomly(self.random_openings, self._generator)[0]
        self._duel = Duel(self.rules, opening[opening >= 0].tolist())
        return self._observed_by_mover(), {}

    def step(self, actions: Info) -> tuple[Info, ...]:
        duel = self._duel
        (action,) = actions.values()
        duel.play(int(action))
        if not duel.finished:
            return self._observed_by_mover(), {}, {"__all__": False}, {"__all__": False}, {}
        final = self.observed_at_truncation(batch_of_one(duel.position), duel.seat) if duel.truncated else {}
        rewards = dict(zip(SEATS, map(float, duel.payoff)))
        return final, rewards, {"__all__": duel.over}, {"__all__": duel.truncated}, {}

    def _observed_by_mover(self) -> dict[str, Info]:
        duel = self._duel
        return {SEATS[duel.seat]: observed(self.observer(duel.position, duel.legal), duel.legal.astype(np.int8))}

    def observed_at_truncation(self, position: Position, seat: int) -> dict[str, Info]:
        """Return what both seats observe where a game stops with ``seat`` to move; RLlib bootstraps from its value.

        ``position`` is a batch of one.
        """
        nothing = np.zeros(len(self.rules.numbers), np.int8)
        return {
            SEATS[seat]: observed(self.observer(position, None, (1,))[0], nothing),
            SEATS[1 - seat]: observed(self.observer(self.rules.turned(position), None, (1,))[0], nothing),
        }


class Ply(NamedTuple):
    """One ply in each of the duels ``rows``: what the movers observed and did, and the network's outputs."""

    rows: NDArray[np.intp]
    seats: NDArray[np.int64]
    observations: NDArray[np.float32]
    mask: NDArray[np.int8]
    actions: NDArray[np.int64]
    outputs: dict[str, NDArray[np.float32]]


class DuelRunner(MultiAgentEnvRunner):
    """An env runner for one ``DuelEnv`` that plays its config's number of ``duels`` in a batch, round after round.

    RLlib's own runner asks every environment by itself and puts each ply through its connectors; here the network and
    the rules take all duels at once, and the finished duels become the same episodes. A round plays every duel to its
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
        self._log(plies, len(episodes))
        return episodes

    def _log(self, plies: int, episodes: int) -> None:
        log = self.metrics.log_value
        log(metrics.NUM_ENV_STEPS_SAMPLED, plies, reduce="sum")
        log(metrics.NUM_EPISODES, episodes, reduce="sum")
        log(metrics.NUM_ENV_STEPS_SAMPLED_LIFETIME, plies, reduce="lifetime_sum", with_throughput=True)
        log(metrics.NUM_EPISODES_LIFETIME, episodes, reduce="lifetime_sum")
        log(metrics.EPISODE_LEN_MEAN, plies / max(episodes, 1), window=1)

    @property
    def _duel_env(self) -> DuelEnv:
        env: DuelEnv = self.env.envs[0].unwrapped
        return env

    def _play_round(self, explore: bool, random_actions: bool) -> list[MultiAgentEpisode]:
        env = self._duel_env
        duels: Duels[Any] = Duels(env.rules, env.duels)
        duels.open_randomly(env.random_openings, self._generator)
        plies: list[Ply] = []
        while len(rows := np.flatnonzero(~duels.finished)):
            legal = duels.legal[rows]
            observations = env.observer(take_rows(duels.position, rows), legal, (len(rows),))
            actions = np.zeros(duels.count, np.int64)
            outputs: dict[str, NDArray[np.float32]] = {}
            if random_actions:
                actions[rows] = random_legal(legal, self._generator)
            else:
                actions[rows], outputs = self._choose(observations, legal, explore)
            plies.append(Ply(rows, duels.seat[rows], observations, legal.astype(np.int8), actions[rows], outputs))
            duels.play(actions, ~duels.finished)
        return self._episodes(plies, duels)

    def _choose(
        self, observations: NDArray[np.float32], legal: BoolArray, explore: bool
    ) -> tuple[NDArray[np.int64], dict[str, NDArray[np.float32]]]:
        """Return the network's moves, and the outputs that the learner needs."""
        batch = {Columns.OBS: observed(torch.from_numpy(observations), torch.from_numpy(legal.astype(np.int8)))}
        module = self.module[MODULE]
        forward = module.forward_exploration if explore else module.forward_inference
        logits = forward(batch)[Columns.ACTION_DIST_INPUTS]
        policy = module.get_exploration_action_dist_cls().from_logits(logits)
        actions = policy.sample() if explore else logits.argmax(-1)
        outputs = {
            Columns.ACTION_DIST_INPUTS: logits.numpy(),
            Columns.ACTION_LOGP: policy.logp(actions).numpy(),
        }
        return actions.numpy(), outputs

    def _episodes(self, plies: list[Ply], duels: Duels[Any]) -> list[MultiAgentEpisode]:
        """Return the duels of a round as RLlib's episodes."""
        episodes = [MultiAgentEpisode(agent_to_module_mapping_fn=module_of) for _ in range(duels.count)]
        # Of each duel: who made the last ply, by which action, and the network's outputs for it.
        before: list[tuple[Info, Info]] = [({}, {})] * duels.count
        for ply in plies:
            for place, row in enumerate(ply.rows):
                mover = SEATS[ply.seats[place]]
                observations = {mover: observed(ply.observations[place], ply.mask[place])}
                action, outputs = before[row]
                if action:
                    episodes[row].add_env_step(observations, action, {}, extra_model_outputs=outputs)
                else:
                    episodes[row].add_env_reset(observations=observations)
                now = {name: output[place] for name, output in ply.outputs.items()}
                before[row] = {mover: ply.actions[place]}, {mover: now}
        for row, (episode, (action, outputs)) in enumerate(zip(episodes, before)):
            truncated, payoff = bool(duels.truncated[row]), float(duels.payoff[row])
            final = {}
            if truncated:
                final = self._duel_env.observed_at_truncation(take_rows(duels.position, [row]), int(duels.seat[row]))
            episode.add_env_step(
                final,
                action,
                dict(zip(SEATS, (payoff, -payoff))),
                terminateds={"__all__": not truncated},
                truncateds={"__all__": truncated},
                extra_model_outputs=outputs,
            )
            episode.to_numpy()
        return episodes


class MaskedModule(TorchRLModule, ValueFunctionAPI):
    """Two plain stacks of layers over the observation: logits, as low as can be for illegal moves, and a state value.

    ``model_config`` holds ``layers``, the widths of the hidden layers, and may name the key of the ``observations``.
    In a checkout ``agents/networks.py`` reads the weights as they are: the agent needs neither RLlib nor torch.
    """

    def setup(self) -> None:
        self._key = self.model_config.get("observations", OBSERVATIONS)
        size = int(np.prod(self.observation_space[self._key].shape))
        hidden = self.model_config["layers"]
        self.policy = stack([size, *hidden, int(self.action_space.n)])
        self.value = stack([size, *hidden, 1])

    def _forward(self, batch: Info, **_: Any) -> Info:
        observation = batch[Columns.OBS]
        logits = through(self.policy, observation[self._key])
        return {Columns.ACTION_DIST_INPUTS: logits.masked_fill(observation[MASK] == 0, FLOAT_MIN)}

    def compute_values(self, batch: Info, embeddings: Any = None) -> torch.Tensor:
        return through(self.value, batch[Columns.OBS][self._key]).squeeze(-1)


def stack(widths: list[int]) -> torch.nn.ModuleList:
    """Return linear layers of these widths, input and output included."""
    return torch.nn.ModuleList(torch.nn.Linear(before, after) for before, after in pairwise(widths))


def through(layers: torch.nn.ModuleList, inputs: torch.Tensor) -> torch.Tensor:
    """Return the output of a stack with ReLU between its layers."""
    signal = inputs.flatten(1).float()
    for layer in layers[:-1]:
        signal = layer(signal).relu()
    output: torch.Tensor = layers[-1](signal)
    return output
