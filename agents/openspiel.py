"""OpenSpiel's own players, through the adapter of the games."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from open_spiel.python.algorithms.mcts import MCTSBot, RandomRolloutEvaluator

from numduel_env.batch import Position, any_legal, flattened
from numduel_env.envs.openspiel import NumduelGame
from numduel_env.rules import Rules

UCT_EXPLORATION = 2.0
"""What OpenSpiel's own example of the search uses."""


class OpenSpielMCTSAgent:
    """Plays what OpenSpiel's tree search with random rollouts chooses, one position after another.

    The search is the one written in Python: that in C++ (2.0.2) crashes on these games, as it does on OpenSpiel's own
    ``python_tic_tac_toe``.
    """

    def __init__(self, rules: Rules, simulations: int) -> None:
        self.rules = rules
        self.simulations = simulations
        self.game = NumduelGame(rules)

    def choose(self, position: Position, generator: np.random.Generator) -> NDArray[np.int64]:
        legal = self.rules.legal(position)
        shape, size = legal.shape[:-1], legal.shape[-1]
        games = flattened(position, len(shape))
        # OpenSpiel wants the older interface to random numbers; these are drawn from the generator all the same.
        dice = np.random.RandomState(generator.bit_generator)
        evaluator = RandomRolloutEvaluator(random_state=dice)
        bot = MCTSBot(self.game, UCT_EXPLORATION, self.simulations, evaluator, random_state=dice)
        actions = np.zeros(legal.size // size, np.int64)
        for row in np.flatnonzero(any_legal(legal.reshape(-1, size))):
            actions[row] = bot.step(self.game.state_at(games._make(field[row] for field in games)))
        return actions.reshape(shape)
