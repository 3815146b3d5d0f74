"""Perfect play as everybody meets it: the known results, the agent, the opponent."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest

from numduel_env import GAMES, random_legal
from numduel_env.agent import SolverAgent, make_agent
from numduel_env.batch import batch_of_one, take_rows
from numduel_env.evaluation.block import play_match
from numduel_env.evaluation.match import Entrant
from numduel_env.solvers import ILLEGAL, solver_for
from tests.solvers.known import KNOWN, REFILL
from tests.solvers.positions import random_positions
from tests.support.variants import each

SOLVED = [
    *((game, {}) for game in GAMES),
    ("prime-rumble", {"lowest": 3, "highest": 30}),
    ("factor-chain-duel", {"highest": 14}),
    ("divider-duel", {"highest": 20}),
    ("prime-duel-product", {"target": 60, "primes_below": 12}),
    ("prime-duel-sum", {"when_empty": "draw"}),
    ("prime-duel-sum", REFILL),
    ("prime-duel-sum", {"lowest": 3, "highest": 9, "target": 12}),
]
each_solved = each(SOLVED)


@pytest.fixture(autouse=True, scope="module")
def _own_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NUMDUEL_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.mark.parametrize(("game", "params", "value", "wins", "draws"), KNOWN)
def test_the_known_results(game, params, value, wins, draws):
    rules = GAMES[game].make_rules(**params)
    solver = solver_for(rules)
    values = solver.action_values(rules.initial())
    assert solver.value(rules.initial()) == value
    assert rules.numbers[values == 1].tolist() == wins
    assert rules.numbers[values == 0].tolist() == draws
    best = values == value
    np.testing.assert_array_equal(solver.best(rules.initial()), best)


@each_solved
def test_every_answer_follows_from_the_answers_one_move_later(game, params):
    rules = GAMES[game].make_rules(**params)
    solver = solver_for(rules)
    position = random_positions(rules, 300, 1)
    legal = rules.legal(position)
    values = solver.action_values(position)
    assert values.dtype == np.int8
    np.testing.assert_array_equal(values == ILLEGAL, ~legal)
    later = rules.play_all(position)
    rows = np.argwhere(legal)
    after = later._make(field[tuple(rows.T)] for field in later)
    np.testing.assert_array_equal(values[legal], -solver.value(after))
    over = ~legal.any(-1)
    np.testing.assert_array_equal(solver.value(position)[over], rules.value(position)[over])
    np.testing.assert_array_equal(solver.value(position)[~over], values[~over].max(-1))
    np.testing.assert_array_equal(solver.best(position)[over], False)


@each_solved
def test_any_leading_shape(game, params):
    rules = GAMES[game].make_rules(**params)
    solver = solver_for(rules)
    position = random_positions(rules, 12, 2)
    action_values, values = solver.action_values(position), solver.value(position)
    for shape in ((3, 4), (1, 12), (2, 1, 6)):
        shaped = position._make(field.reshape(shape + field.shape[1:]) for field in position)
        np.testing.assert_array_equal(solver.action_values(shaped), action_values.reshape(*shape, -1))
        np.testing.assert_array_equal(solver.value(shaped), values.reshape(shape))
    for row in range(12):
        single = position._make(field[row] for field in position)
        np.testing.assert_array_equal(solver.action_values(single), action_values[row])
        assert solver.value(single) == values[row]
    nothing = take_rows(position, np.zeros(0, int))
    assert solver.action_values(nothing).shape == (0, len(rules.numbers))


@each_solved
def test_the_agent_keeps_every_value_and_sets_the_harder_problem(game, params):
    rules = GAMES[game].make_rules(**params)
    solver = solver_for(rules)
    agent = SolverAgent(rules, solver)
    position = random_positions(rules, 60, 3)
    position = take_rows(position, np.flatnonzero(rules.legal(position).any(-1)))
    legal = rules.legal(position)
    preferred, best, value = agent.preferred(position, legal), solver.best(position), solver.value(position)
    assert preferred.any(-1).all()
    assert not (preferred & ~best).any()
    for row in range(len(value)):
        single = position._make(field[row] for field in position)
        np.testing.assert_array_equal(agent.preferred(batch_of_one(single), legal[row][None])[0], preferred[row])
        left = {}
        for action in np.flatnonzero(best[row]):
            after = rules.play(single, int(action))
            left[action] = (rules.legal(after) if value[row] > 0 else solver.best(after)).sum()
        fewest = [action for action, count in left.items() if count == min(left.values())]
        assert np.flatnonzero(preferred[row]).tolist() == fewest
    chosen = agent.choose(position, legal, np.random.default_rng(0))
    assert preferred[np.arange(len(chosen)), chosen].all()
    np.testing.assert_array_equal(chosen, agent.choose(position, legal, np.random.default_rng(0)))


@pytest.mark.parametrize(("game", "params", "value", "wins", "draws"), KNOWN)
def test_the_winning_seat_always_wins_against_random(game, params, value, wins, draws):
    seat = "second" if value > 0 else "first"  # the learner's; the solver takes the other
    environment = gymnasium.make_vec(
        GAMES[game].gymnasium_id, num_envs=1000, opponent="solver", seat=seat, autoreset_mode="Disabled", **params
    )
    _, infos = environment.reset(seed=0)
    generator = np.random.default_rng(1)
    total = np.zeros(1000)
    ended = np.zeros(1000, bool)
    duels = environment.unwrapped.duels
    while not ended.all():
        # Games that have ended are started again and not counted.
        _, rewards, terminated, truncated, infos = environment.step(random_legal(infos["action_mask"], generator))
        assert not truncated.any()
        total += rewards * ~ended
        ended |= terminated
        if terminated.any():
            _, infos = environment.reset(options={"reset_mask": terminated})
    assert (total == -1).all()
    assert duels.total_plies > 1000


@pytest.mark.parametrize("opponent", ["random", "greedy"])
@pytest.mark.parametrize(("game", "params", "value", "wins", "draws"), KNOWN)
def test_the_winning_seat_wins_a_thousand_of_a_thousand(game, params, value, wins, draws, opponent):
    rules = GAMES[game].make_rules(**params)
    pair = (Entrant("solver", make_agent("solver", rules)), Entrant(opponent, make_agent(opponent, rules)))
    match = play_match(rules, pair, 2000, openings=0)
    in_the_winning_seat = match.opener == (0 if value > 0 else 1)
    assert in_the_winning_seat.sum() == 1000
    assert (match.scores(0)[in_the_winning_seat] == 1).all()


def test_a_lost_solver_is_still_a_hard_opponent():
    """As second player in Prime Duel (add) random ties would score 74% against random."""
    environment = gymnasium.make_vec(
        "numduel/PrimeDuelSum-v0", num_envs=2000, opponent="solver", seat="first", autoreset_mode="Disabled"
    )
    _, infos = environment.reset(seed=0)
    generator = np.random.default_rng(0)
    terminated = np.zeros(2000, bool)
    while not terminated.any():
        _, rewards, terminated, _, infos = environment.step(random_legal(infos["action_mask"], generator))
    assert terminated.all()  # nine numbers, nine plies
    assert (1 - rewards.mean()) / 2 > 0.85


def test_the_opponent_in_the_single_environment():
    environment = gymnasium.make("numduel/DividerDuel-v0", opponent="solver", seat="second")
    environment.reset(seed=0)
    assert environment.unwrapped.duel.moves == [4]
