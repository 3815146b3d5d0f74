"""The environment as Stable-Baselines3 sees it, and a short real training run."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from itertools import pairwise

import numpy as np
import pytest
import torch
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3.common.vec_env import VecMonitor

from agents import make_agent
from agents.checkpoint import BadCheckpoint, read_card, read_tensors, rules_of, write_checkpoint
from agents.learned import REFERENCES, LearnedAgent, load_agent, reference_for
from agents.networks import MoveNetwork
from numduel_env import GAMES, GameSpec, random_legal, register_game
from numduel_env.batch import take_rows
from numduel_env.duels import Duels
from numduel_env.envs.vector import NumduelVectorEnv
from numduel_env.observation import AfterstateObserver, Observer
from numduel_env.solvers import solver_for
from tests.support import ROOT
from tests.support.toys import Subtraction, forget
from tests.support.variants import each_game, each_variant
from train.evaluate import main as evaluate_main
from train.ppo import PRESET, Arguments, train
from train.references import RECIPES
from train.runs.folder import LOGS, new_folder, occupied, restore, run_in, session_seed, training_tensors
from train.runs.grading import Grade, Grader, evaluate
from train.runs.record import Record
from train.runs.task import Task
from train.sb3_ppo.envs import MoveVectorEnv, SB3VectorEnv
from train.sb3_ppo.network import MovePolicy
from train.sb3_ppo.pool import SNAPSHOTS, Pool
from train.sb3_ppo.watch import COLDEST, Budget, Watch


def boards(game, count=8, **options):
    return NumduelVectorEnv(game, count, autoreset_mode="SameStep", **options)


@pytest.mark.parametrize("opponent", ["self", "random"])
@each_game
def test_the_adapter_tells_what_the_environment_tells(game, params, opponent):
    adapted = SB3VectorEnv(boards(game, opponent=opponent, lookahead=True), seed=5)
    beside = boards(game, opponent=opponent, lookahead=True)
    assert is_masking_supported(adapted)
    expected, infos = beside.reset(seed=5)
    np.testing.assert_array_equal(adapted.reset(), expected)
    generator = np.random.default_rng(0)
    for _ in range(30):
        masks = get_action_masks(adapted)
        assert masks.dtype == bool
        np.testing.assert_array_equal(masks, infos["action_mask"])
        actions = random_legal(masks, generator)
        observations, rewards, ended, told = adapted.step(actions)
        expected, worth, terminated, truncated, infos = beside.step(actions)
        np.testing.assert_array_equal(observations, expected)
        np.testing.assert_array_equal(rewards, worth)
        np.testing.assert_array_equal(ended, terminated | truncated)
        assert len(told) == 8


def test_truncation_is_told_as_stable_baselines_reads_it():
    adapted = SB3VectorEnv(boards("prime-duel-sum", opponent="self", when_empty="refill", max_plies=3), seed=0)
    adapted.reset()
    for _ in range(3):
        _, _, ended, told = adapted.step(random_legal(get_action_masks(adapted), np.random.default_rng(0)))
    assert ended.all()
    for info in told:
        assert info["TimeLimit.truncated"]
        assert adapted.observation_space.contains(info["terminal_observation"])


def test_the_adapter_refuses_other_modes():
    with pytest.raises(ValueError, match="SameStep"):
        SB3VectorEnv(NumduelVectorEnv("divider-duel", 2), seed=0)


def test_maskable_ppo_learns_on_it():
    """With a policy of SB3's own, through its monitor; on five numbers the best first move is soon found."""
    adapted = VecMonitor(SB3VectorEnv(boards("divider-duel", 64, opponent="self", highest=6), seed=0))
    model = MaskablePPO("MlpPolicy", adapted, n_steps=16, batch_size=256, gamma=-1.0, seed=0, device="cpu")
    model.learn(20_000)
    solver = solver_for(adapted.venv.environment.rules)
    chosen, _ = model.predict(adapted.reset()[0], action_masks=get_action_masks(adapted)[0], deterministic=True)
    assert solver.best(solver.rules.initial())[int(chosen)]


@each_variant
def test_random_openings_leave_games_unfinished(game, params):
    rules = GAMES[game].make_rules(**params)
    duels = Duels(rules, 200)
    wanted = np.arange(200) % 30
    actions = duels.play_randomly(wanted, np.random.default_rng(0))
    assert duels.legal.any(-1).all()
    assert (duels.plies <= wanted).all()
    np.testing.assert_array_equal((actions >= 0).sum(-1), duels.plies)

    for share in (0.0, 0.5, 1.0):
        environment = NumduelVectorEnv(game, 400, opponent="self", random_openings=share, **params)
        _, infos = environment.reset(seed=0)
        assert infos["action_mask"].any(-1).all()
        opened = (environment.duels.plies > 0).mean()
        # Every opening plays a ply, unless the first one drawn would have ended the game.
        assert opened <= share + 0.1
        assert (opened > 0) == (share > 0 and rules.max_plies > 1)
        np.testing.assert_array_equal(environment.reset(seed=0)[1]["action_mask"], infos["action_mask"])
    with pytest.raises(ValueError, match="random_openings must be a share"):
        NumduelVectorEnv(game, 2, random_openings=1.5, **params)


@each_variant
def test_what_is_observed_of_moves_is_where_they_lead(game, params):
    rules = GAMES[game].make_rules(**params)
    adapted = MoveVectorEnv(boards(game, 16, opponent="self", random_openings=0.5, **params), seed=3)
    seen, generator = adapted.reset(), np.random.default_rng(0)
    plain = Observer(rules)
    for _ in range(12):
        assert adapted.observation_space.contains(seen[0])
        position, masks = adapted.environment.duels.position, get_action_masks(adapted)
        moves = seen.reshape(16, len(rules.numbers), -1)
        np.testing.assert_array_equal(moves[..., 0], masks)
        assert not moves[~masks].any()
        after = rules.play_all(position)
        shape = masks.shape
        features = plain(after, None, shape)
        np.testing.assert_allclose(moves[masks][:, 1 : 1 + plain.size], features[masks], rtol=1e-6)
        np.testing.assert_allclose(moves[masks][:, 1 + plain.size :], rules.outlook(after)[masks], rtol=1e-6)
        seen, _, _, told = adapted.step(random_legal(masks, generator))
        for info in told:
            assert "terminal_observation" not in info or info["terminal_observation"].shape == seen[0].shape


@each_game
def test_a_learner_and_its_agent_agree(game, params):
    """What is played from a checkpoint, in NumPy, is what MaskablePPO has learned, in PyTorch."""
    rules = GAMES[game].make_rules(**params)
    adapted = MoveVectorEnv(boards(game, 64, opponent="self", random_openings=1.0, **params), seed=1)
    seen = {"facts": adapted.observer.size, "layers": [16, 8]}
    model = MaskablePPO(MovePolicy, adapted, n_steps=16, batch_size=256, gamma=-1.0, policy_kwargs=seen, seed=0)
    model.learn(2048)
    agent = LearnedAgent(rules, MoveNetwork(adapted.observer, model.policy.tensors()))
    observations, masks = adapted.reset(), get_action_masks(adapted)
    position = adapted.environment.duels.position
    expected, _ = model.predict(observations, action_masks=masks, deterministic=True)
    np.testing.assert_array_equal(agent.choose(position, np.random.default_rng(0)), expected)
    likelihood, values = agent.evaluate(position)
    with torch.no_grad():
        tensor = torch.from_numpy(observations)
        np.testing.assert_allclose(values, model.policy.predict_values(tensor)[:, 0], atol=1e-5)
        there = model.policy.get_distribution(tensor, masks).distribution.probs
    np.testing.assert_allclose(likelihood, there, atol=1e-5)
    # One position is judged as a batch of one.
    one = take_rows(position, [5])
    assert agent.choose(one, np.random.default_rng(0))[0] == expected[5]
    single = position._make(field[5] for field in position)
    assert agent.choose(single, np.random.default_rng(0)) == expected[5]


def test_a_truncated_game_is_worth_nothing():
    adapted = MoveVectorEnv(boards("prime-duel-sum", opponent="self", when_empty="refill", max_plies=3), seed=0)
    seen = {"facts": adapted.observer.size, "layers": [8]}
    model = MaskablePPO(MovePolicy, adapted, n_steps=16, batch_size=64, policy_kwargs=seen, seed=0)
    adapted.reset()
    for _ in range(3):
        _, rewards, _, told = adapted.step(random_legal(get_action_masks(adapted), np.random.default_rng(0)))
    assert not rewards.any()
    for info in told:
        assert info["TimeLimit.truncated"]
        assert model.policy.predict_values(torch.from_numpy(info["terminal_observation"][None])).item() == 0


def test_in_self_play_the_next_players_gain_is_a_loss():
    """Returns alternate in sign along a game: what gamma=-1 is for."""
    adapted = MoveVectorEnv(boards("divider-duel", 4, opponent="self"), seed=0)
    seen = {"facts": adapted.observer.size, "layers": [8]}
    model = MaskablePPO(
        MovePolicy, adapted, n_steps=32, batch_size=64, gamma=-1.0, gae_lambda=1.0, policy_kwargs=seen, seed=0
    )
    model.learn(128)
    buffer = model.rollout_buffer
    checked = 0
    for row in range(4):
        starts = np.flatnonzero(buffer.episode_starts[:, row])
        returns = buffer.swap_and_flatten(buffer.returns).reshape(4, 32)[row]
        for first, end in pairwise(starts):
            # The last mover won, the one before lost, and so on.
            np.testing.assert_allclose(returns[first:end][::-1], (-1.0) ** np.arange(end - first), atol=1e-5)
            checked += 1
    assert checked > 10


def constant_weights(observer, action):
    """Return weights of a network without hidden layers that prefers the move to where one number is missing."""
    weights = {name: np.zeros(shape, np.float32) for name, shape in MoveNetwork.shapes(observer, []).items()}
    weights["move.0.weight"][0, action] = -100
    return weights


def test_the_pool_plays_its_snapshots_and_is_restored():
    # With 5 to 9 alone no number is a multiple of another, so a move takes just its own number away.
    rules = GAMES["divider-duel"].make_rules(lowest=5, highest=9)
    observer = AfterstateObserver(rules)
    pool = Pool(rules, observer)
    position, generator = rules.initial((400,)), np.random.default_rng(0)
    assert set(pool.choose(position, generator)) == set(range(5))
    for number in range(SNAPSHOTS + 2):
        pool.add(constant_weights(observer, number % 2))
    assert len(pool.snapshots) == SNAPSHOTS
    assert set(pool.choose(position, generator)) == {0, 1}
    twin = Pool(rules, observer)
    twin.restore(pool.tensors(), [])
    first, second = (p.choose(position, np.random.default_rng(5)) for p in (pool, twin))
    np.testing.assert_array_equal(first, second)
    with pytest.raises(BadCheckpoint, match="does not fit"):
        Pool(rules, observer).restore(pool.tensors(), [4])


def learner(seed, layers=(8,)):
    adapted = MoveVectorEnv(boards("divider-duel", 16, opponent="self"), seed=seed)
    seen = {"facts": adapted.observer.size, "layers": list(layers)}
    return MaskablePPO(MovePolicy, adapted, n_steps=16, batch_size=64, gamma=-1.0, policy_kwargs=seen, seed=seed)


def test_what_was_saved_is_restored(tmp_path):
    trained, fresh = learner(0), learner(1)
    trained.learn(512)
    card = {"progress": {"plies": 512}}
    write_checkpoint(tmp_path, card, {"state": training_tensors(trained.policy)})
    restore(fresh.policy, tmp_path, read_card(tmp_path))
    before, after = (training_tensors(model.policy) for model in (trained, fresh))
    assert before.keys() == after.keys() and any(name.endswith("exp_avg_sq") for name in before)
    for name, tensor in before.items():
        np.testing.assert_array_equal(tensor, after[name])
    with pytest.raises(BadCheckpoint, match="does not fit this network"):
        restore(learner(0, layers=(9,)).policy, tmp_path, read_card(tmp_path))
    state = training_tensors(trained.policy)
    del state["optimizer.0.exp_avg"]
    write_checkpoint(tmp_path, card, {"state": state})
    with pytest.raises(BadCheckpoint, match="optimiser's state of weight 0"):
        restore(fresh.policy, tmp_path, read_card(tmp_path))


@pytest.mark.parametrize("opponent", ["self", "pool"])
def test_a_run_goes_on_from_what_was_learned(opponent, tmp_path):
    """A run that is told to go on for no ply more leaves everything as it was; for more plies it learns on."""
    game = GAMES["divider-duel"]
    solver = solver_for(game.make_rules())
    plies = 3 * 256 * PRESET["n_steps"]

    def go_on(plies, before):
        arguments = Arguments(game=game.name, opponent=opponent, plies=plies, resume=str(tmp_path))
        train(Task(arguments, game, {}, before), tmp_path, solver)
        return read_card(tmp_path)

    def steps():
        return read_tensors(tmp_path, read_card(tmp_path), "state")["optimizer.0.step"]

    first = go_on(plies, None)
    learned_steps = steps()
    again = go_on(plies, first)
    assert again["files"] == first["files"] and again["curve"] == first["curve"]
    assert again["progress"]["plies"] == plies and set(first["files"]) >= {"weights", "state"}
    if not first["grade"]["mistakes"]:
        pytest.fail("nothing is left to be learned: this test needs fewer plies")
    further = go_on(2 * plies, again)
    assert further["progress"]["plies"] == 2 * plies
    assert steps() == 2 * learned_steps
    assert further["curve"][: len(first["curve"])] == first["curve"] and len(further["curve"]) > len(first["curve"])
    seeds = [session["seed"] for session in further["sessions"]]
    assert seeds == [session_seed(0, 0), session_seed(0, plies), session_seed(0, plies)]
    assert [session["from_plies"] for session in further["sessions"]] == [0, plies, plies]


def test_learning_cools_down_with_the_budget(tmp_path):
    graded_already = {"grade": None, "curve": [{}], "progress": {"plies": 0, "seconds": 0.0}}
    record = Record(graded_already, None)
    observer = AfterstateObserver(GAMES["divider-duel"].make_rules())
    watch = Watch(tmp_path, record, observer, None, Budget(1000, float("inf")))
    for plies, warmth in ((0, 1), (250, 0.75), (800, 0.2), (999, COLDEST), (5000, COLDEST)):
        watch.plies = plies
        assert watch.warmth == pytest.approx(warmth)
    model = learner(0)
    watch.init_callback(model)
    first = model.ent_coef = 0.2
    watch._on_training_start()
    watch.num_timesteps = 500
    watch._on_rollout_start()
    watch.close()
    assert model.ent_coef == pytest.approx(first / 2)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (Grade(0.9, 5, None), Grade(0.9, 5, None), True),
        (Grade(0.9, 6, None), Grade(0.9, 5, None), False),
        (Grade(0.9, 6, 1), Grade(0.9, 5, 2), True),
        (Grade(0.9, 5, 2), Grade(0.9, 6, 1), False),
        (Grade(0.9, 4, 2), Grade(0.9, 5, 2), True),
        (Grade(0.9, 5, 0), Grade(0.9, 4, None), False),
        (Grade(1.0, 0, 0), Grade(0.9, 4, None), True),
    ],
)
def test_which_grade_is_at_least_as_good(one, other, expected):
    assert one.matches(other) is expected


def test_only_without_any_mistake_is_play_perfect():
    assert Grade(1.0, 0, 0).perfect
    for grade in (Grade(1.0, 0, None), Grade(1.0, 0, 1), Grade(0.99, 1, 0)):
        assert not grade.perfect


def test_the_best_weights_are_kept():
    rules = GAMES["divider-duel"].make_rules()
    observer = AfterstateObserver(rules)

    class Scripted:
        grades = iter([Grade(0.5, 50, 5), Grade(0.9, 10, 1), Grade(0.8, 20, 2)])

        def grade(self, agent, best):
            return next(self.grades)

    card = {"grade": None, "curve": []}
    record = Record(card, Scripted())
    weights = [constant_weights(observer, number) for number in range(3)]
    for plies, tensors in enumerate(weights):
        shown = record.add(tensors, LearnedAgent(rules, MoveNetwork(observer, tensors)), plies, 1.0)
        assert set(shown) == {"kept", "against random"}
    assert record.best is weights[1] and card["grade"]["mistakes"] == 10
    assert [point["kept"] for point in card["curve"]] == [0.5, 0.9, 0.8]
    # Without a solver the latest are the best there are.
    ungraded = Record({"grade": None, "curve": []}, None)
    for tensors in weights:
        ungraded.add(tensors, LearnedAgent(rules, MoveNetwork(observer, tensors)), 0, 1.0)
    assert ungraded.best is weights[2] and not ungraded.perfect


def test_the_grader_finds_the_solver_perfect_and_random_play_not():
    rules = GAMES["divider-duel"].make_rules()
    solver = solver_for(rules)
    observer = AfterstateObserver(rules)

    class Knowing(MoveNetwork):
        """Prefers as the solver does: the agent asks about the positions that it was shown, in their order."""

        def __init__(self):
            self.observer = observer

        def see(self, position, legal):
            return solver.action_values(position)

        def preferences(self, seen):
            return seen.astype(np.float32)

    assert Grader(solver).grade(LearnedAgent(rules, Knowing())) == Grade(1.0, 0, 0)
    poor = Grader(solver).grade(LearnedAgent(rules, MoveNetwork(observer, constant_weights(observer, 0))))
    assert poor.kept < 1 and poor.mistakes and poor.walked


def run(*arguments, **options):
    command = [sys.executable, "train/ppo.py", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, **options)


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """A finished run of Divider Duel: what it said, and its folder."""
    folder = tmp_path_factory.mktemp("runs") / "divider"
    ran = run("--game", "divider-duel", "--out", folder)
    assert ran.returncode == 0, ran.stderr
    return ran, folder


def test_divider_duel_is_learned_perfectly(learned):
    ran, folder = learned
    assert "kept 100.00% on 10,000 random positions" in ran.stdout
    assert "first seat: throws 0 of" in ran.stdout
    assert "second seat: throws 0 of" in ran.stdout
    assert "chosen by the solver's grade" in ran.stdout
    assert "plies/s" in ran.stderr and "against random" in ran.stderr
    assert (folder / "curve.png").read_bytes().startswith(b"\x89PNG")
    assert list(folder.glob("tensorboard/*/events*"))
    card = json.loads((folder / "card.json").read_text())
    assert card["game"] == {"name": "divider-duel", "version": 0, "parameters": {"lowest": 2, "highest": 9}}
    assert card["progress"]["finished"] and card["arguments"]["seed"] == 0
    (session,) = card["sessions"]
    assert session["from_plies"] == 0 and session["seed"] == session_seed(0, 0) and session["versions"]["torch"]
    assert card["observation"]["layout"] == {"pool": 8, "outlook": 7}
    assert card["evaluation"]["kept"] == 1 and card["curve"][-1]["kept"] == 1
    assert {file["name"] for file in card["files"].values()} == {path.name for path in folder.glob("*.safetensors")}


def test_the_same_seed_learns_the_same(tmp_path):
    weights = []
    for place in ("one", "two"):
        ran = run("--game", "divider-duel", "--highest", 12, "--plies", 20_000, "--seed", 7, "--out", tmp_path / place)
        assert ran.returncode == 0, ran.stderr
        weights.append(read_card(tmp_path / place)["files"])
    # The best weights, the latest and the optimiser's state: the same files to the letter.
    assert weights[0] == weights[1]


def test_a_trained_agent_evaluates_and_plays(learned, capsys):
    _, folder = learned
    rules = GAMES["divider-duel"].make_rules()
    for spec in (f"ppo:{folder}", f"mcts:8:ppo:{folder}"):
        agent = make_agent(spec, rules)
        # 4 is the only winning opening.
        assert rules.numbers[agent.choose(rules.initial((3,)), np.random.default_rng(0))].tolist() == [4, 4, 4]
    assert evaluate_main(["--game", "divider-duel", f"ppo:{folder}", "random", "--duels", "20", "--exploit"]) == 0
    assert "first seat: 0 of" in capsys.readouterr().out
    command = [sys.executable, "agents/play.py", "--game", "divider-duel", "--first", f"ppo:{folder}"]
    ran = subprocess.run([*command, "--second", "random"], capture_output=True, text=True, check=False, cwd=ROOT)
    assert ran.returncode == 0 and "Player 1 wins" in ran.stdout


@pytest.mark.parametrize("opponent", ["random", "greedy", "solver", "pool"])
def test_other_opponents(opponent, tmp_path):
    told = ("--game", "divider_duel", "--highest", 7, "--plies", 100_000, "--opponent", opponent)
    ran = run(*told, "--out", tmp_path / "run")
    assert ran.returncode == 0, ran.stderr
    card = read_card(tmp_path / "run")
    assert card["preset"]["gamma"] == 1 and card["arguments"]["opponent"] == opponent
    assert card["evaluation"]["kept"] > 0.95 > card["curve"][0]["kept"]


def test_a_game_too_large_to_solve_is_learned_without_grades(tmp_path):
    ran = run("--game", "prime-rumble", "--highest", 90, "--plies", 9000, "--out", tmp_path / "run")
    assert ran.returncode == 0, ran.stderr
    assert "no grading" in ran.stderr
    assert read_card(tmp_path / "run")["evaluation"]["kept"] is None


def test_a_sixth_game_is_learned_saved_and_played(tmp_path):
    spec = register_game(GameSpec("subtraction-learned", "Subtraction", Subtraction, {"heap": 11, "most": 3}))
    try:
        rules = spec.make_rules(heap=7)
        task = Task(Arguments(game=spec.name, plies=600_000), spec, {"heap": 7}, None)
        said = train(task, tmp_path, solver_for(rules))
        agent = make_agent(f"ppo:{tmp_path}", rules)
        # Whoever leaves a multiple of four wins.
        assert rules.numbers[agent.choose(rules.initial(), np.random.default_rng(0))] == 3
        assert read_card(tmp_path)["evaluation"]["kept"] > 0.9
        assert "--heap 7" in said
    finally:
        forget(spec)


def wait_for_save(process, folder, saves=1):
    """Wait until a run has saved what it knows so often."""
    deadline = time.monotonic() + 120
    while not (folder / "card.json").exists() or len(read_card(folder)["curve"]) < saves:
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            pytest.fail(f"the run has not saved anything: {process.communicate()}")
        time.sleep(0.005)


def test_a_killed_run_goes_on(tmp_path):
    folder = tmp_path / "run"
    told = ["--game", "prime-rumble", "--highest", "30", "--seed", "3", "--plies", "150000", "--out", str(folder)]
    process = subprocess.Popen([sys.executable, "train/ppo.py", *told], cwd=ROOT, stderr=subprocess.DEVNULL)
    # Killed in the middle of things: something has been learned and saved since the beginning.
    wait_for_save(process, folder, saves=2)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    before = read_card(folder)
    assert 0 < before["progress"]["plies"] < 150_000 and not before["progress"]["finished"]
    assert load_agent(folder, GAMES["prime-rumble"].make_rules(highest=30))

    refused = run("--game", "prime-rumble", "--out", folder)
    assert refused.returncode == 2 and "holds a run of prime-rumble" in refused.stderr
    for wrong in (["--game", "divider-duel"], ["--highest", "31"], ["--seed", "4"], ["--opponent", "pool"]):
        refused = run("--resume", folder, *wrong)
        assert refused.returncode == 2 and len(refused.stderr.splitlines()) == 1, refused.stderr
    assert read_card(folder) == before

    ran = run("--resume", folder, "--plies", "100000")
    assert ran.returncode == 0, ran.stderr
    after = read_card(folder)
    assert after["progress"]["finished"] and 100_000 <= after["progress"]["plies"] < 100_000 + 8192
    assert after["progress"]["seconds"] > before["progress"]["seconds"]
    assert after["curve"][: len(before["curve"])] == before["curve"] and len(after["curve"]) > len(before["curve"])

    again = run("--resume", folder)
    assert again.returncode == 2 and "nothing to resume" in again.stderr
    assert read_card(folder) == after


def test_a_run_killed_at_once_can_be_resumed(tmp_path):
    folder = tmp_path / "run"
    told = ["--game", "divider-duel", "--plies", "40000", "--out", str(folder)]
    process = subprocess.Popen([sys.executable, "train/ppo.py", *told], cwd=ROOT, stderr=subprocess.DEVNULL)
    wait_for_save(process, folder)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert run("--resume", folder).returncode == 0
    assert read_card(folder)["progress"]["finished"]


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
        (["--game", "divider-duel", "--seed", "-1"], "--seed must be from 0"),
        (["--game", "divider-duel", "--seed", "99999999999"], "--seed must be from 0"),
        (["--game", "divider-duel", "--opponent", "me"], "invalid choice"),
        (["--game", "divider-duel", "--device", "abacus"], "--device abacus cannot be used"),
        (["--game", "divider-duel", "--out", "README.md"], "README.md"),
        (["--game", "divider-duel", "--out", "README.md/run"], "nothing can be written to README.md/run"),
        (["--game", "divider-duel", "--out", "tests"], "tests is not empty"),
        (["--resume", "nowhere"], "nowhere is no folder"),
        (["--resume", "tests"], "tests is not the folder of a trained agent"),
    ],
)
def test_wrong_arguments(arguments, message):
    ran = run(*arguments)
    assert ran.returncode == 2
    assert message in ran.stderr
    assert len(ran.stderr.splitlines()) == 1, ran.stderr


def test_a_solver_that_cannot_be_had_is_no_opponent(tmp_path):
    ran = run("--game", "prime-rumble", "--highest", 90, "--opponent", "solver", "--out", tmp_path / "run")
    assert ran.returncode == 2 and "--opponent solver needs a game that can be solved" in ran.stderr
    assert not (tmp_path / "run").exists()


DAMAGE = {
    "no progress": lambda card: card.pop("progress"),
    "no plies": lambda card: card["progress"].pop("plies"),
    "plies in words": lambda card: card["progress"].update(plies="many"),
    "negative plies": lambda card: card["progress"].update(plies=-5),
    "no curve": lambda card: card.pop("curve"),
    "a strange curve": lambda card: card.update(curve=[{"plies": "x"}]),
    "no grade": lambda card: card.pop("grade"),
    "a strange grade": lambda card: card.update(grade={"kept": 2}),
    "no arguments": lambda card: card.pop("arguments"),
    "a strange argument": lambda card: card["arguments"].update(colour="red"),
    "a strange opponent": lambda card: card["arguments"].update(opponent="foo"),
    "a strange device": lambda card: card["arguments"].update(device=[3]),
    "no device": lambda card: card["arguments"].update(device=None),
    "half a seed": lambda card: card["arguments"].update(seed=1.5),
    "endless plies": lambda card: card["arguments"].update(plies=float("inf")),
    "too many plies": lambda card: card["curve"].append({"plies": 10**400, "random": 0.5, "kept": 0.5}),
    "no sessions": lambda card: card.pop("sessions"),
    "endless layers": lambda card: card["network"].update(layers=[float("inf")]),
    "another preset": lambda card: card["preset"].update(n_epochs=5),
    "another program": lambda card: card.update(program="train/rllib.py"),
    "a strange file": lambda card: card["files"]["state"].update(name="x\0y"),
}


@pytest.fixture(scope="module")
def unfinished(learned, tmp_path_factory):
    """The folder of a run that was killed just before its end."""
    folder = tmp_path_factory.mktemp("runs") / "unfinished"
    shutil.copytree(learned[1], folder)
    card = json.loads((folder / "card.json").read_text())
    card["progress"]["finished"] = False
    (folder / "card.json").write_text(json.dumps(card))
    return folder


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_card_is_refused_in_one_line(damage, unfinished, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(unfinished, folder)
    card = json.loads((folder / "card.json").read_text())
    DAMAGE[damage](card)
    (folder / "card.json").write_text(json.dumps(card))
    ran = run("--resume", folder)
    assert ran.returncode == 2 and len(ran.stderr.splitlines()) == 1, ran.stderr
    assert json.loads((folder / "card.json").read_text()) == card


def test_one_process_at_a_time_trains_in_a_folder(unfinished):
    with occupied(unfinished):
        ran = run("--resume", unfinished)
    assert ran.returncode == 2 and "another process is training" in ran.stderr


def test_a_lock_that_is_a_link_harms_nobody(unfinished, tmp_path):
    folder, victim = tmp_path / "run", tmp_path / "victim"
    shutil.copytree(unfinished, folder)
    victim.write_text("precious")
    (folder / "lock").unlink()
    (folder / "lock").symlink_to(victim)
    ran = run("--resume", folder)
    assert ran.returncode == 2 and "nothing can be written to" in ran.stderr
    assert victim.read_text() == "precious"


def test_a_full_disk_is_told_in_one_line_and_the_run_goes_on(tmp_path):
    folder = tmp_path / "run"
    told = ["train/ppo.py", "--game", "prime-rumble", "--highest", "30", "--out", str(folder)]
    # The first save fits, the logs outgrow the limit later on.
    limited = f"ulimit -f 70; exec {shlex.join([sys.executable, *told])}"
    ran = subprocess.run(["bash", "-c", limited], cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 1 and "Traceback" not in ran.stderr
    last = ran.stderr.splitlines()[-1]
    assert last.startswith("nothing more can be saved: ") and last.endswith(f"train/ppo.py --resume {folder}")
    assert load_agent(folder, GAMES["prime-rumble"].make_rules(highest=30))


def test_whoever_stops_before_the_first_save_can_begin_again(tmp_path, capsys):
    folder = new_folder(str(tmp_path / "run"), "divider-duel")

    def stopped_at_once():
        (folder / LOGS).mkdir()
        raise KeyboardInterrupt

    assert run_in(folder, "train/ppo.py", stopped_at_once) == 130
    assert capsys.readouterr().err == "stopped; nothing has been saved yet\n"
    ran = run("--game", "divider-duel", "--plies", 8000, "--out", folder)
    assert ran.returncode == 0, ran.stderr


def test_an_interrupted_run_says_how_to_go_on(tmp_path):
    folder = tmp_path / "a run"
    told = ["--game", "prime-rumble", "--highest", "30", "--out", str(folder)]
    process = subprocess.Popen([sys.executable, "train/ppo.py", *told], cwd=ROOT, stderr=subprocess.PIPE, text=True)
    wait_for_save(process, folder)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130 and f"--resume '{folder}'" in said.splitlines()[-1]
    assert "Traceback" not in said


def test_the_command_that_is_told_plays(tmp_path):
    ran = run("--game", "divider-duel", "--highest", 8, "--plies", 8000, "--out", tmp_path / "run")
    (command,) = (line for line in ran.stdout.splitlines() if line.startswith("Play it: python "))
    told = shlex.split(command.removeprefix("Play it: python "))
    played = subprocess.run([sys.executable, *told, "--first", "random"], cwd=ROOT, capture_output=True, check=False)
    assert played.returncode == 0, played.stderr


@pytest.mark.parametrize("package", ["matplotlib", "safetensors", "sb3_contrib", "tensorboard", "torch", "tqdm"])
def test_a_missing_package_is_named_with_the_way_out(package, tmp_path):
    (tmp_path / f"{package}.py").write_text(f"raise ImportError('gone', name={package!r})")
    ran = run("--game", "divider-duel", "--out", tmp_path / "run", env={**os.environ, "PYTHONPATH": str(tmp_path)})
    assert ran.returncode == 1
    wanted = "pip install -c constraints.txt -e '.[train]'"
    assert ran.stderr.strip() == f"training needs {package}, which is not installed: {wanted}"
    assert not (tmp_path / "run").exists()


def test_help_explains_every_argument():
    said = run("--help")
    assert said.returncode == 0
    for name in ("game", "opponent", "plies", "minutes", "seed", "device", "out", "resume", "highest", "when-empty"):
        assert f"--{name}" in said.stdout


@pytest.mark.parametrize("name", RECIPES)
def test_a_reference_is_what_its_card_says(name):
    card = read_card(REFERENCES / name)
    rules = rules_of(card)
    assert reference_for(rules) == REFERENCES / name
    told = evaluate(make_agent("ppo:reference", rules), solver_for(rules))
    # On another machine a sum may be rounded otherwise, and a tie be broken the other way.
    assert told["kept"] == pytest.approx(card["evaluation"]["kept"], abs=0.005)
    for opponent, scores in card["evaluation"]["scores"].items():
        assert told["scores"][opponent] == pytest.approx(scores, abs=0.01)
    for here, there in zip(told["exploitability"], card["evaluation"]["exploitability"], strict=True):
        assert here["thrown"] == pytest.approx(there["thrown"], abs=0.005 * there["won"])
