"""Many games in progress side by side."""

from __future__ import annotations

from typing import Any, Generic

import numpy as np
from numpy.typing import NDArray

from numduel_env.batch import BoolArray, PositionT, put_rows, random_legal, take_rows
from numduel_env.duel import Duel
from numduel_env.rules import Rules, whole_number


class Duels(Generic[PositionT]):
    """``count`` games side by side, which start, go on and end by the same rules as a :class:`Duel`.

    All arrays have one entry or row per game. ``position`` and ``legal`` are those of the player to move; the mask is
    computed once per ply and all False where the game is finished. ``plies`` were played in each game, ``payoff`` is
    that of seat 0. Hand out copies: the arrays go on being used.
    """

    def __init__(self, rules: Rules[PositionT], count: int) -> None:
        self.rules = rules
        self.count = count = whole_number("count", count, 0)
        self.position: PositionT = rules.initial((count,))
        self.legal: BoolArray = rules.legal(self.position)
        self.plies = np.zeros(count, np.int64)
        self.over, self.truncated, self.illegal = (np.zeros(count, bool) for _ in range(3))
        self.payoff = np.zeros(count, np.int8)
        self.total_plies = 0
        """The plies played in all games, those before a reset included."""
        self._mask_starts = np.arange(count) * len(rules.numbers)

    @property
    def seat(self) -> NDArray[np.int64]:
        """The seat whose turn it is in each game."""
        return self.plies & 1

    @property
    def finished(self) -> BoolArray:
        """Where nobody moves any more."""
        return self.over | self.truncated

    def play(self, actions: NDArray[Any], playing: BoolArray | None = None) -> None:
        """Play one ply in each game, or in those ``playing``; none of these may be finished.

        An illegal action loses at once and leaves the position as it was. Where a game is not playing, ``actions``
        holds any action, which changes nothing.
        """
        actions = np.asarray(actions)
        if actions.dtype.kind not in "iu" or actions.shape != (self.count,):
            kind = f"{actions.dtype} of shape {actions.shape}"
            raise ValueError(f"actions must be whole numbers of shape ({self.count},), not {kind}")
        if actions.min(initial=0) < 0 or actions.max(initial=0) >= len(self.rules.numbers):
            raise ValueError(f"actions must be from 0 to {len(self.rules.numbers) - 1}")
        rules, before, mover = self.rules, self.position, self.seat
        legal = self.legal.ravel().take(self._mask_starts + actions)
        moved = legal if playing is None else legal & playing
        # To play everywhere and then undo is cheaper than to take out the games that go on and to put them back.
        position = self.position = rules.play(before, actions)
        ended = rules.over(position) & moved
        self.plies += moved
        self.total_plies += self.count if playing is None else int(np.count_nonzero(playing))
        if not moved.all():
            idle = np.flatnonzero(~moved)
            put_rows(position, idle, take_rows(before, idle))
            offences = idle if playing is None else idle[playing[idle]]
            if len(offences):
                self.forfeit(offences)
        self.legal = rules.legal(position)
        rows = np.flatnonzero(ended)
        if len(rows):
            self.over[rows] = True
            value = rules.value(take_rows(position, rows))
            # The next mover is the seat that did not play the last ply.
            self.payoff[rows] = np.where(mover[rows] == 1, value, -value)
        late = self.plies >= rules.max_plies
        if late.any():
            self.truncated |= late & ~self.over
        stopped = self.truncated | self.illegal
        if stopped.any():
            self.legal = self.legal & ~stopped[:, None]

    def forfeit(self, rows: NDArray[np.intp]) -> None:
        """Let the player to move lose the unfinished games ``rows``, as by an illegal action."""
        self.payoff[rows] = 2 * self.seat[rows] - 1
        self.over[rows] = self.illegal[rows] = True
        self.legal = self.legal.copy()
        self.legal[rows] = False

    def reset(self, rows: NDArray[np.intp], start: Duel[PositionT] | None = None) -> None:
        """Start the games ``rows`` anew, or from where the unfinished duel ``start`` stands."""
        start = Duel(self.rules) if start is None else start
        put_rows(self.position, rows, start.position)
        self._renew(rows, start.legal, len(start.actions))

    def put(self, rows: NDArray[np.intp], games: Duels[PositionT], theirs: NDArray[np.intp]) -> None:
        """Put the unfinished games ``theirs`` of ``games`` in the place of the games ``rows``."""
        plies = games.plies[theirs]
        put_rows(self.position, rows, take_rows(games.position, theirs))
        self._renew(rows, games.legal[theirs], plies)
        self.total_plies += int(plies.sum())

    def _renew(self, rows: NDArray[np.intp], legal: BoolArray, plies: NDArray[np.int64] | int) -> None:
        # The mask may be a part of the position, or shared by the rules.
        self.legal = self.legal.copy()
        self.legal[rows], self.plies[rows] = legal, plies
        self.over[rows] = self.truncated[rows] = self.illegal[rows] = False
        self.payoff[rows] = 0

    def play_randomly(self, wanted: NDArray[np.int64], generator: np.random.Generator) -> NDArray[np.int16]:
        """Play up to ``wanted`` random legal plies in each game, stopping short of one that would finish it.

        Returns the actions ``[count, most wanted]``, -1 where there are none.
        """
        wanted = wanted.copy()
        actions = np.full((self.count, wanted.max(initial=0)), -1, np.int16)
        for ply in range(actions.shape[1]):
            playing = np.flatnonzero(wanted > ply)
            chosen = random_legal(self.legal[playing], generator)
            after = self.rules.play(take_rows(self.position, playing), chosen)
            ending = self.rules.over(after) | (self.plies[playing] + 1 >= self.rules.max_plies)
            wanted[playing[ending]] = ply
            if ending.all():
                break
            actions[playing[~ending], ply] = chosen[~ending]
            self.play(actions[:, ply].clip(0).astype(np.int64), wanted > ply)
        return actions

    def open_randomly(self, share: float, generator: np.random.Generator) -> NDArray[np.int16]:
        """Play random openings in up to a ``share`` of the games: one to half of ``max_plies`` plies each.

        A game whose first random ply would finish it stays unopened. Returns the actions as ``play_randomly`` does.
        """
        opened = generator.random(self.count) < share
        plies = np.zeros(self.count, np.int64)
        plies[opened] = generator.integers(1, max(self.rules.max_plies // 2, 1) + 1, int(opened.sum()))
        return self.play_randomly(plies, generator)


class Openings(Generic[PositionT]):
    """A stock of games that ``Duels.open_randomly`` has begun: many take hardly longer than one."""

    AT_ONCE = 256

    def __init__(self, rules: Rules[PositionT], share: float) -> None:
        self.rules, self.share = rules, share
        self._left = np.arange(0)
        self._games: Duels[PositionT]
        self._actions: NDArray[np.int16]

    def clear(self) -> None:
        """Forget the games that are left."""
        self._left = self._left[:0]

    def begin(
        self, duels: Duels[PositionT], rows: NDArray[np.intp], generator: np.random.Generator
    ) -> NDArray[np.int16]:
        """Begin new games in ``rows`` of ``duels``, and return their actions as ``open_randomly`` does."""
        if len(self._left) < len(rows):
            self._games = Duels(self.rules, max(len(rows), self.AT_ONCE))
            self._actions = self._games.open_randomly(self.share, generator)
            self._left = np.arange(self._games.count)
        taken, self._left = self._left[: len(rows)], self._left[len(rows) :]
        duels.put(rows, self._games, taken)
        return self._actions[taken]
