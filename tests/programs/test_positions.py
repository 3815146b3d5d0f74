"""`numduel positions`: solved positions as data."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from numduel_env import Duel, find_game, solver_for
from numduel_env.__main__ import main
from numduel_env.dialogue import briefing, situation
from numduel_env.positions import LICENSE, every_line, solved_positions
from numduel_env.solvers.exhaustive import ExhaustiveSolver
from numduel_env.storage import to_json
from tests.support import ROOT
from tests.support.toys import TwoHeaps
from tests.support.variants import each


def written(capsys, *arguments):
    """Return the lines that a command prints, and the header that it says."""
    assert main(["positions", *map(str, arguments)]) == 0
    printed = capsys.readouterr()
    return [json.loads(line) for line in printed.out.splitlines()], json.loads(printed.err.splitlines()[-1])


SPLIT_GAMES = [
    ("divider-duel", {}),
    ("divider-duel", {"highest": 16}),
    ("prime-duel-sum", {}),
    ("prime-duel-sum", {"when_empty": "refill"}),
    ("prime-duel-product", {"target": 60, "primes_below": 12}),
    ("factor-chain-duel", {}),
    ("prime-rumble", {}),
    ("prime-rumble", {"lowest": 3, "highest": 40}),
]


@each(SPLIT_GAMES)
def test_each_line_is_a_position_solved_exactly(game, params, capsys):
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in params.items()]
    lines, header = written(capsys, "--game", game, "--count", 60, "--seed", 4, "--split", "test", *flags)
    spec = find_game(game)
    rules = spec.make_rules(**params)
    solver = solver_for(rules)
    assert header["positions"] == len(lines) > 0
    for line in lines:
        duel = Duel(rules, np.searchsorted(rules.numbers, line["moves"]).tolist())
        assert duel.moves == line["moves"] and not duel.finished
        assert (line["ply"], line["seat"], line["split"]) == (len(duel.moves), duel.seat, "test")
        assert line["legal"] == duel.legal_numbers
        values = dict(zip(rules.numbers.tolist(), solver.action_values(duel.position).tolist()))
        assert line["values"] == [values[number] for number in line["legal"]]
        assert line["value"] == max(line["values"]) == int(solver.value(duel.position))
        assert line["best"] == [number for number in line["legal"] if values[number] == line["value"]]
        assert line["numbers_left"] == rules.available(duel.position).sum()
        assert line["text"] == f"{briefing(spec, rules, duel.seat)}\n\n{situation(spec, duel)}"


def position_of(rules, line):
    duel = Duel(rules, np.searchsorted(rules.numbers, line["moves"]).tolist())
    return tuple(field.tobytes() for field in duel.position)


@each(SPLIT_GAMES)
def test_no_position_comes_twice_and_none_in_train_and_test(game, params, capsys):
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in params.items()]
    rules = find_game(game).make_rules(**params)
    found = {"train": set(), "test": set()}
    solver = solver_for(rules)  # kept for all commands
    for split in found:
        for seed in (0, 1):
            lines, _ = written(capsys, "--game", game, "--count", 400, "--seed", seed, "--split", split, *flags)
            positions = {position_of(rules, line) for line in lines}
            assert len(positions) == len(lines) == len({line["id"] for line in lines})
            found[split] |= positions
    assert found["train"] and found["test"] and not found["train"] & found["test"]
    assert solver.rules is rules


def test_small_games_are_written_whole(capsys):
    rules = find_game("divider-duel").make_rules()
    lines = [written(capsys, "--game", "divider-duel", "--split", split)[0] for split in ("train", "test")]
    everything = {position_of(rules, line) for half in lines for line in half}
    solver = ExhaustiveSolver(rules)
    going = np.flatnonzero(~rules.over(solver.positions))
    all_there_are = {tuple(field[row].tobytes() for field in solver.positions) for row in going}
    assert everything == all_there_are and len(everything) == len(lines[0]) + len(lines[1]) == 71


def test_the_sum_game_is_written_whole():
    spec = find_game("prime-duel-sum")
    rules = spec.make_rules()
    train, test = (
        {line.id for line in solved_positions(spec, rules, solver_for(rules), split, 0)} for split in ("train", "test")
    )
    assert len(train | test) == len(train) + len(test) == 17_080  # of 17,303, the others being finished
    assert 0.18 < len(test) / 17_080 < 0.22


def test_the_same_command_writes_the_same_and_a_larger_count_goes_on(capsys):
    for game in ("divider-duel", "prime-rumble"):
        few, _ = written(capsys, "--game", game, "--count", 10, "--seed", 2)
        many, _ = written(capsys, "--game", game, "--count", 40, "--seed", 2)
        others, _ = written(capsys, "--game", game, "--count", 10, "--seed", 3)
        assert few == written(capsys, "--game", game, "--count", 10, "--seed", 2)[0] == many[:10] != others


def test_lines_come_as_they_are_made():
    spec = find_game("prime-rumble")
    rules = spec.make_rules()
    lines = solved_positions(spec, rules, solver_for(rules), "train", 0, 10**12)
    assert len({next(lines).id for _ in range(300)}) == 300


def test_a_sample_ends_when_there_is_nothing_new():
    spec, rules = find_game("divider-duel"), TwoHeaps(3, 4)
    solver = solver_for(rules)
    found = list(solved_positions(spec, rules, solver, "train", 0, 10**6))
    assert 0 < len(found) < 20


def test_lines_lead_to_every_position_on_the_shortest_way():
    rules = find_game("divider-duel").make_rules()
    positions, lines = every_line(rules, 71)
    assert len(lines) == 71 and lines[0] == []
    solver = ExhaustiveSolver(rules)
    for row, line in enumerate(lines):
        reached = Duel(rules, line).position
        assert all((field[row] == one).all() for field, one in zip(positions, reached))
    assert np.unique(positions[0], axis=0).shape[0] == 71 == (~rules.over(solver.positions)).sum()
    assert every_line(rules, 70) is None


def test_a_file_has_a_header_beside_it(tmp_path, capsys):
    path = tmp_path / "train.jsonl"
    command = ["--game", "divider-duel", "--highest", "12", "--count", "5"]
    lines, header = written(capsys, *command)
    assert main(["positions", *command, "--out", str(path)]) == 0
    assert [json.loads(line) for line in path.read_text().splitlines()] == lines
    beside = json.loads(Path(f"{path}.header.json").read_text())
    assert beside == header | {"command": f"{header['command']} --out {path}"}
    assert header["command"] == "numduel positions --game divider-duel --highest 12 --count 5"
    assert header["parameters"] == {"lowest": 2, "highest": 12} and header["asked"] == 5
    assert header["versions"]["numduel_env"] and header["license"] == LICENSE
    assert sorted(path.parent.iterdir()) == [path, Path(f"{path}.header.json")]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["license"] == LICENSE


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--game", "prime-rumble"], "prime-rumble has more than 100,000 positions: say how many with --count"),
        (["--game", "divider-duel", "--count", "0"], "--count must be at least 1, not 0"),
        (["--game", "divider-duel", "--seed", "-1"], "--seed must be at least 0, not -1"),
        (["--game", "divider-duel", "--split", "dev"], "argument --split: invalid choice"),
        (["--game", "divider-duel", "--out", "/nowhere/x.jsonl"], "no file can be written there"),
        (["--game", "nothing"], "there is no game 'nothing'"),
    ],
)
def test_wrong_commands_get_one_line(arguments, says, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as left:
        main(["positions", *arguments])
    said = capsys.readouterr().err
    assert left.value.code == 2 and says in said and len(said.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_a_reader_may_go_away():
    first = subprocess.run(
        f"{sys.executable} -m numduel_env positions --game prime-duel-sum | head -1",
        shell=True,
        capture_output=True,
        text=True,
        check=False,
    )
    assert json.loads(first.stdout)["game"] == "prime-duel-sum" and first.stderr == ""


def test_the_recipe_makes_tasks_with_an_exact_reward(tmp_path):
    found = importlib.util.spec_from_file_location("recipe", ROOT / "docs/examples/positions_tasks.py")
    recipe = importlib.util.module_from_spec(found)
    found.loader.exec_module(recipe)
    path = tmp_path / "all.jsonl"
    spec = find_game("divider-duel")
    rules = spec.make_rules()
    positions = list(solved_positions(spec, rules, solver_for(rules), "train", 0))
    path.write_bytes(b"".join(json.dumps(json.loads(to_json(line))).encode() + b"\n" for line in positions))
    rewards = []
    for task, line in zip(recipe.tasks(str(path)), positions):
        assert task["prompt"] == [{"role": "user", "content": line.text}]
        for number in rules.numbers.tolist():
            expected = None if line.value < 0 else float(number in line.best)
            assert recipe.reward(f"[{number}]", task) == expected
        assert recipe.reward("I resign", task) == (None if line.value < 0 else 0)
        rewards.append(recipe.reward(f"[{line.best[0]}]", task))
    assert {None, 1.0} == set(rewards)
