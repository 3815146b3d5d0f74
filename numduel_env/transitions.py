"""What single games remember: the positions that come again, with their masks and what each move leads to.

In one game at a time nearly all of a ply goes into calls of NumPy on tiny arrays, whose results depend on the position
alone; and the first positions of a game, or all of a small game, come again and again. The specification of
``States.after`` is ``State(rules, rules.play(state.position, action))``: whether a state is remembered changes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic

import numpy as np
from numpy.typing import NDArray

from numduel_env.batch import BoolArray, PositionT

if TYPE_CHECKING:
    from numduel_env.rules import Rules

BYTES = 16_000_000
"""What the states of one game may take of memory, at most."""

BYTES_OF_STATE = 1_000
BYTES_OF_MOVE = 60
"""A state without its arrays, and its entries for each action."""


KINDS_OF_OBSERVATION = 4
"""With or without lookahead, by the mover or by the waiting seat; see ``EnvBase``."""


class State(Generic[PositionT]):
    """A position of one game with its mask; whether it is the end, and then its value to the mover.

    ``after`` holds what is remembered of the moves, and ``observations`` what environments have made of the position.
    They are None in a state that is not remembered itself; one that is belongs to many games, and is read-only.
    """

    __slots__ = ("_actions", "after", "legal", "observations", "over", "position", "value")

    def __init__(self, rules: Rules[PositionT], position: PositionT) -> None:
        self.position = position
        legal: BoolArray = rules.legal(position)
        self.legal = legal
        # not legal.any(), without going through NumPy's reductions
        self.over = b"\1" not in legal.tobytes()
        self.value = int(rules.value(position)) if self.over else 0
        self.after: dict[int, State[PositionT] | None] | None = None
        self.observations: list[NDArray[np.float32] | None] | None = None
        self._actions: list[int] | None = None

    @property
    def actions(self) -> list[int]:
        """The legal actions."""
        if self._actions is None:
            self._actions = self.legal.nonzero()[0].tolist()
        return self._actions


class States(Generic[PositionT]):
    """The remembered states of one game, as many as ``BYTES`` allow; nothing is forgotten.

    A state is remembered when a remembered one leads to it for the second time. So what comes but once, which are
    nearly all the positions of a large game, takes neither time nor room. Rules hold their states, and not the other
    way round: both go when nobody plays by the rules any more.
    """

    def __init__(self, rules: Rules[PositionT]) -> None:
        self._room = BYTES
        self._known: dict[bytes, State[PositionT]] = {}
        self.start = State(rules, rules.initial())
        self._remember(self.start, _key(self.start.position))

    def at(self, rules: Rules[PositionT], position: PositionT) -> State[PositionT]:
        """Return the state of a position; it shares no array with what was given."""
        own = position._make(np.copy(field)[()] for field in position)
        return self._known.get(_key(own)) or State(rules, own)

    def after(self, rules: Rules[PositionT], state: State[PositionT], action: int) -> State[PositionT]:
        """Return the state after a legal action; the given one is remembered."""
        followers = state.after
        assert followers is not None
        found = followers.get(action)
        if found is None:
            found = State(rules, rules.play(state.position, action))
            if action not in followers:
                followers[action] = None
            else:
                key = _key(found.position)
                found = self._known.get(key) or found
                if found.after is not None or self._remember(found, key):
                    followers[action] = found
        return found

    def keep(self, state: State[Any], kind: int, observation: NDArray[np.float32]) -> None:
        """Remember an observation of a remembered state, if there is room."""
        if state.observations is not None and self._take(observation.nbytes):
            state.observations[kind] = observation

    def _remember(self, state: State[PositionT], key: bytes) -> bool:
        """Remember a state if there is room, and return whether there was."""
        arrays = 2 * len(key) + len(state.legal)  # the key is as long as the position
        if not self._take(BYTES_OF_STATE + BYTES_OF_MOVE * len(state.legal) + arrays):
            return False
        for shared in (*state.position, state.legal):
            if isinstance(shared, np.ndarray):
                shared.setflags(write=False)
        state.after, state.observations = {}, [None] * KINDS_OF_OBSERVATION
        self._known[key] = state
        return True

    def _take(self, room: int) -> bool:
        """Take some of the room if there is enough, and return whether there was."""
        if room > self._room:
            return False
        self._room -= room
        return True


def _key(position: Any) -> bytes:
    return b"".join([np.asarray(field).tobytes() for field in position])
