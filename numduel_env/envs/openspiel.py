"""The games for OpenSpiel: importing this module registers every game of the table with ``pyspiel``.

After ``import numduel_env.envs.openspiel``, ``pyspiel.load_game("numduel_prime_rumble(highest=30)")`` returns a
sequential, zero-sum game of perfect information; parameters that are not given are the book's. In OpenSpiel an illegal
action is an error, so here nobody loses by one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from numduel_env.batch import Position
from numduel_env.duel import Duel
from numduel_env.games import GAMES, GameSpec, Params
from numduel_env.observation import Observer
from numduel_env.rules import Rules

try:
    import pyspiel
    from open_spiel.python.observation import IIGObserverForPublicInfoGame
except ImportError as missing:
    raise ImportError("numduel_env.envs.openspiel needs OpenSpiel: pip install 'numduel-env[openspiel]'") from missing


def game_type(name: str, title: str, params: Params) -> pyspiel.GameType:
    """Return OpenSpiel's description of a game; the defaults in ``params`` name its parameters and their types."""
    return pyspiel.GameType(
        short_name=name,
        long_name=title,
        dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
        chance_mode=pyspiel.GameType.ChanceMode.DETERMINISTIC,
        information=pyspiel.GameType.Information.PERFECT_INFORMATION,
        utility=pyspiel.GameType.Utility.ZERO_SUM,
        reward_model=pyspiel.GameType.RewardModel.TERMINAL,
        max_num_players=2,
        min_num_players=2,
        provides_information_state_string=True,
        provides_information_state_tensor=False,
        provides_observation_string=True,
        provides_observation_tensor=True,
        parameter_specification=params,
    )


UNREGISTERED = game_type("numduel", "A number game", {})


class NumduelGame(pyspiel.Game):
    """A game with its rules. Made directly it is like a registered one, but OpenSpiel cannot load it by name."""

    def __init__(self, rules: Rules[Any], kind: pyspiel.GameType = UNREGISTERED, params: Params | None = None) -> None:
        info = pyspiel.GameInfo(
            num_distinct_actions=len(rules.numbers),
            max_chance_outcomes=0,
            num_players=2,
            min_utility=-1.0,
            max_utility=1.0,
            utility_sum=0.0,
            max_game_length=rules.max_plies,
        )
        super().__init__(kind, info, params or {})
        self.rules = rules
        self.observer = Observer(rules)

    def new_initial_state(self) -> Any:
        return NumduelState(self)

    def state_at(self, position: Position) -> NumduelState:
        """Return the state in which player 0 is to move in an unfinished ``position`` of one game.

        Its history is empty, and plies count from here.
        """
        state = NumduelState(self)
        state.duel = Duel.from_position(self.rules, position)
        return state

    def make_py_observer(self, iig_obs_type: Any = None, params: Any = None) -> Any:
        """Return an observer of the position, or of the history where OpenSpiel asks for perfect recall."""
        if iig_obs_type is None or (iig_obs_type.public_info and not iig_obs_type.perfect_recall):
            return PositionObserver(self.observer, params)
        return IIGObserverForPublicInfoGame(iig_obs_type, params)


class NumduelState(pyspiel.State):
    """A duel in progress. A truncated one is terminal, too, with returns of zero."""

    def __init__(self, game: NumduelGame) -> None:
        super().__init__(game)
        self.duel: Duel[Any] = Duel(game.rules)

    def current_player(self) -> int:
        player: int = pyspiel.PlayerId.TERMINAL if self.duel.finished else self.duel.seat
        return player

    def is_terminal(self) -> bool:
        return self.duel.finished

    def returns(self) -> list[float]:
        return [float(payoff) for payoff in self.duel.payoff]

    def position_of(self, player: int) -> Any:
        """Return the position as ``player`` sees it."""
        duel = self.duel
        return duel.position if player == duel.seat else duel.rules.turned(duel.position)

    def __str__(self) -> str:
        # Some of OpenSpiel's algorithms take states with equal strings for one state. The ply is a part of the state,
        # since it decides when a game is truncated.
        duel = self.duel
        turn = f"over, {duel.payoff[0]:+d} {duel.payoff[1]:+d}" if duel.finished else f"player {duel.seat} to move"
        return f"ply {len(duel.actions)}, {turn}; {described(duel.rules, duel.position)}"

    def _legal_actions(self, player: int) -> list[int]:
        actions: list[int] = np.flatnonzero(self.duel.legal).tolist()
        return actions

    def _apply_action(self, action: int) -> None:
        legal = self.duel.legal
        if not (0 <= action < len(legal) and legal[action]):
            raise ValueError(f"action {action} is not one of the legal actions {np.flatnonzero(legal).tolist()}")
        self.duel.play(action)

    def _action_to_string(self, player: int, action: int) -> str:
        return str(self.duel.rules.numbers[action])


class PositionObserver:
    """The observation that all environments give: ``tensor``, and in ``dict`` its parts by name."""

    def __init__(self, observer: Observer, params: Any) -> None:
        if params:
            raise ValueError(f"an observation has no parameters, but was given {params}")
        self._observer = observer
        self.tensor = np.zeros(observer.size, np.float32)
        ends = np.cumsum(list(observer.layout.values()))
        self.dict = dict(zip(observer.layout, np.split(self.tensor, ends[:-1])))

    def set_from(self, state: NumduelState, player: int) -> None:
        self.tensor[:] = self._observer(state.position_of(player))

    def string_from(self, state: NumduelState, player: int) -> str:
        return described(state.duel.rules, state.position_of(player))


def described(rules: Rules[Any], position: Position) -> str:
    """Return the fields of one game's position by name, a mask over the numbers as the numbers that it holds."""
    parts = []
    for name, field in position._asdict().items():
        masks_numbers = field.dtype == bool and field.shape == rules.numbers.shape
        values = np.ravel(rules.numbers[field] if masks_numbers else field).tolist()
        parts.append(f"{name}: {' '.join(map(str, values)) or 'none'}")
    return "; ".join(parts)


def load(name: str) -> NumduelGame:
    """Return the registered game of this name. Pickles name this function: unpickling imports it, which registers."""
    game: NumduelGame = pyspiel.load_game(name)
    return game


def register(spec: GameSpec) -> None:
    """Register a game with OpenSpiel; importing this module does so for every game of the table."""
    kind = game_type(spec.openspiel_name, spec.title, spec.params)

    # A class and not a function: OpenSpiel drops its reference after the interpreter has ended, and freeing a function
    # then aborts the process. A class refers to itself, so it is not freed.
    class RegisteredGame(NumduelGame):
        def __init__(self, params: Params) -> None:
            super().__init__(spec.make_rules(**params), kind, params)

        def __reduce__(self) -> Any:
            return load, (str(self),)

    pyspiel.register_game(kind, RegisteredGame)


for _spec in GAMES.values():
    register(_spec)
