"""Ray RLlib, for real: its env runners on our games, and train/rllib.py with processes that are killed."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import jsonschema
import numpy as np
import pytest
import ray
import torch
import tree
import yaml
from ray.rllib.core.columns import Columns
from ray.rllib.env.multi_agent_env_runner import MultiAgentEnvRunner

from agents import make_agent
from agents.cards import Card, GameCard, TrainingCard, TrainingProgress
from agents.checkpoint import ANNOUNCED, WRITTEN, announce, names_on, read_card
from agents.learned import Architecture, LearnedAgent
from agents.networks import FlatNetwork
from numduel_env.duel import Duel
from numduel_env.envs.aec import SEATS
from numduel_env.envs.rllib import MASK, MODULE, OBSERVATIONS, DuelEnv, DuelRunner, MaskedModule, observed
from numduel_env.evaluation.exploitability import random_positions
from numduel_env.games import GameSpec, find_game
from numduel_env.games.sieve import Sieve
from numduel_env.observation import Observer
from tests.interop.examples import run_documented_lines
from tests.support import ROOT
from tests.support.processes import PATIENCE, running, wait_for
from tests.support.programs import run_program
from tests.support.variants import each_variant
from train.rllib_ppo.algorithm import base_config, make_algorithm, network_tensors
from train.rllib_ppo.cluster import NoRay, start_ray
from train.rllib_ppo.folder import RunFolder
from train.rllib_ppo.preset import LAYERS
from train.runs.folder import occupied
from train.runs.record import Record

# Ray warns of its own doings.
pytestmark = [pytest.mark.interop, pytest.mark.filterwarnings("default")]


def make_runner(runner_class, game, params, games=8, random_openings=0.5):
    own = runner_class is DuelRunner
    options = {"game": game, "params": params, "random_openings": random_openings, "duels": games if own else 1}
    config = base_config(DuelEnv, options, layers=[16])
    config.env_runners(num_env_runners=0, num_envs_per_env_runner=1 if own else games)
    return runner_class(config=config.debugging(seed=1))


def test_a_runner_plays_many_duels_with_one_environment():
    runner = make_runner(DuelRunner, "divider-duel", {}, games=32)
    assert len(runner.env.envs) == 1
    assert len(runner.sample(num_timesteps=1)) == 32


@pytest.mark.parametrize("runner_class", [MultiAgentEnvRunner, DuelRunner])
@each_variant
def test_episodes_are_played_by_the_rules(game, params, runner_class):
    runner = make_runner(runner_class, game, params, random_openings=0)
    env = runner.env.envs[0].unwrapped
    episodes = runner.sample(num_episodes=24)
    assert len(episodes) >= 24
    for episode in episodes:
        assert episode.is_done
        duel = Duel(env.rules)
        trajectories = {agent: iter(range(len(own))) for agent, own in episode.agent_episodes.items()}
        while not duel.finished:
            own = episode.agent_episodes[SEATS[duel.seat]]
            step = next(trajectories[SEATS[duel.seat]])
            observation = own.get_observations(step)
            np.testing.assert_array_equal(observation[MASK], duel.legal)
            np.testing.assert_array_equal(observation[OBSERVATIONS], env.observer(duel.position, duel.legal))
            logits = own.get_extra_model_outputs(Columns.ACTION_DIST_INPUTS, step)
            policy = torch.distributions.Categorical(logits=torch.as_tensor(logits))
            action = int(own.get_actions(step))
            logp = own.get_extra_model_outputs(Columns.ACTION_LOGP, step)
            assert float(logp) == pytest.approx(float(policy.log_prob(torch.tensor(action))), abs=1e-5)
            assert duel.legal[action]
            duel.play(action)
        assert episode.env_steps() == len(duel.actions)
        # Who never moved has no trajectory; everybody else has it to the end, and the reward with the last move.
        assert set(episode.agent_episodes) == set(SEATS[: len(duel.actions)])
        for seat, agent in enumerate(SEATS[: len(duel.actions)]):
            own = episode.agent_episodes[agent]
            assert next(trajectories[agent], None) is None
            assert own.module_id == MODULE
            assert own.is_terminated == duel.over and own.is_truncated == duel.truncated
            assert own.get_return() == duel.payoff[seat]
            assert own.get_rewards(-1) == duel.payoff[seat]
            if duel.truncated:
                assert not own.get_observations(-1)[MASK].any()


def test_random_openings_start_in_the_middle_with_either_seat():
    for runner_class in (MultiAgentEnvRunner, DuelRunner):
        episodes = make_runner(runner_class, "prime-rumble", {}, random_openings=1).sample(num_episodes=40)
        first = [
            min(episode.agent_episodes, key=lambda agent: episode.env_t_to_agent_t[agent].get().index(0))
            for episode in episodes
        ]
        assert set(first) == set(SEATS)


@each_variant
def test_the_agent_in_numpy_moves_as_the_module_does(game, params):
    env = DuelEnv({"game": game, "params": params})
    torch.manual_seed(0)
    module = MaskedModule(
        observation_space=env.observation_spaces[SEATS[0]],
        action_space=env.action_spaces[SEATS[0]],
        model_config={"layers": [32, 32]},
    )
    network = FlatNetwork(env.observer, {name: tensor.numpy() for name, tensor in module.state_dict().items()})
    agent = LearnedAgent(env.rules, network)
    position = random_positions(env.rules, 2_000, seed=0)
    legal = env.rules.legal(position)
    observations = network.observe(position, legal)
    batch = {Columns.OBS: observed(torch.from_numpy(observations), torch.from_numpy(legal.astype(np.int8)))}
    moves = module.forward_inference(batch)[Columns.ACTION_DIST_INPUTS].argmax(-1).numpy()
    np.testing.assert_array_equal(agent.choose(position, legal, np.random.default_rng(0)), moves)
    assert legal[np.arange(len(moves)), moves].all()
    values = module.compute_values(batch).detach().numpy()
    np.testing.assert_allclose(network.evaluate(observations)[1], values.clip(-1, 1), atol=1e-5)


def program(*arguments, name="rllib"):
    return [sys.executable, f"train/{name}.py", *map(str, arguments)]


def rewrite(folder, change):
    """Change the card on disk, which ``change`` gets as plain JSON."""
    card = json.loads((folder / "card.json").read_text())
    change(card)
    (folder / "card.json").write_text(json.dumps(card))


def card_in(folder):
    """Return the card of a run once there is one."""
    return read_card(folder) if (folder / "card.json").exists() else None


def env_runners_of(process):
    """Return the ids of the env runners' processes that descend from ``process``."""
    parents, runners = {}, []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(path.name)] = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            if (path / "cmdline").read_bytes().startswith(b"ray::DuelRunner"):
                runners.append(int(path.name))
        except OSError:
            continue

    def descends(pid):
        while pid in parents:
            if pid == process.pid:
                return True
            pid = parents[pid]
        return False

    return [runner for runner in runners if descends(runner)]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Three minutes of Divider Duel, at most, with one env runner, which is killed on the way."""
    tmp_path = tmp_path_factory.mktemp("trained")
    folder, log = tmp_path / "run", tmp_path / "log"
    command = program("--game", "divider-duel", "--minutes", 3, "--env-runners", 1, "--out", folder)
    with running(command, log) as process:
        before = wait_for(lambda: card_in(folder), process, log)
        (victim,) = env_runners_of(process)
        os.kill(victim, signal.SIGKILL)
        (another,) = wait_for(lambda: set(env_runners_of(process)) - {victim}, process, log)
        assert another != victim
        assert process.wait(PATIENCE) == 0, log.read_text()
    return folder, before, log.read_text()


def test_divider_duel_is_learned_though_an_env_runner_is_killed(trained):
    folder, before, printed = trained
    card = card_in(folder)
    progress = card.training.progress
    assert printed.count("an env runner was lost; Ray has started another") == 1
    assert "Traceback" not in printed
    assert progress.finished and progress.plies > before.training.progress.plies
    assert progress.seconds < 3 * 60 + 10
    assert card.evaluation.duels == 1_000
    assert card.evaluation.scores["random"].first >= 0.95
    assert re.search(r"\| random \| (9[5-9]\.\d|100\.0)% \|", printed)
    (session,) = card.training.sessions
    assert session.versions["gymnasium"].startswith("1.2.")


def test_the_run_is_an_agent(trained):
    folder, _, _ = trained
    agents = (f"rllib:{folder}", f"mcts:8:rllib:{folder}", "random")
    ran = run_program("train/evaluate.py", "--game", "divider-duel", *agents, "--duels", 200, "--openings", 0)
    assert ran.code == 0 and all(agent in ran.out for agent in agents)
    ran = run_program("agents/play.py", "--game", "divider-duel", "--first", agents[0], "--second", "random")
    assert ran.code == 0 and "win" in ran.out.lower()


class Copied(NamedTuple):
    """A run that is copied to a URI: its process, where it runs, its copy, and what it prints."""

    process: subprocess.Popen
    cwd: Path
    copy: Path
    log: Path


@contextlib.contextmanager
def running_copied(tmp_path, minutes):
    """Run train/rllib.py in a folder of its own, so that the local folder of the run goes into runs/ there."""
    cwd, copy, log = tmp_path / "here", tmp_path / "copy", tmp_path / "log"
    cwd.mkdir()
    (cwd / "train").symlink_to(ROOT / "train")
    options = ("--game", "prime-rumble", "--highest", 20, "--minutes", minutes, "--env-runners", 0)
    with running(program(*options, "--out", f"file://{copy}"), log, cwd=cwd) as process:
        yield Copied(process, cwd, copy, log)


def test_a_killed_run_goes_on(tmp_path):
    with running_copied(tmp_path, minutes=2) as (process, cwd, copy, log):
        wait_for(lambda: (card := card_in(copy)) and card.training.curve[1:], process, log)
        process.kill()
    # Both are whole, whatever was being written: the local folder and its copy.
    (local,) = (cwd / "runs").iterdir()
    rules = DuelEnv({"game": "prime-rumble", "params": {"highest": 20}}).rules
    for folder in (local, copy):
        make_agent(f"rllib:{folder}", rules)

    def resume(place, before):
        before = before.training
        minutes = (before.progress.seconds + 4) / 60
        command = program("--resume", place, "--minutes", minutes, "--address", "local")
        ran = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
        if ran.returncode == 0:
            folder = Path(re.search(r"rllib:(\S+)$", ran.stdout, re.M)[1])
            card = card_in(cwd / folder)
            after = card.training
            assert after.progress.finished and after.progress.plies > before.progress.plies
            assert after.curve[: len(before.curve)] == before.curve
            assert after.arguments["minutes"] == pytest.approx(minutes)
            assert card_in(copy) == card
        return ran

    shutil.copytree(copy, tmp_path / "kept")
    # A user keeps snapshots beside both.
    for folder in (local, copy, tmp_path / "kept"):
        (folder / "best-20261118aaaa.safetensors").write_text("mine")
        (folder / "rllib-best").mkdir()
        (folder / "rllib-best" / "todo.tmp").write_text("mine")
    assert resume(local, card_in(local)).returncode == 0
    shutil.rmtree(copy)
    shutil.copytree(tmp_path / "kept", copy)
    before = card_in(copy)
    assert resume(f"file://{copy}", before).returncode == 0
    for folder in (local, copy):
        assert (folder / "best-20261118aaaa.safetensors").read_text() == "mine"
        assert (folder / "rllib-best" / "todo.tmp").read_text() == "mine"
        card = card_in(folder)
        written = {path.name for path in folder.iterdir() if WRITTEN.fullmatch(path.name)}
        assert written == names_on(card) | {"best-20261118aaaa.safetensors"}
        assert not (folder / ANNOUNCED).exists()
    # A folder whose copy has learned more is out of date.
    plies = before.training.progress.plies - 1
    rewrite(local, lambda card: card["training"]["progress"].update(plies=plies, finished=False))
    ran = resume(local, card_in(local))
    assert ran.returncode == 2 and ran.stderr.endswith(f"has learned on: --resume file://{copy}\n")


def test_what_was_learned_is_restored(tmp_path):
    start_ray("local", 0)
    try:
        spec = find_game("divider-duel")
        algorithm = make_algorithm(spec, {}, 0, seed=1)
        algorithm.train()
        run = RunFolder.begin(str(tmp_path / "run"), spec.name)
        training = TrainingCard("train/rllib.py", {}, {}, TrainingProgress(4096, 1.0, finished=False), (), None, ())
        observer = Observer(spec.make_rules(), lookahead=True)
        card = Card(GameCard.of(spec, {}), *Architecture.of(FlatNetwork.kind, observer, LAYERS), training)
        record = Record(card, None)
        record.keep(network_tensors(algorithm))
        run.save(algorithm, record)
        assert record.card == card_in(run.folder) and record.training.state == "rllib-000000004096"
        other = make_algorithm(spec, {}, 0, seed=2)
        assert not same_state(algorithm, other)
        run.restore(other, record.training)
        assert same_state(algorithm, other)
    finally:
        ray.shutdown()


def same_state(one, other):
    """Return whether two algorithms would learn on from the same weights and optimiser's state, and play by them."""
    states = []
    for algorithm in (one, other):
        learner = algorithm.learner_group.get_state()["learner"]
        plays = algorithm.env_runner.get_state()["rl_module"]
        states.append(tree.flatten([learner["rl_module"], learner["optimizer"], plays]))
    return len(states[0]) == len(states[1]) and all(map(np.array_equal, *states))


def test_a_copy_that_fails_loses_nothing(tmp_path):
    with running_copied(tmp_path, minutes=0.2) as (process, cwd, copy, log):
        wait_for(lambda: card_in(copy), process, log)
        shutil.rmtree(copy)
        copy.write_text("in the way")
        assert process.wait(PATIENCE) == 2
    printed = log.read_text()
    (local,) = (cwd / "runs").iterdir()
    assert f"saved here only: file://{copy} cannot be used" in printed and "Traceback" not in printed
    assert printed.splitlines()[-1].endswith(f"all of the run is in runs/{local.name}")
    assert card_in(local).training.progress.finished
    make_agent(f"rllib:{local}", find_game("prime-rumble").make_rules(highest=20))
    assert copy.read_text() == "in the way"


def test_a_run_that_died_before_its_first_card_begins_again(tmp_path):
    """Killed while RLlib wrote its first checkpoint, and while the first copy was sent."""
    local, copy = tmp_path / "local", tmp_path / "copy"
    for folder in (local, copy):
        folder.mkdir()
        announce(folder, ["rllib-000000002048", "weights-00112233aabb.safetensors"])
        (folder / "rllib-000000002048").mkdir()
        (folder / "rllib-000000002048" / "algorithm_state.pkl").write_bytes(b"half")
        (folder / "weights-00112233aabb.safetensors").write_bytes(b"half")
    for out, folder in ((local, local), (f"file://{copy}", copy)):
        options = ("--game", "divider-duel", "--minutes", 0.05, "--env-runners", 0)
        ran = subprocess.run(program(*options, "--out", out), cwd=ROOT, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr
        written = {path.name for path in folder.iterdir() if WRITTEN.fullmatch(path.name)}
        assert written == names_on(card_in(folder)) and not (folder / ANNOUNCED).exists()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_run_says_how_to_go_on(how, tmp_path):
    folder, log = tmp_path / "a run", tmp_path / "log"
    with running(program("--game", "prime-rumble", "--env-runners", 0, "--out", folder), log) as process:
        wait_for(lambda: card_in(folder), process, log)
        process.send_signal(how)
        assert process.wait(PATIENCE) == 130
    printed = log.read_text()
    assert printed.splitlines()[-1] == f"stopped; to go on: python train/rllib.py --resume '{folder}'"
    assert "Traceback" not in printed and "stack" not in printed.lower()
    card = card_in(folder)
    assert (folder / card.training.state).is_dir() and str(card.training.progress.plies) in card.training.state


class OnlyAtHome(Sieve):
    """Rules that only the process which made them first can make."""

    def __init__(self, lowest, highest):
        if os.getpid() != int(os.environ["NUMDUEL_HOME"]):
            raise RuntimeError("not here")
        super().__init__(lowest, highest)


def test_env_runners_that_cannot_start_are_reported_in_one_line(monkeypatch):
    monkeypatch.setenv("NUMDUEL_HOME", str(os.getpid()))
    start_ray("local", 1)
    try:
        spec = GameSpec("only-at-home", "Only at home", OnlyAtHome, {"lowest": 2, "highest": 5})
        with pytest.raises(NoRay, match="no env runner could be started") as refused:
            make_algorithm(spec, {}, 1, seed=0)
        assert "\n" not in str(refused.value)
    finally:
        ray.shutdown()


@contextlib.contextmanager
def running_cluster(tmp_path, environment):
    """Run a cluster of this machine alone, with two cores; yield its process and its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    head = [str(Path(sys.executable).parent / "ray"), "start", "--head", f"--port={port}", "--num-cpus=2", "--block"]
    head += ["--include-dashboard=false", "--disable-usage-stats"]
    log = tmp_path / "head"
    with running(head, log, env=environment) as cluster:
        try:
            wait_for(lambda: "Ray runtime started" in log.read_text(), cluster, log)
            yield cluster, f"127.0.0.1:{port}"
        finally:
            cluster.terminate()
            cluster.wait(60)


def test_an_existing_cluster(tmp_path):
    # A token of its own: what listens on the network must not let everybody in.
    environment = os.environ | {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    with running_cluster(tmp_path, environment) as (cluster, address):
        options = ("--game", "divider-duel", "--minutes", 0.05, "--address", address, "--out", tmp_path / "run")
        asking = {"cwd": ROOT, "capture_output": True, "text": True, "timeout": PATIENCE}
        stranger = subprocess.run(program(*options), **asking)
        assert stranger.returncode == 2
        assert "RAY_AUTH_MODE=token" in stranger.stderr and stranger.stderr.count("\n") == 1
        assert not (tmp_path / "run").exists()
        run = subprocess.run(program(*options), env=environment, **asking)
        assert run.returncode == 0, run.stderr
        assert card_in(tmp_path / "run").training.progress.finished
        # More env runners than cores: Ray waits, and one line says so.
        log = tmp_path / "log"
        command = program("--game", "divider-duel", "--address", address, "--env-runners", 3, "--out", tmp_path / "3")
        with running(command, log, env=environment) as waiting:
            wait_for(lambda: "2 cores for 3 env runners" in log.read_text(), waiting, log)
        assert cluster.poll() is None, "the cluster is somebody else's and must live on"


def test_without_ray_one_line_says_what_to_install():
    without = "import runpy, sys; sys.modules['ray'] = None; sys.argv = ['rllib.py', '--game', 'divider-duel']; "
    without += "runpy.run_path('train/rllib.py', run_name='__main__')"
    run = subprocess.run([sys.executable, "-c", without], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 1
    wanted = "pip install -c constraints-rllib.txt -e '.[rllib]'"
    assert run.stderr == f"training with RLlib needs ray, which is not installed: {wanted}\n"


def content(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture
def unfinished(trained, tmp_path):
    """Return a folder that looks like an unfinished run."""
    folder = tmp_path / "unfinished"
    shutil.copytree(trained[0], folder)
    rewrite(folder, lambda card: card["training"]["progress"].update(finished=False))
    return folder


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--game divider-duel --out {run}", "holds a run of divider-duel"),
        ("--game divider-duel --out file://{run}", "is not empty"),
        ("--game divider-duel --out nonsense://there", "cannot be used"),
        ("--game divider-duel --out /proc/there", "nothing can be written to /proc/there"),
        ("--game divider-duel --address 127.0.0.1:9", "no Ray cluster answers at 127.0.0.1:9"),
        ("--game divider-duel --address nonsense", "--address must be HOST:PORT, auto or local"),
        ("--game divider-duel --env-runners -1", "--env-runners must be from 0"),
        ("--game divider-duel --env-runners 1000000", "--env-runners must be from 0"),
        ("--game divider-duel --minutes 1e307", "--minutes must be positive and at most"),
        ("--game divider-duel --seed 4294967296", "--seed must be from 0"),
        ("--resume {run}", "is finished"),
        ("--resume file://{run}", "file://{run} is finished"),
        ("--resume {strange}", "does not say how it was trained: Expected `float`, got `str` - at `$.minutes`"),
        ("--resume {foreign}", "was not written by train/rllib.py"),
        ("--resume {empty}", "is not the folder of a trained agent"),
        ("--resume {damaged}", "RLlib cannot restore"),
        ("--resume {unfinished} --game prime-rumble", "is a run of divider-duel (lowest=2, highest=9)"),
        ("--resume {unfinished} --highest 12", "is a run of divider-duel (lowest=2, highest=9)"),
        ("--resume {unfinished} --seed 5", "has --seed 0, which cannot change now"),
    ],
)
def test_bad_input_gets_one_line_and_changes_nothing(trained, unfinished, tmp_path, options, message):
    foreign, empty, damaged, strange = (tmp_path / name for name in ("foreign", "empty", "damaged", "strange"))
    empty.mkdir()
    shutil.copytree(unfinished, damaged)
    (damaged / card_in(damaged).training.state / "algorithm_state.pkl").write_bytes(b"nonsense")
    shutil.copytree(unfinished, foreign)
    rewrite(foreign, lambda card: card["training"].update(program="train/ppo.py"))
    shutil.copytree(unfinished, strange)
    rewrite(strange, lambda card: card["training"]["arguments"].update(minutes="2"))
    places = {"run": trained[0], "foreign": foreign, "empty": empty, "damaged": damaged, "unfinished": unfinished}
    places["strange"] = strange
    before = {name: content(folder) for name, folder in places.items()}
    run = subprocess.run(
        program(*options.format(**places).split()), cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE
    )
    assert run.returncode == 2
    assert message.format(**places) in run.stderr and run.stderr.count("\n") == 1, run.stderr
    assert not run.stdout
    assert {name: content(folder) for name, folder in places.items()} == before


def test_one_process_at_a_time_trains_in_a_folder(unfinished):
    with occupied(unfinished):
        run = subprocess.run(program("--resume", unfinished), cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 2 and run.stderr.endswith(f"another process is training in {unfinished}\n")


def test_the_cluster_file_is_as_ray_wants_it():
    schema = json.loads((Path(ray.__file__).parent / "autoscaler" / "ray-schema.json").read_text())
    text = (ROOT / "docs" / "ray-cluster.yaml").read_text()
    jsonschema.validate(yaml.safe_load(text), schema)
    assert text.count("FILL IN") == 5  # four lines, and the one that announces them


def test_the_documented_setups_build():
    (code,) = re.findall(r"```py(?:thon)?\n(.*?)```", (ROOT / "docs" / "scaling.md").read_text(), re.S)
    documented: dict = {}
    exec(code, documented)
    for names in (documented, run_documented_lines("Ray RLlib")):
        runner = MultiAgentEnvRunner(config=names["config"])
        assert runner.sample(num_episodes=1)[0].is_done
