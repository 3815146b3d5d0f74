"""Agents: one protocol for all, what greedy looks at, what the search proves, and how they are made by name."""

from __future__ import annotations

import re
import sys

import numpy as np
import pytest

from agents import AGENTS, GreedyAgent, MCTSAgent, make_agent
from numduel_env import GAMES, evaluate, random_legal
from numduel_env.agent import ask
from numduel_env.batch import any_legal, put_rows, take_rows
from numduel_env.solvers import solver_for
from tests.support.agents import Lowest
from tests.support.toys import Subtraction
from tests.support.variants import each, each_game, each_variant

SHAPES = [(), (5,), (2, 3)]
NAMES = ["random", "greedy", "solver", "mcts:20"]
REFILL = ("prime-duel-sum", {"when_empty": "refill"})


@pytest.fixture(autouse=True, scope="module")
def _own_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NUMDUEL_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def random_positions(rules, count, seed):
    """Return unfinished positions, each at a uniformly random ply of a random game."""
    generator = np.random.default_rng(seed)
    chosen = []
    for _ in range(count):
        position, game = rules.initial((1,)), []
        while len(game) < rules.max_plies and not rules.over(position)[0]:
            game.append(position)
            position = rules.play(position, random_legal(rules.legal(position), generator))
        chosen.append(game[generator.integers(len(game))])
    return chosen[0]._make(np.concatenate(fields) for fields in zip(*chosen))


def kept(agent, solver, position, seed=0):
    """Return whether the agent keeps the solver's value, for each of the positions that are not lost."""
    actions = agent.choose(position, solver.rules.legal(position), np.random.default_rng(seed))
    return solver.best(position)[np.arange(len(actions)), actions][solver.value(position) >= 0]


@pytest.mark.parametrize("count", [0, 1, 5])
@pytest.mark.parametrize("name", NAMES)
@each_game
def test_agents_keep_the_protocol(game, params, name, count):
    rules = GAMES[game].make_rules(**params)
    agent = make_agent(name, rules)
    assert agent.rules is rules
    generator = np.random.default_rng(1)
    position = rules.initial((count,))
    for _ in range(3):
        legal = rules.legal(position)
        given = [np.copy(array) for array in (*position, legal)]
        actions = agent.choose(position, legal, np.random.default_rng(2))
        assert actions.shape == (count,) and np.issubdtype(actions.dtype, np.integer)
        assert legal[np.arange(count), actions].all()
        assert np.array_equal(actions, agent.choose(position, legal, np.random.default_rng(2)))
        assert all(map(np.array_equal, (*position, legal), given))
        # Random moves, so that no perfect opening ends the game at once.
        after = rules.play(position, random_legal(legal, generator))
        goes_on = ~rules.over(after)
        if not goes_on.all():
            break
        position = after


@pytest.mark.parametrize("size", [1, 5, 8, 31, 32, 49, 70])
def test_any_legal_is_any(size):
    generator = np.random.default_rng(size)
    for shape in ((), (0,), (1,), (10,), (4, 3), (2, 3, 4)):
        mask = generator.random((*shape, size)) < 1 / size
        with np.errstate(all="raise"):
            np.testing.assert_array_equal(any_legal(mask), mask.any(-1))


@pytest.mark.parametrize("name", ["greedy", "mcts:20"])
@each_variant
def test_games_are_played_to_their_ends(game, params, name):
    rules = GAMES[game].make_rules(**params)
    agent = make_agent(name, rules)
    position = random_positions(rules, 4, seed=3)
    generator = np.random.default_rng(3)
    for _ in range(min(rules.max_plies, 30)):
        legal = rules.legal(position)
        going_on = np.flatnonzero(legal.any(-1))
        actions = ask(agent, position, legal, going_on, generator)
        assert legal[going_on, actions].all()
        put_rows(position, going_on, rules.play(take_rows(position, going_on), actions))


@each_variant
def test_appraisal_is_one_finite_number_for_each_position(game, params):
    rules = GAMES[game].make_rules(**params)
    for shape in SHAPES:
        position = rules.initial(shape)
        assert np.shape(rules.appraise(position)) == shape
        assert np.isfinite(rules.appraise(rules.play_all(position))).all()


def immediate_wins(rules, position):
    """Return the actions that win at once in one position, found one by one."""
    wins = []
    for action in np.flatnonzero(rules.legal(position)):
        after = rules.play(position, action)
        if rules.over(after) and rules.value(after) == -1:
            wins.append(action)
    return wins


@each_variant
def test_greedy_takes_a_win_and_hands_none_over_when_it_can_help_it(game, params):
    rules = GAMES[game].make_rules(**params)
    positions = random_positions(rules, 25, seed=4)
    chosen = GreedyAgent(rules).choose(positions, rules.legal(positions), np.random.default_rng(4))
    for row, action in enumerate(chosen):
        position = positions._make(field[row] for field in positions)
        wins = immediate_wins(rules, position)
        if wins:
            assert action in wins
            continue
        lost, unsafe = set(), set()
        legal = set(np.flatnonzero(rules.legal(position)).tolist())
        for move in legal:
            after = rules.play(position, move)
            if rules.over(after):
                lost |= {move} if rules.value(after) == 1 else set()
            elif immediate_wins(rules, after):
                unsafe.add(move)
        best = legal - lost - unsafe or legal - lost or legal
        assert action in best
        opinions = {move: rules.appraise(rules.play(position, move)) for move in best}
        assert opinions[action] == min(opinions.values())


def test_greedy_leaves_ties_to_the_generator():
    rules = GAMES["factor-chain-duel"].make_rules()
    position = rules.initial((200,))
    chosen = GreedyAgent(rules).choose(position, rules.legal(position), np.random.default_rng(5))
    assert set(rules.numbers[chosen]) == {29, 31, 37, 41, 43, 47}


def test_search_proves_every_position_of_divider_duel():
    rules = GAMES["divider-duel"].make_rules()
    reached, newest = set(), [rules.initial()]
    while newest:
        position = newest.pop()
        if position.pool.tobytes() not in reached and position.pool.any():
            reached.add(position.pool.tobytes())
            newest += [rules.play(position, action) for action in np.flatnonzero(position.pool)]
    pools = np.array([np.frombuffer(pool, bool) for pool in sorted(reached)])
    agent = MCTSAgent(rules, 500)
    assert kept(agent, solver_for(rules), rules.initial(())._make([pools])).all()


def test_search_plays_a_made_up_game_perfectly():
    rules = Subtraction(heap=15, most=3)
    heaps = rules.initial(())._make([np.arange(1, 16)])
    chosen = rules.numbers[MCTSAgent(rules, 300).choose(heaps, rules.legal(heaps), np.random.default_rng(0))]
    winnable = heaps.counters % 4 > 0
    assert (chosen == heaps.counters % 4)[winnable].all()


def test_search_walks_out_of_circles():
    rules = GAMES["prime-duel-sum"].make_rules(when_empty="refill", lowest=2, highest=3, target=50, max_plies=12)
    position = rules.initial((3,))
    assert MCTSAgent(rules, 200).choose(position, rules.legal(position), np.random.default_rng(0)).shape == (3,)


def test_large_batches_are_searched_in_parts(monkeypatch):
    rules = GAMES["divider-duel"].make_rules()
    position = rules.initial((6,))
    monkeypatch.setattr("agents.mcts.BYTES_OF_TREES", 1)
    chosen = MCTSAgent(rules, 500).choose(position, rules.legal(position), np.random.default_rng(0))
    assert rules.numbers[chosen].tolist() == [4] * 6


@each([("prime-rumble", {}), ("prime-duel-product", {}), ("prime-duel-sum", {}), REFILL])
def test_a_perfect_evaluator_makes_the_search_perfect(game, params):
    rules = GAMES[game].make_rules(**params)
    solver = solver_for(rules)

    def evaluate(position, legal):
        best = solver.best(position)
        return best / np.maximum(best.sum(-1, keepdims=True), 1), solver.value(position)

    agent = MCTSAgent(rules, 16, evaluate)
    assert kept(agent, solver, random_positions(rules, 60, seed=6)).all()


def test_an_evaluator_may_write_into_what_it_is_given():
    rules = GAMES["prime-rumble"].make_rules()
    position = random_positions(rules, 20, seed=7)

    def by_size(position, legal):
        return legal / legal.sum(-1, keepdims=True), 1 - 2 * (legal.sum(-1) & 1)

    def by_size_and_wiping(position, legal):
        answer = by_size(position, legal)
        for array in (*position, legal):
            array[...] = 0
        return answer

    one, other = (
        MCTSAgent(rules, 30, evaluator).choose(position, rules.legal(position), np.random.default_rng(0))
        for evaluator in (by_size, by_size_and_wiping)
    )
    assert np.array_equal(one, other)


def more_simulations_keep_as_much(game, params, count):
    rules = GAMES[game].make_rules(**params)
    solver = solver_for(rules)
    position = random_positions(rules, count, seed=0)
    some, more = (kept(make_agent(name, rules), solver, position).mean() for name in ("mcts:100", "mcts:1000"))
    assert more >= some


@each([*((game, {}) for game in GAMES), REFILL])
def test_more_simulations_keep_as_much(game, params):
    more_simulations_keep_as_much(game, params, 40)


@pytest.mark.slow
@each([*((game, {}) for game in GAMES), REFILL])
def test_more_simulations_keep_as_much_on_many_positions(game, params):
    more_simulations_keep_as_much(game, params, 400)


RULES = GAMES["divider-duel"].make_rules()


def opening_of(agent):
    position = RULES.initial((1,))
    (action,) = agent.choose(position, RULES.legal(position), np.random.default_rng(0))
    return RULES.numbers[action]


def test_the_error_about_an_unknown_agent_lists_those_there_are():
    for name in ("alphazero", "", ":", "a:b:c"):
        with pytest.raises(ValueError, match="there is no agent") as refusal:
            make_agent(name, RULES)
        assert all(known in str(refusal.value) for known in [*AGENTS, "mcts:SIMULATIONS", "module:attribute"])


def test_simulations_are_a_whole_number_of_at_least_one():
    assert make_agent("mcts:7", RULES).simulations == 7
    assert make_agent("mcts", RULES).simulations >= 1
    for simulations in ("0", "-3", "many", "1.5", ":"):
        with pytest.raises(ValueError, match=r"whole number|at least 1"):
            make_agent(f"mcts:{simulations}", RULES)


def test_an_argument_is_refused_where_none_is_expected():
    for name in ("random:3", "greedy:x", "random:1:2"):
        with pytest.raises(ValueError, match="nothing is known about"):
            make_agent(name, RULES)


class Guide(Lowest):
    """A user's own agent that can guide a search: every move is as good as any other."""

    def evaluate(self, position, legal):
        return legal / legal.sum(-1, keepdims=True), np.zeros(len(legal))


def test_a_user_brings_an_agent():
    agent = make_agent("tests.support.agents:Lowest", RULES)
    assert isinstance(agent, Lowest)
    assert opening_of(agent) == 2


def test_a_user_brings_an_agent_that_guides_a_search():
    agent = make_agent(f"mcts:500:{__name__}:Guide", RULES)
    assert agent.simulations == 500 and agent.evaluator.__func__ is Guide.evaluate
    assert opening_of(agent) == 4


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (f"{__name__}:Nobody", "cannot be imported"),
        ("no_such_module:Agent", r"cannot be imported.*PYTHONPATH"),
        ("tests.support.agents:no_agent", "must return an object with choose"),
        ("tests.support.agents:unmakeable", r"tests.support.agents:unmakeable\(rules\) raised RuntimeError"),
        ("mcts:3:4", "there is no agent '4'"),
        ("mcts:3:", "there is no agent ''"),
        ("mcts:3:solver", "'solver' cannot guide a search: it has no method evaluate"),
        ("mcts:3:greedy:4", "nothing is known about '4'"),
        ("random:", "has nothing behind the colon; it is named random"),
        ("solver:x", "solver:EPS needs a probability from 0 to 1, not 'x'"),
        ("solver:1.5", "must be from 0 to 1, not 1.5"),
        ("solver:nan", "must be from 0 to 1, not nan"),
        ("mcts:3:no_such_module:Agent", "cannot be imported"),
        ("ppo", "ppo:PATH needs the folder"),
        ("ppo:", "has nothing behind the colon; it is named ppo:PATH or ppo:reference"),
        ("rllib", "rllib:PATH needs the folder"),
        ("human", r"agents/play\.py --first human"),
        ("openspiel", "openspiel:mcts:SIMULATIONS"),
        ("openspiel:alphazero", "there is no openspiel:alphazero"),
        ("openspiel:mcts:x", "openspiel:mcts:SIMULATIONS needs a whole number, not 'x'"),
        ("openspiel:mcts:1", "the number of simulations must be an integer of at least 2, not 1"),
        ("openspiel:mcts:5:6", "openspiel:mcts:SIMULATIONS needs a whole number, not '5:6'"),
    ],
)
def test_names_of_agents_that_cannot_be_made(name, reason):
    with pytest.raises(ValueError, match=reason):
        make_agent(name, RULES)


def test_without_openspiel_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "open_spiel", None)
    monkeypatch.delitem(sys.modules, "agents.openspiel", raising=False)
    with pytest.raises(ValueError, match=re.escape("pip install -c constraints.txt -e '.[openspiel]'")):
        make_agent("openspiel:mcts:100", RULES)


@each_game
def test_kept_falls_with_the_noise(game, params):
    """The loss is the share of random moves times how seldom random play keeps the value of the same positions."""
    names = ["solver", "solver:0.2", "solver:0.5", "solver:0.8", "solver:1"]
    results = evaluate(game, [*names, "random"], duels=200, **params)
    kept = [agent.kept for agent in results.agents[:-1]]
    assert kept[0] == 1
    assert kept == sorted(kept, reverse=True) and len(set(kept)) == len(kept)
    assert not any(agent.faults for agent in results.agents)
