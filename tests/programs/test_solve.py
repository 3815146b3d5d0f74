"""`python -m numduel_env`: what `games` and `solve` print."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from numduel_env import GAMES
from numduel_env.__main__ import main
from numduel_env.duel import replay
from numduel_env.solvers import TooLargeToSolve, solver_for
from tests.solvers.known import KNOWN


@pytest.fixture(autouse=True, scope="module")
def _own_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NUMDUEL_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


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
    assert [int(number) for number, action_value in printed["action_values"].items() if action_value == 1] == wins


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
    duel = replay(GAMES["divider-duel"], rules, line)
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
    duel = replay(GAMES["prime-duel-sum"], rules, line)
    assert not duel.truncated
    if "draws" not in printed.splitlines()[0]:
        assert duel.winner == (0 if "to move wins" in printed else 1)


def test_a_reader_may_go_away():
    command = f"{sys.executable} -m numduel_env games | head -1"
    ran = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert ran.stdout.startswith("prime-rumble")
    assert not re.search("Error|Traceback", ran.stderr)  # where the machine is slow, there are lines of progress


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
