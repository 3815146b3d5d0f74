"""OpenSpiel's tabular Q-learner plays Divider Duel against itself, then against random and perfect play.

    python docs/examples/openspiel_qlearning.py --episodes 10000 --seed 0

Divider Duel is won by whoever opens, and only by opening with 4: nobody beats perfect play from the second seat. Beside
each result stands that of a player who moves at random.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import pyspiel
from open_spiel.python.algorithms.random_agent import RandomAgent
from open_spiel.python.algorithms.tabular_qlearner import QLearner
from open_spiel.python.rl_agent import StepOutput
from open_spiel.python.rl_environment import Environment

import numduel_env.envs.openspiel  # noqa: F401 - importing registers the games
from numduel_env.solvers import solver_for

DUELS = 1000


class PerfectAgent:
    """Plays any of the moves that keep the exact value."""

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.solver = solver_for(environment.game.rules)

    def step(self, time_step: Any, is_evaluation: bool = False) -> StepOutput:
        best = self.solver.best(self.environment.get_state.duel.position)
        return StepOutput(action=np.random.choice(np.flatnonzero(best)), probs=best / best.sum())  # noqa: NPY002


def play(environment: Environment, agents: list[Any], learning: bool = False) -> list[float]:
    """Play one duel and return its payoff to each seat."""
    time_step = environment.reset()
    while not time_step.last():
        mover = agents[time_step.current_player()]
        time_step = environment.step([mover.step(time_step, is_evaluation=not learning).action])
    if learning:
        for agent in agents:
            agent.step(time_step)
    return time_step.rewards


def wins(environment: Environment, seat: int, agent: Any, opponent: Any) -> float:
    """Return the share of duels that ``agent`` wins from ``seat``."""
    agents = [agent, opponent] if seat == 0 else [opponent, agent]
    return float(np.mean([play(environment, agents)[seat] > 0 for _ in range(DUELS)]))


def main() -> None:
    """Learn, then print the opening learned and how the learner fares against others."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=10_000, help="duels of self-play (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    np.random.seed(args.seed)  # noqa: NPY002 - OpenSpiel's agents draw from NumPy's global state

    environment = Environment(pyspiel.load_game("numduel_divider_duel"))
    actions = environment.action_spec()["num_actions"]
    learners = [QLearner(seat, actions) for seat in (0, 1)]
    for _ in range(args.episodes):
        play(environment, learners, learning=True)

    opening = learners[0].step(environment.reset(), is_evaluation=True).action
    print(f"after {args.episodes} duels of self-play, seed {args.seed}")
    print(f"opens with {environment.game.rules.numbers[opening]}")
    perfect = PerfectAgent(environment)
    for seat, name in enumerate(("first", "second")):
        for opponent, other in (("random", RandomAgent(1 - seat, actions)), ("perfect", perfect)):
            learned = wins(environment, seat, learners[seat], other)
            chance = wins(environment, seat, RandomAgent(seat, actions), other)
            print(f"{name} seat against {opponent} play: wins {learned:.1%} (a random player: {chance:.1%})")


if __name__ == "__main__":
    main()
