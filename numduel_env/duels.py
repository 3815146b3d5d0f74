"""Many games in progress side by side."""

from __future__ import annotations

from typing import Any, Generic

import numpy as np
from numpy.typing import NDArray

from numduel_env.batch import BoolArray, PositionT, put_rows, random_legal, take_rows
from numduel_env.duel import Duel
from numduel_env.rules import Rules


class Duels(Generic[PositionT]):
    """``count`` games side by side, which start, go on and end by the same rules as a :class:`Duel`.

    All arrays have one entry or row per game. ``position`` and ``legal`` are those of the player to move; the mask is
    computed once per ply and all False where the game is finished. ``plies`` were played in each game, ``payoff`` is
    that of seat 0. Hand out copies: the arrays go on being used.
    """

    def __init__(self, rules: Rules[PositionT], count: int) -> None:
        self.rules = rules
        self.count = count
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
        rules, before, mover = self.rules, self.position, self.seat
        going = np.True_ if playing is None else playing
        legal = self.legal.ravel().take(self._mask_starts + actions)
        moved = legal & going
        # To play everywhere and then undo is cheaper than to take out the games that go on and to put them back.
        position = rules.play(before, actions)
        idle = np.flatnonzero(~moved)
        if len(idle):
            put_rows(position, idle, take_rows(before, idle))
        self.position = position
        self.plies = self.plies + moved
        self.total_plies += self.count if playing is None else int(np.count_nonzero(playing))

        ended = moved & rules.over(position)
        truncated = moved & (self.plies >= rules.max_plies) & ~ended
        illegal = going & ~legal
        # The value is that to the next mover; an offender is still the mover, and has lost.
        value = np.where(illegal, np.int8(-1), -rules.value(position))
        self.payoff = np.where(ended | illegal, np.where(mover == 0, value, -value), self.payoff)
        self.over = self.over | ended | illegal
        self.truncated = self.truncated | truncated
        self.illegal = self.illegal | illegal
        self.legal = rules.legal(position)
        stopped = self.truncated | self.illegal
        if stopped.any():
            self.legal = self.legal & ~stopped[:, None]

    def forfeit(self, rows: NDArray[np.intp]) -> None:
        """Let the player to move lose the unfinished games ``rows`` without a move, as by an illegal action."""
        lost = np.zeros(self.count, bool)
        lost[rows] = True
        self.payoff = np.where(lost, 2 * self.seat - 1, self.payoff).astype(np.int8)
        self.over, self.illegal = self.over | lost, self.illegal | lost
        self.legal = self.legal & ~lost[:, None]

    def put(self, rows: NDArray[np.intp], games: Duels[PositionT]) -> None:
        """Put ``games`` in the place of the games ``rows``."""
        put_rows(self.position, rows, games.position)
        self.legal = self.legal.copy()
        self.legal[rows] = games.legal
        for name in ("plies", "over", "truncated", "illegal", "payoff"):
            values = getattr(self, name).copy()
            values[rows] = getattr(games, name)
            setattr(self, name, values)
        self.total_plies += games.total_plies

    @classmethod
    def starting_from(cls, start: Duel[PositionT], count: int) -> Duels[PositionT]:
        """Return games that all stand where the unfinished duel ``start`` does."""
        duels = cls(start.rules, count)
        if start.actions:
            everywhere = np.arange(count)
            put_rows(duels.position, everywhere, start.position)
            duels.legal = start.rules.legal(duels.position)
            duels.plies[:] = len(start.actions)
        return duels

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
