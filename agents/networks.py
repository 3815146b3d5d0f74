"""The networks of trained agents, in plain NumPy.

``observe(position, legal)`` returns all that a network takes in of a batch of positions with one axis; ``logits`` and
``evaluate`` take such an observation, so that many networks can be asked about positions that were observed once.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from agents.checkpoint import Tensors
from numduel_env.batch import BoolArray, Position
from numduel_env.observation import AfterstateObserver, Observer
from numduel_env.rules import Rules

Floats = NDArray[np.float32]
Shapes = dict[str, tuple[int, ...]]


class Layers:
    """Linear layers with ReLU between them: ``prefix.i.weight`` is ``[outputs, inputs]``, ``prefix.i.bias`` as long."""

    def __init__(self, tensors: Tensors, prefix: str) -> None:
        count = sum(name.startswith(f"{prefix}.") for name in tensors) // 2
        self._layers = [(tensors[f"{prefix}.{i}.weight"].T, tensors[f"{prefix}.{i}.bias"]) for i in range(count)]

    @staticmethod
    def shapes(prefix: str, widths: Sequence[int]) -> Shapes:
        """Return the names and shapes of the tensors of layers of these ``widths``, input and output included."""
        shapes: Shapes = {}
        for layer, (inputs, outputs) in enumerate(pairwise(widths)):
            shapes |= {f"{prefix}.{layer}.weight": (outputs, inputs), f"{prefix}.{layer}.bias": (outputs,)}
        return shapes

    def __call__(self, signal: Floats) -> Floats:
        *hidden, (weight, bias) = self._layers
        for inner_weight, inner_bias in hidden:
            signal = np.maximum(signal @ inner_weight + inner_bias, 0)
        return signal @ weight + bias


class Network(Protocol):
    """What an agent asks of its network; N positions of A actions each."""

    def observe(self, position: Position, legal: BoolArray) -> Any:
        """Return all that the network takes in of a batch of positions."""

    def logits(self, observed: Any) -> Floats:
        """Return ``[N, A]``, the logits of the policy; meaningless for illegal moves."""

    def evaluate(self, observed: Any) -> tuple[Floats, Floats]:
        """Return the logits, and ``[N]``, estimates of the positions' values to their movers, from -1 to 1."""


class FlatNetwork:
    """Two stacks of layers over a flat observation: ``policy`` to the actions' logits, ``value`` to a state value."""

    kind: ClassVar = "flat"

    def __init__(self, observer: Observer, tensors: Tensors) -> None:
        self.observer = observer
        self._policy, self._value = Layers(tensors, "policy"), Layers(tensors, "value")

    @staticmethod
    def make_observer(rules: Rules[Any], lookahead: bool) -> Observer:
        """Return the observer whose observations such a network takes."""
        return Observer(rules, lookahead)

    @staticmethod
    def shapes(observer: Observer, layers: Sequence[int]) -> Shapes:
        """Return the tensors' names and shapes for hidden ``layers`` of these widths."""
        actions = len(observer.rules.numbers)
        stacks = {"policy": actions, "value": 1}
        return {
            name: shape
            for stack, outputs in stacks.items()
            for name, shape in Layers.shapes(stack, [observer.size, *layers, outputs]).items()
        }

    def observe(self, position: Position, legal: BoolArray) -> Floats:
        return self.observer(position, legal, legal.shape[:-1])

    def logits(self, observed: Floats) -> Floats:
        return self._policy(observed)

    def evaluate(self, observed: Floats) -> tuple[Floats, Floats]:
        return self.logits(observed), self._value(observed)[:, 0].clip(-1, 1)


class Afterstates(NamedTuple):
    """The legal moves ``[N, A]`` of a batch of positions, and their afterstates' features, in the mask's order."""

    legal: BoolArray
    features: Floats


class AfterstateNetwork:
    """One stack of layers, ``move``, over an afterstate: the logit and the action value of the move that leads to it.

    All moves share the weights, so what is learned of a position serves every move that leads to it (afterstates:
    Sutton & Barto, *Reinforcement Learning*, 2nd edition, section 6.8).
    """

    kind: ClassVar = "afterstates"

    def __init__(self, observer: AfterstateObserver, tensors: Tensors) -> None:
        self.observer = observer
        self._layers = Layers(tensors, "move")

    @staticmethod
    def make_observer(rules: Rules[Any], lookahead: bool) -> AfterstateObserver:
        """Return the observer whose observations such a network takes; it always looks ahead."""
        if not lookahead:
            raise ValueError("a network over afterstates looks ahead")
        return AfterstateObserver(rules)

    @staticmethod
    def shapes(observer: AfterstateObserver, layers: Sequence[int]) -> Shapes:
        """Return the tensors' names and shapes for hidden ``layers`` of these widths."""
        return Layers.shapes("move", [observer.size, *layers, 2])

    def observe(self, position: Position, legal: BoolArray) -> Afterstates:
        return Afterstates(legal, self.observer(position, legal))

    def logits(self, observed: Afterstates) -> Floats:
        return scattered(self._layers(observed.features)[:, 0], observed.legal, -np.inf)

    def evaluate(self, observed: Afterstates) -> tuple[Floats, Floats]:
        """V(s) is the mean of Q(s, a) under the policy; 0 where there is no move."""
        outputs = self._layers(observed.features)
        logits = scattered(outputs[:, 0], observed.legal, -np.inf)
        action_values = scattered(np.tanh(outputs[:, 1]), observed.legal, 0)
        # Rounded probabilities may add up to a little more than 1.
        values: Floats = (softmax(logits) * action_values).sum(-1).clip(-1, 1)
        return logits, values


def scattered(values: Floats, legal: BoolArray, otherwise: float) -> Floats:
    """Return ``[N, A]``: the legal moves' ``values``, given in the mask's order, and ``otherwise`` elsewhere."""
    everywhere = np.full(legal.shape, otherwise, np.float32)
    everywhere[legal] = values
    return everywhere


def softmax(logits: Floats) -> Floats:
    """Return the probabilities of moves: 0 for a logit of -inf, and all 0 where every logit is."""
    highest = logits.max(-1, keepdims=True, initial=np.finfo(np.float32).min)
    weights = np.exp(logits - highest)
    probabilities: Floats = weights / np.maximum(weights.sum(-1, keepdims=True), 1)
    return probabilities
