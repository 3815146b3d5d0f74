"""The networks of trained agents, in plain NumPy.

A network sees positions in its own way: ``see(position, legal)``, for a batch with one axis, answers with what it takes
in, and ``preferences`` and ``judge`` are asked about that; so what was seen once can be judged by many networks.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from agents.checkpoint import Tensors
from numduel_env.observation import MoveObserver, Observer
from numduel_env.rules import BoolArray, Position, Rules

Floats = NDArray[np.float32]
Shapes = dict[str, tuple[int, ...]]


class Layers:
    """Linear layers with ReLU between them: ``prefix.i.weight`` is ``[outputs, inputs]``, ``prefix.i.bias`` as long."""

    def __init__(self, tensors: Tensors, prefix: str) -> None:
        count = sum(name.startswith(f"{prefix}.") for name in tensors) // 2
        self._layers = [(tensors[f"{prefix}.{i}.weight"].T, tensors[f"{prefix}.{i}.bias"]) for i in range(count)]

    @staticmethod
    def shapes(prefix: str, widths: Sequence[int]) -> Shapes:
        """Return the names and shapes of the tensors of layers between so many units."""
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

    def see(self, position: Position, legal: BoolArray) -> Any:
        """Return all that the network takes in of a batch of positions."""

    def preferences(self, seen: Any) -> Floats:
        """Return ``[N, A]``, larger for better moves; meaningless for illegal ones."""

    def judge(self, seen: Any) -> tuple[Floats, Floats]:
        """Return the preferences, and ``[N]``, what the positions are worth to their movers, from -1 to 1."""


class FlatNetwork:
    """Two stacks of layers over a flat observation: ``policy`` to the actions' preferences, ``value`` to a worth."""

    kind: ClassVar = "flat"

    def __init__(self, observer: Observer, tensors: Tensors) -> None:
        self.observer = observer
        self._policy, self._value = Layers(tensors, "policy"), Layers(tensors, "value")

    @staticmethod
    def make_observer(rules: Rules, lookahead: bool) -> Observer:
        """Return what such a network looks through."""
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

    def see(self, position: Position, legal: BoolArray) -> Floats:
        return self.observer(position, legal, legal.shape[:-1])

    def preferences(self, seen: Floats) -> Floats:
        return self._policy(seen)

    def judge(self, seen: Floats) -> tuple[Floats, Floats]:
        return self.preferences(seen), self._value(seen)[:, 0].clip(-1, 1)


class Moves(NamedTuple):
    """The legal moves ``[N, A]`` of a batch of positions, and what is known of each, in the order of their places."""

    legal: BoolArray
    facts: Floats


class MoveNetwork:
    """One stack of layers, ``move``, over what is known of the position that a move leads to: preference and worth.

    All moves are judged by the same weights, so what is learned of a position serves every move that leads to it.
    """

    kind: ClassVar = "moves"

    def __init__(self, observer: MoveObserver, tensors: Tensors) -> None:
        self.observer = observer
        self._layers = Layers(tensors, "move")

    @staticmethod
    def make_observer(rules: Rules, lookahead: bool) -> MoveObserver:
        """Return what such a network looks through; it always looks ahead."""
        if not lookahead:
            raise ValueError("a network that judges moves looks ahead")
        return MoveObserver(rules)

    @staticmethod
    def shapes(observer: MoveObserver, layers: Sequence[int]) -> Shapes:
        """Return the tensors' names and shapes for hidden ``layers`` of these widths."""
        return Layers.shapes("move", [observer.size, *layers, 2])

    def see(self, position: Position, legal: BoolArray) -> Moves:
        return Moves(legal, self.observer(position, legal))

    def preferences(self, seen: Moves) -> Floats:
        return spread(self._layers(seen.facts)[:, 0], seen.legal, -np.inf)

    def judge(self, seen: Moves) -> tuple[Floats, Floats]:
        """A position is worth what its moves are, each as likely as it is to be played; nothing where there is none."""
        judged = self._layers(seen.facts)
        preferences = spread(judged[:, 0], seen.legal, -np.inf)
        worth = spread(np.tanh(judged[:, 1]), seen.legal, 0)
        # Probabilities may add up to a little more than 1.
        values: Floats = (softmax(preferences) * worth).sum(-1).clip(-1, 1)
        return preferences, values


def spread(told: Floats, legal: BoolArray, otherwise: float) -> Floats:
    """Return ``[N, A]``: what is told of the legal moves, in the order of their places, and ``otherwise`` elsewhere."""
    everywhere = np.full(legal.shape, otherwise, np.float32)
    everywhere[legal] = told
    return everywhere


def softmax(preferences: Floats) -> Floats:
    """Return the probabilities of moves; those of -inf are never played, and if all are, nothing is."""
    highest = preferences.max(-1, keepdims=True, initial=np.finfo(np.float32).min)
    likelihood = np.exp(preferences - highest)
    probabilities: Floats = likelihood / np.maximum(likelihood.sum(-1, keepdims=True), 1)
    return probabilities


NETWORKS: dict[str, type[FlatNetwork] | type[MoveNetwork]] = {
    network.kind: network for network in (FlatNetwork, MoveNetwork)
}
"""Networks by what a card calls their kind."""
