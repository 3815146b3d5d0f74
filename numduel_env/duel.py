"""One game in progress, with its history: what a person or a program holds in hand."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Generic, NamedTuple

import numpy as np

from numduel_env.batch import BoolArray, PositionT
from numduel_env.rules import Rules, whole_number
from numduel_env.transitions import State

if TYPE_CHECKING:
    from numduel_env.games import GameSpec


class Payoff(NamedTuple):
    """What a game brought to seat 0 and to seat 1; zero-sum."""

    first: int
    second: int


UNDECIDED = Payoff(0, 0)


class Duel(Generic[PositionT]):
    """One game: its position, its history, and how it ended.

    >>> from numduel_env import Duel, find_game
    >>> duel = Duel(find_game("divider-duel").make_rules())
    >>> duel.push(4)
    >>> duel.legal_numbers
    [2, 3, 5, 6, 7, 9]
    >>> duel
    Duel(Sieve 2..9, moves [4], seat 1 to move)

    ``position`` and ``legal`` are those of the player to move. ``over`` means ended by the rules or by an illegal
    action, ``truncated`` that ``max_plies`` were played; ``finished`` is either: nobody moves any more. ``payoff`` is
    (0, 0) until the game is over. ``offence`` is the illegal action that ended it, if one did.
    """

    position: PositionT
    legal: BoolArray
    state: State[PositionT]
    """The position with all that is remembered of it; not for players."""

    def __init__(self, rules: Rules[PositionT], actions: Iterable[int] = ()) -> None:
        self.rules = rules
        self.actions: list[int] = []
        self._enter(rules.remembered.start)
        self.over = False
        self.truncated = False
        self.finished = False
        self.offence: int | None = None
        self.payoff = UNDECIDED
        for action in actions:
            self.play(action)

    @classmethod
    def from_position(cls, rules: Rules[PositionT], position: PositionT) -> Duel[PositionT]:
        """Return a duel in which seat 0 is to move in an unfinished ``position``; plies count from here."""
        duel = cls(rules)
        duel._enter(rules.remembered.at(rules, position))
        return duel

    def _enter(self, state: State[PositionT]) -> None:
        """Go to another state."""
        self.state, self.position, self.legal = state, state.position, state.legal

    @property
    def seat(self) -> int:
        """The seat whose turn it is: 0 opens."""
        return len(self.actions) & 1

    @property
    def winner(self) -> int | None:
        """The seat that won, or None: not over, drawn or truncated."""
        first, second = self.payoff
        return None if first == second else int(second > first)

    @property
    def moves(self) -> list[int]:
        """The numbers played so far."""
        return [int(self.rules.numbers[action]) for action in self.actions]

    @property
    def legal_numbers(self) -> list[int]:
        """The numbers that may be chosen now; none when the game is finished."""
        numbers: list[int] = self.rules.numbers[self.legal].tolist()
        return numbers

    def before(self) -> Duel[PositionT]:
        """Return the duel as it stood before its last ply."""
        return Duel(self.rules, self.actions[:-1])

    def push(self, number: int) -> None:
        """Play a number for the player to move, or raise a ``ValueError`` if it cannot be chosen now."""
        if number not in self.legal_numbers:
            why = "the game is over" if self.finished else f"the legal numbers are {self.legal_numbers}"
            raise ValueError(f"{number!r} cannot be chosen: {why}")
        self.play(int(np.searchsorted(self.rules.numbers, number)))

    def play(self, action: int) -> None:
        """Play one ply for the player to move; an illegal action loses at once and leaves the position as it was."""
        if self.finished:
            raise ValueError("the game is over")
        if type(action) is not int:
            action = whole_number("an action", action, 0)
        state = self.state
        after = state.after.get(action) if state.after is not None else None
        if after is None:
            if not 0 <= action < len(state.legal):
                raise ValueError(f"an action is an integer from 0 to {len(state.legal) - 1}, not {action!r}")
            if not state.legal[action]:
                self.offence = action
                self.legal = np.zeros_like(self.legal)
                self._end(self.seat, -1)
                return
            rules = self.rules
            if state.after is None:
                after = State(rules, rules.play(state.position, action))
            else:
                after = rules.remembered.after(rules, state, action)
        # What _enter does, without the call: this runs every ply.
        self.state, self.position, self.legal = after, after.position, after.legal
        self.actions.append(action)
        if after.over:
            self._end(self.seat, after.value)
        elif len(self.actions) >= self.rules.max_plies:
            self.truncated = self.finished = True
            self.legal = np.zeros_like(after.legal)

    def _end(self, mover: int, value: int) -> None:
        """End the game, which has this value to the seat that was to move."""
        self.over = self.finished = True
        self.payoff = Payoff(-value, value) if mover else Payoff(value, -value)

    def __deepcopy__(self, memo: dict[int, Any]) -> Duel[PositionT]:
        """Return a duel that shares nothing with this one but the rules: whatever is done to it changes no game."""
        return self.copy_by(self.rules)

    def copy_by(self, rules: Rules[PositionT]) -> Duel[PositionT]:
        """Return a duel that shares nothing with this one, by ``rules`` that are alike."""
        twin = Duel.__new__(Duel)
        twin.__dict__.update(self.__dict__, rules=rules, actions=self.actions.copy(), legal=self.legal.copy())
        twin.position, copied = (self.position._make(np.copy(field)[()] for field in self.position) for _ in range(2))
        twin.state = State(rules, copied)
        return twin

    def __getstate__(self) -> dict[str, object]:
        """Return what is pickled: not what the rules remember."""
        return {name: value for name, value in vars(self).items() if name != "state"}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        vars(self).update(saved)
        self.state = self.rules.remembered.at(self.rules, self.position)

    def __repr__(self) -> str:
        if not self.finished:
            state = f"seat {self.seat} to move"
        elif self.winner is None:
            state = "truncated" if self.truncated else "drawn"
        else:
            state = f"won by seat {self.winner}" + (
                "" if self.offence is None else ", the other played an illegal move"
            )
        return f"Duel({self.rules!r}, moves {self.moves}, {state})"


def replay(game: GameSpec, rules: Rules[PositionT], moves: Any) -> Duel[PositionT]:
    """Return the duel in which ``moves`` (numbers, not actions) have been played by ``rules``.

    Raises a ``ValueError`` that says which move cannot be played and why.
    """
    if isinstance(moves, str | bytes) or not isinstance(moves, Iterable):
        raise ValueError(f"moves must be a sequence of numbers, not {moves!r}")
    duel = Duel(rules)
    for place, move in enumerate(moves, start=1):
        if isinstance(move, bool | np.bool_) or not isinstance(move, int | np.integer):
            raise ValueError(f"move {place} must be a whole number, not {move!r}")
        number = int(move)
        if duel.finished:
            raise ValueError(f"move {place} ({number}) comes after the end of the game")
        if number not in duel.legal_numbers:
            raise ValueError(f"move {place} ({number}) is illegal: {game.wording.refusal(duel, number)}")
        duel.push(number)
    return duel
