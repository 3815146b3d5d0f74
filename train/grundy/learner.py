"""Fitted Grundy iteration: a network learns the Grundy values of parts from what their moves lead to."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import nn

from agents.checkpoint import Tensors
from agents.learned import LearnedAgent
from agents.networks import Floats
from agents.nimbers import CHUNK, NimberNetwork, PartObserver
from agents.part_memory import UNKNOWN, PartMemory
from numduel_env.parts import Words
from train.grundy.network import ResidualLayers
from train.grundy.preset import Preset
from train.grundy.soft_mex import soft_mex
from train.runs.averaged import AveragedNetwork

MOST_REMEMBERED = 40_000_000
"""The memory has no more parts, which take nine bytes each; what it does not have is guessed."""


class Lesson(NamedTuple):
    """Parts, the distributions of their Grundy values that the network is to learn, and how often each was met."""

    parts: Words
    targets: Floats
    often: Floats

    @classmethod
    def all_of(cls, lessons: list[Lesson]) -> Lesson:
        """Return several lessons as one."""
        return cls(*map(np.concatenate, zip(*lessons)))


class GrundyLearner:
    """Learns the Grundy values of the parts that random games meet.

    Of parts of at most ``preset.memory`` numbers they are known, from retrograde analysis; of larger ones the network's
    own average guesses: the soft mex over their moves, by its values of the parts that these leave.
    """

    def __init__(self, observer: PartObserver, preset: Preset, seed: int, device: str = "cpu") -> None:
        self.observer, self.preset, self.device = observer, preset, device
        self.memory, self._memory_is_full = PartMemory(observer.parts), False
        self.generator = np.random.default_rng(seed)
        torch.manual_seed(seed)
        network = ResidualLayers([observer.size, *preset.layers, observer.values]).to(device)
        rates = (preset.learning_rate, preset.weight_decay, preset.average_decay)
        self.averaged = AveragedNetwork(network, *rates).to(device)
        self._guessed: list[Lesson] = []

    def weights(self) -> Tensors:
        """Return the weights that play: the average."""
        return self.averaged.average.tensors()

    def agent(self, weights: Tensors) -> LearnedAgent:
        """Return the agent with such weights; it plays without the memory."""
        return LearnedAgent(self.observer.rules, NimberNetwork(self.observer, weights))

    def learn(self, spent: float) -> int:
        """Learn for one round, when this share of the budget is spent; returns how many plies were played for it."""
        words = self.observer.parts.random_words(self.preset.games, self.generator)
        lesson = self._lesson(words, spent)
        self.averaged.anneal(spent)
        # A part that was met three times is learned three times.
        rows = np.repeat(np.arange(len(lesson.parts)), np.ceil(lesson.often).astype(np.int64))
        self.generator.shuffle(rows)
        for first in range(0, len(rows), self.preset.batch_size):
            batch = rows[first : first + self.preset.batch_size]
            targets = torch.from_numpy(lesson.targets[batch]).to(self.device)
            outputs = self._outputs(self.averaged.network, lesson.parts[batch])
            self.averaged.step(nn.functional.cross_entropy(outputs, targets))
        return len(words)

    def _lesson(self, words: Words, spent: float) -> Lesson:
        """Return what is to be learned from random positions: what is known, and this and the last rounds' guesses."""
        met = self.observer.parts.split(self.observer.parts.moves(words).after).parts
        met = self.generator.permutation(met)[: self.preset.parts]
        growing = min(1.0, 0.75 + 0.25 * spent / self.preset.growth)
        if not self._memory_is_full:
            small = met[np.bitwise_count(met) <= int(self.preset.memory * growing)]
            self._memory_is_full = not self.memory.learn(small, MOST_REMEMBERED - len(self.memory))
        parts, often = np.unique(met, return_counts=True)
        values = self.memory.find(parts)
        known = values != UNKNOWN
        if not known.all() and spent > self.preset.first_guess:
            self._guess(parts[~known], often[~known])
        one_hot = np.eye(self.observer.values, dtype=np.float32)[values[known]]
        replayed = len(self._guessed) ** -0.5 if self._guessed else 1.0
        guessed = [guess._replace(often=guess.often * replayed) for guess in self._guessed]
        return Lesson.all_of([Lesson(parts[known], one_hot, often[known].astype(np.float32)), *guessed])

    def _guess(self, parts: Words, often: Floats) -> None:
        """Take the soft mexes of some of these parts into the lessons of this round and the next ones."""
        count = min(self.preset.guesses, len(parts))
        drawn = self.generator.choice(len(parts), count, replace=False, p=often / often.sum())
        guess = Lesson(
            parts[drawn], soft_mex(self.observer, parts[drawn], self.distributions), often[drawn].astype(np.float32)
        )
        self._guessed = [*self._guessed, guess][-self.preset.kept_rounds :]

    def distributions(self, parts: Words) -> Floats:
        """Return ``[N, values]``: certain for parts that the memory knows, and for others the average's guess."""
        values = self.memory.find(parts)
        guessed = values == UNKNOWN
        found = np.eye(self.observer.values, dtype=np.float32)[np.where(guessed, 0, values)]
        found[guessed] = self._guesses_of(parts[guessed])
        return found

    @torch.no_grad()
    def _guesses_of(self, parts: Words) -> Floats:
        """Return what the average makes of parts."""
        found = [np.zeros((0, self.observer.values), np.float32)]
        for first in range(0, len(parts), CHUNK):
            outputs = self._outputs(self.averaged.average, parts[first : first + CHUNK])
            found.append(outputs.softmax(-1).cpu().numpy())
        return np.concatenate(found)

    def _outputs(self, network: nn.Module, parts: Words) -> torch.Tensor:
        observed = torch.from_numpy(self.observer(parts)).to(self.device)
        with torch.autocast(observed.device.type, torch.bfloat16, bool(self.preset.bfloat16)):
            outputs: torch.Tensor = network(observed)
        return outputs.float()
