"""Text duels served by OpenEnv: one environment for each session, so that sessions know nothing of each other.

``numduel serve`` starts a server. In a program of one's own, ``app(lambda: TextDuel("divider-duel"))``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

from openenv.core.env_server import Action, Environment, Observation, State, create_app

from numduel_env.envs.text import TextDuel, Turn

MOST_SESSIONS = 64
LONGEST_REPLY = 100_000
"""A reply that is longer is refused, in characters."""


class DuelAction(Action):
    """What the player replies."""

    reply: str


class DuelObservation(Observation):
    """The text for the player, and what its last reply led to.

    ``reward`` and ``done`` are OpenEnv's own. ``refusal`` is ``"unreadable"``, ``"illegal"`` or None; ``verdict`` is
    that of the move: kept, blunder, lost, ungraded, or None where there was none; ``better`` names better numbers.
    """

    text: str
    payoff: int = 0
    refusal: str | None = None
    verdict: str | None = None
    better: list[int] = []


class DuelState(State):
    """The duel so far. ``kept`` is None where no move was graded."""

    game: str = ""
    seat: int = 0
    moves: list[int] = []
    finished: bool = False
    payoff: int = 0
    refusals: dict[str, int] = {}
    fault: str | None = None
    opponents_fault: str | None = None
    kept: float | None = None


class DuelEnvironment(Environment[DuelAction, DuelObservation, DuelState]):
    """A text duel as an environment of OpenEnv; the duel is its own."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, duel: TextDuel) -> None:
        super().__init__()
        self._duel = duel
        self._state = DuelState()

    def reset(
        self, seed: int | None = None, episode_id: str | None = None, moves: list[int] | None = None, **kwargs: Any
    ) -> DuelObservation:
        """Start a duel, after ``moves`` if given; see ``TextDuel.reset``."""
        if kwargs:
            raise ValueError(f"there is no option {next(iter(kwargs))!r}; a duel starts with a seed and moves")
        text = self._duel.reset(seed, moves)
        self._state = DuelState(episode_id=episode_id or str(uuid4()))
        payoff = self._duel.payoff
        reward = 0.0 if self._duel.reward == "move" else float(payoff)
        return DuelObservation(text=text, payoff=payoff, done=self._duel.finished, reward=reward)

    def step(self, action: DuelAction, timeout_s: float | None = None, **kwargs: Any) -> DuelObservation:
        """Read a reply, play it and the opponent's answer."""
        if len(action.reply) > LONGEST_REPLY:
            raise ValueError(f"a reply has at most {LONGEST_REPLY:,} characters")
        turn: Turn = self._duel.step(action.reply)
        self._state.step_count += 1
        return DuelObservation(
            text=turn.text,
            payoff=turn.payoff,
            refusal=turn.refusal,
            verdict=turn.move.verdict if turn.move else None,
            better=list(turn.move.better) if turn.move else [],
            reward=turn.reward,
            done=turn.finished,
        )

    @property
    def state(self) -> DuelState:
        if self._state.episode_id is None:
            return self._state
        outcome = self._duel.outcome
        return DuelState(
            episode_id=self._state.episode_id,
            step_count=self._state.step_count,
            game=outcome.game,
            seat=outcome.seat,
            moves=list(outcome.moves),
            finished=outcome.finished,
            payoff=outcome.payoff,
            refusals=outcome.refusals,
            fault=outcome.fault,
            opponents_fault=outcome.opponents_fault,
            kept=outcome.kept,
        )


def app(make_duel: Callable[[], TextDuel], sessions: int = MOST_SESSIONS) -> Any:
    """Return an ASGI application that serves duels, each session one of its own."""
    return create_app(
        lambda: DuelEnvironment(make_duel()),
        DuelAction,
        DuelObservation,
        env_name="numduel",
        max_concurrent_envs=sessions,
        state_cls=DuelState,
    )
