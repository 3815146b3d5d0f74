"""OpenSpiel's own players, through the adapter of the games."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from open_spiel.python.algorithms.mcts import MCTSBot, RandomRolloutEvaluator

from numduel_env.batch import BoolArray
from numduel_env.envs.openspiel import NumduelGame
from numduel_env.rules import Rules

UCT_EXPLORATION = 2.0
"""What OpenSpiel's own example of the search uses."""


class OpenSpielMCTSAgent:
    """Plays what OpenSpiel's tree search with random rollouts chooses, one position after another.

    The search is the one written in Python: that in C++ (2.0.2) crashes on these games, as it does on OpenSpiel's own
    ``python_tic_tac_toe``.
    """

    def __init__(self, rules: Rules[Any], simulations: int) -> None:
        self.rules = rules
        self.simulations = simulations
        self.game = NumduelGame(rules)

    def choose(self, position: Any, legal: BoolArray, generator: np.random.Generator) -> NDArray[np.int64]:
        # OpenSpiel wants NumPy's older interface to random numbers; they are the generator's all the same.
        random_state = np.random.RandomState(generator.bit_generator)
        evaluator = RandomRolloutEvaluator(random_state=random_state)
        bot = MCTSBot(self.game, UCT_EXPLORATION, self.simulations, evaluator, random_state=random_state)
        states = (self.game.state_at(position._make(field[row] for field in position)) for row in range(len(legal)))
        return np.array([bot.step(state) for state in states], np.int64)
