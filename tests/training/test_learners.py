"""train/values.py and train/nimbers.py: what they learn, without asking a solver, and how a run goes on."""

from __future__ import annotations

import ast
import itertools
import subprocess
import sys
import time

import numpy as np
import pytest
import torch

from agents import make_agent
from agents.checkpoint import read_card, read_tensors
from agents.nimbers import PartObserver
from numduel_env import GAMES, find_game
from numduel_env.batch import take_rows
from numduel_env.games.sieve import Sieve
from numduel_env.observation import AfterstateObserver
from tests.support import ROOT
from tests.support.programs import run_program
from tests.support.toys import Kayles
from train.grundy.learner import GrundyLearner
from train.grundy.preset import Preset as GrundyPreset
from train.grundy.soft_mex import soft_mex, sums
from train.runs.averaged import LEAST_ANNEALING, AveragedNetwork
from train.value_iteration.boards import Boards
from train.value_iteration.network import AfterstateValues
from train.value_iteration.preset import Preset as ValuePreset

VALUES, NIMBERS = "train/values.py", "train/nimbers.py"
QUICK = {
    VALUES: ["--plies", 60_000, "--net-arch", "64,32", "--n-envs", 128, "--learning-starts", 2000, "--batch-size", 256],
    NIMBERS: [
        *("--plies", 11_000, "--width", 32, "--depth", 1, "--games", 100),
        *("--batch-size", 128, "--memory", 3, "--learning-rate", 0.01),
    ],
}


@pytest.fixture
def quick(tmp_path):
    """Learn Divider Duel quickly, and return the folder of the run."""

    def learn(program, *options, place="run"):
        folder = tmp_path / place
        ran = run_program(program, "--game", "divider-duel", *QUICK[program], *options, "--out", folder)
        assert ran.code == 0, ran.err
        return folder

    return learn


def random_beliefs(observer, seed):
    """Return a function from parts to distributions that are the same whenever a part is asked about."""
    generator, known = np.random.default_rng(seed), {}

    def distributions(parts):
        for part in parts:
            known.setdefault(int(part), generator.dirichlet(np.full(observer.values, 0.3)))
        rows = [known[int(part)] for part in parts]
        return np.array(rows, np.float32).reshape(-1, observer.values)

    return distributions


@pytest.mark.parametrize("rules", [Sieve(2, 9), Kayles(4)], ids=repr)
def test_the_soft_mex_is_that_of_independent_events(rules):
    """By enumeration: every set of values that moves may leave, with its probability."""
    observer = PartObserver(rules)
    beliefs = random_beliefs(observer, 1)
    words = observer.parts.random_words(4, np.random.default_rng(2))
    parts = np.unique(observer.parts.split(words).parts)
    parts = parts[np.bitwise_count(parts) <= 5]
    found = soft_mex(observer, parts, beliefs)
    for row, part in enumerate(parts):
        after = sums(observer, observer.parts.moves(np.array([part])).after, beliefs).astype(float)
        some_move = 1 - np.prod(1 - after, axis=0)
        expected = np.zeros(observer.values + 1)
        for left in itertools.product((True, False), repeat=observer.values):
            mex = (*left, False).index(False)
            expected[mex] += np.prod(np.where(left, some_move, 1 - some_move))
        assert found[row] == pytest.approx(expected[:-1] / expected[:-1].sum(), abs=1e-4)


def test_where_parts_are_known_the_soft_mex_is_the_mex():
    observer = PartObserver(Sieve(2, 30))
    learner = GrundyLearner(observer, GrundyPreset(width=8, depth=0, memory=24), seed=0)
    parts = np.unique(observer.parts.split(observer.parts.random_words(50, np.random.default_rng(3))).parts)
    small = parts[np.bitwise_count(parts) <= 12]
    learner.memory.learn(small)
    found = soft_mex(observer, small, learner.distributions)
    assert (found.argmax(-1) == learner.memory.find(small)).all() and found.max(-1).min() > 0.99


def test_a_memory_that_is_full_leaves_the_rest_to_the_network(monkeypatch):
    monkeypatch.setattr("train.grundy.learner.MOST_REMEMBERED", 50)
    preset = GrundyPreset(width=8, depth=0, memory=30, games=20, batch_size=64, first_guess=0.0, guesses=50)
    learner = GrundyLearner(PartObserver(Sieve(2, 30)), preset, seed=0)
    for spent in (0.1, 0.5):
        assert learner.learn(spent) > 0
    assert len(learner.memory) <= 50 and float(learner.averaged.updates) > 0


def test_an_afterstate_is_worth_minus_the_best_reply():
    """The lessons of a ply, beside the same by play on single boards."""
    rules = GAMES["divider-duel"].make_rules()
    observer = AfterstateObserver(rules)
    generator = np.random.default_rng(0)
    weights = generator.normal(size=observer.size).astype(np.float32)

    def values(features):
        return np.tanh(features @ weights)

    boards = Boards(observer, ValuePreset(n_envs=16), generator)
    for _ in range(12):
        before, position, ply = boards._before.copy(), boards._position, boards._ply.copy()
        lessons = boards.play(values, 1.0)
        expected = []
        for board in np.flatnonzero(ply > 0):
            one = take_rows(position, [board])
            legal = rules.legal(one)
            after = [rules.play(one, np.array([action])) for action in np.flatnonzero(legal[0])]
            ends = [bool(rules.over(left)[0]) for left in after]
            best = max(1.0 if end else float(value) for end, value in zip(ends, values(observer(one, legal))))
            expected.append(-best)
        count = len(expected)
        assert lessons.values[:count] == pytest.approx(expected, abs=1e-5)
        assert (lessons.features[:count] == before[ply > 0]).all()
        # Whoever ends this game has won it.
        assert (lessons.values[count:] == 1).all()


def test_the_average_follows_the_weights():
    averaged = AveragedNetwork(AfterstateValues([3, 4]), 0.1, 0.0, 0.5)
    before = [weight.clone() for weight in averaged.average.parameters()]
    averaged.anneal(0.25)
    assert averaged.optimizer.param_groups[0]["lr"] == pytest.approx(0.075)
    averaged.step(averaged.network(torch.ones(2, 3)).sum())
    share = 1 - min(0.5, 1 / 21)
    for old, new, average in zip(before, averaged.network.parameters(), averaged.average.parameters()):
        assert torch.allclose(average, old + share * (new - old), atol=1e-6)
    averaged.anneal(1.0)
    assert averaged.optimizer.param_groups[0]["lr"] == pytest.approx(0.1 * LEAST_ANNEALING)


@pytest.mark.parametrize("program", QUICK)
def test_divider_duel_is_learned(program, quick):
    folder = quick(program)
    card = read_card(folder)
    assert card.training.program == program and card.training.progress.finished
    assert card.evaluation.sample.grade.kept > 0.9 > 0.8 > card.training.curve[0].kept
    name = program.removeprefix("train/").removesuffix(".py")
    rules = GAMES["divider-duel"].make_rules()
    position = rules.initial((2,))
    chosen = make_agent(f"{name}:{folder}", rules).choose(position, rules.legal(position), np.random.default_rng(0))
    assert rules.numbers[chosen].tolist() == [card.evaluation.opening] * 2
    ran = run_program("train/evaluate.py", "--game", "divider-duel", f"{name}:{folder}", "random", "--duels", 20)
    assert ran.code == 0, ran.err


@pytest.mark.parametrize("program", QUICK)
def test_the_same_seed_learns_the_same(program, quick):
    one, two = (read_card(quick(program, "--plies", 5000, "--seed", 7, place=place)).files for place in ("one", "two"))
    assert one == two


@pytest.mark.parametrize("program", QUICK)
def test_a_finished_run_is_extended_and_begins_another(program, quick, tmp_path):
    folder = quick(program, "--plies", 3000 if program == VALUES else 500)
    first = read_card(folder).training.progress.plies
    ran = run_program(program, "--resume", folder, "--plies", 4 * first)
    assert ran.code == 0, ran.err
    card = read_card(folder)
    assert card.training.progress.plies >= 4 * first and len(card.training.sessions) == 2
    begun = quick(program, "--init", folder, place="begun")
    assert read_card(begun).training.curve[0].kept == pytest.approx(card.training.curve[-1].kept)


@pytest.mark.parametrize("program", QUICK)
def test_a_run_that_is_killed_goes_on(program, tmp_path):
    folder = tmp_path / "run"
    options = [*QUICK[program], "--plies", 10**9]
    command = [sys.executable, program, "--game", "divider-duel", *map(str, options), "--out", str(folder)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 120
        # CHECK_SECONDS is too long for a test: what is stopped in good order is saved as far as it learned.
        while not (folder / "card.json").exists() and time.monotonic() < deadline:
            time.sleep(0.1)
    finally:
        process.kill()
        process.wait()
    before = read_card(folder)
    assert not before.training.progress.finished
    resumed = run_program(program, "--resume", folder, "--plies", before.training.progress.plies + 2000)
    assert resumed.code == 0, resumed.err
    assert read_card(folder).training.progress.plies > before.training.progress.plies


def test_the_solver_ends_a_run_early_only_if_it_is_asked_to(quick):
    stopped = read_card(quick(NIMBERS, "--memory", 8, "--until-perfect", "true", "--plies", 100_000))
    assert stopped.training.standing.perfect and stopped.training.progress.plies < 100_000
    full = read_card(quick(NIMBERS, "--memory", 8, "--plies", 5000, place="full"))
    assert full.training.progress.plies >= 5000


@pytest.mark.parametrize("program", QUICK)
def test_the_last_weights_play_whatever_their_grade(program, quick):
    """The average that is part of the state is what the agent has."""
    folder = quick(program, "--plies", 5000)
    card = read_card(folder)
    weights, state = read_tensors(folder, card, "weights"), read_tensors(folder, card, "state")
    for name, tensor in weights.items():
        average = state[f"policy.average.{name}"]
        assert (tensor[-len(average) :] == average).all()


@pytest.mark.parametrize(
    ("program", "arguments", "message"),
    [
        (NIMBERS, ["--game", "factor-chain-duel"], "cannot learn factor-chain-duel: its positions do not split"),
        (NIMBERS, ["--game", "prime-duel-sum"], "not impartial"),
        (NIMBERS, ["--game", "prime-rumble", "--highest", "66"], "65 numbers"),
        (NIMBERS, ["--game", "tests.support.toys:TwoHeaps"], "does not say"),
        (NIMBERS, ["--game", "divider-duel", "--memory", "65"], "--memory must be"),
        (NIMBERS, ["--game", "divider-duel", "--minutes", "0"], "--minutes must be"),
        (VALUES, ["--game", "divider-duel", "--net-arch", "a"], "--net-arch must be"),
        (VALUES, ["--game", "divider-duel", "--device", "abacus"], "--device abacus cannot be used"),
        (VALUES, ["--game", "divider-duel", "--init", "nowhere"], "nowhere is no folder"),
        (VALUES, ["--resume", "nowhere"], "nowhere is no folder"),
        (VALUES, [], "--game or --resume is required"),
    ],
)
def test_wrong_arguments(program, arguments, message, tmp_path):
    ran = run_program(program, *arguments, "--out", tmp_path / "run")
    assert ran.code == 2 and message in ran.err and len(ran.err.splitlines()) == 1, ran.err
    assert not (tmp_path / "run").exists()


def test_an_own_game_is_learned():
    """What two methods more make of a game."""
    rules = find_game("tests.support.toys:Kayles").make_rules(pins=6)
    preset = GrundyPreset(width=32, depth=1, games=100, batch_size=128, memory=4, learning_rate=0.01)
    learner = GrundyLearner(PartObserver(rules), preset, seed=0)
    for step in range(20):
        learner.learn(step / 20)
    position = rules.initial((1,))
    agent = learner.agent(learner.weights())
    (action,) = agent.choose(position, rules.legal(position), np.random.default_rng(0))
    # The mirror strategy: knock over the two pins in the middle.
    assert rules.numbers[action] == 103


@pytest.mark.parametrize("room", ["value_iteration", "grundy"])
def test_nothing_that_learns_asks_a_solver(room):
    """No module of the two packages imports one, nor what grades by one."""
    modules = sorted((ROOT / "train" / room).glob("*.py"))
    assert len(modules) > 3
    for module in modules:
        for node in ast.walk(ast.parse(module.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            for name in names:
                assert not any(word in name for word in ("solver", "grading", "exploitability", "evaluation")), module


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "arguments", "least"),
    [
        (NIMBERS, ["--game", "prime-rumble", "--highest", "40", "--minutes", "1"], 0.75),
        (VALUES, ["--game", "factor-chain-duel", "--minutes", "1"], 0.985),
        (VALUES, ["--game", "prime-duel-sum", "--when-empty", "refill", "--minutes", "1"], 0.9),  # 94% was measured
    ],
)
def test_how_well_it_learns_in_a_minute(program, arguments, least, tmp_path):
    ran = run_program(program, *arguments, "--out", tmp_path / "run")
    assert ran.code == 0, ran.err
    assert read_card(tmp_path / "run").evaluation.sample.later.kept >= least
