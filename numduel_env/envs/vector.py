"""The native vector environment: many games in one batch, against an opponent or in self-play."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from numduel_env.agent import AgentLike, BadAnswer, ask
from numduel_env.batch import BoolArray, take_rows
from numduel_env.duel import Duel
from numduel_env.duels import Duels, Openings
from numduel_env.envs.base import EnvBase, Info, SeatDraw
from numduel_env.games import GameSpec
from numduel_env.rules import whole_number

Rows = NDArray[np.intp]

MOST_BYTES = 4_000_000_000
"""The observations and masks of all games take at most this much memory."""

MOST_PICTURES = 64
"""No more games are rendered: each is a picture of its own."""


class NumduelVectorEnv(VectorEnv[NDArray[np.float32], NDArray[np.int64], NDArray[Any]], EnvBase):
    """``num_envs`` games side by side; each row behaves like the single environment.

    ``opponent`` is an agent as in the single environment, or ``"self"``: then every step is one ply, and the
    observation, the mask and the reward are those of the player who moves (the reward goes to the player who has just
    moved). ``infos`` holds ``action_mask`` (int8), ``seat`` (the learner's; in self-play the mover's), ``over`` and
    ``illegal`` for every row.

    ``autoreset_mode`` is one of Gymnasium's. NEXT_STEP: the row of a finished game shows its last position with an
    all-zero mask; the next step ignores its action, starts a new game and gives reward 0. SAME_STEP: the row shows the
    new game already, and ``infos["final_obs"]`` and ``infos["final_info"]`` hold the end of the old one (all-zero mask)
    where ``infos["_final_obs"]`` is True. DISABLED: ``reset(options={"reset_mask": ...})`` starts new games.

    ``random_openings`` is the share of games that may start after some random legal plies (one to half of
    ``max_plies``); a game whose first random ply would end it starts without. A learner then sees more of the game than
    the lines it prefers.

    With ``render_mode="rgb_array"``, which at most ``MOST_PICTURES`` games may have, ``render`` returns a tuple of
    pictures, one for each game, as Gymnasium's vector wrappers expect it.

    As in the single environment, a game may be over before the learner's first move: its row has an all-zero mask and
    ``infos["over"]`` True, and the next step ignores its action and brings the reward.
    """

    def __init__(
        self,
        game: str | GameSpec,
        num_envs: int = 1,
        *,
        opponent: AgentLike = "random",
        seat: str = "random",
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        random_openings: float = 0.0,
        render_mode: str | None = None,
        illegal: str = "lose",
        lookahead: bool = False,
        **params: Any,
    ) -> None:
        self._set_up(game, render_mode, illegal, lookahead, params)
        self.num_envs = whole_number("num_envs", num_envs, 1)
        of_game = 4 * self.observer.size + 4 * self.action_count
        if self.num_envs * of_game > MOST_BYTES:
            raise ValueError(f"{self.num_envs:,} games are too many: at most {MOST_BYTES // of_game:,} of this size")
        if render_mode not in (None, "rgb_array"):
            raise ValueError(f"the render_mode of a vector environment must be None or rgb_array, not {render_mode!r}")
        if render_mode and self.num_envs > MOST_PICTURES:
            raise ValueError(f"at most {MOST_PICTURES} games are rendered, not {self.num_envs}")
        try:
            self.autoreset_mode = AutoresetMode(autoreset_mode)
        except ValueError:
            modes = ", ".join(mode.value for mode in AutoresetMode)
            raise ValueError(f"autoreset_mode must be an AutoresetMode or {modes}, not {autoreset_mode!r}") from None
        if not isinstance(random_openings, int | float) or not 0 <= random_openings <= 1:
            raise ValueError(f"random_openings must be a share from 0 to 1, not {random_openings!r}")
        self.random_openings = float(random_openings)
        self.metadata = {"autoreset_mode": self.autoreset_mode, "render_modes": ["rgb_array"], "render_fps": 1}
        self.opponent = None if opponent == "self" else self._make_opponent(opponent)
        self._draw_seats = SeatDraw(seat)
        self.single_observation_space = self._make_observation_box()
        self.single_action_space = self._make_action_space()
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.duels: Duels[Any] = Duels(self.rules, self.num_envs)
        self._openings: Openings[Any] = Openings(self.rules, self.random_openings)
        self._boards: list[Duel[Any]] | None = [Duel(self.rules)] * self.num_envs if render_mode else None
        """The same games with their histories, which only pictures show."""
        self._seats = np.zeros(self.num_envs, np.int64)
        # Rows whose game has ended and been reported: they wait for a new one.
        self._waiting = np.zeros(self.num_envs, bool)
        self._has_reset = False
        self._all_rows = np.arange(self.num_envs)

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[NDArray[np.float32], Info]:
        """Start a game in every row, or where ``options["reset_mask"]`` says, after ``options["moves"]`` (numbers).

        The moves are for these games alone: those that follow by autoreset start from the beginning.
        """
        start = self._opened(options)
        rows = self._rows_to_reset((options or {}).get("reset_mask"))
        super().reset(seed=seed)
        if seed is not None:
            self._openings.clear()
        self._has_reset = False
        self._begin(rows, start)
        self._answer()
        self._has_reset = True
        return self.observe(), self._infos()

    def _rows_to_reset(self, mask: Any) -> Rows:
        if mask is None:
            return self._all_rows
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.shape != (self.num_envs,):
            raise ValueError(f"reset_mask must be a bool array of shape ({self.num_envs},), not {mask!r}")
        if not self._has_reset and not mask.all():
            raise ResetNeeded("The first reset() must start a game in every row")
        return np.flatnonzero(mask)

    def step(
        self, actions: NDArray[np.int64]
    ) -> tuple[NDArray[np.float32], NDArray[np.float64], BoolArray, BoolArray, Info]:
        if not self._has_reset:
            raise ResetNeeded("Cannot call env.step() before calling env.reset()")
        actions = self._checked_actions(actions)
        if self.autoreset_mode is AutoresetMode.DISABLED and self._waiting.any():
            raise ResetNeeded("Cannot call env.step() where a game has ended: reset those rows first")
        self._refuse_illegal_rows(actions)
        # Should the opponent fail, the games are out of turn and can only be reset.
        self._has_reset = False
        duels, mover, begun = self.duels, self.duels.seat, self._waiting.copy()
        finished = duels.finished
        self._play(actions, ~finished if finished.any() else None)
        self._begin(np.flatnonzero(begun))
        self._answer()

        # A new game that the opponent has ended at once is reported with the next step.
        ended = duels.finished & ~begun
        rows = np.flatnonzero(ended)
        seats, payoff = (mover if self.opponent is None else self._seats)[rows], duels.payoff[rows]
        reward = np.zeros(self.num_envs)
        reward[rows] = np.where(seats == 0, payoff, -payoff)
        terminated, truncated = duels.over & ended, duels.truncated & ended
        final: Info = {}
        if self.autoreset_mode is AutoresetMode.SAME_STEP:
            final = self._final(rows, ended)
            self._begin(rows)
            self._answer()
        else:
            self._waiting = ended
        self._has_reset = True
        return self.observe(), reward, terminated, truncated, self._infos() | final

    def _checked_actions(self, actions: Any) -> NDArray[np.int64]:
        """Return a batch of actions, or raise before anything changes."""
        batch, shape = np.asarray(actions), (self.num_envs,)
        if batch.dtype.kind not in "iu" or batch.shape != shape:
            raise ValueError(f"actions must be integers of shape {shape}, not {batch.dtype} of shape {batch.shape}")
        if batch.min() < 0 or batch.max() >= self.action_count:
            wrong = batch[(batch < 0) | (batch >= self.action_count)][0]
            raise ValueError(f"an action is an integer from 0 to {self.action_count - 1}, not {wrong}")
        return batch.astype(np.int64, copy=False)

    def _refuse_illegal_rows(self, actions: NDArray[np.int64]) -> None:
        """Raise for an illegal action if the option ``illegal`` says so."""
        if self.illegal != "raise":
            return
        offences = np.flatnonzero(~self.duels.finished & ~self.duels.legal[self._all_rows, actions])
        if len(offences):
            row = offences[0]
            number = self.rules.numbers[actions[row]]
            raise ValueError(f"action {actions[row]} in row {row} is illegal: {number} cannot be chosen now")

    def _answer(self) -> None:
        """Let the opponent play wherever it is to move."""
        if self.opponent is None:
            return
        duels = self.duels
        to_move = ~duels.finished & (duels.seat != self._seats)
        rows = np.flatnonzero(to_move)
        if not len(rows):
            return
        try:
            chosen = ask(self.opponent, duels.position, duels.legal, rows, self.np_random)
        except BadAnswer as wrong:
            raise self._blamed(self.opponent, wrong.reason) from wrong
        unknown = (chosen < 0) | (chosen >= self.action_count)
        if unknown.any():
            raise self._blamed(self.opponent, self._no_action(chosen[unknown][0]))
        actions = np.zeros(self.num_envs, np.int64)
        actions[rows] = chosen
        self._play(actions, to_move)

    def _play(self, actions: NDArray[np.int64], playing: BoolArray | None) -> None:
        """Play one ply in the games ``playing``, or in all."""
        self.duels.play(actions, playing)
        if self._boards is not None:
            for row in self._all_rows if playing is None else np.flatnonzero(playing):
                self._boards[row].play(int(actions[row]))

    def _begin(self, rows: Rows, start: Duel[Any] | None = None) -> None:
        """Start new games in ``rows``."""
        if not len(rows):
            return
        if self.random_openings and not (start and start.actions):
            openings = self._openings.begin(self.duels, rows, self.np_random)
        else:
            openings = np.tile(np.array(start.actions if start else [], np.int16), (len(rows), 1))
            self.duels.reset(rows, start)
        if self._boards is not None:
            for row, actions in zip(rows, openings):
                self._boards[row] = Duel(self.rules, actions[actions >= 0].tolist())
        self._seats[rows] = self._draw_seats(len(rows), self.np_random)
        self._waiting[rows] = False

    def _final(self, rows: Rows, ended: BoolArray) -> Info:
        """Return ``final_obs`` and ``final_info`` as Gymnasium has them; nothing if no game has ended."""
        if not len(rows):
            return {}
        seats = self._learner_seats()
        info = {
            "action_mask": np.zeros((self.num_envs, self.action_count), np.int8),
            "seat": np.where(ended, seats, 0),
            "illegal": self.duels.illegal & ended,
            "over": ended.copy(),
        }
        observations = np.zeros(self.observation_space.shape or (), np.float32)
        observations[rows] = self.observe(rows)
        return labelled({"final_obs": observations, "final_info": labelled(info, ended)}, ended)

    def _learner_seats(self) -> NDArray[np.int64]:
        """Return whose ``seat`` the infos name: the learner's, in self-play the mover's."""
        return self.duels.seat if self.opponent is None else self._seats.copy()

    def _infos(self) -> Info:
        info = {
            "action_mask": self.duels.legal.copy().view(np.int8),
            "seat": self._learner_seats(),
            "over": self.duels.finished,
            "illegal": self.duels.illegal.copy(),
        }
        return labelled(info, np.ones(self.num_envs, bool))

    def observe(self, rows: Rows | None = None) -> NDArray[np.float32]:
        """Return what the learners (in self-play: the movers) observe in all rows, or in ``rows`` that are finished.

        A subclass that observes something else overrides this and ``_make_observation_box``.
        """
        position = self.duels.position if rows is None else take_rows(self.duels.position, rows)
        legal = self.duels.legal if rows is None and self.observer.lookahead else None
        observations = self.observer(position, legal, (self.num_envs if rows is None else len(rows),))
        if self.opponent is not None and self.rules.turned(position) is not position:
            # A game that the learner's own move has ended stands as the opponent would see it.
            away = self.duels.seat != self._seats
            turned = np.flatnonzero(away if rows is None else away[rows])
            if len(turned):
                waiting = self.rules.turned(take_rows(position, turned))
                observations[turned] = self.observer(waiting, None, (len(turned),))
        return observations

    def render(self) -> tuple[NDArray[np.uint8], ...] | None:
        if not self._has_reset:
            raise ResetNeeded("Cannot call env.render() before calling env.reset()")
        if self._boards is None:
            return None
        from numduel_env.picture import draw

        return tuple(draw(self.game, board) for board in self._boards)

    def action_masks(self) -> BoolArray:
        """Return which actions are legal now in each row, as MaskablePPO asks for it."""
        if not self._has_reset:
            raise ResetNeeded("Cannot call env.action_masks() before calling env.reset()")
        return self.duels.legal.copy()


def labelled(info: Info, present: BoolArray) -> Info:
    """Return ``info`` with Gymnasium's companions ``_key``: in which rows the key means anything."""
    return info | {f"_{key}": present.copy() for key in info}
