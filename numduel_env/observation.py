"""What a learner is given to see: a game's features as one flat vector, and with lookahead where each move leads."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from numduel_env.rules import BoolArray, Position, Rules, flattened, take_rows

FLOAT = np.dtype(np.float32)


class Observer:
    """Turns positions into float32 vectors within [0, 1].

    ``layout`` names the parts in order with their sizes. With ``lookahead`` the last part, ``outlook``, tells for every
    action what the rules' ``outlook`` says of the position it leads to, and is zero where the action is illegal: all
    zero for one who is not to move.
    """

    def __init__(self, rules: Rules, lookahead: bool = False) -> None:
        self.rules = rules
        self.lookahead = lookahead
        first = rules.initial()
        shapes = {name: np.shape(part) for name, part in rules.features(first).items()}
        if lookahead:
            shapes["outlook"] = (rules.outlook(rules.play_all(first)).size,)
        self.layout = {name: shape[0] if shape else 1 for name, shape in shapes.items()}
        self.size = sum(self.layout.values())
        # Where each part goes in the observation of one game; batches index the same places behind an ellipsis.
        self._places: list[Any] = []
        start = 0
        for shape in shapes.values():
            self._places.append(slice(start, start + shape[0]) if shape else start)
            start += shape[0] if shape else 1
        self._batch_places = [(..., place) for place in self._places]

    def __call__(
        self, position: Position, legal: BoolArray | None = None, shape: tuple[int, ...] = ()
    ) -> NDArray[np.float32]:
        """Return the observation ``[..., size]`` of ``shape`` games, a fresh array.

        ``legal`` is the mask of whoever sees the position; None for one who is not to move.
        """
        if shape:
            seen, places = np.empty((*shape, self.size), FLOAT), self._batch_places
        else:
            seen, places = np.empty(self.size, FLOAT), self._places
        for place, part in zip(places, self.rules.features(position).values()):
            seen[place] = part
        if self.lookahead:
            seen[places[-1]] = 0 if legal is None else self._outlook(position, legal).reshape(*shape, -1)
        return seen

    def _outlook(self, position: Position, legal: BoolArray) -> NDArray[np.float32]:
        """Return ``[games, A, k]`` for all games of a batch in a row; only legal moves are looked at."""
        moves = legal.reshape(-1, legal.shape[-1])
        facts = self.rules.outlook(after_moves(self.rules, flattened(position, legal.ndim - 1), moves))
        outlook = np.zeros((*moves.shape, facts.shape[-1]), FLOAT)
        outlook[moves] = facts
        return outlook


class MoveObserver:
    """Tells of every legal move what it leads to: the features and the outlook of the position after it.

    ``layout`` names the parts in order with their sizes, ``size`` is that of one move.
    """

    lookahead = True

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self._features = Observer(rules)
        outlook = int(np.shape(rules.outlook(rules.initial()))[-1])
        self.layout = self._features.layout | {"outlook": outlook}
        self.size = sum(self.layout.values())

    def __call__(self, position: Position, legal: BoolArray) -> NDArray[np.float32]:
        """Return ``[moves, size]`` for all legal moves of a batch with one axis, in the order of ``legal``'s places."""
        after = after_moves(self.rules, position, legal)
        outlook = self.rules.outlook(after)
        return np.concatenate([self._features(after, None, (len(outlook),)), outlook], axis=-1, dtype=FLOAT)


def after_moves(rules: Rules, position: Position, legal: BoolArray) -> Position:
    """Return the positions after all legal moves of a batch with one axis, in the order of ``legal``'s places."""
    games, actions = np.nonzero(legal)
    return rules.play(take_rows(position, games), actions)
