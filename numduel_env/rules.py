"""The contract of a game: pure rules over positions, written once for one game and for ten thousand.

A *position* is a small NamedTuple of arrays, always as the player to move (the *mover*) sees it; see ``batch.py``. The
last axis belongs to the game, all leading axes are a batch, so one body of rules plays any number of games.

What the contract cannot express: chance, hidden information, moves that are more than one number, a player who moves
twice in a row.
"""

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, Generic

import numpy as np
from numpy.typing import NDArray

from numduel_env.batch import BoolArray, PositionT, any_legal
from numduel_env.transitions import States

LARGEST_NUMBER = 10_000
"""The largest number of a range: tables of which number divides which grow with its square."""


class Rules(ABC, Generic[PositionT]):
    """One game: data set once in ``__init__``, then pure functions of positions.

    Action ``a`` plays ``numbers[a]``; the numbers ascend, so action 0 is the smallest. No method changes its arguments
    or the rules, and arrays become read-only when they are set as attributes: instances are shared by environments and
    handed to agents.
    """

    numbers: NDArray[np.int64]
    max_plies: int
    """A game that has not ended after ``max_plies`` plies is truncated."""

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, np.ndarray):
            value.setflags(write=False)
        super().__setattr__(name, value)

    @abstractmethod
    def initial(self, shape: tuple[int, ...] = ()) -> PositionT:
        """Return the first position of ``shape`` new games."""

    @abstractmethod
    def legal(self, position: PositionT) -> BoolArray:
        """Return ``[..., A]``, the action mask; all False exactly when the game is over. It may share memory."""

    def over(self, position: PositionT) -> BoolArray:
        """Return whether the game is over. Override it where that is known without looking at every number."""
        return ~any_legal(self.legal(position))

    @abstractmethod
    def play(self, position: PositionT, action: Any) -> PositionT:
        """Return the position after a legal ``action``, as the next mover sees it.

        ``action`` is an int for one game, and for a batch an array of ints of the batch's shape. The position after an
        illegal action means nothing, but there must be one.
        """

    @abstractmethod
    def features(self, position: PositionT) -> dict[str, NDArray[Any]]:
        """Return the observation as named parts ``[..., k]`` or ``[...]`` within [0, 1]; the mover sees everything."""

    def value(self, position: PositionT) -> NDArray[np.int8]:
        """Return the value (-1, 0, +1) of a finished game to its mover; meaningless while the game goes on.

        By default a player who cannot move has lost (*normal play*).
        """
        return np.full(self.legal(position).shape[:-1], -1, np.int8)

    def turned(self, position: PositionT) -> PositionT:
        """Return the same position as the waiting seat sees it; by default both see the same."""
        return position

    def available(self, position: PositionT) -> BoolArray:
        """Return ``[..., A]``, the numbers that are still in the game, whether or not they are legal now."""
        return self.legal(position)

    def removed(self, position: PositionT, action: Any) -> BoolArray:
        """Return ``[..., A]``, the numbers that leave the game with a legal ``action``."""
        return self.available(position) & ~self.available(self.play(position, action))

    def outlook(self, position: PositionT) -> NDArray[Any]:
        """Return ``[..., k]``, cheap features of an afterstate: a position just handed to the opponent, within [0, 1].

        By default: whether the opponent has no reply, and the share of the numbers that are replies.
        """
        replies = self.legal(position).mean(-1)
        return np.stack([replies == 0, replies], axis=-1)

    def afterstate_features(self, position: PositionT) -> NDArray[Any]:
        """Return ``[..., k]``, more features of an afterstate, for networks over afterstates alone; by default none.

        They may be too many, or take too long, to stand in an environment's observation for every action.
        """
        return np.zeros((*self.legal(position).shape[:-1], 0), np.float32)

    def appraise(self, position: PositionT) -> NDArray[Any]:
        """Return ``[...]``, a heuristic evaluation of an unfinished position, larger if better for the mover.

        By default the number of legal moves.
        """
        moves: NDArray[np.int64] = self.legal(position).sum(-1)
        return moves

    def disturbs(self) -> BoolArray | None:
        """Return ``[A, A]``: which legal numbers can disturb each other, if positions are sums of independent parts.

        By default None: the game does not say that they are. One that does promises that both players may always make
        the same moves; that who cannot move has lost; that its legal numbers are all there is to a position, and none
        comes back; and that a move changes nothing of what neither it nor, in turn, what it disturbs can disturb. So
        the numbers that hang together are a game of their own. ``numduel_env.parts`` holds a game to all this.
        """
        return None

    def position_of(self, legal: BoolArray) -> PositionT:
        """Return the position ``[...]`` in which exactly these numbers ``[..., A]`` are legal, for such a game.

        By default a position of one field is taken to be its legal numbers.
        """
        first = self.initial()
        if len(first) != 1:
            raise ValueError(f"{type(self).__name__} must say which position has these legal numbers: position_of")
        return first._make([legal])

    @cached_property
    def remembered(self) -> States[PositionT]:
        """What single games remember of this game's positions."""
        return States(self)

    def play_all(self, position: PositionT) -> PositionT:
        """Return the positions after every action, as a batch with one more axis; meaningless where illegal."""
        shape = self.legal(position).shape
        batch_axes = len(shape) - 1
        spread = position._make(
            np.broadcast_to(np.expand_dims(field, batch_axes), shape + np.shape(field)[batch_axes:])
            for field in position
        )
        return self.play(spread, np.broadcast_to(np.arange(len(self.numbers)), shape))

    def __repr__(self) -> str:
        return f"{type(self).__name__} {self.numbers[0]}..{self.numbers[-1]}"

    def __deepcopy__(self, memo: dict[int, Any]) -> Rules[PositionT]:
        """Return itself: rules never change, and copying an environment should copy only its game."""
        return self

    def __getstate__(self) -> dict[str, object]:
        """Return the data of the game, without what has been computed from it."""
        return {
            name: value
            for name, value in vars(self).items()
            if not isinstance(getattr(type(self), name, None), cached_property)
        }


def own_copy(rules: Rules[PositionT]) -> Rules[PositionT]:
    """Return a copy that shares no array with the rules, or the rules themselves if they cannot be pickled.

    It is for those who are not trusted with the rules that a game is played by: an array can be made writeable again.
    """
    try:
        return pickle.loads(pickle.dumps(rules))  # type: ignore[no-any-return]
    except Exception:
        return rules


def same_rules(one: Rules[Any], other: Rules[Any]) -> bool:
    """Return whether two games are one: the same class with the same data."""
    mine, theirs = Rules.__getstate__(one), Rules.__getstate__(other)
    return (
        type(one) is type(other)
        and mine.keys() == theirs.keys()
        and all(np.array_equal(mine[name], theirs[name]) for name in mine)  # type: ignore[arg-type]
    )


def whole_number(name: str, value: Any, least: int, most: int | None = None) -> int:
    """Return ``value`` as an int, or raise a ``ValueError`` naming the parameter and what is allowed."""
    allowed = f"an integer of at least {least}" if most is None else f"an integer from {least} to {most}"
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < least or (most is not None and value > most):
        raise ValueError(f"{name} must be {allowed}, not {value!r}")
    return int(value)


def number_range(lowest: Any, highest: Any) -> NDArray[np.int64]:
    """Return the numbers ``lowest`` to ``highest``, both checked."""
    least = whole_number("lowest", lowest, 2, LARGEST_NUMBER)
    return np.arange(least, whole_number("highest", highest, least, LARGEST_NUMBER) + 1)


def divides(numbers: NDArray[np.int64]) -> BoolArray:
    """Return ``[A, A]``: which numbers of a range divide which, ``numbers % numbers[:, None] == 0``."""
    table = np.zeros((len(numbers), len(numbers)), bool)
    for action, number in enumerate(numbers.tolist()):
        table[action, action::number] = True
    return table
