"""The positions of one game that single games meet, remembered with what follows from them.

In one game at a time nearly all the time of a ply goes into calls of NumPy on tiny arrays. What they compute depends on
the position alone, and the first positions of a game, or all of a small one, come again and again. So the first
``MOST`` positions that are met are kept, each with its mask, its observations, and the position after each action. The
specification is ``rules.play`` and ``rules.legal``, and beyond ``MOST`` that is all there is.
"""

from __future__ import annotations

from typing import Any, Generic
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from numduel_env.batch import BoolArray, PositionT
from numduel_env.rules import Rules

MOST = 25_000
"""Enough for every position of the small games; some 20 MB."""


class State(Generic[PositionT]):
    """A position with its mask, read-only both, the number of legal moves, and the value to the mover if there is none.

    ``observations`` holds what environments have made of it, under keys of their own.
    """

    __slots__ = ("after", "legal", "moves", "observations", "position", "value")

    def __init__(self, rules: Rules[PositionT], position: PositionT, legal: BoolArray) -> None:
        for shared in (*position, legal):
            if isinstance(shared, np.ndarray):
                shared.setflags(write=False)
        self.position, self.legal = position, legal
        self.moves = int(np.count_nonzero(legal))
        self.value = 0 if self.moves else int(rules.value(position))
        self.after: dict[int, State[PositionT]] = {}
        self.observations: dict[Any, NDArray[Any]] = {}


class Transitions(Generic[PositionT]):
    """The remembered states of one game. It holds no rules, so that these can go when nobody plays by them any more."""

    def __init__(self, rules: Rules[PositionT]) -> None:
        self.start = State(rules, *rules.start)
        self._known: dict[bytes, State[PositionT]] = {_key(self.start.position): self.start}

    def state(self, rules: Rules[PositionT], position: PositionT) -> State[PositionT]:
        """Return the state of a position of one game."""
        found = self._known.get(_key(position))
        return found or State(rules, position, rules.legal(position))

    def after(self, rules: Rules[PositionT], state: State[PositionT], action: int) -> State[PositionT]:
        """Return the state after a legal action."""
        known = state.after.get(action)
        if known is not None:
            return known
        position = rules.play(state.position, action)
        if len(self._known) >= MOST:
            return State(rules, position, rules.legal(position))
        key = _key(position)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = State(rules, position, rules.legal(position))
        state.after[action] = found
        return found


def _key(position: Any) -> bytes:
    return b"".join([field.tobytes() for field in position])


_IN_USE: WeakKeyDictionary[Rules[Any], Transitions[Any]] = WeakKeyDictionary()


def transitions_of(rules: Rules[PositionT]) -> Transitions[PositionT]:
    """Return what is remembered of a game, by all who play it by the same rules."""
    found = _IN_USE.get(rules)
    if found is None:
        found = _IN_USE[rules] = Transitions(rules)
    return found
