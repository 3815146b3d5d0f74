"""The native vector face: many games in one batch, against an opponent or in self-play."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from numduel_env.duels import UNDECIDED, Duel, Duels, Plies
from numduel_env.envs.base import Face, SeatDraw
from numduel_env.games import GameSpec
from numduel_env.opponents import opponent_for
from numduel_env.rules import BoolArray, Policy, put_rows, take_rows, whole_number

Rows = NDArray[np.intp]


class Report:
    """What one step tells of its games: rewards and ends, and of games that begin anew at once their final data."""

    def __init__(self, count: int) -> None:
        self.reward = np.zeros(count)
        self.terminated = np.zeros(count, bool)
        self.truncated = np.zeros(count, bool)
        self._ended = np.zeros(count, bool)
        self._final: dict[str, NDArray[Any]] = {}

    def add_final(self, rows: Rows, observations: NDArray[np.float32], facts: dict[str, NDArray[Any]]) -> None:
        """Keep the end of the games in ``rows``."""
        self._ended[rows] = True
        for name, part in {"obs": observations, **facts}.items():
            if name not in self._final:
                self._final[name] = np.zeros((len(self._ended), *part.shape[1:]), part.dtype)
            self._final[name][rows] = part

    def finals(self, action_count: int) -> dict[str, Any]:
        """Return ``final_obs`` and ``final_info`` as Gymnasium has them; nothing if no game was kept."""
        if not self._final:
            return {}
        observations = self._final.pop("obs")
        # Nobody moves in a finished game.
        mask = np.zeros((len(self._ended), action_count), np.int8)
        info = {"action_mask": mask, **self._final, "over": self._ended.copy()}
        return labelled({"final_obs": observations, "final_info": labelled(info, self._ended)}, self._ended)


def labelled(infos: dict[str, Any], present: BoolArray) -> dict[str, Any]:
    """Return ``infos`` with Gymnasium's companions ``_key``: in which rows the key means anything."""
    return infos | {f"_{key}": present.copy() for key in infos}


class NumduelVectorEnv(VectorEnv[NDArray[np.float32], NDArray[np.int64], NDArray[Any]], Face):
    """``num_envs`` games side by side; each row behaves like the single environment.

    ``opponent`` is ``"random"``, ``"solver"``, any policy, or ``"self"``: then every step is one ply, and the
    observation, the mask and the reward are those of the player who moves (the reward goes to the player who has just
    moved). ``infos`` holds ``action_mask`` (int8), ``seat`` (the learner's; in self-play the mover's), ``over`` and
    ``illegal`` for every row.

    ``autoreset_mode`` is one of Gymnasium's. NEXT_STEP: the row of a finished game shows its last position with an
    all-zero mask; the next step ignores its action, starts a new game and gives reward 0. SAME_STEP: the row shows the
    new game already, and ``infos["final_obs"]`` and ``infos["final_info"]`` hold the end of the old one (all-zero mask)
    where ``infos["_final_obs"]`` is True. DISABLED: ``reset(options={"reset_mask": ...})`` starts new games.

    ``random_openings`` is the share of games that start after some random legal plies (one to half of ``max_plies``,
    but never one that would finish the game): a learner sees more of the game than the lines it prefers.

    As in the single environment, a game may be over before the learner's first move: its row has an all-zero mask and
    ``infos["over"]`` True, and the next step ignores its action and brings the reward.
    """

    def __init__(
        self,
        game: str | GameSpec,
        num_envs: int = 1,
        *,
        opponent: str | Policy = "random",
        seat: str = "random",
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        random_openings: float = 0.0,
        render_mode: None = None,
        illegal: str = "lose",
        lookahead: bool = False,
        **params: Any,
    ) -> None:
        self._set_up(game, None, illegal, lookahead, params)
        self.num_envs = whole_number("num_envs", num_envs, 1)
        if render_mode is not None:
            raise ValueError(
                "the vector environment shows nothing: render_mode must be None; render a single one instead"
            )
        try:
            self.autoreset_mode = AutoresetMode(autoreset_mode)
        except ValueError:
            modes = ", ".join(mode.value for mode in AutoresetMode)
            raise ValueError(f"autoreset_mode must be an AutoresetMode or {modes}, not {autoreset_mode!r}") from None
        if not isinstance(random_openings, int | float) or not 0 <= random_openings <= 1:
            raise ValueError(f"random_openings must be a share from 0 to 1, not {random_openings!r}")
        self.random_openings = float(random_openings)
        self.metadata = {"autoreset_mode": self.autoreset_mode}
        self.opponent = None if opponent == "self" else opponent_for(opponent, self.rules)
        self._draw_seats = SeatDraw(seat)
        self.single_observation_space = self._make_observation_box()
        self.single_action_space = self._make_action_space()
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.duels = Duels(self.rules, self.num_envs)
        self._seats = np.zeros(self.num_envs, np.int64)
        # How the game in each row stands; here ``value`` is its worth to the learner.
        self._outcome = Plies.undecided(self.num_envs)
        # Rows whose game has ended and been reported: they wait for a new one.
        self._waiting = np.zeros(self.num_envs, bool)
        self._has_reset = False
        self._all_rows = np.arange(self.num_envs)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Start a game in every row, or where ``options["reset_mask"]`` says, after ``options["moves"]`` (numbers).

        The moves are for these games alone: those that follow by autoreset start from the beginning.
        """
        start = self._opened(options)
        rows = self._rows_to_reset((options or {}).get("reset_mask"))
        super().reset(seed=seed)
        self._has_reset = False
        self._begin(rows, start)
        self._answer()
        self._has_reset = True
        return self._observations(), self._infos()

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
    ) -> tuple[NDArray[np.float32], NDArray[np.float64], BoolArray, BoolArray, dict[str, Any]]:
        if not self._has_reset:
            raise ResetNeeded("Cannot call env.step() before calling env.reset()")
        actions = self._checked_actions(actions, self.num_envs, "an action")
        if self.autoreset_mode is AutoresetMode.DISABLED and self._waiting.any():
            raise ResetNeeded("Cannot call env.step() where a game has ended: reset those rows first")
        self._refuse_illegal_rows(actions)
        # Should the opponent fail, the games are out of turn and can only be reset.
        self._has_reset = False
        self._move(actions)
        report = Report(self.num_envs)
        if self.autoreset_mode is AutoresetMode.SAME_STEP:
            begun = self._finished_rows()
            self._report_ends(begun, report)
            self._begin(begun)
            self._answer()
            # What the answers ended begins anew as well, and there the opponent may have to open.
            ended = self._finished_rows(but=begun)
            self._report_ends(ended, report)
            self._begin(ended)
            self._answer()
        else:
            begun = np.flatnonzero(self._waiting)
            self._begin(begun)
            self._answer()
            ended = self._finished_rows(but=begun)
            self._report_ends(ended, report)
            self._waiting[ended] = True
        self._has_reset = True
        infos = self._infos() | report.finals(self.action_count)
        return self._observations(), report.reward, report.terminated, report.truncated, infos

    def _checked_actions(self, actions: Any, count: int, whose: str) -> NDArray[np.int64]:
        """Return a batch of actions, or raise before anything changes."""
        batch = np.asarray(actions)
        if batch.dtype.kind not in "iu" or batch.shape != (count,):
            raise ValueError(f"actions must be integers of shape ({count},), not {batch.dtype} of shape {batch.shape}")
        if count and (batch.min() < 0 or batch.max() >= self.action_count):
            wrong = batch[(batch < 0) | (batch >= self.action_count)][0]
            raise ValueError(f"{whose} is an integer from 0 to {self.action_count - 1}, not {wrong}")
        return batch.astype(np.int64, copy=False)

    def _move(self, actions: NDArray[np.int64]) -> None:
        """Play the learners' actions in the games that go on."""
        finished = self._outcome.finished
        self._add_outcome(self.duels.play(actions, ~finished if finished.any() else None), worth=1)

    def _refuse_illegal_rows(self, actions: NDArray[np.int64]) -> None:
        """Raise for an illegal action if this face is to raise."""
        if self.illegal != "raise":
            return
        offences = np.flatnonzero(~self._outcome.finished & ~self.duels.legal[self._all_rows, actions])
        if len(offences):
            row = offences[0]
            number = self.rules.numbers[actions[row]]
            raise ValueError(f"action {actions[row]} in row {row} is illegal: {number} cannot be chosen now")

    def _answer(self) -> None:
        """Let the opponent play wherever it is to move."""
        if self.opponent is None:
            return
        to_move = ~self._outcome.finished & (self.duels.seat != self._seats)
        rows = np.flatnonzero(to_move)
        if not len(rows):
            return
        chosen = self.opponent.choose(take_rows(self.duels.position, rows), self.np_random)
        actions = np.zeros(self.num_envs, np.int64)
        actions[rows] = self._checked_actions(chosen, len(rows), "the opponent's action")
        self._add_outcome(self.duels.play(actions, to_move), worth=-1)

    def _add_outcome(self, plies: Plies, worth: int) -> None:
        """Take note of what plies led to; they are worth as much to the learner, or as little, as to who made them."""
        outcome = self._outcome
        outcome.over[...] |= plies.over
        outcome.truncated[...] |= plies.truncated
        outcome.illegal[...] |= plies.illegal
        outcome.value[...] += worth * plies.value

    def _begin(self, rows: Rows, start: Duel | None = None) -> None:
        """Start new games in ``rows``."""
        if not len(rows):
            return
        self.duels.reset(rows, start)
        if self.random_openings and not (start and start.actions):
            self.duels.open_randomly(rows, self.random_openings, self.np_random)
        self._seats[rows] = self._draw_seats(len(rows), self.np_random)
        put_rows(self._outcome, rows, UNDECIDED)
        self._waiting[rows] = False

    def _finished_rows(self, but: Rows | None = None) -> Rows:
        finished = self._outcome.finished
        if but is not None:
            finished[but] = False
        return np.flatnonzero(finished)

    def _report_ends(self, rows: Rows, report: Report) -> None:
        """Write into ``report`` how the games in ``rows`` ended, and their last look if they begin anew at once."""
        if not len(rows):
            return
        ends = take_rows(self._outcome, rows)
        report.reward[rows], report.terminated[rows], report.truncated[rows] = ends.value, ends.over, ends.truncated
        if self.autoreset_mode is AutoresetMode.SAME_STEP:
            facts = {"seat": self._seat_told()[rows], "illegal": ends.illegal}
            report.add_final(rows, self._observations(rows), facts)

    def _seat_told(self) -> NDArray[np.int64]:
        return self.duels.seat if self.opponent is None else self._seats

    def _infos(self) -> dict[str, Any]:
        facts = {
            "action_mask": self.duels.legal.view(np.int8),
            "seat": self._seat_told().copy(),
            "over": self._outcome.finished,
            "illegal": self._outcome.illegal.copy(),
        }
        return labelled(facts, np.ones(self.num_envs, bool))

    def _observations(self, rows: Rows | None = None) -> NDArray[np.float32]:
        """Return what the learners (in self-play: the movers) see in all rows, or in ``rows`` that are finished."""
        position = self.duels.position if rows is None else take_rows(self.duels.position, rows)
        legal = self.duels.legal if rows is None and self.observer.lookahead else None
        seen = self.observer(position, legal, (self.num_envs if rows is None else len(rows),))
        if self.opponent is not None and self.rules.turned(position) is not position:
            # A game that the learner's own move has ended stands as the opponent would see it.
            away = self.duels.seat != self._seats
            turned = np.flatnonzero(away if rows is None else away[rows])
            if len(turned):
                seen[turned] = self.observer(self.rules.turned(take_rows(position, turned)), None, (len(turned),))
        return seen

    def action_masks(self) -> BoolArray:
        """Return which actions are legal now in each row, as MaskablePPO asks for it."""
        if not self._has_reset:
            raise ResetNeeded("Cannot call env.action_masks() before calling env.reset()")
        return self.duels.legal
