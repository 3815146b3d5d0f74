"""A duel in writing: one player reads and writes, a named opponent answers, every move is graded by perfect play.

For language models, and for whoever serves games to them. It needs no framework.
"""

from __future__ import annotations

import copy
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from numduel_env.agent import AgentLike, BadAnswer, Unavailable, as_player, checked_answer, make_agent
from numduel_env.dialogue import Refusal, briefing, read_reply, request_again, situation
from numduel_env.duel import Duel, replay
from numduel_env.envs.base import SeatDraw
from numduel_env.evaluation.answers import NO_ACTION
from numduel_env.evaluation.block import draw_openings
from numduel_env.evaluation.grading import BLUNDER, KEPT, VERDICTS, Grade, GradedMove, graded_moves
from numduel_env.games import GameSpec, find_game
from numduel_env.rules import whole_number
from numduel_env.solvers import ILLEGAL, Solver, TooLargeToSolve, solver_for
from numduel_env.text import player

REWARDS = ("end", "move")
REWARD_OF = {VERDICTS[KEPT]: 1.0, VERDICTS[BLUNDER]: -1.0}


@dataclass(frozen=True)
class Turn:
    """What a reply led to.

    ``text`` is the next prompt: why the reply is refused, the opponent's answer and the new situation, or
    how the duel ended. ``refusal`` is ``"unreadable"``, ``"illegal"`` or None. ``move`` is the player's move with its
    verdict (kept, blunder, lost: nothing to keep, ungraded) and, after a blunder, the better numbers; None while a
    refused reply may be repeated. ``payoff`` is the player's: 1 won, -1 lost, 0 while the duel goes on or if it is
    drawn.
    """

    text: str
    reward: float
    payoff: int
    finished: bool
    refusal: str | None
    move: GradedMove | None


@dataclass(frozen=True)
class TextOutcome:
    """A duel as it stands, for a record: ``moves`` are the numbers of both, the first ``opening`` of them drawn.

    ``refusals`` counts refused replies by kind. ``fault`` is the kind of the last one if it has lost the duel, and
    ``opponents_fault`` says why the opponent gave no legal answer, if that has lost it the duel. ``kept`` is None where
    no move was graded; a fault in a position that was not lost is graded as a blunder.
    """

    game: str
    seat: int
    opening: int
    moves: tuple[int, ...]
    finished: bool
    payoff: int
    replies: int
    refusals: dict[str, int]
    fault: str | None
    opponents_fault: str | None
    grade: Grade
    kept: float | None


class TextDuel:
    """One seat plays by text: ``reset()``, then ``step(reply)`` until the turn says ``finished``.

    A reply is read as :func:`numduel_env.dialogue.read_number` does; one that cannot be read or is illegal may be
    repeated ``retries`` times in a row, the next one loses the duel: a fault. ``opponent`` is an agent by name, an
    agent itself, or a factory; ``seat`` is ``"first"``, ``"second"`` or ``"random"``, ``openings`` the most random
    plies before the duel. ``list_legal`` tells the player the legal numbers. ``reward`` is given at the ``"end"`` (the
    payoff) or for every ``"move"`` (1 kept, -1 blunder, 0 where there was nothing to keep).

    A game too large to solve is played without grades, which ``grading`` says; ``graded=False`` leaves them out. The
    same seed and the same replies give the same duel, unless the opponent is not repeatable. An opponent that gives no
    legal answer loses.
    """

    def __init__(
        self,
        game: str | GameSpec,
        opponent: AgentLike = "random",
        *,
        seat: str = "random",
        openings: int = 0,
        retries: int = 2,
        list_legal: bool = False,
        reward: str = "end",
        graded: bool = True,
        **params: Any,
    ) -> None:
        self.game = find_game(game)
        self.rules = self.game.make_rules(**params)
        self._draw_seat = SeatDraw(seat)
        self._openings = min(whole_number("openings", openings, 0), self.rules.max_plies - 1)
        self.retries = whole_number("retries", retries, 0)
        if reward not in REWARDS:
            raise ValueError(f"reward must be one of {', '.join(REWARDS)}, not {reward!r}")
        self._list_legal, self.reward = bool(list_legal), reward
        self._solver, self.grading = self._judge() if graded else (None, "left out as asked")
        if reward == "move" and self._solver is None:
            raise ValueError(f"a reward for every move needs perfect play, but grading was {self.grading}")
        self._opponent = as_player(make_agent(opponent, self.rules))
        self._generator = np.random.default_rng()
        self._duel: Duel[Any] | None = None

    def _judge(self) -> tuple[Solver | None, str]:
        try:
            return solver_for(self.rules), "by exact values"
        except TooLargeToSolve as refusal:
            return None, f"left out: {refusal}"

    def reset(self, seed: int | None = None, moves: Any = None) -> str:
        """Start a duel, after ``moves`` (numbers) instead of random ones if given, and return ``observe()``.

        The opponent may end it before the player's first turn; then ``finished`` is True.
        """
        if seed is not None:
            self._generator = np.random.default_rng(whole_number("seed", seed, 0))
        if moves is not None:
            duel = replay(self.game, self.rules, moves)
            if duel.finished:
                raise ValueError(f"the moves {duel.moves} finish the game; give moves that leave it unfinished")
        self.seat = int(self._draw_seat(1, self._generator)[0])
        if moves is None:
            _, drawn = draw_openings(self.rules, 1, self._openings, self._generator)
            duel = Duel(self.rules, drawn[drawn != NO_ACTION].tolist())
        self._duel, self._opening = duel, len(duel.actions)
        self._replies, self._refused = 0, 0
        self._refusals: Counter[str] = Counter()
        self._fault: str | None = None
        self._opponents_fault: str | None = None
        self._grade = Grade()
        self._answer(duel)
        return self.observe()

    def observe(self) -> str:
        """Return the current prompt: before the first reply with the rules, later the situation or the end."""
        duel = self._started()
        said = [briefing(self.game, self.rules, self.seat)] if not self._replies else []
        said.append(self._ending(duel) if self.finished else situation(self.game, duel, self._list_legal))
        return "\n\n".join(said)

    def step(self, reply: str) -> Turn:
        """Read a reply, play it and the opponent's answer; raises a ``ValueError`` once the duel is finished."""
        duel = self._started()
        if self.finished:
            raise ValueError("the duel is finished: call reset() first")
        if not isinstance(reply, str):
            raise TypeError(f"a reply is a text, not a {type(reply).__name__}")
        self._replies += 1
        action = read_reply(self.game, duel, reply)
        if isinstance(action, Refusal):
            return self._refuse(duel, action)
        self._refused = 0
        move = self._graded(duel, action)
        duel.play(action)
        self._answer(duel)
        return self._turn(self.observe(), None, move)

    def _refuse(self, duel: Duel[Any], refusal: Refusal) -> Turn:
        self._refusals[refusal.kind] += 1
        self._refused += 1
        if self._refused <= self.retries:
            return self._turn(request_again(refusal, self.retries + 1 - self._refused), refusal.kind, None)
        self._fault = refusal.kind
        text = f"{refusal.text}\n\n{self._ending(duel)}"
        return self._turn(text, refusal.kind, self._graded(duel, None))

    def _graded(self, duel: Duel[Any], action: int | None) -> GradedMove:
        """Return the move that the player is about to make with its verdict, and count it; None is a fault."""
        if self._solver is not None:
            values = self._solver.action_values(duel.position)
            after = ILLEGAL if action is None else values[action]
            self._grade += Grade.of(values.max(keepdims=True), np.array([after], np.int8))
        made = Duel(self.rules, duel.actions if action is None else [*duel.actions, action])
        return graded_moves(made, self._solver, len(duel.actions), forfeited=action is None)[-1]

    def _turn(self, text: str, refusal: str | None, move: GradedMove | None) -> Turn:
        reward = float(self.payoff)
        if self.reward == "move":
            reward = REWARD_OF.get(move.verdict, 0.0) if move else 0.0
        return Turn(text, reward, self.payoff, self.finished, refusal, move)

    def _answer(self, duel: Duel[Any]) -> None:
        """Let the opponent play if it is to move."""
        if duel.finished or duel.seat == self.seat:
            return
        try:
            (action,) = checked_answer([self._opponent.move(duel, self._generator)], 1).tolist()
            if not 0 <= action < len(duel.legal) or not duel.legal[action]:
                raise BadAnswer(f"played an illegal move, action {action}")
        except Unavailable:
            self._duel = None
            raise
        except BadAnswer as wrong:
            self._opponents_fault = wrong.reason
        else:
            duel.play(action)

    def _ending(self, duel: Duel[Any]) -> str:
        """Return how the duel ended, and what that means for the player."""
        if self._fault is not None:
            replies = "reply" if self._refused == 1 else f"{self._refused} replies in a row"
            how = f"No move could be played after {replies}."
        elif self._opponents_fault is not None:
            how = f"{player(duel.seat)} gives no legal answer: it {self._opponents_fault}."
        else:
            how = f"Moves, {player(0)}'s first: {', '.join(map(str, duel.moves))}\n{self.game.wording.ending(duel)}"
        return f"{how}\nYou {('lose', 'draw', 'win')[self.payoff + 1]}."

    def _started(self) -> Duel[Any]:
        if self._duel is None:
            raise ValueError("there is no duel before reset()")
        return self._duel

    @property
    def duel(self) -> Duel[Any]:
        """The game in progress, as a copy: whatever is done to it changes nothing here."""
        return copy.deepcopy(self._started())

    @property
    def finished(self) -> bool:
        """Whether nobody moves any more."""
        return self._started().finished or self._fault is not None or self._opponents_fault is not None

    @property
    def payoff(self) -> int:
        """What the duel brought to the player."""
        if self._fault is not None:
            return -1
        return 1 if self._opponents_fault is not None else self._started().payoff[self.seat]

    @property
    def outcome(self) -> TextOutcome:
        """The duel as it stands."""
        duel = self._started()
        return TextOutcome(
            game=self.game.name,
            seat=self.seat,
            opening=self._opening,
            moves=tuple(duel.moves),
            finished=self.finished,
            payoff=self.payoff,
            replies=self._replies,
            refusals=dict(self._refusals),
            fault=self._fault,
            opponents_fault=self._opponents_fault,
            grade=self._grade,
            kept=self._grade.kept,
        )
