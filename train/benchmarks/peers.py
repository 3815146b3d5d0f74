"""Other people's games, for comparison: Pgx and OpenSpiel, which are imported only here and only when asked for."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from numduel_env import GAMES


def pgx_loop(boards: int) -> Callable[[float], int]:
    """Return random play of Pgx's tic_tac_toe in one compiled batch, with resets."""
    import jax
    import pgx
    from pgx.experimental.wrappers import auto_reset

    environment = pgx.make("tic_tac_toe")

    @jax.jit  # type: ignore[untyped-decorator]
    def ply(states: Any, key: Any) -> Any:
        keys = jax.random.split(key, boards + 1)
        logits = jax.numpy.where(states.legal_action_mask, 0.0, -jax.numpy.inf)
        actions = jax.random.categorical(keys[0], logits, axis=-1)
        return jax.vmap(auto_reset(environment.step, environment.init))(states, actions, keys[1:])

    key = jax.random.PRNGKey(0)
    states = jax.jit(jax.vmap(environment.init))(jax.random.split(key, boards))
    states = jax.block_until_ready(ply(states, key))

    def play(seconds: float) -> int:
        nonlocal states, key
        plies, end = 0, time.perf_counter() + seconds
        while time.perf_counter() < end:
            key, now = jax.random.split(key)
            states = jax.block_until_ready(ply(states, now))
            plies += boards
        return plies

    return play


def open_spiel_loop() -> Callable[[float], int]:
    """Return random play of OpenSpiel's nim from Python."""
    import pyspiel

    game = pyspiel.load_game("nim")
    generator = np.random.default_rng(0)

    def play(seconds: float) -> int:
        plies, end = 0, time.perf_counter() + seconds
        while time.perf_counter() < end:
            state = game.new_initial_state()
            while not state.is_terminal():
                legal = state.legal_actions()
                state.apply_action(legal[int(generator.random() * len(legal))])
                plies += 1
        return plies

    return play


def divider_duel_in_open_spiel() -> Any:
    """Return Divider Duel as an OpenSpiel game whose states are plain lists.

    OpenSpiel's minimax takes about 1.5 times as long on the states of ``numduel_env.envs.openspiel``, which serve every
    game: a comparison by those would flatter us.
    """
    import pyspiel

    from numduel_env.envs.openspiel import NumduelGame

    rules = GAMES["divider-duel"].make_rules()
    numbers = rules.numbers.tolist()

    class PlainState(pyspiel.State):
        def __init__(self, game: Any) -> None:
            super().__init__(game)
            self.pool = list(range(len(numbers)))
            self.mover = 0

        def current_player(self) -> int:
            return self.mover if self.pool else pyspiel.PlayerId.TERMINAL

        def _legal_actions(self, player: int) -> list[int]:
            return self.pool

        def _apply_action(self, action: int) -> None:
            self.pool = [other for other in self.pool if numbers[other] % numbers[action]]
            self.mover = 1 - self.mover

        def is_terminal(self) -> bool:
            return not self.pool

        def returns(self) -> list[float]:
            return [0.0, 0.0] if self.pool else [1.0 - 2 * (1 - self.mover), 2.0 * (1 - self.mover) - 1]

    class PlainGame(NumduelGame):
        def new_initial_state(self) -> PlainState:
            return PlainState(self)

    return PlainGame(rules)
