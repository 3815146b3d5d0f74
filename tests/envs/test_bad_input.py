"""Bad input gets a clear error and changes nothing."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import gymnasium
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pettingzoo.utils.env_logger import EnvLogger

import numduel_env
from numduel_env import GAMES, Duel, GameSpec, find_game, random_legal, register_game, solver_for
from numduel_env.duels import Duels
from numduel_env.games.sieve import Sieve
from tests.support.variants import each_game, each_game_with_illegal_moves

games = st.sampled_from(sorted(GAMES))
quickly = settings(max_examples=60, deadline=None)

NOT_ACTIONS = st.one_of(
    st.integers(max_value=-1),
    st.integers(min_value=200),
    st.floats(),
    st.booleans(),
    st.text(max_size=3),
    st.just(None),
    st.lists(st.integers(0, 3), max_size=3),
    st.builds(lambda n: np.full(n, 1), st.integers(0, 3)),
    st.builds(np.float32, st.floats(0, 3, width=32)),
    st.builds(lambda x: np.array(x), st.floats(0, 3)),
)


def some_way_into(game, plies, seed=0):
    environment = numduel_env.env(game)
    environment.reset()
    generator = np.random.default_rng(seed)
    for _ in range(plies):
        mask = environment.last()[0]["action_mask"]
        if mask.any():
            environment.step(int(random_legal(mask, generator)))
    return environment


@quickly
@given(game=games, plies=st.integers(0, 3), action=NOT_ACTIONS)
def test_aec_refuses_what_is_no_action_and_goes_on(game, plies, action):
    environment = some_way_into(game, plies)
    if environment.duel.finished:
        return
    before = environment.last()
    with pytest.raises(ValueError, match="an action is an integer from 0 to"):
        environment.step(action)
    np.testing.assert_equal(environment.last(), before)


@quickly
@given(game=games, seed=st.integers(0, 1000), action=NOT_ACTIONS)
def test_single_refuses_what_is_no_action_and_goes_on(game, seed, action):
    environment = gymnasium.make(GAMES[game].gymnasium_id, disable_env_checker=True, seat="first")
    environment.reset(seed=seed)
    before = environment.unwrapped.action_masks()
    with pytest.raises(ValueError, match="an action is an integer from 0 to"):
        environment.step(action)
    np.testing.assert_array_equal(environment.unwrapped.action_masks(), before)
    environment.step(0)


@quickly
@given(
    game=games,
    actions=st.one_of(
        st.just(np.array([0, -1, 0])),
        st.just(np.array([0, 0, 999])),
        st.just(np.array([0.0, 1.0, 0.0])),
        st.just(np.array([True, False, True])),
        st.just(np.array([0, 0])),
        st.just(np.zeros((3, 1), int)),
        st.just(0),
        st.just(None),
        st.just(["a", "b", "c"]),
    ),
)
def test_vector_refuses_what_are_no_actions_and_goes_on(game, actions):
    environment = gymnasium.make_vec(GAMES[game].gymnasium_id, num_envs=3, seat="first")
    environment.reset(seed=0)
    before, plies = environment.unwrapped.action_masks(), environment.unwrapped.duels.plies.copy()
    with pytest.raises(ValueError, match="action"):
        environment.step(actions)
    np.testing.assert_array_equal(environment.unwrapped.action_masks(), before)
    np.testing.assert_array_equal(environment.unwrapped.duels.plies, plies)
    environment.step(np.zeros(3, int))


@quickly
@given(game=games, plies=st.integers(1, 6), seed=st.integers(0, 99), data=st.data())
def test_an_illegal_action_never_corrupts_the_position(game, plies, seed, data):
    environment = some_way_into(game, plies, seed)
    duel = environment.duel
    illegal = np.flatnonzero(~duel.legal)
    if duel.finished or not len(illegal):
        return
    action = int(data.draw(st.sampled_from(illegal.tolist())))
    position, moves, mover = [field.copy() for field in duel.position], duel.moves, environment.agent_selection
    environment.step(action)
    np.testing.assert_equal(list(duel.position), position)
    assert duel.moves == moves
    assert environment.rewards[mover] == -1 and sum(environment.rewards.values()) == 0


@each_game_with_illegal_moves
def test_illegal_can_raise_instead(game, params):
    first = int(GAMES[game].make_rules().numbers[0])
    aec = numduel_env.env(game, illegal="raise")
    aec.reset(options={"moves": [first]})
    single = gymnasium.make(GAMES[game].gymnasium_id, illegal="raise", seat="second", disable_env_checker=True)
    single.reset(options={"moves": [first]})
    vector = gymnasium.make_vec(GAMES[game].gymnasium_id, num_envs=3, illegal="raise", seat="second")
    actions = vector.reset(options={"moves": [first]})[1]["action_mask"].argmax(-1)
    actions[1] = 0
    for environment, action in ((aec, 0), (single, 0), (vector, actions)):
        for _ in range(2):
            with pytest.raises(ValueError, match=r"action 0 .*is illegal"):
                environment.step(action)
    assert aec.duel.moves == single.unwrapped.duel.moves == [first]
    assert vector.unwrapped.duels.plies.tolist() == [1, 1, 1]


@each_game
def test_before_reset_each_api_gives_its_own_error(game, params):
    aec = numduel_env.env(game)
    for call in (lambda: aec.step(0), lambda: aec.observe("player_0"), aec.render, aec.agent_iter):
        with pytest.raises(AssertionError, match="needs to be called before"):
            call()
    for attribute in ("agents", "rewards", "terminations", "truncations", "infos", "agent_selection", "num_agents"):
        with pytest.raises(AttributeError):
            getattr(aec, attribute)
    single = gymnasium.make(GAMES[game].gymnasium_id)
    for call in (lambda: single.step(0), lambda: single.unwrapped.step(0), single.unwrapped.action_masks):
        with pytest.raises(gymnasium.error.ResetNeeded):
            call()
    vector = gymnasium.make_vec(GAMES[game].gymnasium_id, num_envs=2)
    with pytest.raises(gymnasium.error.ResetNeeded):
        vector.step(np.zeros(2, int))


@each_game
def test_after_the_end_each_api_gives_its_own_error(game, params):
    aec = some_way_into(game, 60)
    with pytest.raises(ValueError, match="the only valid action is None"):
        aec.step(0)
    aec.step(None)
    aec.step(None)
    assert aec.agents == []
    EnvLogger.flush()
    EnvLogger.suppress_output()
    aec.step(None)
    assert "after all agents are terminated" in EnvLogger.mqueue[-1]
    EnvLogger.unsuppress_output()
    aec.reset()
    assert aec.agents == ["player_0", "player_1"]

    single = gymnasium.make(GAMES[game].gymnasium_id, disable_env_checker=True)
    _, info = single.reset(seed=0)
    ended = False
    while not ended:
        _, _, terminated, truncated, info = single.step(int(info["action_mask"].argmax()))
        ended = terminated or truncated
    with pytest.raises(gymnasium.error.ResetNeeded):
        single.step(0)


BAD_MOVES = {
    "prime-rumble": [[6, 6], [2, 4], [51], [1], [-5], [3.5], ["5"], "5", 5, [None], list(range(50, 1, -1))],
    "factor-chain-duel": [[15, 7], [15, 15], [29], [51], [2.0]],
    "divider-duel": [[9, 9], [2, 4], [10], list(range(9, 1, -1))],
    "prime-duel-product": [[4], [2] * 19, [31], [29, 2, 29, 2, 2]],
    "prime-duel-sum": [[7, 7], [11], list(range(2, 11))],
}


@pytest.mark.parametrize(("game", "moves"), [(game, moves) for game, many in BAD_MOVES.items() for moves in many])
def test_bad_moves_are_refused_and_the_game_goes_on(game, moves):
    spec = GAMES[game]
    aec = numduel_env.env(game)
    aec.reset(options={"moves": [int(aec.rules.numbers[2])]})
    before = aec.last()
    with pytest.raises(ValueError, match="move"):
        aec.reset(options={"moves": moves})
    np.testing.assert_equal(aec.last(), before)
    for environment in (gymnasium.make(spec.gymnasium_id), gymnasium.make_vec(spec.gymnasium_id, num_envs=2)):
        environment.reset(seed=1)
        before = environment.unwrapped.action_masks(), environment.unwrapped.np_random.bit_generator.state
        with pytest.raises(ValueError, match="move"):
            environment.reset(seed=2, options={"moves": moves})
        np.testing.assert_equal(environment.unwrapped.action_masks(), before[0])
        assert environment.unwrapped.np_random.bit_generator.state == before[1]


def test_bad_moves_say_which_and_why():
    environment = numduel_env.env("factor-chain-duel")
    with pytest.raises(ValueError, match=r"move 3 \(7\) is illegal: 7 is not a factor or multiple of 5"):
        environment.reset(options={"moves": [15, 5, 7]})
    with pytest.raises(ValueError, match=r"move 3 \(15\) is illegal: 15 has already been used"):
        environment.reset(options={"moves": [15, 5, 15]})
    with pytest.raises(ValueError, match="finish the game"):
        environment.reset(options={"moves": [29]})
    with pytest.raises(ValueError, match=r"move 2 \(2\) comes after the end"):
        environment.reset(options={"moves": [29, 2]})


@pytest.mark.parametrize("mask", [[True, False], np.array([1, 0]), np.array([True]), np.array([[True, False]]), "yes"])
def test_a_bad_reset_mask_is_refused(mask):
    environment = gymnasium.make_vec("numduel/DividerDuel-v0", num_envs=2)
    environment.reset(seed=0)
    with pytest.raises(ValueError, match="reset_mask"):
        environment.reset(options={"reset_mask": mask})


@pytest.mark.parametrize(
    ("game", "params", "named"),
    [
        ("prime-rumble", {"highest": 1}, "highest"),
        ("prime-rumble", {"lowest": 1}, "lowest"),
        ("prime-rumble", {"lowest": 10, "highest": 9}, "highest"),
        ("prime-rumble", {"highest": 9.0}, "highest"),
        ("prime-rumble", {"highest": "9"}, "highest"),
        ("prime-rumble", {"highest": True}, "highest"),
        ("prime-rumble", {"highest": 10**9}, "highest"),
        ("factor-chain-duel", {"lowest": None}, "lowest"),
        ("divider-duel", {"lowest": -3}, "lowest"),
        ("prime-duel-product", {"target": 1}, "target"),
        ("prime-duel-product", {"target": 10**30}, "target"),
        ("prime-duel-product", {"primes_below": 2}, "primes_below"),
        ("prime-duel-sum", {"target": 0}, "target"),
        ("prime-duel-sum", {"when_empty": "lower"}, "when_empty"),
        ("prime-duel-sum", {"when_empty": None}, "when_empty"),
        ("prime-duel-sum", {"max_plies": 0, "when_empty": "refill"}, "max_plies"),
    ],
)
def test_nonsense_parameters_are_named(game, params, named):
    doors = (
        lambda: numduel_env.env(game, **params),
        lambda: gymnasium.make(GAMES[game].gymnasium_id, **params),
        lambda: gymnasium.make_vec(GAMES[game].gymnasium_id, num_envs=2, **params),
    )
    for door in doors:
        with pytest.raises(ValueError, match=f"^{named} must be .* not "):
            door()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"opponent": "sover"}, "opponent: there is no agent 'sover'; there are random, greedy, solver"),
        ({"opponent": 3}, "opponent: an agent is a name"),
        ({"seat": "third"}, "seat must be one of"),
        ({"illegal": "warn"}, "illegal must be one of"),
    ],
)
def test_unknown_options_say_what_is_allowed(options, message):
    with pytest.raises(ValueError, match=message):
        gymnasium.make("numduel/DividerDuel-v0", **options)
    with pytest.raises(ValueError, match=message):
        gymnasium.make_vec("numduel/DividerDuel-v0", num_envs=2, **options)


def test_unknown_parameters_and_modes():
    with pytest.raises(TypeError, match="no option 'target'; the parameters of divider-duel are: lowest, highest"):
        numduel_env.env("divider-duel", target=3)
    with pytest.raises(ValueError, match="render_mode must be"):
        numduel_env.env("divider-duel", render_mode="hologram")
    with pytest.raises(ValueError, match="num_envs"):
        gymnasium.make_vec("numduel/DividerDuel-v0", num_envs=0)
    with pytest.raises(ValueError, match="AutoresetMode"):
        gymnasium.make_vec("numduel/DividerDuel-v0", num_envs=2, autoreset_mode="sometimes")


def test_game_names():
    for name in GAMES:
        assert find_game(name) is find_game(name.replace("-", "_")) is find_game(f" {name.title()} ") is GAMES[name]
    with pytest.raises(ValueError, match="prime-duel-product or prime-duel-sum"):
        find_game("prime-duel")
    with pytest.raises(ValueError, match="prime-duel-product or prime-duel-sum"):
        find_game("Prime_Duel")
    with pytest.raises(ValueError, match=r"Did you mean prime-rumble\? The games are: prime-rumble, factor"):
        find_game("prime-rumbel")
    with pytest.raises(ValueError, match=r"there is no game 'chess'\. The games are"):
        find_game("chess")


class Faulty:
    """Plays the smallest legal number, until told to fail."""

    def __init__(self, rules, answer=None):
        self.rules, self.answer = rules, answer

    def choose(self, position, legal, generator):
        if isinstance(self.answer, BaseException):
            raise self.answer
        return legal.argmax(-1) if self.answer is None else np.full(legal.shape[:-1], self.answer)


FAILURES = [
    99,
    -1,
    0.5,
    10**30,
    RuntimeError("asleep"),
    RuntimeError("\x1b[31m\a\nasleep"),
    SystemExit(0),
    GeneratorExit(),
    asyncio.CancelledError(),
    BaseExceptionGroup("several", [SystemExit(0)]),
]


@pytest.mark.parametrize("answer", FAILURES, ids=repr)
def test_an_opponent_that_fails_is_blamed_and_the_game_must_be_reset(answer):
    rules = GAMES["divider-duel"].make_rules()
    for make in (
        lambda opponent: gymnasium.make("numduel/DividerDuel-v0", opponent=opponent, disable_env_checker=True),
        lambda opponent: gymnasium.make_vec("numduel/DividerDuel-v0", num_envs=2, opponent=opponent),
    ):
        opponent = Faulty(rules)
        environment = make(opponent)
        environment.reset(seed=0)
        opponent.answer = answer
        actions = environment.unwrapped.action_masks().argmax(-1)
        with pytest.raises(ValueError, match=r"^the opponent \(Faulty\) (answered|raised)") as error:
            environment.step(actions)
        assert str(error.value).isprintable()
        opponent.answer = None
        with pytest.raises(gymnasium.error.ResetNeeded):
            environment.step(actions)
        environment.reset(seed=0)
        environment.step(environment.unwrapped.action_masks().argmax(-1))


def test_an_opponent_made_for_another_size_is_refused():
    other = Faulty(GAMES["divider-duel"].make_rules(highest=20))
    with pytest.raises(ValueError, match="opponent: the agent was made for the numbers"):
        gymnasium.make("numduel/DividerDuel-v0", opponent=other)
    with pytest.raises(ValueError, match=r"opponent: <lambda>\(rules\) must return an object with choose"):
        gymnasium.make("numduel/DividerDuel-v0", opponent=lambda rules: 3)


def test_options_that_miss_the_mark():
    environment = numduel_env.env("divider-duel")
    with pytest.raises(ValueError, match="did you mean 'moves'"):
        environment.reset(options={"move": [5]})
    with pytest.raises(ValueError, match="options must be a dict"):
        environment.reset(options=[5])
    environment.reset(options={"somebody": "else's"})
    with pytest.raises(ValueError, match="lookahead must be True or False"):
        numduel_env.env("divider-duel", lookahead="no")
    with pytest.raises(ValueError, match="render_mode of a vector environment must be None or rgb_array"):
        gymnasium.make_vec("numduel/DividerDuel-v0", num_envs=2, render_mode="ansi")
    with pytest.raises(ValueError, match="at most 64 games are rendered, not 65"):
        gymnasium.make_vec("numduel/DividerDuel-v0", num_envs=65, render_mode="rgb_array")


@quickly
@given(
    game=games,
    params=st.dictionaries(
        st.sampled_from(["lowest", "highest", "target", "primes_below", "max_plies", "when_empty"]),
        st.one_of(st.integers(-5, 60), st.floats(), st.text(max_size=4), st.none(), st.booleans()),
        max_size=3,
    ),
)
def test_any_parameters_make_a_game_or_a_clear_error(game, params):
    try:
        environment = numduel_env.env(game, **params)
    except ValueError as error:
        assert any(str(error).startswith(f"{name} must be") for name in GAMES[game].params)
    except TypeError as error:
        assert "there is no option" in str(error)
    else:
        environment.reset()
        assert environment.last()[0]["action_mask"].any()


@quickly
@given(game=games, moves=st.lists(st.one_of(st.integers(-3, 60), st.floats(), st.text(max_size=2)), max_size=5))
def test_any_moves_open_a_game_or_give_a_clear_error(game, moves):
    environment = numduel_env.env(game)
    try:
        environment.reset(options={"moves": moves})
    except ValueError as error:
        assert "move" in str(error)
    else:
        assert environment.duel.moves == moves


def test_what_has_no_meaning_is_refused_where_it_is_said():
    rules = GAMES["divider-duel"].make_rules()
    with pytest.raises(ValueError, match="an action is an integer from 0 to 7, not -1"):
        Duel(rules).play(-1)
    for actions in ([-1, 0], [0, 8]):
        duels = Duels(rules, 2)
        with pytest.raises(ValueError, match="actions must be from 0 to 7"):
            duels.play(np.array(actions))
        assert duels.plies.tolist() == [0, 0] and duels.position.pool.all()
    assert random_legal([0, 1, 0], np.random.default_rng(0)) == 1
    for mask in (3, [], [[], []]):
        with pytest.raises(ValueError, match="a mask has one entry for each action"):
            random_legal(mask, np.random.default_rng(0))
    with pytest.raises(TypeError, match=r"solver_for takes the rules of a game, .*, not 'x'"):
        solver_for("x")
    for count in (10**12, 10**30):
        with pytest.raises(ValueError, match=r"games are too many: at most [\d,]+ of this size"):
            gymnasium.make_vec("numduel/DividerDuel-v0", num_envs=count)


TINY = GameSpec("x", "X", Sieve, {"lowest": 2, "highest": 9})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"params": {"lowest": 9, "highest": 2}}, "highest must be"),
        ({"params": {}}, "missing 2 required positional arguments"),
        ({"params": [2, 9]}, "params must be a dict"),
        ({"rules": "Sieve"}, "rules must be a class of rules or a function"),
        ({"rules": dict}, "must make an instance of numduel_env.Rules, not dict"),
        ({"name": 3}, "a game's name is"),
        ({"title": ""}, "title must be a text"),
        ({"version": -1}, "version must be"),
    ],
)
def test_a_game_that_is_none_is_refused_at_the_door(changes, message):
    before = dict(GAMES)
    with pytest.raises(ValueError, match=message):
        register_game(replace(TINY, **changes))
    assert before == GAMES
    assert "numduel/X-v0" not in gymnasium.registry
    with pytest.raises(ValueError, match="register_game takes a GameSpec"):
        register_game("divider-duel")
