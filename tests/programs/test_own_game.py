"""The worked example of a game of one's own, through every program, as the guide shows it."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import reduce
from itertools import product
from operator import xor

import numpy as np
import pytest

from numduel_env import Duel, check_rules, find_game, solver_for
from numduel_env.__main__ import run as numduel
from tests.support import ROOT
from tests.support.programs import run_program

TOYS = "tests.support.toys:"


@pytest.fixture(autouse=True)
def _beside_the_examples(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs/examples"))
    monkeypatch.syspath_prepend(str(ROOT))


@pytest.mark.parametrize("heaps", ["1", "1,3,5", "2,2", "9,9", "1,2,3,4"])
def test_it_is_nim(heaps):
    """Bouton's theorem: a position is lost for the mover exactly when its Nim sum is 0."""
    rules = find_game("nim:Nim").make_rules(heaps=heaps)
    check_rules(rules)
    sizes = [int(size) for size in heaps.split(",")]
    every = list(product(*(range(size + 1) for size in sizes)))
    position = rules.initial((len(every),))._replace(left=np.array(every))
    expected = [1 if reduce(xor, left) else -1 for left in every]
    assert solver_for(rules).value(position).tolist() == expected


@pytest.mark.parametrize("heaps", ["", "3,x", "0", "100", "1,,2", "3,4,5,6,7,8,9,1,2,3"])
def test_heaps_that_are_none(heaps):
    with pytest.raises(ValueError, match="heaps must be up to nine sizes from 1 to 99"):
        find_game("nim:Nim").make_rules(heaps=heaps)


def test_it_is_solved_evaluated_trained_and_played(tmp_path, capsys):
    assert numduel(["solve", "nim:Nim", "--heaps", "3,4,5"]) == 0
    assert "winning moves: 12" in capsys.readouterr().out
    game = ["--game", "nim:Nim", "--heaps", "1,2"]
    ran = run_program("train/ppo.py", *game, "--plies", 70_000, "--out", tmp_path / "run")
    assert ran.code == 0, ran.err
    assert "0 of" in ran.out and "nim:Nim" in ran.out
    agent = f"ppo:{tmp_path / 'run'}"
    ran = run_program("train/evaluate.py", *game, agent, "mcts:20", "solver", "--duels", 20)
    assert ran.code == 0, ran.err
    assert "kept %" in ran.out
    ran = run_program("agents/play.py", *game, "--first", "human", "--second", agent, typed="21\n" + "11\n21\n22\n" * 3)
    assert ran.code == 0, ran.err
    assert "wins" in ran.out


def test_it_is_listed_and_timed(capsys):
    assert numduel(["games", "--game", "nim:Nim", "--heaps", "1,2"]) == 0
    assert capsys.readouterr().out == (
        "nim:Nim (Nim): 3 numbers, heaps=1,2\n  perfect     Player 1 to move wins; winning moves: 21\n"
    )
    # In a process of its own, since it binds itself to one core.
    program = [sys.executable, ROOT / "train/benchmark.py", "--game", "nim:Nim", "--heaps", "1,2", "--seconds", "0.01"]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'docs/examples'}{os.pathsep}{ROOT}"}
    ran = subprocess.run(program, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    for what in ("AEC nim:Nim |", "vector nim:Nim |", "nim:Nim, action_values", "nim:Nim, what grading adds"):
        assert what in ran.stdout
    # The bars are those of the games of the table.
    assert not any(bar in ran.stdout for bar in ("| 5x |", "500x", "under 2", "at least"))


def test_it_is_named_by_a_flag_or_alone_and_its_flags_may_come_first(capsys):
    for named in (
        ["--game", "nim:Nim", "--heaps", "1,2"],
        ["--heaps", "1,2", "nim:Nim"],
        ["nim:Nim", "--heaps", "1,2"],
    ):
        assert numduel(["solve", *named]) == 0
        assert "winning moves: 21\n" in capsys.readouterr().out
    for wrong, message in (
        (["solve"], "one of the arguments GAME --game is required"),
        (["solve", "nim:Nim", "--game", "nim:Nim"], "not allowed with argument GAME"),
        (["games", "--highest", "9"], "--highest goes with --game"),
    ):
        with pytest.raises(SystemExit):
            numduel(wrong)
        printed = capsys.readouterr().err
        assert message in printed and printed.count("\n") == 1


def test_a_game_that_is_too_large_to_solve_is_listed_all_the_same(capsys):
    assert numduel(["games", "--game", "prime-rumble", "--highest", "90"]) == 0
    assert "perfect     unknown: the numbers 2..90 are too many" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        ("numduel_env/__main__.py", ["games", "--game"]),
        ("numduel_env/__main__.py", ["solve"]),
        ("numduel_env/__main__.py", ["positions", "--game"]),
        ("train/benchmark.py", ["--game"]),
        ("train/ppo.py", ["--game"]),
        ("train/evaluate.py", ["random", "solver", "--game"]),
        ("agents/play.py", ["--second", "random", "--game"]),
    ],
)
@pytest.mark.parametrize(
    ("game", "message"),
    [
        (TOYS + "Misshapen", "breaks the contract of Rules: legal must be an array of bool"),
        (TOYS + "nothing", "cannot be imported: AttributeError"),
        (TOYS + "Heap", "must be a GameSpec or a subclass of numduel_env.Rules"),
    ],
)
def test_a_broken_game_is_refused_in_one_line_by_every_program(program, arguments, game, message):
    ran = run_program(program, *arguments, game)
    assert ran.code == 2
    assert ran.out == "" and ran.err.count("\n") == 1 and message in ran.err


def test_a_parameter_with_the_name_of_an_option_has_another_flag():
    command = ["train/evaluate.py", "random", "solver", "--duels", 10, "--game", TOYS + "Seeded", "--seed", 5]
    ran = run_program(*command)
    assert ran.code == 0 and "(seed=3)" in ran.out and "seed 5" in ran.out
    ran = run_program(*command, "--game-seed", 2)
    assert ran.code == 0 and "(seed=2)" in ran.out and "seed 5" in ran.out


def test_parameters_that_are_true_or_false(capsys):
    assert numduel(["solve", TOYS + "TwoHeaps", "--fair", "false", "--first", "1"]) == 0
    with pytest.raises(SystemExit):
        numduel(["solve", TOYS + "TwoHeaps", "--fair", "perhaps"])
    assert "must be true or false, not 'perhaps'" in capsys.readouterr().err


def test_the_names_of_the_example_are_not_taken():
    assert "nim" not in sys.stdlib_module_names
    assert Duel(find_game("nim:Nim").make_rules()).legal_numbers == [11, 21, 22, 23, 31, 32, 33, 34, 35]
