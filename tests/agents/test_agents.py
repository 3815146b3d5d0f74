"""Agents: one protocol for all, what greedy sees, what the search proves, and how they are made by name."""

from __future__ import annotations

import re
import sys

import numpy as np
import pytest
from agents.greedy import GreedyAgent

from agents import AGENTS, make_agent
from agents.mcts import MCTSAgent
from numduel_env import GAMES, random_legal
from numduel_env.batch import any_legal
from numduel_env.solvers import solver_for
from tests.support.toys import Subtraction
from tests.support.variants import each, each_game, each_variant

SHAPES = [(), (5,), (2, 3)]
SPECS = ["random", "greedy", "solver", "mcts:20"]
REFILL = ("prime-duel-sum", {"when_empty": "refill"})


@pytest.fixture(autouse=True, scope="module")
def _own_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NUMDUEL_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


class Lowest:
    """A user's own agent: the smallest legal number."""

    def __init__(self, rules, seed):
        self.rules, self.seed = rules, seed

    def choose(self, position, generator):
        return self.rules.legal(position).argmax(-1)


class Pointless:
    """Not an agent."""

    def __init__(self, rules, seed):
        pass


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
    actions = agent.choose(position, np.random.default_rng(seed))
    return solver.best(position)[np.arange(len(actions)), actions][solver.value(position) >= 0]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("spec", SPECS)
@each_game
def test_agents_keep_the_protocol(game, params, spec, shape):
    rules = GAMES[game].make_rules(**params)
    agent = make_agent(spec, rules, seed=0)
    assert agent.rules is rules
    generator = np.random.default_rng(1)
    position = rules.initial(shape)
    for _ in range(3):
        legal = rules.legal(position)
        before = [np.copy(field) for field in position]
        actions = agent.choose(position, np.random.default_rng(2))
        assert np.shape(actions) == shape and np.issubdtype(np.asarray(actions).dtype, np.integer)
        chosen = np.take_along_axis(legal, np.asarray(actions)[..., None], -1)[..., 0]
        assert (chosen | ~legal.any(-1)).all()
        assert np.array_equal(actions, agent.choose(position, np.random.default_rng(2)))
        assert all(map(np.array_equal, position, before))
        if not legal.any(-1).all():
            break
        # Random moves, so that no perfect opening ends the game at once.
        position = rules.play(position, random_legal(legal, generator))


@pytest.mark.parametrize("size", [1, 5, 8, 31, 32, 49, 70])
def test_any_legal_is_any(size):
    generator = np.random.default_rng(size)
    for shape in ((), (0,), (1,), (10,), (4, 3), (2, 3, 4)):
        mask = generator.random((*shape, size)) < 1 / size
        with np.errstate(all="raise"):
            np.testing.assert_array_equal(any_legal(mask), mask.any(-1))


@pytest.mark.parametrize("spec", ["greedy", "mcts:20"])
@each_variant
def test_finished_games_are_no_obstacle(game, params, spec):
    rules = GAMES[game].make_rules(**params)
    position = random_positions(rules, 4, seed=3)
    generator = np.random.default_rng(3)
    for _ in range(min(rules.max_plies, 30)):
        legal = rules.legal(position)
        actions = make_agent(spec, rules).choose(position, generator)
        unfinished = legal.any(-1)
        assert legal[np.arange(4), actions][unfinished].all()
        moved = rules.play(position, actions)
        keeps = np.flatnonzero(~unfinished)
        for field, old in zip(moved, position):
            field[keeps] = old[keeps]
        position = moved


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
    chosen = GreedyAgent(rules).choose(positions, np.random.default_rng(4))
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
    chosen = GreedyAgent(rules).choose(rules.initial((200,)), np.random.default_rng(5))
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
    chosen = rules.numbers[MCTSAgent(rules, 300).choose(heaps, np.random.default_rng(0))]
    winnable = heaps.counters % 4 > 0
    assert (chosen == heaps.counters % 4)[winnable].all()


def test_search_walks_out_of_circles():
    rules = GAMES["prime-duel-sum"].make_rules(when_empty="refill", lowest=2, highest=3, target=50, max_plies=12)
    assert MCTSAgent(rules, 200).choose(rules.initial((3,)), np.random.default_rng(0)).shape == (3,)


def test_chunks_are_made_of_any_batch(monkeypatch):
    rules = GAMES["divider-duel"].make_rules()
    monkeypatch.setattr("agents.mcts.BYTES_OF_TREES", 1)
    chosen = MCTSAgent(rules, 100).choose(rules.initial((2, 3)), np.random.default_rng(0))
    assert chosen.shape == (2, 3)
    assert MCTSAgent(rules, 5).choose(rules.initial((0,)), np.random.default_rng(0)).shape == (0,)


@each([("prime-rumble", {}), ("prime-duel-product", {}), ("prime-duel-sum", {}), REFILL])
def test_a_perfect_evaluator_makes_the_search_perfect(game, params):
    rules = GAMES[game].make_rules(**params)
    solver = solver_for(rules)

    def evaluate(position):
        best = solver.best(position)
        return best / np.maximum(best.sum(-1, keepdims=True), 1), solver.value(position)

    agent = MCTSAgent(rules, 16, evaluate)
    assert kept(agent, solver, random_positions(rules, 60, seed=6)).all()


def more_simulations_keep_as_much(game, params, count):
    rules = GAMES[game].make_rules(**params)
    solver = solver_for(rules)
    position = random_positions(rules, count, seed=0)
    some, more = (kept(make_agent(spec, rules), solver, position).mean() for spec in ("mcts:100", "mcts:1000"))
    assert more >= some


@each([*((game, {}) for game in GAMES), REFILL])
def test_more_simulations_keep_as_much(game, params):
    more_simulations_keep_as_much(game, params, 40)


@pytest.mark.slow
@each([*((game, {}) for game in GAMES), REFILL])
def test_more_simulations_keep_as_much_on_many_positions(game, params):
    more_simulations_keep_as_much(game, params, 400)


RULES = GAMES["divider-duel"].make_rules()


def test_an_unknown_agent_is_told_what_there_is():
    for spec in ("alphazero", "", ":", "a:b:c"):
        with pytest.raises(ValueError, match="there is no agent") as refusal:
            make_agent(spec, RULES)
        assert all(name in str(refusal.value) for name in [*AGENTS, "mcts:SIMULATIONS", "module:attribute"])


def test_simulations_are_a_whole_number_of_at_least_one():
    assert make_agent("mcts:7", RULES).simulations == 7
    assert make_agent("mcts", RULES).simulations >= 1
    for simulations in ("0", "-3", "many", "1.5", ""):
        with pytest.raises(ValueError, match=r"whole number|at least 1"):
            make_agent(f"mcts:{simulations}", RULES)


def test_words_after_the_colon_need_somebody_to_take_them():
    for spec in ("random:3", "greedy:x", "solver:1:2"):
        with pytest.raises(ValueError, match="does not take"):
            make_agent(spec, RULES)


def test_a_user_brings_an_agent():
    agent = make_agent(f"{__name__}:Lowest", RULES, seed=9)
    assert isinstance(agent, Lowest) and agent.seed == 9
    assert agent.choose(RULES.initial(), np.random.default_rng(0)) == 0
    for spec, reason in [
        (f"{__name__}:Nobody", "cannot be imported"),
        ("no_such_module:Agent", "cannot be imported"),
        (f"{__name__}:Pointless", "must return an object with choose"),
    ]:
        with pytest.raises(ValueError, match=reason):
            make_agent(spec, RULES)


def test_a_human_is_sent_to_the_terminal():
    with pytest.raises(ValueError, match=r"play\.py"):
        make_agent("human", RULES)


def broken(rules, seed):
    raise KeyError("nothing there")


def test_a_user_agent_that_cannot_be_made_is_told_so():
    rules = GAMES["divider-duel"].make_rules()
    with pytest.raises(ValueError, match=r"tests.agents.test_agents:broken\(rules, seed\) raised KeyError"):
        make_agent("tests.agents.test_agents:broken", rules)
    with pytest.raises(ValueError, match="PYTHONPATH"):
        make_agent("nowhere_at_all:agent", rules)
    for spec in ("greedy:3", "mcts:3:4", "mcts:3:solver:4", "ppo", "ppo:"):
        with pytest.raises(
            ValueError, match=r"there is no agent|does not take|can be followed by ppo:PATH|needs the folder"
        ):
            make_agent(spec, rules)


def test_openspiels_search_needs_a_name_and_a_number():
    for spec, reason in [
        ("openspiel", "openspiel:mcts:SIMULATIONS"),
        ("openspiel:alphazero", "there is no openspiel:alphazero"),
        ("openspiel:mcts:x", "mcts:SIMULATIONS needs a whole number, not 'x'"),
        ("openspiel:mcts:1", "the number of simulations must be an integer of at least 2, not 1"),
        ("openspiel:mcts:5:6", "does not take"),
    ]:
        with pytest.raises(ValueError, match=reason):
            make_agent(spec, RULES)


def test_without_openspiel_the_way_to_it_is_shown(monkeypatch):
    monkeypatch.setitem(sys.modules, "open_spiel", None)
    monkeypatch.delitem(sys.modules, "agents.openspiel", raising=False)
    with pytest.raises(ValueError, match=re.escape("pip install -c constraints.txt -e '.[openspiel]'")):
        make_agent("openspiel:mcts:100", RULES)
