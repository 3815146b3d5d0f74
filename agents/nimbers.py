"""A network that knows the Grundy values of parts, in plain NumPy, and how it judges a position that is their sum.

Of a Grundy value there is a distribution: what the network believes of a part. That of a Nim sum of independent parts
is the convolution of theirs over exclusive or, which the Walsh-Hadamard transform turns into a product.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.checkpoint import Tensors
from agents.networks import Floats, Shapes, scattered, softmax
from agents.part_memory import UNKNOWN, PartMemory
from numduel_env.batch import BoolArray, Position
from numduel_env.parts import Parts, Split, Words
from numduel_env.rules import Rules

CHUNK = 4096
"""The network evaluates at most this many parts at a time."""

BUDGET, MOST_REMEMBERED = 20_000, 20_000_000

LEAST = np.float32(1e-6)
"""No probability of a move is smaller: rounding leaves some a little below 0."""


DIGITS = 4
"""Logits are rounded to this many decimals: equal moves stay equal in every batch, and the first of them is chosen."""


class PartObserver:
    """Observes parts: what ``layout`` names, each for every number of the game, and whether the part's size is odd.

    Of a number in the part: that it is; whether the move that chooses it takes an odd number of numbers; whether it
    can disturb an odd number of others in the part; whether its move takes nothing but itself.
    """

    lookahead = True

    def __init__(self, rules: Rules[Any]) -> None:
        self.rules, self.parts = rules, Parts(rules)
        per_number = ("part", "takes_odd", "disturbs_odd", "takes_itself")
        self.layout = dict.fromkeys(per_number, self.parts.size) | {"odd": 1}
        self.size = sum(self.layout.values())
        self.values = 1 << self.parts.largest.bit_length()
        """Grundy values are below this power of two: none exceeds the size of its part, which bounds the moves."""
        self._disturbs = self.parts.disturbs.astype(np.float32)
        self.walsh_hadamard = walsh_hadamard(self.values)

    def __call__(self, words: Words) -> Floats:
        """Return the observation ``[N, size]`` of parts."""
        sets = self.parts.sets(words)
        moves = self.parts.moves(words)
        takes = np.zeros(sets.shape, np.uint8)
        takes[sets] = np.bitwise_count(words[moves.rows] & ~moves.after)
        disturbed = (sets @ self._disturbs).astype(np.uint8)
        odd = np.bitwise_count(words)[:, None] & 1
        return np.concatenate([sets, takes & 1, sets & (disturbed & 1), takes == 1, odd], axis=-1, dtype=np.float32)

    def transformed_sums(self, split: Split, unique: Words, where: NDArray[np.intp], known: Floats) -> Floats:
        """Return ``[N, values]``: the Walsh-Hadamard transform of the distribution of each word's Grundy value.

        ``known`` are the distributions of the ``unique`` parts; part ``i`` of the split is ``unique[where[i]]``.
        """
        sums = self.walsh_hadamard[split.lone]
        order = np.argsort(split.rows, kind="stable")
        rows = split.rows[order]
        if len(rows):
            first = np.flatnonzero(np.diff(rows, prepend=-1))
            factors = (known @ self.walsh_hadamard)[where[order]]
            sums[rows[first]] *= np.multiply.reduceat(factors, first, axis=0)
        return sums


def walsh_hadamard(size: int) -> Floats:
    """Return the Walsh-Hadamard matrix: -1 where the row's and the column's number share an odd number of bits."""
    numbers = np.arange(size)
    return np.where(np.bitwise_count(numbers[:, None] & numbers) & 1, -1, 1).astype(np.float32)


class Sums(NamedTuple):
    """The legal moves ``[N, A]`` of a batch, and what they leave as sums; the positions themselves come last."""

    legal: BoolArray
    split: Split
    unique: Words
    where: NDArray[np.intp]


class ExactParts:
    """Backs up parts of at most ``size`` numbers to the end of the game, on demand, and remembers them.

    For each position that is asked about, at most ``BUDGET`` new parts are backed up, the smallest first; what is left
    over is not known. So what is known grows with every question, until ``MOST_REMEMBERED`` are.
    """

    def __init__(self, parts: Parts, size: int) -> None:
        self.size, self.memory = size, PartMemory(parts)

    def find(self, parts: Words, positions: int) -> NDArray[np.uint8]:
        """Return the Grundy values of the ``parts`` of some ``positions``, ``UNKNOWN`` where they are."""
        budget = min(BUDGET * positions, MOST_REMEMBERED - len(self.memory))
        sizes = np.bitwise_count(parts)
        for size in range(2, self.size + 1):
            before = len(self.memory)
            if budget <= 0 or not self.memory.learn(parts[sizes == size], budget):
                break
            budget -= len(self.memory) - before
        return self.memory.find(parts)


class NimberNetwork:
    """A stack of residual layers, ``part``, from the observation of a part to the logits of its Grundy value.

    A move is good if the Grundy value of what it leaves is 0: its probability is what the policy goes by, and that of
    the position itself is the estimate that its mover has lost.
    ``exact`` puts what it knows of parts in the place of the network's guesses.
    """

    kind: ClassVar = "nimbers"

    def __init__(self, observer: PartObserver, tensors: Tensors, exact: ExactParts | None = None) -> None:
        self.observer, self.exact = observer, exact
        self._layers = [(tensors[f"part.{i}.weight"].T, tensors[f"part.{i}.bias"]) for i in range(len(tensors) // 2)]

    @staticmethod
    def make_observer(rules: Rules[Any], lookahead: bool) -> PartObserver:
        """Return the observer whose observations such a network takes; raises a ``ValueError`` if no game fits."""
        if not lookahead:
            raise ValueError("a network over the parts of afterstates looks ahead")
        return PartObserver(rules)

    @staticmethod
    def shapes(observer: PartObserver, layers: Sequence[int]) -> Shapes:
        """Return the tensors' names and shapes for hidden ``layers``, which must be of one width."""
        if len(set(layers)) != 1:
            raise ValueError(f"residual layers have one width, not {', '.join(map(str, layers)) or 'none'}")
        shapes: Shapes = {}
        for layer, (inputs, outputs) in enumerate(pairwise([observer.size, *layers, observer.values])):
            shapes |= {f"part.{layer}.weight": (outputs, inputs), f"part.{layer}.bias": (outputs,)}
        return shapes

    def observe(self, position: Position, legal: BoolArray) -> Sums:
        parts = self.observer.parts
        words = parts.words(legal)
        split = parts.split(np.concatenate([parts.moves(words).after, words]))
        return Sums(legal, split, *np.unique(split.parts, return_inverse=True))

    def logits(self, observed: Sums) -> Floats:
        return self._judge(observed)[0]

    def evaluate(self, observed: Sums) -> tuple[Floats, Floats]:
        logits, lost = self._judge(observed)
        return logits, 1 - 2 * lost

    def _judge(self, observed: Sums) -> tuple[Floats, Floats]:
        """Return the logarithm of each move's probability to win, and the probability that each position is lost."""
        legal, split, unique, where = observed
        known = self.distributions(unique)
        if self.exact:
            values = self.exact.find(unique, len(legal))
            certain = values != UNKNOWN
            known[certain] = np.eye(self.observer.values, dtype=np.float32)[values[certain]]
        zero = self.observer.transformed_sums(split, unique, where, known).mean(-1)
        after, lost = np.split(zero, [len(zero) - len(legal)])
        logits = np.log(np.maximum(after, LEAST)).round(DIGITS)
        return scattered(logits, legal, -np.inf), lost.clip(0, 1)

    def distributions(self, parts: Words) -> Floats:
        """Return ``[N, values]``, how probable the network holds each Grundy value of parts."""
        chunks = [parts[first : first + CHUNK] for first in range(0, len(parts), CHUNK)]
        found = [softmax(self._outputs(self.observer(chunk))) for chunk in chunks]
        return np.concatenate([np.zeros((0, self.observer.values), np.float32), *found])

    def _outputs(self, signal: Floats) -> Floats:
        (weight, bias), *inner, (last_weight, last_bias) = self._layers
        signal = signal @ weight + bias
        for inner_weight, inner_bias in inner:
            signal = signal + (np.maximum(signal, 0) @ inner_weight + inner_bias)
        outputs: Floats = np.maximum(signal, 0) @ last_weight + last_bias
        return outputs
