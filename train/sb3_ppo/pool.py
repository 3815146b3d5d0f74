"""Opponents from a learner's own past."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from agents.checkpoint import BadCheckpoint, Tensors
from agents.learned import LearnedAgent
from agents.networks import MoveNetwork
from numduel_env.batch import random_legal
from numduel_env.observation import MoveObserver
from numduel_env.rules import Position, Rules, take_rows

SNAPSHOTS = 10
"""So many of the latest snapshots play; older ones are forgotten."""


class Pool:
    """Frozen snapshots of a learner; until there is one, a random mover.

    Each position is answered by one of them, drawn at random, as it would explore.
    """

    def __init__(self, rules: Rules, observer: MoveObserver) -> None:
        self.rules, self.observer = rules, observer
        self._weights: list[Tensors] = []
        self.snapshots: list[LearnedAgent] = []

    def add(self, weights: Tensors) -> None:
        """Let one more snapshot play."""
        self._weights = [*self._weights, weights][-SNAPSHOTS:]
        snapshot = LearnedAgent(self.rules, MoveNetwork(self.observer, weights))
        self.snapshots = [*self.snapshots, snapshot][-SNAPSHOTS:]

    def tensors(self) -> Tensors:
        """Return the weights of all snapshots, to be saved."""
        return {f"{place}.{name}": w for place, weights in enumerate(self._weights) for name, w in weights.items()}

    def restore(self, tensors: Tensors, layers: Sequence[int]) -> None:
        """Let the saved snapshots play, the oldest first; raises ``BadCheckpoint`` if they are of other networks."""
        shapes = MoveNetwork.shapes(self.observer, layers)
        for place in range(len(tensors) // len(shapes)):
            weights = {name: tensors.get(f"{place}.{name}", np.zeros(0, np.float32)) for name in shapes}
            if {name: tensor.shape for name, tensor in weights.items()} != shapes:
                raise BadCheckpoint(f"snapshot {place} of the pool does not fit this network")
            self.add(weights)

    def choose(self, position: Position, generator: np.random.Generator) -> NDArray[np.int64]:
        actions = random_legal(self.rules.legal(position), generator)
        drawn = generator.integers(max(len(self.snapshots), 1), size=len(actions))
        for place, snapshot in enumerate(self.snapshots):
            rows = np.flatnonzero(drawn == place)
            likelihood, _ = snapshot.evaluate(take_rows(position, rows))
            sums = likelihood.cumsum(-1)
            # The first action at which the sum of the probabilities passes the die.
            dice = generator.random((len(rows), 1), np.float32) * sums[:, -1:]
            actions[rows] = (sums > dice).argmax(-1)
        return actions
