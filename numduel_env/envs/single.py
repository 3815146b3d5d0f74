"""The Gymnasium environment: one learner against an opponent that answers inside ``step``."""

from __future__ import annotations

import copy
from typing import Any

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray

from numduel_env.agent import AgentLike, BadAnswer, as_player
from numduel_env.batch import BoolArray
from numduel_env.duel import Duel
from numduel_env.envs.base import RENDER_MODES, EnvBase, Info, SeatDraw
from numduel_env.games import GameSpec


class NumduelEnv(gymnasium.Env[Any, Any], EnvBase):
    """A game as the learner sees it; rewards are always the learner's own.

    ``opponent`` is an agent by name, an agent itself, or a factory that is called with the rules. ``seat`` is
    ``"first"``, ``"second"`` or ``"random"`` (drawn anew by every reset). ``info`` holds ``action_mask`` (int8), the
    learner's ``seat``, whether the game is ``over``, and whether an ``illegal`` action ended it.

    With ``opponent="self"`` the learner plays both seats, and every step is one ply: observation, mask and ``seat`` are
    those of the player who moves, and the reward goes to the player who has just moved. ``seat`` plays no part then.

    The opponent may end the game before the learner's first move. Then ``reset`` returns the finished position with an
    all-zero mask and ``info["over"]`` True, and the next ``step`` ignores its action and returns the reward.
    """

    metadata: Info = {"render_modes": RENDER_MODES, "render_fps": 1}

    def __init__(
        self,
        game: str | GameSpec,
        render_mode: str | None = None,
        *,
        opponent: AgentLike = "random",
        seat: str = "random",
        illegal: str = "lose",
        lookahead: bool = False,
        **params: Any,
    ) -> None:
        self._set_up(game, render_mode, illegal, lookahead, params)
        self.opponent = None if opponent == "self" else self._make_opponent(opponent)
        self._opponent = as_player(self.opponent) if self.opponent else None
        self._draw_seats = SeatDraw(seat)
        self.observation_space = self._make_observation_box()
        self.action_space = self._make_action_space()
        self._duel: Duel[Any] | None = None
        self._seat = 0
        self._ended = True

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[NDArray[np.float32], Info]:
        """Start a game, after ``options["moves"]`` (numbers) if given."""
        duel = self._opened(options)
        super().reset(seed=seed)
        self._duel = duel
        self._seat = int(self._draw_seats(1, self.np_random)[0])
        self._ended = True
        if self.render_mode == "human":
            self.render()
        self._answer(duel)
        self._ended = False
        return self._observation(duel), self._info(duel)

    def step(self, action: Any) -> tuple[NDArray[np.float32], float, bool, bool, Info]:
        duel = self._duel
        if duel is None:
            raise ResetNeeded("Cannot call env.step() before calling env.reset()")
        if self._ended:
            raise ResetNeeded("Cannot call env.step() after the end of the game: call env.reset() first")
        action = self._checked_action(action)
        if not duel.finished:
            self._refuse_illegal(duel, action)
            # Should the opponent fail, the game is out of turn and can only be reset.
            self._ended = True
            if self._opponent is None:
                self._seat = duel.seat
            self._play(duel, action)
            self._answer(duel)
        self._ended = duel.finished
        reward = float(duel.payoff[self._seat])
        return self._observation(duel), reward, duel.over, duel.truncated, self._info(duel)

    @property
    def duel(self) -> Duel[Any]:
        """The game in progress, as a copy: whatever is done to it changes nothing here."""
        if self._duel is None:
            raise ResetNeeded("There is no duel before env.reset()")
        return copy.deepcopy(self._duel)

    def _answer(self, duel: Duel[Any]) -> None:
        """Let the opponent play if it is to move."""
        if self.opponent is None or self._opponent is None or duel.finished or duel.seat == self._seat:
            return
        try:
            action = self._opponent.move(duel, self.np_random)
        except BadAnswer as wrong:
            raise self._blamed(self.opponent, wrong.reason) from wrong
        if not 0 <= action < self.action_count:
            raise self._blamed(self.opponent, self._no_action(action))
        self._play(duel, action)

    def _play(self, duel: Duel[Any], action: int) -> None:
        duel.play(action)
        if self.render_mode == "human":
            self.render()

    def _observation(self, duel: Duel[Any]) -> NDArray[np.float32]:
        return self._observed(duel, self._opponent is not None and len(duel.actions) & 1 != self._seat)

    def _info(self, duel: Duel[Any]) -> Info:
        return {
            "action_mask": duel.legal.astype(np.int8),
            "seat": duel.seat if self._opponent is None else self._seat,
            "over": duel.finished,
            "illegal": duel.offence is not None,
        }

    def action_masks(self) -> BoolArray:
        """Return which actions are legal now, as MaskablePPO asks for it."""
        if self._duel is None:
            raise ResetNeeded("Cannot call env.action_masks() before calling env.reset()")
        return self._duel.legal.copy()

    def render(self) -> Any:
        if self._duel is None:
            raise ResetNeeded("Cannot call env.render() before calling env.reset()")
        return self._rendered(self._duel)
