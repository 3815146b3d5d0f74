"""Value iteration in self-play: the target of an afterstate is minus the value of the best reply to it."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from agents.checkpoint import Tensors
from agents.learned import LearnedAgent
from agents.networks import AfterstateNetwork, Floats
from numduel_env.observation import AfterstateObserver
from train.runs.averaged import AveragedNetwork
from train.value_iteration.boards import Boards
from train.value_iteration.network import AfterstateValues
from train.value_iteration.preset import Preset
from train.value_iteration.replay import Replay

PLIES_AT_ONCE = 8
"""Plies of every board between two looks at the clock."""


class ValueLearner:
    """Learns the values of the afterstates that self-play meets, by one-ply targets.

    The target of an afterstate is minus the highest value of a move from it, by the network as it is, and exact where
    the move ends the game: the Bellman optimality equation of a zero-sum game in which the players alternate.
    """

    def __init__(self, observer: AfterstateObserver, preset: Preset, seed: int, device: str = "cpu") -> None:
        self.observer, self.preset, self.device = observer, preset, device
        self.generator = np.random.default_rng(seed)
        torch.manual_seed(seed)
        network = AfterstateValues([observer.size, *preset.layers]).to(device)
        self.averaged = AveragedNetwork(network, preset.learning_rate, 0.0, preset.average_decay).to(device)
        self._boards = Boards(observer, preset, self.generator)
        self._replay = Replay(preset.buffer_size, observer.size)
        rules = observer.rules
        # A game that is only ended by a limit of plies may go round in circles: what is far away counts less there.
        self._gamma = preset.gamma if rules.max_plies > len(rules.numbers) else 1.0
        self._samples_due = 0.0

    def weights(self) -> Tensors:
        """Return the weights that play: the average."""
        return self.averaged.average.tensors()

    def agent(self, weights: Tensors) -> LearnedAgent:
        """Return the agent with such weights."""
        return LearnedAgent(self.observer.rules, AfterstateNetwork(self.observer, weights))

    def learn(self, spent: float) -> int:
        """Play and learn for some plies, when this share of the budget is spent; returns how many were played."""
        self.averaged.anneal(spent)
        for _ in range(PLIES_AT_ONCE):
            self._replay.add(*self._boards.play(self._values, self._gamma))
            if self._replay.filled >= self.preset.learning_starts:
                self._samples_due += self.preset.n_envs * self.preset.samples_per_ply
            while self._samples_due >= self.preset.batch_size:
                self._samples_due -= self.preset.batch_size
                self._update()
        return PLIES_AT_ONCE * self.preset.n_envs

    def _update(self) -> None:
        drawn = self._replay.draw(self.preset.batch_size, self.generator)
        features, values = (torch.from_numpy(array).to(self.device) for array in drawn)
        outputs = self.averaged.network(features)
        # The value as the probability of a win: tanh(x) is 2 sigmoid(2x) - 1.
        loss = nn.functional.binary_cross_entropy_with_logits(2 * outputs, (1 + values) / 2)
        self.averaged.step(loss)

    @torch.no_grad()
    def _values(self, features: Floats) -> Floats:
        outputs = self.averaged.network(torch.from_numpy(features).to(self.device))
        values: Floats = torch.tanh(outputs).cpu().numpy()
        return values
