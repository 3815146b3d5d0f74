"""The program train/ppo.py: what it learns, writes and prints, and how it refuses what it cannot do."""

from __future__ import annotations

import json
import shlex
import sys

import numpy as np
import pytest

from agents import make_agent
from agents.checkpoint import WANTED, read_card
from numduel_env import GAMES, GameSpec, find_game, register_game
from tests.support.programs import run_program
from tests.support.toys import Subtraction, forget
from tests.training.learners import PROGRAM, reopen
from train.runs.record import session_seed


def opening_numbers(agent, rules, count=3):
    """Return the numbers that an agent opens with."""
    position = rules.initial((count,))
    return rules.numbers[agent.choose(position, rules.legal(position), np.random.default_rng(0))].tolist()


def test_divider_duel_is_learned_perfectly(learned):
    ran, folder = learned
    assert "kept 100.00% on 10,000 random positions" in ran.out
    assert "first seat: 0 of 14 won positions thrown" in ran.out
    assert "second seat: 0 of" in ran.out
    assert "chosen by the solver's grade" in ran.out
    assert "plies/s" in ran.err and "against random" in ran.err
    assert (folder / "curve.png").read_bytes().startswith(b"\x89PNG")
    assert list(folder.glob("tensorboard/*/events*"))
    plain = json.loads((folder / "card.json").read_text())
    assert plain["game"] == {"name": "divider-duel", "version": 0, "parameters": {"lowest": 2, "highest": 9}}
    assert plain["observation"]["layout"] == {"pool": 8, "outlook": 7}
    card = read_card(folder)
    assert card.training.progress.finished and card.training.arguments["seed"] == 0
    (session,) = card.training.sessions
    assert session.from_plies == 0 and session.seed == session_seed(0, 0) and session.versions["torch"]
    assert card.training.standing.perfect and card.training.curve[-1].kept == 1
    assert card.evaluation.sample.grade.kept == 1
    assert {file.name for file in card.files.values()} == {path.name for path in folder.glob("*.safetensors")}


def test_the_same_seed_learns_the_same(tmp_path):
    files = []
    for place in ("one", "two"):
        arguments = ("--game", "divider-duel", "--highest", 12, "--plies", 16_384, "--seed", 7)
        ran = run_program(PROGRAM, *arguments, "--out", tmp_path / place)
        assert ran.code == 0, ran.err
        files.append(read_card(tmp_path / place).files)
    # The best weights, the latest and the optimiser's state: the same files to the letter.
    assert set(files[0]) == {"weights", "state"} and files[0] == files[1]


def test_a_trained_agent_evaluates_and_plays(learned):
    rules = GAMES["divider-duel"].make_rules()
    for name in (f"ppo:{learned.folder}", f"mcts:8:ppo:{learned.folder}"):
        # 4 is the only winning opening.
        assert opening_numbers(make_agent(name, rules), rules) == [4, 4, 4]
    agent = f"ppo:{learned.folder}"
    ran = run_program("train/evaluate.py", "--game", "divider-duel", agent, "random", "--duels", 20, "--exploit")
    assert ran.code == 0 and "first seat: 0 of" in ran.out
    ran = run_program("agents/play.py", "--game", "divider-duel", "--first", agent, "--second", "random")
    assert ran.code == 0 and "Player 1 wins" in ran.out


@pytest.mark.parametrize("opponent", ["random", "greedy", "solver", "pool"])
def test_other_opponents(opponent, tmp_path):
    arguments = ("--game", "divider_duel", "--highest", 7, "--plies", 100_000, "--opponent", opponent)
    ran = run_program(PROGRAM, *arguments, "--out", tmp_path / "run")
    assert ran.code == 0, ran.err
    card = read_card(tmp_path / "run")
    assert card.training.preset["gamma"] == 1 and card.training.arguments["opponent"] == opponent
    assert card.evaluation.sample.grade.kept > 0.95 > card.training.curve[0].kept


def test_a_game_too_large_to_solve_is_learned_without_grades(tmp_path):
    ran = run_program(PROGRAM, "--game", "prime-rumble", "--highest", 90, "--plies", 8000, "--out", tmp_path / "run")
    assert ran.code == 0, ran.err
    assert "no grading" in ran.err and "kept" not in ran.out
    card = read_card(tmp_path / "run")
    assert card.evaluation.sample is None and card.evaluation.exams == () and card.training.standing is None
    assert set(card.evaluation.scores) == {"random", "greedy"}


def test_a_sixth_game_is_learned_saved_and_played(tmp_path):
    spec = register_game(GameSpec("subtraction-learned", "Subtraction", Subtraction, {"heap": 11, "most": 3}))
    try:
        rules = spec.make_rules(heap=7)
        arguments = ("--game", spec.name, "--heap", 7, "--plies", 600_000)
        ran = run_program(PROGRAM, *arguments, "--out", tmp_path / "run")
        assert ran.code == 0, ran.err
        # Whoever leaves a multiple of four wins.
        assert opening_numbers(make_agent(f"ppo:{tmp_path / 'run'}", rules), rules) == [3, 3, 3]
        assert read_card(tmp_path / "run").evaluation.sample.grade.kept > 0.9
        assert "--heap 7" in ran.out
    finally:
        forget(spec)


def test_a_game_from_outside_is_learned_and_goes_on_where_it_is_named(tmp_path, monkeypatch):
    game, folder = "tests.support.toys:TwoHeaps", tmp_path / "run"
    ran = run_program(PROGRAM, "--game", game, "--fair", "false", "--plies", 8000, "--out", folder)
    assert ran.code == 0, ran.err
    assert f"--game {game} --fair False --second ppo:" in ran.out
    assert make_agent(f"ppo:{folder}", find_game(game).make_rules(fair=False))
    # In another process the game is unknown, and a card cannot make a program import it.
    reopen(folder)
    monkeypatch.setattr("numduel_env.games._OUTSIDE", {})
    refused = run_program(PROGRAM, "--resume", folder)
    assert refused.code == 2 and f"name it yourself, with --game {game}" in refused.err
    resumed = run_program(PROGRAM, "--resume", folder, "--game", game)
    assert resumed.code == 0, resumed.err


def test_the_command_that_is_printed_plays(tmp_path):
    arguments = ("--game", "divider-duel", "--highest", 8, "--plies", 8000)
    ran = run_program(PROGRAM, *arguments, "--out", tmp_path / "run")
    (line,) = (line for line in ran.out.splitlines() if line.startswith("Play it: python "))
    played = run_program(*shlex.split(line.removeprefix("Play it: python ")), "--first", "random")
    assert played.code == 0, played.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--game or --resume is required"),
        (["--game", "chess"], "there is no game 'chess'"),
        (["--game", "prime-duel"], "choose prime-duel-product or prime-duel-sum"),
        (["--game", "divider-duel", "--target", "3"], "has no --target"),
        (["--game", "divider-duel", "--highest", "1"], "highest must be"),
        (["--game", "divider-duel", "--plies", "0"], "--plies must be at least 1"),
        (["--game", "divider-duel", "--minutes", "-1"], "--minutes must be positive"),
        (["--game", "divider-duel", "--minutes", "nan"], "--minutes must be positive"),
        (["--game", "divider-duel", "--minutes", "1e307"], "--minutes must be positive and at most"),
        (["--game", "divider-duel", "--out", ""], ". is not empty"),
        (["--game", "divider-duel", "--device", "meta"], "--device meta cannot be used"),
        (["--game", "divider-duel", "--device", "hpu"], "--device hpu cannot be used"),
        (["--game", "divider-duel", "--device", "abacus"], "--device abacus cannot be used"),
        (["--game", "divider-duel", "--seed", "-1"], "--seed must be from 0"),
        (["--game", "divider-duel", "--seed", "99999999999"], "--seed must be from 0"),
        (["--game", "divider-duel", "--opponent", "me"], "invalid choice"),
        (["--game", "divider-duel", "--out", "README.md"], "README.md"),
        (["--game", "divider-duel", "--out", "README.md/run"], "nothing can be written to README.md/run"),
        (["--game", "divider-duel", "--out", "tests"], "tests is not empty"),
        (["--game", "prime-rumble", "--highest", "90", "--opponent", "solver"], "needs a game that can be solved"),
        (["--game", "factor-chain-duel", "--highest", "500"], "memory, more than 8 GB"),
        (["--resume", "nowhere"], "nowhere is no folder"),
        (["--resume", "tests"], "tests is not the folder of a trained agent"),
    ],
)
def test_wrong_arguments(arguments, message, tmp_path, monkeypatch):
    (tmp_path / "README.md").write_text("Read me.")
    (tmp_path / "tests" / "agents").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    ran = run_program(PROGRAM, *arguments)
    assert ran.code == 2 and message in ran.err
    assert len([line for line in ran.err.splitlines() if not line.startswith("no grading: ")]) == 1, ran.err
    assert sorted(tmp_path.rglob("*")) == before


class Absent:
    """Finds that a package is not installed."""

    def __init__(self, package):
        self.package = package

    def find_spec(self, name, path=None, target=None):
        if name == self.package:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


PACKAGES = ["filelock", "matplotlib", "safetensors", "sb3_contrib", "tensorboard", "torch", "tqdm"]


@pytest.mark.parametrize("package", PACKAGES)
def test_a_missing_package_is_named_with_the_way_out(package, tmp_path, monkeypatch):
    # torch.utils.tensorboard is what asks for tensorboard: it is imported anew.
    gone = (package, f"torch.utils.{package}")
    for module in list(sys.modules):
        if module in gone or module.startswith(tuple(f"{name}." for name in gone)):
            monkeypatch.delitem(sys.modules, module)
    monkeypatch.setattr(sys, "meta_path", [Absent(package), *sys.meta_path])
    ran = run_program(PROGRAM, "--game", "divider-duel", "--out", tmp_path / "run")
    assert ran.code == 1
    assert ran.err.strip() == f"training needs {package}, which is not installed: {WANTED}"
    assert not (tmp_path / "run").exists()


def test_help_explains_every_argument():
    ran = run_program(PROGRAM, "--help")
    assert ran.code == 0
    for name in ("game", "opponent", "plies", "minutes", "seed", "device", "out", "resume", "highest", "when-empty"):
        assert f"--{name}" in ran.out
