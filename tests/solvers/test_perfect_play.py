"""Perfect play as everybody meets it: the known results, the opponent, the command line."""

from __future__ import annotations

import json
import subprocess
import sys

import gymnasium
import numpy as np
import pytest

from agents import make_agent
from numduel_env import GAMES, random_legal
from numduel_env.__main__ import main
from numduel_env.evaluation.match import Player, play_match
from numduel_env.rules import take_rows
from numduel_env.solvers import ILLEGAL, SolverPolicy, TooLargeToSolve, solver_for
from tests.support.variants import each

REFILL = {"when_empty": "refill"}

# Winner (to the first player), winning openings, drawing openings.
KNOWN = [
    ("divider-duel", {}, 1, [4], []),
    ("prime-rumble", {}, 1, [5, 17, 19, 23, 42], []),
    ("factor-chain-duel", {}, 1, sorted(set(range(2, 51)) - {5, 7, 34, 38, 46, 50}), []),
    ("prime-duel-product", {}, 1, [2, 5], []),
    ("prime-duel-sum", {}, 1, [5, 7, 8, 9, 10], [3, 6]),
    ("prime-duel-sum", REFILL, -1, [], []),
]

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


def random_positions(rules, count, seed):
    """Return positions at random plies of random games, unfinished ones and finished ones."""
    generator = np.random.default_rng(seed)
    position = rules.initial((count,))
    for _ in range(12):
        moving = rules.legal(position).any(-1) & (generator.random(count) < 0.8)
        after = rules.play(position, random_legal(rules.legal(position), generator))
        position = position._make(
            np.where(moving.reshape(-1, *[1] * (new.ndim - 1)), new, old) for new, old in zip(after, position)
        )
    return position


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
    values, worth = solver.action_values(position), solver.value(position)
    for shape in ((3, 4), (1, 12), (2, 1, 6)):
        shaped = position._make(field.reshape(shape + field.shape[1:]) for field in position)
        np.testing.assert_array_equal(solver.action_values(shaped), values.reshape(*shape, -1))
        np.testing.assert_array_equal(solver.value(shaped), worth.reshape(shape))
    for row in range(12):
        single = position._make(field[row] for field in position)
        np.testing.assert_array_equal(solver.action_values(single), values[row])
        assert solver.value(single) == worth[row]
    nothing = take_rows(position, np.zeros(0, int))
    assert solver.action_values(nothing).shape == (0, len(rules.numbers))


@each_solved
def test_the_policy_keeps_every_value_and_sets_the_harder_problem(game, params):
    rules = GAMES[game].make_rules(**params)
    solver = solver_for(rules)
    policy = SolverPolicy(solver)
    position = random_positions(rules, 60, 3)
    position = take_rows(position, np.flatnonzero(rules.legal(position).any(-1)))
    preferred, best, value = policy.preferred(position), solver.best(position), solver.value(position)
    assert preferred.any(-1).all()
    assert not (preferred & ~best).any()
    for row in range(len(value)):
        single = position._make(field[row] for field in position)
        np.testing.assert_array_equal(policy.preferred(single), preferred[row])
        left = {}
        for action in np.flatnonzero(best[row]):
            after = rules.play(single, int(action))
            left[action] = (rules.legal(after) if value[row] > 0 else solver.best(after)).sum()
        fewest = [action for action, count in left.items() if count == min(left.values())]
        assert np.flatnonzero(preferred[row]).tolist() == fewest
    chosen = policy.choose(position, np.random.default_rng(0))
    assert preferred[np.arange(len(chosen)), chosen].all()
    np.testing.assert_array_equal(chosen, policy.choose(position, np.random.default_rng(0)))


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
    pair = (Player("solver", make_agent("solver", rules)), Player(opponent, make_agent(opponent, rules)))
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
    assert environment.unwrapped._duel.moves == [4]


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "numduel_env", *arguments], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(("game", "params", "value", "wins", "draws"), KNOWN)
def test_solve_prints_one_json_object(game, params, value, wins, draws, capsys):
    flags = [f"--{name.replace('_', '-')}={setting}" for name, setting in params.items()]
    assert main(["solve", game, "--json", *flags]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert list(printed) == ["game", "params", "moves", "to_move", "value", "best", "action_values"]
    assert (printed["game"], printed["moves"], printed["to_move"]) == (game, [], 0)
    assert printed["params"] == {**GAMES[game].params, **params}
    assert printed["value"] == value
    assert printed["best"] == (wins or GAMES[game].make_rules(**params).numbers.tolist())
    assert [int(number) for number, worth in printed["action_values"].items() if worth == 1] == wins


def test_solve_from_moves(capsys):
    assert main(["solve", "prime_rumble", "--moves", "5, 17", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["moves"] == [5, 17]
    assert printed["to_move"] == 0
    assert "5" not in printed["action_values"] and "34" not in printed["action_values"]
    assert main(["solve", "divider-duel", "--moves", "2,3,5,7", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert (printed["value"], printed["best"], printed["action_values"], printed["to_move"]) == (-1, [], {}, 0)


def test_solve_for_people(capsys):
    assert main(["solve", "divider-duel"]) == 0
    printed = capsys.readouterr().out
    assert "Player 1 to move wins\nwinning moves: 4\n" in printed
    line = [int(number) for number in printed.split("line: ")[1].split(",")]
    rules = GAMES["divider-duel"].make_rules()
    duel = GAMES["divider-duel"].replay(rules, line)
    assert duel.winner == 0
    assert main(["solve", "divider-duel", "--moves", "2,3,5,7"]) == 0
    assert capsys.readouterr().out == "the game is over: Player 2 wins\n"
    assert main(["solve", "prime-duel-sum", "--when-empty", "draw"]) == 0
    assert "Player 1 to move draws\ndrawing moves: 2, 3, 4, 5, 6, 7, 8, 9, 10\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["divider-duel", "--moves", "5,x"], "move 2 must be a whole number, not 'x'"),
        (["divider-duel", "--moves", "4 5"], "move 1 must be a whole number, not '4 5'"),
        (["divider-duel", "--moves", "4,,5"], "move 2 must be a whole number, not ''"),
        (["divider-duel", "--moves", "5,5"], "move 2 (5) is illegal: 5 is not in the list."),
        (["factor-chain-duel", "--moves", "15,7"], "move 2 (7) is illegal: 7 is not a factor or multiple of 15."),
        (["factor-chain-duel", "--moves", "29,2"], "move 2 (2) comes after the end of the game"),
        (["divider-duel", "--moves", "1"], "move 1 (1) is illegal: 1 is not one of the numbers 2, 3"),
        (["prime-duel"], "choose prime-duel-product or prime-duel-sum"),
        (["divider-dual"], "Did you mean divider-duel?"),
        (["divider-duel", "--highest", "1"], "highest must be"),
        (["divider-duel", "--target", "9"], "divider-duel has no --target"),
        (["divider-duel", "--budget", "0"], "--budget must be at least 1"),
    ],
)
def test_bad_arguments_say_what_is_wrong(arguments, message):
    ran = run("solve", *arguments)
    assert ran.returncode == 2
    assert ran.stdout == ""
    assert message in ran.stderr


@pytest.mark.parametrize(
    "flags", ["--lowest 11 --highest 14 --target 40", "--highest 7 --target 40", "--lowest 2 --highest 2 --target 4"]
)
def test_the_principal_line_never_goes_in_circles(flags, capsys):
    assert main(["solve", "prime-duel-sum", "--when-empty", "refill", *flags.split()]) == 0
    printed = capsys.readouterr().out
    line = [int(number) for number in printed.split("line: ")[1].split(",")]
    values = dict(zip(flags.split()[::2], map(int, flags.split()[1::2])))
    params = {name.strip("-"): value for name, value in values.items()}
    rules = GAMES["prime-duel-sum"].make_rules(when_empty="refill", **params)
    duel = GAMES["prime-duel-sum"].replay(rules, line)
    assert not duel.truncated
    if "draws" not in printed.splitlines()[0]:
        assert duel.winner == (0 if "to move wins" in printed else 1)


def test_a_reader_may_go_away():
    command = f"{sys.executable} -m numduel_env games | head -1"
    ran = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert ran.stdout.startswith("prime-rumble")
    assert ran.stderr == ""


def test_too_large_is_said_in_one_line():
    ran = run("solve", "prime-rumble", "--highest", "100")
    assert ran.returncode == 1
    assert ran.stderr.count("\n") == 1
    assert "2..100" in ran.stderr and "200,000,000" in ran.stderr
    with pytest.raises(TooLargeToSolve, match="1,000"):
        solver_for(GAMES["prime-duel-product"].make_rules(), budget=1000)


def test_games_lists_what_is_known(capsys):
    assert main(["games"]) == 0
    printed = capsys.readouterr().out
    for spec in GAMES.values():
        assert spec.gymnasium_id in printed and spec.pettingzoo_id in printed
    assert "Player 1 to move wins; winning moves: 5, 17, 19, 23, 42" in printed
