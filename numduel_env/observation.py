"""Observations: a game's features as one flat vector, and with lookahead those of the afterstates too.

An *afterstate* is the position that a move leads to, just handed to the opponent.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from numduel_env.batch import BoolArray, Position, PositionT, flattened, take_rows
from numduel_env.rules import Rules

FLOAT = np.dtype(np.float32)


class Observer:
    """Turns positions into float32 vectors within [0, 1].

    ``layout`` names the parts in order with their sizes. With ``lookahead`` the last part, ``outlook``, holds for every
    action the rules' ``outlook`` of its afterstate, zero where the action is illegal: all zero for the waiting seat.
    """

    def __init__(self, rules: Rules[Any], lookahead: bool = False) -> None:
        self.rules = rules
        self.lookahead = lookahead
        first = rules.initial()
        shapes = {name: np.shape(part) for name, part in rules.features(first).items()}
        if lookahead:
            shapes["outlook"] = (rules.outlook(rules.play_all(first)).size,)
        self.layout = {name: shape[0] if shape else 1 for name, shape in shapes.items()}
        self.size = sum(self.layout.values())
        # The slice (or index) of each part in one observation; in a batch, behind an ellipsis.
        self._places: list[Any] = []
        start = 0
        for shape in shapes.values():
            self._places.append(slice(start, start + shape[0]) if shape else start)
            start += shape[0] if shape else 1
        self._plain = list(shapes.values()) == [(self.size,)] and not lookahead
        self._batch_places = [(..., place) for place in self._places]

    def __call__(
        self, position: Position, legal: BoolArray | None = None, shape: tuple[int, ...] = ()
    ) -> NDArray[np.float32]:
        """Return the observation ``[..., size]`` of ``shape`` games, a fresh array.

        ``legal`` is the mask of the mover, None if the observer is the waiting seat; only ``lookahead`` needs it.
        """
        parts = self.rules.features(position).values()
        if self._plain:
            # One part is all of the observation.
            (part,) = parts
            whole: NDArray[np.float32] = part.astype(FLOAT, "C")
            return whole
        if shape:
            observation, places = np.empty((*shape, self.size), FLOAT), self._batch_places
        else:
            observation, places = np.empty(self.size, FLOAT), self._places
        for place, part in zip(places, parts):
            observation[place] = part
        if self.lookahead:
            observation[places[-1]] = 0 if legal is None else self._outlook(position, legal).reshape(*shape, -1)
        return observation

    def _outlook(self, position: Position, legal: BoolArray) -> NDArray[np.float32]:
        """Return ``[games, A, k]`` for a batch of any shape, flattened; only legal moves are played."""
        moves = legal.reshape(-1, legal.shape[-1])
        features = self.rules.outlook(afterstates(self.rules, flattened(position, legal.ndim - 1), moves))
        outlook = np.zeros((*moves.shape, features.shape[-1]), FLOAT)
        outlook[moves] = features
        return outlook


class AfterstateObserver:
    """Observes the afterstate of every legal move: its features, its outlook, and its afterstate features.

    ``layout`` names the parts in order with their sizes, ``size`` is that of one afterstate.
    """

    lookahead = True

    def __init__(self, rules: Rules[Any]) -> None:
        self.rules = rules
        self._features = Observer(rules)
        first = rules.initial()
        more = {"outlook": rules.outlook(first), "afterstate": rules.afterstate_features(first)}
        self.layout = self._features.layout | {name: np.shape(part)[-1] for name, part in more.items() if part.size}
        self.size = sum(self.layout.values())

    def __call__(self, position: Position, legal: BoolArray) -> NDArray[np.float32]:
        """Return ``[moves, size]``: the legal moves of a batch with one axis, in the order of ``np.nonzero(legal)``."""
        after = afterstates(self.rules, position, legal)
        outlook, more = self.rules.outlook(after), self.rules.afterstate_features(after)
        return np.concatenate([self._features(after, None, (len(outlook),)), outlook, more], axis=-1, dtype=FLOAT)


def afterstates(rules: Rules[PositionT], position: PositionT, legal: BoolArray) -> PositionT:
    """Return the positions after all legal moves of a batch with one axis, in the order of ``np.nonzero(legal)``."""
    games, actions = np.nonzero(legal)
    return rules.play(take_rows(position, games), actions)
