"""Opponents from a learner's own past."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.checkpoint import BadCheckpoint, Tensors
from agents.learned import LearnedAgent
from agents.networks import AfterstateNetwork
from numduel_env.batch import BoolArray, Position, random_legal, take_rows
from numduel_env.observation import AfterstateObserver
from numduel_env.rules import Rules

SNAPSHOTS = 10
"""How many of the latest snapshots play; older ones are forgotten."""


class Pool:
    """An agent made of frozen snapshots of a learner; until there is one, it plays at random.

    Each position is answered by one of them, drawn at random, which samples a move from its policy.
    """

    def __init__(self, rules: Rules[Any], observer: AfterstateObserver) -> None:
        self.rules, self.observer = rules, observer
        self._weights: list[Tensors] = []
        self.snapshots: list[LearnedAgent] = []

    def add(self, weights: Tensors) -> None:
        """Let one more snapshot play."""
        self._weights = [*self._weights, weights][-SNAPSHOTS:]
        snapshot = LearnedAgent(self.rules, AfterstateNetwork(self.observer, weights))
        self.snapshots = [*self.snapshots, snapshot][-SNAPSHOTS:]

    def tensors(self) -> Tensors:
        """Return the weights of all snapshots, to be saved."""
        return {f"{place}.{name}": w for place, weights in enumerate(self._weights) for name, w in weights.items()}

    def restore(self, tensors: Tensors, layers: Sequence[int]) -> None:
        """Let the saved snapshots play, the oldest first; raises ``BadCheckpoint`` if they are of other networks."""
        shapes = AfterstateNetwork.shapes(self.observer, layers)
        for place in range(len(tensors) // len(shapes)):
            weights = {name: tensors.get(f"{place}.{name}", np.zeros(0, np.float32)) for name in shapes}
            if {name: tensor.shape for name, tensor in weights.items()} != shapes:
                raise BadCheckpoint(f"snapshot {place} of the pool does not fit this network")
            self.add(weights)

    def choose(self, position: Position, legal: BoolArray, generator: np.random.Generator) -> NDArray[np.int64]:
        actions = random_legal(legal, generator)
        drawn = generator.integers(max(len(self.snapshots), 1), size=len(actions))
        for place, snapshot in enumerate(self.snapshots):
            rows = np.flatnonzero(drawn == place)
            probabilities, _ = snapshot.evaluate(take_rows(position, rows), legal[rows])
            actions[rows] = sampled(probabilities, generator)
        return actions


def sampled(probabilities: NDArray[np.float32], generator: np.random.Generator) -> NDArray[np.int64]:
    """Return an action for each row of probabilities, by inverting their cumulative sums."""
    sums = probabilities.cumsum(-1)
    # Rounded probabilities need not add up to 1.
    threshold = generator.random((len(sums), 1), np.float32) * sums[:, -1:]
    actions: NDArray[np.int64] = (sums > threshold).argmax(-1)
    return actions
