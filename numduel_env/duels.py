"""Games in progress: :class:`Duel` is one with its history, :class:`Duels` is many side by side.

Both play by the same few words: an illegal action loses at once and leaves the position as it was; a game that lasts
``max_plies`` is truncated and worth nothing to anybody. Only here is the sign of a value turned from the player to
move to the player who moved.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from numduel_env.batch import random_legal
from numduel_env.rules import BoolArray, Position, Rules, put_rows, take_rows


class Duel:
    """One game: its position, its history, and how it ended.

    ``finished`` means over or truncated: nobody moves any more. ``payoff`` is what the game was worth to (seat 0,
    seat 1). ``offence`` is the illegal action that ended it, if one did.
    """

    def __init__(self, rules: Rules, actions: Iterable[int] = ()) -> None:
        self.rules = rules
        self.actions: list[int] = []
        self.position: Position
        self.legal: BoolArray
        self.position, self.legal = rules.start
        self.over = False
        self.truncated = False
        self.finished = False
        self.offence: int | None = None
        self.payoff = (0, 0)
        for action in actions:
            self.play(action)

    @property
    def seat(self) -> int:
        """The seat whose turn it is: 0 opens."""
        return len(self.actions) & 1

    @property
    def winner(self) -> int | None:
        """The seat that won, or None: not over, drawn or truncated."""
        return None if self.payoff == (0, 0) else self.payoff.index(1)

    @property
    def moves(self) -> list[int]:
        """The numbers played so far."""
        return [int(self.rules.numbers[action]) for action in self.actions]

    def before(self) -> Duel:
        """Return the duel as it stood before its last ply."""
        return Duel(self.rules, self.actions[:-1])

    def play(self, action: int) -> None:
        """Play one ply for the player to move."""
        if self.finished:
            raise ValueError("the game is over")
        if not self.legal[action]:
            self.offence = action
            self.legal = np.zeros_like(self.legal)
            self._pay(self.seat, -1)
            return
        rules = self.rules
        position = self.position = rules.play(self.position, action)
        legal = self.legal = rules.legal(position)
        self.actions.append(action)
        if not np.count_nonzero(legal):
            self._pay(1 - self.seat, -int(rules.value(position)))
        elif len(self.actions) >= rules.max_plies:
            self.truncated = self.finished = True
            self.legal = np.zeros_like(legal)

    def __deepcopy__(self, memo: dict[int, Any]) -> Duel:
        """Return a duel that goes on by itself; positions and masks are never written to, so both may hold them."""
        twin = Duel.__new__(Duel)
        twin.__dict__.update(self.__dict__, actions=self.actions.copy())
        return twin

    def _pay(self, mover: int, value: int) -> None:
        self.over = self.finished = True
        self.payoff = (-value, value) if mover else (value, -value)


class Plies(NamedTuple):
    """What one ply in each of several duels led to; ``value`` is its worth to the player who made it."""

    over: BoolArray
    truncated: BoolArray
    illegal: BoolArray
    value: NDArray[np.int8]

    @classmethod
    def undecided(cls, count: int) -> Plies:
        """Return plies that led to nothing yet in ``count`` duels."""
        over, truncated, illegal = (np.zeros(count, bool) for _ in range(3))
        return cls(over, truncated, illegal, np.zeros(count, np.int8))

    @property
    def finished(self) -> BoolArray:
        """Where nobody moves any more."""
        return self.over | self.truncated


UNDECIDED = Plies(np.bool_(False), np.bool_(False), np.bool_(False), np.int8(0))  # type: ignore[arg-type]


EVERYWHERE = np.bool_(True)


class Duels:
    """``count`` games in progress side by side; ``plies`` counts the plies played in each, ``total_plies`` all ever."""

    def __init__(self, rules: Rules, count: int) -> None:
        self.rules = rules
        self.count = count
        self.position: Position = rules.initial((count,))
        self.plies = np.zeros(count, np.int64)
        self.total_plies = 0
        # Games that were stopped (by an illegal action or truncation) in a position where the rules would go on.
        self._stopped = np.zeros(count, bool)
        self._mask_starts = np.arange(count) * len(rules.numbers)

    @property
    def seat(self) -> NDArray[np.int64]:
        """The seat whose turn it is in each game."""
        return self.plies & 1

    @property
    def legal(self) -> BoolArray:
        """The mask of every game, all False where nobody moves any more; a fresh array."""
        legal = self.rules.legal(self.position)
        return legal & ~self._stopped[:, None] if self._stopped.any() else legal.copy()

    def reset(self, rows: NDArray[np.intp], start: Duel | None = None) -> None:
        """Start the games ``rows`` anew, or from where the unfinished duel ``start`` stands."""
        start = Duel(self.rules) if start is None else start
        put_rows(self.position, rows, start.position)
        self.plies[rows] = len(start.actions)
        self._stopped[rows] = False

    def play(self, actions: NDArray[Any], playing: BoolArray | None = None) -> Plies:
        """Play one ply in each of the games (or those ``playing``), none of which may be finished.

        ``actions`` and the answer have an entry for every game; where a game is not playing they mean nothing and zero.
        """
        if playing is None:
            self.position, self.plies, plies = self._advance(self.position, self.plies, actions)
            self.total_plies += self.count
        elif 2 * (count := int(np.count_nonzero(playing))) > self.count:
            # Cheaper than taking most games out and putting them back: play everywhere, then undo the rest.
            before, idle = self.position, np.flatnonzero(~playing)
            self.position, self.plies, plies = self._advance(before, self.plies, actions, playing)
            put_rows(self.position, idle, take_rows(before, idle))
            self.total_plies += count
        else:
            rows = np.flatnonzero(playing)
            after, counts, some = self._advance(take_rows(self.position, rows), self.plies[rows], actions[rows])
            put_rows(self.position, rows, after)
            self.plies[rows] = counts
            plies = Plies.undecided(self.count)
            put_rows(plies, rows, some)
            self.total_plies += count
        self._stopped |= plies.illegal | plies.truncated
        return plies

    def play_randomly(self, wanted: NDArray[np.int64], generator: np.random.Generator) -> NDArray[np.int16]:
        """Play up to ``wanted`` random legal plies in each game, stopping short of one that would finish it.

        Returns the actions ``[count, most wanted]``, -1 where there are none.
        """
        wanted = wanted.copy()
        actions = np.full((self.count, wanted.max(initial=0)), -1, np.int16)
        for ply in range(actions.shape[1]):
            playing = np.flatnonzero(wanted > ply)
            before = take_rows(self.position, playing)
            chosen = random_legal(self.rules.legal(before), generator)
            ending = self.rules.over(self.rules.play(before, chosen)) | (
                self.plies[playing] + 1 >= self.rules.max_plies
            )
            wanted[playing[ending]] = ply
            if ending.all():
                break
            actions[playing[~ending], ply] = chosen[~ending]
            self.play(actions[:, ply].clip(0).astype(np.int64), wanted > ply)
        return actions

    def open_randomly(self, rows: NDArray[np.intp], share: float, generator: np.random.Generator) -> NDArray[np.int16]:
        """Play random openings in a ``share`` of the new games ``rows``: one to half of ``max_plies`` plies each.

        Returns the actions as ``play_randomly`` does.
        """
        opened = rows[generator.random(len(rows)) < share]
        plies = np.zeros(self.count, np.int64)
        plies[opened] = generator.integers(1, max(self.rules.max_plies // 2, 1) + 1, len(opened))
        return self.play_randomly(plies, generator)

    def _advance(
        self,
        position: Position,
        counts: NDArray[np.int64],
        actions: NDArray[Any],
        playing: BoolArray | np.bool_ = EVERYWHERE,
    ) -> tuple[Position, NDArray[np.int64], Plies]:
        """Return the positions and ply counts after ``actions``, and what these led to where games are ``playing``."""
        legal = self.rules.legal(position)
        illegal = playing & ~legal.ravel().take(self._mask_starts[: len(actions)] + actions)
        after = self.rules.play(position, actions)
        counts = counts + playing
        over = playing & self.rules.over(after)
        value = -self.rules.value(after) * over
        truncated = playing & ~over & (counts >= self.rules.max_plies)
        if illegal.any():
            offences = np.flatnonzero(illegal)
            put_rows(after, offences, take_rows(position, offences))
            counts[offences] -= 1
            over[offences], truncated[offences], value[offences] = True, False, -1
        return after, counts, Plies(over, truncated, illegal, value)
