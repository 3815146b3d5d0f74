"""Holds a game to the contract of ``Rules``, as Gymnasium's ``check_env`` holds an environment to its own."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from numduel_env.batch import BoolArray, Position, random_legal, take_rows
from numduel_env.outside import described
from numduel_env.rules import Rules, same_rules

MOST_PLIES = 1000


class BadRules(ValueError):  # noqa: N818 - it says what they are
    """Rules that break the contract; the message says what to change."""


def check_rules(rules: Rules[Any], games: int = 32, seed: int = 0) -> None:
    """Raise ``BadRules`` at the first breach of the contract that ``games`` random games show.

    It plays them side by side and one by one, and compares. Not everything can be tested: that a value is right, and
    that a position tells the whole history that matters, is for the author to see.
    """
    if not isinstance(rules, Rules):
        raise BadRules(f"rules must be an instance of a subclass of numduel_env.Rules, not {type(rules).__name__}")
    _check_data(rules)
    before = _frozen(rules)
    _RandomGames(rules, games, seed).play()
    after = _frozen(rules)
    for name, value in before.items():
        _require(after.get(name) == value, f"a method changed rules.{name}: rules have no memory")
    _check_copy(rules)


def _require(kept: object, otherwise: str) -> None:
    if not kept:
        raise BadRules(otherwise)


def _check_data(rules: Rules[Any]) -> None:
    numbers = getattr(rules, "numbers", None)
    _require(
        isinstance(numbers, np.ndarray) and numbers.ndim == 1 and numbers.dtype.kind in "iu" and len(numbers) > 0,
        "set self.numbers in __init__ to an array of integers, one for each action",
    )
    assert isinstance(numbers, np.ndarray)
    _require((np.diff(numbers) > 0).all(), "numbers must ascend strictly: action 0 is the smallest number")
    most = getattr(rules, "max_plies", None)
    _require(
        isinstance(most, int | np.integer) and not isinstance(most, bool) and most >= 1,
        f"set self.max_plies in __init__ to an integer of at least 1, not {most!r}",
    )


def _check_copy(rules: Rules[Any]) -> None:
    try:
        twin = pickle.loads(pickle.dumps(rules))
    except Exception as wrong:
        raise BadRules(f"rules cannot be pickled, as environments in processes need: {described(wrong)}") from wrong
    _require(same_rules(twin, rules), "a pickled copy of the rules differs from them")


def _frozen(rules: Rules[Any]) -> dict[str, bytes]:
    """Return the data of rules, to be compared, as far as it can be pickled."""
    frozen = {}
    for name, value in Rules.__getstate__(rules).items():
        with suppress(Exception):
            frozen[name] = pickle.dumps(value)
    return frozen


class _RandomGames:
    """Random games, side by side, whose every ply is checked."""

    def __init__(self, rules: Rules[Any], games: int, seed: int) -> None:
        self.rules, self.games = rules, games
        self.generator = np.random.default_rng(seed)
        self.size = len(rules.numbers)
        self.layout: dict[str, tuple[int, ...]] = {}

    def play(self) -> None:
        """Play until all games are over, or as long as is likely to show anything."""
        most, playing = min(self.rules.max_plies, MOST_PLIES), self.games
        position = self._initial()
        _require(self._called("legal", position).any(), "the first position has no legal move")
        for _ in range(most):
            legal = self._checked(position)
            going = np.flatnonzero(legal.any(-1))
            if not len(going):
                return
            position, legal, playing = take_rows(position, going), legal[going], len(going)
            actions = random_legal(legal, self.generator)
            after = self._called("play", position, actions)
            self._same_alone("play", position, after, actions)
            removed = self._called("removed", position, actions)
            self._is(removed, "removed", (len(actions), self.size), "b")
            # Also after illegal actions there must be some position.
            self._called("play", position, self.generator.integers(0, self.size, len(actions)))
            position = after
        going_on = self._checked(position).any(-1).sum()
        # A game may be cut short on purpose, by fewer plies than it has numbers.
        ended = playing < self.games or going_on < playing
        _require(
            ended or not self.size <= self.rules.max_plies <= MOST_PLIES,
            f"none of {self.games} random games ended within max_plies = {most}: either legal is never all False, or "
            "max_plies is too small",
        )

    def _initial(self) -> Position:
        single, batch = (self._called("initial", shape) for shape in ((), (self.games,)))
        for position in (single, batch):
            _require(
                isinstance(position, tuple) and hasattr(position, "_fields"),
                f"a position must be a NamedTuple of arrays; initial returned {type(position).__name__}",
            )
        for name, one, many in zip(single._fields, single, batch):
            kind = np.asarray(many).dtype
            _require(kind.kind in "biu", f"a position holds integers and booleans; {name} is an array of {kind}")
            shape = (self.games, *np.shape(one))
            _require(
                isinstance(many, np.ndarray) and many.shape == shape,
                f"initial(({self.games},)).{name} must be an array of shape {shape}, not {np.shape(many)}: "
                "leading axes are a batch",
            )
        self._same_alone("initial", batch, batch, alone=single)
        return batch  # type: ignore[no-any-return]

    def _checked(self, position: Position) -> BoolArray:
        """Check all that the rules say of a batch of positions, and return the mask."""
        count = len(position[0])
        legal: BoolArray = self._called("legal", position)
        self._is(legal, "legal", (count, self.size), "b")
        over = self._called("over", position)
        _require(np.array_equal(over, ~legal.any(-1)), "over must be True exactly where legal allows nothing")
        features = self._called("features", position)
        kind = type(features).__name__
        _require(isinstance(features, dict), f"features must return a dict of named parts, not {kind}")
        _require(features, "features must return at least one part: a learner observes nothing else")
        layout = {name: np.shape(part)[1:] for name, part in features.items()}
        self.layout = self.layout or layout
        _require(layout == self.layout, f"features must keep one layout: {layout} came after {self.layout}")
        for name, part in features.items():
            self._is(np.asarray(part), f"the feature {name!r}", (count, *layout[name]), "biuf", within_one=True)
            _require(len(layout[name]) <= 1, f"the feature {name!r} must have the shape [...] or [..., k]")
        for method in ("outlook", "afterstate_features"):
            found = np.asarray(self._called(method, position))
            self._is(found, method, (count, found.shape[-1]), "biuf", within_one=True)
        self._is(np.asarray(self._called("appraise", position)), "appraise", (count,), "biuf")
        available = self._called("available", position)
        self._is(available, "available", (count, self.size), "b")
        _require((available | ~legal).all(), "available must be True wherever legal is")
        turned = self._called("turned", position)
        back = self._called("turned", turned)
        _require(_equal(back, position), "turned twice must give the position back")
        value = np.asarray(self._called("value", position))
        self._is(value, "value", (count,), "biuf")
        _require(
            np.isin(value[over], (-1, 0, 1)).all(), "value of a finished game must be -1, 0 or 1, seen by its mover"
        )
        for method, found in (("legal", legal), ("features", features), ("value", np.where(over, value, 0))):
            self._same_alone(method, position, found)
        return legal

    def _is(self, found: Any, what: str, shape: tuple[int, ...], kinds: str, within_one: bool = False) -> None:
        """Require an array of this shape and one of these kinds of numbers, finite, and within [0, 1] if asked."""
        kind = "bool" if kinds == "b" else "numbers"
        _require(
            isinstance(found, np.ndarray) and found.shape == shape and found.dtype.kind in kinds,
            f"{what} must be an array of {kind} of shape {shape} for a batch, not "
            f"{getattr(found, 'dtype', type(found).__name__)} of shape {np.shape(found)}",
        )
        _require(np.isfinite(found).all(), f"{what} must be finite")
        if within_one and found.size:
            low, high = found.min(), found.max()
            _require(low >= 0 and high <= 1, f"{what} must be within [0, 1], not from {low:g} to {high:g}")

    def _same_alone(
        self, method: str, position: Position, found: Any, actions: Any = None, alone: Position | None = None
    ) -> None:
        """Require that a method answers a game alone as it does in a batch, on the first and the last game."""
        for row in {0, len(position[0]) - 1}:
            one = position._make(field[row] for field in position)
            if alone is not None:
                single: Any = alone
            elif actions is not None:
                single = self._called(method, one, int(actions[row]))
            else:
                single = self._called(method, one)
                if method == "value" and self._called("legal", one).any():
                    single = 0
            _require(
                _equal(single, _row(found, row)),
                f"{method} must give a game alone what it gives it in a batch: the last axis belongs to the game, all "
                "leading axes are a batch",
            )

    def _called(self, method: str, *arguments: Any) -> Any:
        """Call a method twice; it may neither fail, nor change its arguments, nor answer differently."""
        call: Callable[..., Any] = getattr(self.rules, method)
        copies = [_copied(argument) for argument in arguments]
        try:
            first = call(*arguments)
            unchanged = all(map(_equal, arguments, copies))
            second = call(*copies)
        except KeyboardInterrupt:
            raise
        except BaseException as wrong:  # somebody else's code may do anything, sys.exit included
            raise BadRules(f"{method} raised {described(wrong)}") from wrong
        _require(unchanged, f"{method} changed its arguments: return new arrays instead")
        _require(
            _equal(first, second), f"{method} gave two answers to one question: rules have no randomness or memory"
        )
        return first


def _copied(value: Any) -> Any:
    if isinstance(value, tuple) and hasattr(value, "_make"):
        return value._make(map(np.array, value))
    return np.array(value) if isinstance(value, np.ndarray) else value


def _row(value: Any, row: int) -> Any:
    """Return one game of a batch: of positions, of named features, or of an array."""
    if isinstance(value, dict):
        return {name: np.asarray(part)[row] for name, part in value.items()}
    if isinstance(value, tuple):
        return tuple(field[row] for field in value)
    return value[row]


def _equal(one: Any, other: Any) -> bool:
    """Return whether two positions, dicts of features or arrays are equal."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(one[name], other[name]) for name in one)
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_equal, one, other))
    mine, theirs = np.asarray(one), np.asarray(other)
    return np.array_equal(mine, theirs, equal_nan=mine.dtype.kind == "f" == theirs.dtype.kind)
