"""What each environment promises beyond the frameworks' own checkers."""

from __future__ import annotations

import copy
import pickle
from collections import Counter

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from pettingzoo.classic import tictactoe_v3

import numduel_env
from numduel_env import GAMES, random_legal
from numduel_env.duel import Duel
from numduel_env.evaluation.exploitability import random_positions
from tests.support.agents import Editor, Fixed, LastMover, Lowest, MaskEditor
from tests.support.variants import each_game, each_game_with_illegal_moves, each_variant

PLAYERS = ("player_0", "player_1")


def make(game, params, **options):
    return gymnasium.make(GAMES[game].gymnasium_id, disable_env_checker=True, **options, **params)


def make_vec(game, params, **options):
    return gymnasium.make_vec(GAMES[game].gymnasium_id, **options, **params)


@each_variant
def test_aec_masks_stand_in_observation_and_info_and_are_zero_for_the_waiting_seat(game, params):
    environment = numduel_env.env(game, **params)
    environment.reset()
    generator = np.random.default_rng(1)
    while (
        environment.agents and not any(environment.terminations.values()) and not any(environment.truncations.values())
    ):
        mover = environment.agent_selection
        waiting = PLAYERS[1 - PLAYERS.index(mover)]
        for agent in PLAYERS:
            seen = environment.observe(agent)
            assert seen["action_mask"].dtype == np.int8
            np.testing.assert_array_equal(seen["action_mask"], environment.infos[agent]["action_mask"])
            assert environment.observation_space(agent).contains(seen)
        assert environment.observe(mover)["action_mask"].any()
        assert not environment.observe(waiting)["action_mask"].any()
        environment.step(int(random_legal(environment.observe(mover)["action_mask"], generator)))
    assert sum(environment.rewards.values()) == 0
    for agent in PLAYERS:
        assert not environment.observe(agent)["action_mask"].any()


@each_game
def test_aec_gives_fresh_arrays_and_dicts(game, params):
    environment = numduel_env.env(game)
    environment.reset()
    agent = environment.agent_selection
    first, again = environment.observe(agent), environment.observe(agent)
    assert first is not again
    for key in first:
        assert not np.shares_memory(first[key], again[key])
        assert not np.shares_memory(first[key], environment.infos[agent]["action_mask"])
    # Whatever a user does to what was handed out, the game goes on unharmed.
    first["observation"][:] = 0
    first["action_mask"][:] = 0
    environment.infos[agent]["action_mask"][:] = 0
    for key, value in environment.observe(agent).items():
        np.testing.assert_array_equal(value, again[key])


def test_both_seats_see_the_scores_from_their_own_side():
    environment = numduel_env.env("prime-duel-sum")
    environment.reset(options={"moves": [7, 9]})
    np.testing.assert_allclose(environment.observe("player_0")["observation"][-2:], [7 / 50, 9 / 50])
    np.testing.assert_allclose(environment.observe("player_1")["observation"][-2:], [9 / 50, 7 / 50])


@each_game
def test_copies_and_pickles_keep_the_game(game, params):
    generator = np.random.default_rng(0)
    for environment in (numduel_env.env(game), make(game, params), make_vec(game, params, num_envs=3)):
        environment.reset(seed=3, options={"moves": [GAMES[game].make_rules().numbers[2]]})
        copies = [copy.deepcopy(environment), pickle.loads(pickle.dumps(environment))]
        for _ in range(12):
            masks = masks_of(environment)
            if not masks.any(-1).all():
                break
            actions = random_legal(masks, generator)
            results = [stepped(each, actions) for each in (environment, *copies)]
            for other in results[1:]:
                np.testing.assert_equal(results[0], other)


def masks_of(environment):
    if isinstance(environment, numduel_env.envs.aec.NumduelAECEnv):
        return environment.last()[0]["action_mask"]
    return environment.unwrapped.action_masks()


def stepped(environment, actions):
    if isinstance(environment, numduel_env.envs.aec.NumduelAECEnv):
        environment.step(int(actions))
        return environment.last()
    return environment.step(actions)


@each_game
def test_a_copy_is_a_game_of_its_own(game, params):
    environment = numduel_env.env(game)
    environment.reset()
    before = environment.last()[0]
    twin = copy.deepcopy(environment)
    twin.step(0)
    np.testing.assert_equal(environment.last()[0], before)


def unfinished_duel(rules, plies):
    """Return a random duel that goes on after so many plies."""
    generator = np.random.default_rng(5)
    while True:
        duel = Duel(rules)
        while len(duel.actions) < plies and not duel.finished:
            duel.play(int(random_legal(duel.legal, generator)))
        if not duel.finished:
            return duel


@each_game
def test_reset_from_moves_equals_playing_them(game, params):
    rules = GAMES[game].make_rules()
    duel = unfinished_duel(rules, 3)
    played, opened = numduel_env.env(game), numduel_env.env(game)
    played.reset()
    for action in duel.actions:
        played.step(action)
    opened.reset(options={"moves": duel.moves})
    assert opened.agent_selection == played.agent_selection == "player_1"
    np.testing.assert_equal(opened.last(), played.last())

    for seat, learner_moves_next in (("second", True), ("first", False)):
        single = make(game, params, seat=seat, opponent=Lowest(rules))
        observation, info = single.reset(seed=0, options={"moves": duel.moves})
        vector = make_vec(game, params, num_envs=2, seat=seat, opponent=Lowest(rules))
        observations, infos = vector.reset(seed=0, options={"moves": duel.moves})
        np.testing.assert_array_equal(observations, [observation, observation])
        np.testing.assert_array_equal(infos["action_mask"], [info["action_mask"]] * 2)
        if learner_moves_next:
            np.testing.assert_array_equal(info["action_mask"], duel.legal)


@pytest.mark.parametrize("seat", ["first", "second", "random"])
@each_game
def test_seat_is_obeyed_and_drawn_from_the_seed(game, params, seat):
    environment = make(game, params, seat=seat)
    seats = [environment.reset(seed=seed)[1]["seat"] for seed in range(40)]
    assert set(seats) == {"first": {0}, "second": {1}, "random": {0, 1}}[seat]
    assert seats == [environment.reset(seed=seed)[1]["seat"] for seed in range(40)]


def test_a_game_may_be_over_before_the_learners_first_move():
    rules = GAMES["factor-chain-duel"].make_rules()
    environment = make("factor-chain-duel", {}, seat="second", opponent=Fixed(rules, 29))
    _, info = environment.reset(seed=0)
    assert info["over"] and not info["action_mask"].any()
    assert not environment.unwrapped.action_masks().any()
    _, reward, terminated, truncated, info = environment.step(7)
    assert (reward, terminated, truncated, info["illegal"]) == (-1.0, True, False, False)


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_vector_rows_that_are_over_early_report_with_the_next_step(mode):
    rules = GAMES["factor-chain-duel"].make_rules()
    options = {"seat": "second", "opponent": Fixed(rules, 29), "autoreset_mode": mode, "num_envs": 3}
    environment = make_vec("factor-chain-duel", {}, **options)
    _, infos = environment.reset(seed=0)
    assert infos["over"].all() and not infos["action_mask"].any()
    _, rewards, terminated, truncated, infos = environment.step(np.array([7, 8, 9]))
    assert (rewards == -1).all() and terminated.all() and not truncated.any()
    if mode is AutoresetMode.SAME_STEP:
        assert infos["_final_obs"].all() and infos["over"].all()


@each_game
def test_a_loss_on_the_opponents_ply_arrives_in_the_same_step(game, params):
    """Every episode's rewards sum to the learner's payoff, wherever it ends."""
    environment = make(game, params, seat="random")
    generator = np.random.default_rng(0)
    ends = set()
    for seed in range(60):
        _, info = environment.reset(seed=seed)
        total, ended = 0.0, False
        while not ended:
            _, reward, terminated, truncated, info = environment.step(int(random_legal(info["action_mask"], generator)))
            total, ended = total + reward, terminated or truncated
        duel = environment.unwrapped.duel
        assert total == duel.payoff[info["seat"]]
        ends.add((total, duel.seat == info["seat"]))
    assert {total for total, _ in ends} >= {-1.0, 1.0}


def rollout_single(environment, choose, seed, steps):
    """Return what a single environment shows over some steps, reset by hand when a game has ended."""
    shown = []
    observation, info = environment.reset(seed=seed)
    shown.append((observation, info["action_mask"], info["seat"], 0.0, False, False))
    for _ in range(steps):
        observation, reward, terminated, truncated, info = environment.step(choose(info["action_mask"]))
        shown.append((observation, info["action_mask"], info["seat"], reward, terminated, truncated))
        if terminated or truncated:
            observation, info = environment.reset()
            shown.append((observation, info["action_mask"], info["seat"], 0.0, False, False))
    return shown


@pytest.mark.parametrize("lookahead", [False, True])
@pytest.mark.parametrize("seat", ["first", "second"])
@each_variant
def test_a_row_behaves_like_the_single_environment(game, params, seat, lookahead):
    """Next-step autoreset shows just what a user sees who resets the single environment by hand."""
    rules = GAMES[game].make_rules(**params)
    options = {"seat": seat, "opponent": Lowest(rules), "lookahead": lookahead}

    def highest(mask):
        return int(len(mask) - 1 - mask[::-1].argmax()) if mask.any() else 0

    expected = rollout_single(make(game, params, **options), highest, 0, 25)
    rows = 4
    environment = make_vec(game, params, num_envs=rows, **options)
    observations, infos = environment.reset(seed=0)
    rewards, terminated, truncated = np.zeros(rows), np.zeros(rows, bool), np.zeros(rows, bool)
    for observation, mask, learners_seat, reward, over, stopped in expected:
        for row in range(rows):
            np.testing.assert_array_equal(observations[row], observation)
            np.testing.assert_array_equal(infos["action_mask"][row], mask)
            assert infos["seat"][row] == learners_seat
            assert (rewards[row], terminated[row], truncated[row]) == (reward, over, stopped)
        observations, rewards, terminated, truncated, infos = environment.step(
            np.array([highest(mask) for mask in infos["action_mask"]])
        )


@each_game
def test_one_row_equals_the_single_environment_under_a_random_opponent(game, params):
    def lowest(mask):
        return int(mask.argmax())

    expected = rollout_single(make(game, params), lowest, 11, 30)
    environment = make_vec(game, params, num_envs=1)
    observations, infos = environment.reset(seed=11)
    for observation, mask, learners_seat, *_ in expected:
        np.testing.assert_array_equal(observations[0], observation)
        np.testing.assert_array_equal(infos["action_mask"][0], mask)
        assert infos["seat"][0] == learners_seat
        observations, _, _, _, infos = environment.step(infos["action_mask"].argmax(-1))


@each_variant
def test_same_step_and_next_step_tell_of_the_same_games(game, params):
    """With a deterministic opponent and learner, the two modes differ only in when a new game is shown."""
    rules = GAMES[game].make_rules(**params)
    historys = {}
    for mode in (AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP):
        environment = make_vec(game, params, num_envs=2, seat="first", opponent=Lowest(rules), autoreset_mode=mode)
        assert environment.metadata["autoreset_mode"] is mode
        observations, infos = environment.reset(seed=0)
        generator = np.random.default_rng(4)
        history, fresh = [], False
        while len(history) < 30:
            actions = (
                random_legal(infos["action_mask"][:1], generator).repeat(2) if not fresh else np.zeros(2, np.int64)
            )
            observations, rewards, terminated, truncated, infos = environment.step(actions)
            ended = bool(terminated[0] or truncated[0])
            if mode is AutoresetMode.NEXT_STEP:
                if fresh:
                    fresh = False
                    assert rewards[0] == 0 and not ended
                    continue
                fresh = ended
                shown = observations[0]
                if ended:
                    assert not infos["action_mask"][0].any()
            else:
                assert ("final_obs" in infos) == ended
                shown = infos["final_obs"][0] if ended else observations[0]
                if ended:
                    assert infos["_final_obs"].all() and infos["_final_info"].all()
                    assert not infos["final_info"]["action_mask"][0].any()
                    assert infos["final_info"]["over"].all() and not infos["over"].any()
                    assert infos["action_mask"][0].any()
            history.append((shown.tolist(), rewards[0], terminated[0], truncated[0]))
        historys[mode] = history
    assert historys[AutoresetMode.SAME_STEP] == historys[AutoresetMode.NEXT_STEP]


@each_variant
def test_self_play_shows_every_row_to_its_mover(game, params):
    rules = GAMES[game].make_rules(**params)
    environment = make_vec(game, params, num_envs=8, opponent="self", autoreset_mode="SameStep")
    observations, infos = environment.reset(seed=0)
    beside = [Duel(rules) for _ in range(8)]
    generator = np.random.default_rng(0)
    for _ in range(60):
        for row, duel in enumerate(beside):
            np.testing.assert_array_equal(observations[row], environment.unwrapped.observer(duel.position, duel.legal))
            np.testing.assert_array_equal(infos["action_mask"][row], duel.legal)
            assert infos["seat"][row] == duel.seat
        actions = random_legal(infos["action_mask"], generator)
        observations, rewards, terminated, truncated, infos = environment.step(actions)
        for row, duel in enumerate(beside):
            mover = duel.seat
            duel.play(int(actions[row]))
            assert rewards[row] == duel.payoff[mover]
            assert (terminated[row], truncated[row]) == (duel.over, duel.truncated)
            if duel.finished:
                np.testing.assert_array_equal(infos["final_obs"][row], environment.unwrapped.observer(duel.position))
                beside[row] = Duel(rules)


@each_game
def test_disabled_autoreset_and_reset_mask(game, params):
    environment = make_vec(game, params, num_envs=4, opponent="self", autoreset_mode=AutoresetMode.DISABLED)
    _, infos = environment.reset(seed=0)
    generator = np.random.default_rng(0)
    ended = np.zeros(4, bool)
    while not ended.any():
        actions = random_legal(infos["action_mask"], generator)
        observations, _, terminated, truncated, infos = environment.step(actions)
        ended = terminated | truncated
    with pytest.raises(gymnasium.error.ResetNeeded):
        environment.step(np.zeros(4, np.int64))
    kept = observations[~ended]
    observations, infos = environment.reset(options={"reset_mask": ended})
    np.testing.assert_array_equal(observations[~ended], kept)
    assert infos["action_mask"].any(-1).all()
    start = environment.unwrapped.observer(GAMES[game].make_rules().initial())
    for row in np.flatnonzero(ended):
        np.testing.assert_array_equal(observations[row], start)


@each_game_with_illegal_moves
def test_an_illegal_action_loses_zero_sum_and_info_says_so(game, params):
    rules = GAMES[game].make_rules()
    first = int(rules.numbers[0])
    environment = numduel_env.env(game)
    environment.reset(options={"moves": [first]})
    # Until then there is the mask alone: TorchRL fails on infos that hold a mask beside something else.
    assert [list(environment.infos[player]) for player in PLAYERS] == [["action_mask"], ["action_mask"]]
    environment.step(0)
    assert environment.rewards == {"player_0": 1.0, "player_1": -1.0}
    assert environment.terminations == {"player_0": True, "player_1": True}
    assert environment.truncations == {"player_0": False, "player_1": False}
    assert environment.infos["player_1"]["illegal"] is True and "illegal" not in environment.infos["player_0"]
    assert environment.duel.moves == [first]
    assert "illegal move" in GAMES[game].wording.ending(environment.duel)

    single = make(game, params, seat="second")
    single.reset(seed=0, options={"moves": [first]})
    _, reward, terminated, _, info = single.step(0)
    assert (reward, terminated, info["illegal"]) == (-1.0, True, True)

    vector = make_vec(game, params, num_envs=3, seat="second")
    _, infos = vector.reset(seed=0, options={"moves": [first]})
    actions = infos["action_mask"].argmax(-1)
    actions[1] = 0
    _, rewards, terminated, _, infos = vector.step(actions)
    assert infos["illegal"].tolist() == [False, True, False]
    assert rewards[1] == -1 and terminated[1] and not infos["action_mask"][1].any()


@each_game_with_illegal_moves
def test_an_opponents_illegal_action_wins_for_the_learner(game, params):
    class Stubborn:
        def choose(self, position, legal, generator):
            return np.zeros(len(legal), int)

    single = make(game, params, seat="first", opponent=Stubborn())
    single.reset(seed=0)
    _, reward, terminated, _, info = single.step(0)
    assert (reward, terminated, info["illegal"]) == (1.0, True, True)
    vector = make_vec(game, params, num_envs=2, seat="first", opponent=Stubborn())
    vector.reset(seed=0)
    _, rewards, terminated, _, infos = vector.step(np.zeros(2, int))
    assert rewards.tolist() == [1, 1] and terminated.all() and infos["illegal"].all()


@pytest.mark.parametrize("agent", [Editor, LastMover])
@each_game
def test_an_agent_that_writes_into_what_it_is_given_changes_no_game(game, params, agent):
    """What it plays is the smallest legal number, and so are the games."""
    for seat in ("first", "second"):
        shown = [
            rollout_single(make(game, params, seat=seat, opponent=opponent), lambda mask: int(mask.argmax()), 0, 25)
            for opponent in (Lowest, agent)
        ]
        np.testing.assert_equal(*shown)
        vectors = [make_vec(game, params, num_envs=3, seat=seat, opponent=opponent) for opponent in (Lowest, agent)]
        starts = [vector.reset(seed=0) for vector in vectors]
        np.testing.assert_equal(*starts)
        actions = starts[0][1]["action_mask"].argmax(-1)
        for _ in range(25):
            one, other = (vector.step(actions) for vector in vectors)
            np.testing.assert_equal(one, other)
            actions = one[4]["action_mask"].argmax(-1)


@each_game
def test_an_agent_that_edits_its_mask_removes_no_number(game, params):
    rules = GAMES[game].make_rules()
    single = make(game, params, seat="second", opponent=MaskEditor)
    single.reset(seed=0)
    duel = single.unwrapped.duel
    np.testing.assert_equal(duel.position, Duel(rules, duel.actions).position)
    np.testing.assert_array_equal(duel.legal, Duel(rules, duel.actions).legal)
    np.testing.assert_array_equal(rules.remembered.start.legal, rules.legal(rules.initial()))
    vector = make_vec(game, params, num_envs=2, seat="second", opponent=MaskEditor)
    _, infos = vector.reset(seed=0)
    np.testing.assert_array_equal(infos["action_mask"], [duel.legal] * 2)


def test_an_opponent_is_a_name_an_agent_a_player_or_a_factory():
    rules = GAMES["divider-duel"].make_rules()
    for opponent in ("tests.support.agents:Lowest", Lowest(rules), Lowest, LastMover(rules), LastMover):
        single = make("divider-duel", {}, seat="second", opponent=opponent)
        single.reset(seed=0)
        assert single.unwrapped.duel.moves == [2]
        vector = make_vec("divider-duel", {}, num_envs=2, seat="second", opponent=opponent)
        assert (vector.reset(seed=0)[1]["action_mask"][:, 0] == 0).all()
    for name in ("random", "greedy", "solver"):
        make("divider-duel", {}, seat="second", opponent=name).reset(seed=0)


@pytest.mark.parametrize("name", ["agents", "num_agents", "agent_selection", "rewards", "infos", "nonsense"])
def test_before_reset_attributes_are_as_those_of_pettingzoos_own(name):
    errors = []
    for environment in (numduel_env.env("divider-duel"), tictactoe_v3.env()):
        with pytest.raises(AttributeError) as error:
            getattr(environment, name)
        errors.append(str(error.value))
    if name == "nonsense":
        assert "has no attribute 'nonsense'" in errors[0]
    else:
        assert errors[0] == errors[1] == f"{name} cannot be accessed before reset"
    copy.deepcopy(numduel_env.env("divider-duel")).reset()


@each_variant
def test_lookahead_appends_the_outlook_of_every_move(game, params):
    plain, ahead = (numduel_env.env(game, lookahead=lookahead, **params) for lookahead in (False, True))
    generator = np.random.default_rng(2)
    rules = plain.rules
    plain.reset()
    ahead.reset()
    while not any(plain.terminations.values()) and not any(plain.truncations.values()):
        seen, further = plain.last()[0], ahead.last()[0]
        size = plain.observer.size
        np.testing.assert_array_equal(further["observation"][:size], seen["observation"])
        outlooks = further["observation"][size:].reshape(len(rules.numbers), -1)
        duel = ahead.duel
        for action, legal in enumerate(duel.legal):
            expected = rules.outlook(rules.play(duel.position, action)) if legal else 0
            np.testing.assert_allclose(outlooks[action], expected, rtol=1e-6)
        action = int(random_legal(seen["action_mask"], generator))
        plain.step(action)
        ahead.step(action)


@each_variant
def test_every_observation_is_within_the_space_and_looks_ahead_only_for_the_mover(game, params):
    generator = np.random.default_rng(3)
    environment = numduel_env.env(game, lookahead=True, **params)
    plain = numduel_env.env(game, **params).observer.size
    for _ in range(20):
        environment.reset()
        while environment.agents:
            for agent in environment.agents:
                seen = environment.observe(agent)
                assert environment.observation_space(agent).contains(seen)
                if not seen["action_mask"].any():
                    assert not seen["observation"][plain:].any()
            mask = environment.last()[0]["action_mask"]
            environment.step(int(random_legal(mask, generator)) if mask.any() else None)
    for options in ({}, {"opponent": "self"}):
        vector = make_vec(game, params, num_envs=16, lookahead=True, autoreset_mode="SameStep", **options)
        observations, infos = vector.reset(seed=0)
        for _ in range(40):
            assert vector.observation_space.contains(observations)
            observations, _, _, _, infos = vector.step(random_legal(infos["action_mask"], generator))
            if "final_obs" in infos:
                assert vector.observation_space.contains(infos["final_obs"])
                assert not infos["final_obs"][:, plain:].any()


def groups_of(numbers):
    """Return the groups that hang together by one number dividing another."""
    groups = []
    for number in numbers:
        related = [group for group in groups if any(number % other == 0 for other in group)]
        joined = [other for group in related for other in group] + [number]
        groups = [group for group in groups if group not in related] + [joined]
    return groups


def shape_of(group):
    return tuple(sum(number % other == 0 for other in group) - 1 for number in sorted(group))


def test_sieve_outlook_tells_the_parities_of_small_groups():
    # How many factors each number of a group has in it: lone, pair, one divides two, two divide one, a chain.
    shapes = [(0,), (0, 1), (0, 1, 1), (0, 0, 2), (0, 1, 2)]
    met = set()
    for lowest, highest in [(2, 50), (2, 9), (5, 15), (3, 80)]:
        rules = GAMES["prime-rumble"].make_rules(lowest=lowest, highest=highest)
        position = random_positions(rules, 500, seed=0)
        for pool, facts in zip(position.pool, rules.outlook(position)):
            counts = Counter(shape_of(group) for group in groups_of(rules.numbers[pool].tolist()))
            met |= set(counts)
            np.testing.assert_array_equal(facts, [0, pool.sum() % 2, *(counts[shape] % 2 for shape in shapes)])
        empty = rules.initial()._replace(pool=np.zeros(len(rules.numbers), bool))
        np.testing.assert_array_equal(rules.outlook(empty), [1, 0, 0, 0, 0, 0, 0])
    assert set(shapes) <= met


def test_product_outlook_counts_the_doublings_left():
    rules = GAMES["prime-duel-product"].make_rules()
    for score, doublings in ((1, 9), (2, 8), (125, 3), (126, 2), (500, 1), (501, 0), (1000, 0), (29000, 0)):
        facts = rules.outlook(rules.initial()._replace(mine=np.int64(1), theirs=np.int64(score)))
        np.testing.assert_allclose(facts[-2:], [doublings / 9, 1])


@pytest.mark.parametrize("size", [1, 8, 9, 49, 63, 64, 65, 130, 200])
def test_random_legal_is_legal_and_uniform(size):
    generator = np.random.default_rng(size)
    masks = generator.random((300, size)) < 0.3
    masks[0] = False
    actions = random_legal(masks, generator)
    legal = masks[np.arange(300), actions]
    np.testing.assert_array_equal(legal, masks.any(-1))
    assert (actions[~masks.any(-1)] == 0).all()
    np.testing.assert_array_equal(
        random_legal(masks.astype(np.int8), np.random.default_rng(0)), random_legal(masks, np.random.default_rng(0))
    )

    mask = generator.random(size) < 0.5
    mask[0] = mask[-1] = True
    draws = 20_000
    counts = np.bincount(random_legal(np.broadcast_to(mask, (draws, size)), generator), minlength=size)
    expected = draws / mask.sum()
    assert not counts[~mask].any()
    chi_squared = ((counts[mask] - expected) ** 2 / expected).sum()
    freedom = mask.sum() - 1
    assert chi_squared <= freedom + 5 * np.sqrt(2 * freedom) + 5


def test_truncation_is_told_and_worth_nothing():
    environment = numduel_env.env("prime-duel-sum", when_empty="refill", max_plies=3)
    environment.reset(options={"moves": [2, 3]})
    environment.step(2)
    assert environment.truncations == {"player_0": True, "player_1": True}
    assert environment.terminations == {"player_0": False, "player_1": False}
    assert set(environment.rewards.values()) == {0.0}
    vector = make_vec("prime-duel-sum", {"when_empty": "refill", "max_plies": 3}, num_envs=2, opponent="self")
    vector.reset(seed=0, options={"moves": [2, 3]})
    _, rewards, terminated, truncated, infos = vector.step(np.array([2, 0]))
    assert rewards.tolist() == [0, -1]
    assert terminated.tolist() == [False, True] and truncated.tolist() == [True, False]
    assert not infos["action_mask"].any()


def test_infos_are_made_when_they_are_read_and_stay_as_they_are_until_the_next_step():
    environment = numduel_env.env("divider-duel")
    environment.reset()
    info = environment.last(observe=False)[4]
    info["note"] = "mine"
    assert environment.last()[4] is environment.infos["player_0"] is info
    assert not np.shares_memory(info["action_mask"], environment.observe("player_0")["action_mask"])
    before = environment.infos
    environment.step(0)
    assert environment.infos is not before
    assert before["player_0"] is info
    assert set(before) == {"player_0", "player_1"}
    assert not before["player_1"]["action_mask"].any()
    np.testing.assert_array_equal(environment.last()[4]["action_mask"], environment.duel.legal)
    assert not environment.infos["player_0"]["action_mask"].any()
