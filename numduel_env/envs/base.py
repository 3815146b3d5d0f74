"""What the environments share: their options, their spaces, and how they are rendered."""

from __future__ import annotations

import difflib
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete
from numpy.typing import NDArray

from numduel_env.agent import Agent, AgentLike, PlayerAgent, make_agent
from numduel_env.batch import BoolArray
from numduel_env.duel import Duel, replay
from numduel_env.games import GameSpec, find_game
from numduel_env.observation import Observer
from numduel_env.outside import one_line
from numduel_env.solvers import TooLargeToSolve

RENDER_MODES = ["human", "ansi", "rgb_array"]
ILLEGAL = ("lose", "raise")

Info = dict[str, Any]
"""What Gymnasium and PettingZoo call ``info`` and ``options``."""


INT8 = np.dtype(np.int8)


class QuickDiscrete(Discrete):
    """``Discrete(n)``, whose samples under a mask are the same in a fraction of the time.

    Copies and pickles are Gymnasium's own class: a trained model that was saved with the space needs no numduel_env.
    """

    def __init__(self, n: int, seed: int | np.random.Generator | None = None) -> None:
        super().__init__(n, seed)

    def sample(self, mask: Any = None, probability: Any = None) -> np.int64:
        if type(mask) is np.ndarray and mask.dtype is INT8 and mask.ndim == 1 and probability is None:
            content = mask.tobytes()
            ones = content.count(1)
            if ones and ones + content.count(0) == self.n:
                sampled: np.int64 = mask.nonzero()[0][self.np_random.integers(ones)]
                return sampled
        # No mask, nothing allowed, or a mistake that Discrete has words for.
        return super().sample(mask, probability)

    def __reduce__(self) -> tuple[Any, ...]:
        return Discrete, (int(self.n),), vars(self)


class EnvBase:
    """A game with the options common to all environments.

    ``illegal`` says what an illegal action does: ``"lose"`` the game at once, or ``"raise"`` a ``ValueError`` that
    leaves the game as it was. ``lookahead`` appends to the observation where each move leads.
    """

    render_mode: str | None

    def _set_up(
        self, game: str | GameSpec, render_mode: str | None, illegal: str, lookahead: bool, params: Info
    ) -> None:
        if render_mode is not None and render_mode not in RENDER_MODES:
            raise ValueError(f"render_mode must be None or one of {', '.join(RENDER_MODES)}, not {render_mode!r}")
        if not isinstance(lookahead, bool):
            raise ValueError(f"lookahead must be True or False, not {lookahead!r}")
        if illegal not in ILLEGAL:
            raise ValueError(f"illegal must be one of {', '.join(ILLEGAL)}, not {illegal!r}")
        self.game = find_game(game)
        self.rules = self.game.make_rules(**params)
        self.observer = Observer(self.rules, lookahead)
        self.render_mode = render_mode
        self.illegal = illegal
        self.action_count = len(self.rules.numbers)

    def _make_opponent(self, opponent: AgentLike) -> Agent:
        try:
            return make_agent(opponent, self.rules)
        except TooLargeToSolve:
            raise
        except ValueError as wrong:
            raise ValueError(f"opponent: {wrong}") from wrong

    def _blamed(self, opponent: Agent, reason: str) -> ValueError:
        """Return the error of an opponent that fails, which the learner must neither win nor lose by."""
        kind = one_line(type(opponent.player if isinstance(opponent, PlayerAgent) else opponent).__name__)
        return ValueError(f"the opponent ({kind}) {reason}")

    def _no_action(self, answer: int) -> str:
        """Return what is to be said of an opponent whose answer is no action; an illegal one loses by the rules."""
        return f"answered {answer}, which is no action: they are 0 to {self.action_count - 1}"

    def _make_observation_box(self) -> Box:
        return Box(0.0, 1.0, (self.observer.size,), np.float32)

    def _make_action_space(self) -> Discrete:
        return QuickDiscrete(self.action_count)

    def _checked_action(self, action: Any) -> int:
        """Return one action as an int, or raise before anything changes: it must be one of the action space."""
        if isinstance(action, np.integer) or (isinstance(action, np.ndarray) and action.shape == ()):
            action = action.item()
        if type(action) is not int or not 0 <= action < self.action_count:
            raise ValueError(f"an action is an integer from 0 to {self.action_count - 1}, not {action!r}")
        return action

    def _refuse_illegal(self, duel: Duel[Any], action: int) -> None:
        """Raise for an illegal action if the option ``illegal`` says so."""
        if self.illegal == "raise" and not duel.legal[action]:
            number = int(self.rules.numbers[action])
            raise ValueError(f"action {action} is illegal: {self.game.wording.refusal(duel, number)}")

    def _observed(self, duel: Duel[Any], waiting: bool) -> NDArray[np.float32]:
        """Return what the player to move observes in one game, or the waiting seat: a fresh array."""
        state = duel.state
        # An illegal action, or truncation, ends a game whose rules would go on: then the mask is not the state's.
        known = state.observations if duel.legal is state.legal or waiting else None
        if known is None:
            return self._observe(duel.position, duel.legal, waiting)
        kind = 2 * self.observer.lookahead + waiting
        observation = known[kind]
        if observation is None:
            observation = self._observe(state.position, state.legal, waiting)
            self.rules.remembered.keep(state, kind, observation)
        return observation.copy()

    def _observe(self, position: Any, legal: BoolArray, waiting: bool) -> NDArray[np.float32]:
        return self.observer(self.rules.turned(position)) if waiting else self.observer(position, legal)

    def _opened(self, options: Info | None) -> Duel[Any]:
        """Return a new duel in which ``options["moves"]`` have been played; unknown options may be somebody else's."""
        if not options:
            return Duel(self.rules)
        if not isinstance(options, dict):
            raise ValueError(f"options must be a dict such as {{'moves': [5, 17]}}, not {options!r}")
        for key in options.keys() - {"moves"}:
            if difflib.get_close_matches(str(key), ["moves"]):
                raise ValueError(f"there is no option {key!r}; did you mean 'moves'?")
        moves = options.get("moves")
        if moves is None:
            return Duel(self.rules)
        duel = replay(self.game, self.rules, moves)
        if duel.finished:
            raise ValueError(f"the moves {duel.moves} finish the game; give moves that leave it unfinished")
        return duel

    def _rendered(self, duel: Duel[Any]) -> str | NDArray[np.uint8] | None:
        if self.render_mode == "rgb_array":
            from numduel_env.picture import draw

            return draw(self.game, duel)
        text = self.game.wording.screen(duel)
        if self.render_mode == "ansi":
            return text
        if self.render_mode == "human":
            print(text, flush=True)
        return None


class SeatDraw:
    """Seats a learner: always ``"first"``, always ``"second"``, or at ``"random"``."""

    def __init__(self, seat: str) -> None:
        if seat not in ("first", "second", "random"):
            raise ValueError(f"seat must be one of first, second, random, not {seat!r}")
        self.seat = seat

    def __call__(self, count: int, generator: np.random.Generator) -> NDArray[np.int64]:
        """Return the learner's seat in ``count`` games."""
        if self.seat == "random":
            return (generator.random(count) < 0.5).astype(np.int64)
        return np.full(count, int(self.seat == "second"))
