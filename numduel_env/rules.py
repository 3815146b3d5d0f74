"""The contract every game keeps, and the protocol of whatever chooses moves.

A *position* is a small NamedTuple of arrays, always as the player to move sees it. The leading axes of each are a
batch, so one body of rules plays one game or ten thousand; behind them a field has one axis of its own (``[..., k]``,
such as which numbers are left) or none (``[...]``, such as a score).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Position = Any
"""A NamedTuple of arrays; every game has its own."""

BoolArray = NDArray[np.bool_]

LARGEST_NUMBER = 10_000
"""A range of numbers may reach so far: tables of which number divides which grow with its square."""


class Rules(ABC):
    """One game: data set once in ``__init__``, then pure functions of positions.

    Action ``a`` plays ``numbers[a]``; the numbers ascend, so action 0 is the smallest. ``play``, ``value`` and
    ``turned`` never change their arguments. Instances are immutable and may be shared between environments.
    """

    numbers: NDArray[np.int64]
    max_plies: int
    """Every game ends within so many plies, or is truncated there."""

    @abstractmethod
    def initial(self, shape: tuple[int, ...] = ()) -> Position:
        """Return the first position of ``shape`` new games."""

    @abstractmethod
    def legal(self, position: Position) -> BoolArray:
        """Return ``[..., A]``, which actions may be played; all False exactly when the game is over."""

    def over(self, position: Position) -> BoolArray:
        """Return whether the game is over; a game that knows without looking at every number may say so itself."""
        return ~any_legal(self.legal(position))

    @abstractmethod
    def play(self, position: Position, action: Any) -> Position:
        """Return the position after a legal ``action``, as the next player sees it.

        ``action`` is an int for one game, and for a batch an array of ints of the batch's shape.
        """

    @abstractmethod
    def features(self, position: Position) -> dict[str, NDArray[Any]]:
        """Return named parts ``[..., k]`` or ``[...]``, all within [0, 1], that together tell the mover everything."""

    def value(self, position: Position) -> NDArray[np.int8]:
        """Return the worth (-1, 0, +1) of a finished game to the player to move; meaningless while it goes on.

        By default a player who cannot move has lost.
        """
        return np.full(self.legal(position).shape[:-1], -1, np.int8)

    def turned(self, position: Position) -> Position:
        """Return the same position as the waiting player sees it; by default there is nothing to turn."""
        return position

    def available(self, position: Position) -> BoolArray:
        """Return ``[..., A]``, the numbers that are still in the game, whether or not they are legal now."""
        return self.legal(position)

    def removed(self, position: Position, action: Any) -> BoolArray:
        """Return ``[..., A]``, the numbers that leave the game with a legal ``action``."""
        return self.available(position) & ~self.available(self.play(position, action))

    def outlook(self, position: Position) -> NDArray[Any]:
        """Return ``[..., k]`` cheap facts, within [0, 1], about a position just handed to the opponent.

        By default: whether the opponent has no reply, and the share of the numbers that are replies.
        """
        replies = self.legal(position).mean(-1)
        return np.stack([replies == 0, replies], axis=-1)

    def appraise(self, position: Position) -> NDArray[Any]:
        """Return ``[...]``: a one-ply player's opinion of an unfinished position, the larger the better for the mover.

        By default the number of replies the mover has.
        """
        replies: NDArray[np.int64] = self.legal(position).sum(-1)
        return replies

    @cached_property
    def start(self) -> tuple[Position, BoolArray]:
        """The first position of one game and its mask, made once and read-only."""
        position = self.initial()
        legal = self.legal(position)
        for shared in (*position, legal):
            if isinstance(shared, np.ndarray):
                shared.setflags(write=False)
        return position, legal

    def play_all(self, position: Position) -> Position:
        """Return the positions after every action, as a batch with one more axis; meaningless where illegal."""
        shape = self.legal(position).shape
        batch_axes = len(shape) - 1
        spread = position._make(
            np.broadcast_to(np.expand_dims(field, batch_axes), shape + np.shape(field)[batch_axes:])
            for field in position
        )
        return self.play(spread, np.broadcast_to(np.arange(len(self.numbers)), shape))

    def __deepcopy__(self, memo: dict[int, Any]) -> Rules:
        """Return itself: rules never change, and copying an environment should copy only its game."""
        return self


def same_rules(one: Rules, other: Rules) -> bool:
    """Return whether two games are one: the same class, set up with the same data."""

    def data(rules: Rules) -> dict[str, Any]:
        made_later = {name for name in vars(rules) if isinstance(getattr(type(rules), name, None), cached_property)}
        return {name: value for name, value in vars(rules).items() if name not in made_later}

    mine, theirs = data(one), data(other)
    return (
        type(one) is type(other)
        and mine.keys() == theirs.keys()
        and all(np.array_equal(mine[name], theirs[name]) for name in mine)
    )


class Policy(Protocol):
    """Whatever chooses moves, bound to the rules it was made for."""

    def choose(self, position: Position, generator: np.random.Generator) -> Any:
        """Return one action for each unfinished game in ``position``, taking all randomness from ``generator``."""


def any_legal(mask: BoolArray) -> BoolArray:
    """Return whether each mask ``[..., A]`` allows anything: ``mask.any(-1)``, which is slow along short rows."""
    size = mask.shape[-1]
    if size < 32:
        # Not a product with ones, though BLAS is as fast: on machines with AVX-512 it reads past the end of some short
        # rows, and NumPy then warns of an invalid value that is not in the mask.
        allowed: BoolArray = np.logical_or.reduce(np.ascontiguousarray(mask.T)).T
        return allowed
    flags = np.bitwise_or.reduceat(mask.view(np.uint8).ravel(), np.arange(0, mask.size, size))
    return flags.view(np.bool_).reshape(mask.shape[:-1])


def take_rows(position: Position, rows: Any) -> Position:
    """Return the games ``rows`` (indices into the first axis) of a batch, as copies."""
    return position._make(field.take(rows, axis=0) for field in position)


def flattened(position: Position, batch_axes: int) -> Position:
    """Return the games of a batch with so many axes as a batch with one."""
    return position._make(np.reshape(field, (-1, *np.shape(field)[batch_axes:])) for field in position)


def put_rows(position: Position, rows: Any, games: Position) -> None:
    """Write ``games`` over the games ``rows`` of a batch, in place."""
    for field, new in zip(position, games, strict=True):
        field[rows] = new


def whole_number(name: str, value: Any, least: int, most: int | None = None) -> int:
    """Return ``value`` as an int, or raise a ``ValueError`` naming the parameter and what it may be."""
    allowed = f"an integer of at least {least}" if most is None else f"an integer from {least} to {most}"
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < least or (most is not None and value > most):
        raise ValueError(f"{name} must be {allowed}, not {value!r}")
    return int(value)


def number_range(lowest: Any, highest: Any) -> NDArray[np.int64]:
    """Return the numbers ``lowest`` to ``highest``, both checked."""
    least = whole_number("lowest", lowest, 2, LARGEST_NUMBER)
    return np.arange(least, whole_number("highest", highest, least, LARGEST_NUMBER) + 1)
