"""Hyperparameters are flags, finished runs are extended, new ones begin with old weights."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields

import pytest
from sb3_contrib import MaskablePPO

from agents.checkpoint import read_card, read_tensors
from numduel_env.cli import flag
from tests.support.programs import run_program
from tests.training.learners import PROGRAM
from train.sb3_ppo.preset import PRESET, Preset

OF_THE_PROGRAM = {"policy", "env", "policy_kwargs", "tensorboard_log", "stats_window_size", "verbose", "seed", "device"}
"""The arguments of MaskablePPO that are no hyperparameters of ours, with those below that only other uses need."""
UNUSED = {"rollout_buffer_class", "rollout_buffer_kwargs", "_init_setup_model"}

HARD = ("--game", "prime-duel-sum", "--when-empty", "refill")
"""A game that is not learned perfectly in a moment."""

SMALL = ("--n-envs", 64, "--n-steps", 16, "--net-arch", "16")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A short run of a hard game, finished without being perfect."""
    folder = tmp_path_factory.mktemp("steered") / "run"
    ran = run_program(PROGRAM, *HARD, *SMALL, "--plies", 2048, "--out", folder)
    assert ran.code == 0, ran.err
    return folder


def test_every_hyperparameter_of_the_learner_is_one_of_the_preset():
    wanted = inspect.signature(MaskablePPO).parameters.keys() - OF_THE_PROGRAM - UNUSED
    assert wanted == PRESET.of_the_learner().keys() | {"learning_rate"}


def test_every_hyperparameter_is_a_flag_and_stands_on_the_card(tmp_path):
    chosen = {
        "learning_rate": 0.002,
        "n_steps": 16,
        "batch_size": 128,
        "n_epochs": 2,
        "gamma": -0.9,
        "gae_lambda": 0.8,
        "clip_range": 0.3,
        "clip_range_vf": 0.4,
        "normalize_advantage": False,
        "ent_coef": 0.01,
        "vf_coef": 0.5,
        "max_grad_norm": 0.6,
        "target_kl": 0.7,
        "net_arch": "16,8",
        "n_envs": 32,
        "random_openings": 0.25,
    }
    assert chosen.keys() == {argument.name for argument in fields(Preset)}
    flags = [str(part) for name, value in chosen.items() for part in (flag(name), value)]
    ran = run_program(PROGRAM, *HARD, "--plies", 512, "--out", tmp_path / "run", *flags)
    assert ran.code == 0, ran.err
    card = read_card(tmp_path / "run")
    assert card.training.preset == chosen and card.network.layers == (16, 8)
    assert card.training.progress.plies == 512


def test_the_learner_is_made_with_the_flags(tmp_path, monkeypatch):
    made = {}
    begin = MaskablePPO.__init__

    def spied(self, *args, **options):
        made.update(options)
        begin(self, *args, **options)

    monkeypatch.setattr(MaskablePPO, "__init__", spied)
    flags = ("--clip-range", "0.3", "--gamma", "0.5", "--target-kl", "0.7", "--learning-rate", "0.002")
    ran = run_program(PROGRAM, *HARD, *SMALL, "--plies", 1024, "--out", tmp_path / "run", *flags)
    assert ran.code == 0, ran.err
    assert (made["clip_range"], made["gamma"], made["target_kl"], made["n_steps"]) == (0.3, 0.5, 0.7, 16)
    assert made["policy_kwargs"]["layers"] == (16,)
    # The budget is spent by now, so this is a tenth of the first rate.
    assert made["learning_rate"](1) == pytest.approx(0.0002)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--n-steps 0", "--n-steps must be from 1 to"),
        ("--batch-size 1", "--batch-size must be from 2 to"),
        ("--batch-size 9000", "--batch-size must be at most --n-envs times --n-steps, which is 8,192, not 9,000"),
        ("--learning-rate nan", "--learning-rate must be positive, not nan"),
        ("--learning-rate inf", "--learning-rate must be positive, not inf"),
        ("--gamma -1.5", "--gamma must be from -1 to 1"),
        ("--ent-coef -1", "--ent-coef must be at least 0"),
        ("--random-openings 2", "--random-openings must be from 0 to 1"),
        ("--net-arch 64,,64", "--net-arch must be up to 16 widths"),
        ("--net-arch 99999", "--net-arch must be up to 16 widths"),
        ("--normalize-advantage perhaps", "must be true or false, not 'perhaps'"),
        ("--init nowhere", "nowhere is no folder"),
        ("--n-envs 65536 --n-steps 99999", "of memory, more than 8 GB"),
    ],
)
def test_wrong_hyperparameters_get_one_line(flags, message, tmp_path):
    ran = run_program(PROGRAM, "--game", "divider-duel", "--out", tmp_path / "run", *flags.split())
    assert ran.code == 2 and message in ran.err and len(ran.err.splitlines()) == 1, ran.err
    assert not (tmp_path / "run").exists()


def test_a_finished_run_is_extended(finished):
    first = read_card(finished).training
    for budget in ((), ("--plies", 2048), ("--minutes", first.progress.seconds / 60)):
        refused = run_program(PROGRAM, "--resume", finished, *budget)
        assert refused.code == 2 and "is finished after 2,048 plies" in refused.err, refused.err
        assert "give it more in all by --plies or --minutes" in refused.err
    refused = run_program(PROGRAM, "--resume", finished, "--plies", 4096, "--n-epochs", 9)
    assert refused.code == 2 and "has --n-epochs 4, which cannot change now" in refused.err
    assert read_card(finished).training == first

    extended = run_program(PROGRAM, "--resume", finished, "--plies", 4096)
    assert extended.code == 0, extended.err
    longer = read_card(finished).training
    assert longer.progress.plies == 4096 and longer.progress.finished and longer.preset == first.preset
    assert longer.curve[: len(first.curve)] == first.curve and len(longer.sessions) == 2

    # A run that was limited by plies is extended by minutes alone: these take the place of the spent plies.
    minutes = (longer.progress.seconds + 1) / 60
    extended = run_program(PROGRAM, "--resume", finished, "--minutes", minutes)
    assert extended.code == 0, extended.err
    longest = read_card(finished).training
    assert longest.progress.plies > 4096 and longest.progress.seconds >= minutes * 60
    assert longest.arguments["plies"] is None and longest.arguments["minutes"] == minutes


def test_a_run_begins_with_the_weights_of_another(finished, tmp_path):
    begun = read_card(finished)
    ran = run_program(PROGRAM, *HARD, *SMALL[:4], "--init", finished, "--plies", 1024, "--out", tmp_path / "run")
    assert ran.code == 0, ran.err
    card = read_card(tmp_path / "run")
    # The first point of its curve, before it has learned anything, is what the other was in the end.
    assert card.training.curve[0].plies == 0
    assert card.training.curve[0].kept == pytest.approx(begun.training.standing.sample.kept)
    assert card.network.layers == (16,) and card.training.preset["net_arch"] == "16"
    assert card.training.arguments["init"] == str(finished) and card.training.progress.plies == 1024


def test_a_run_begins_with_the_weights_of_a_game_that_is_observed_alike(finished, tmp_path):
    folder = tmp_path / "run"
    arguments = ("--game", "prime-duel-sum", *SMALL[:4], "--init", finished, "--plies", 1, "--out", folder)
    ran = run_program(PROGRAM, *arguments, "--learning-rate", "1e-30")
    assert ran.code == 0, ran.err
    before, after = (read_tensors(place, read_card(place), "weights") for place in (finished, folder))
    assert before.keys() == after.keys()
    assert all((tensor == after[name]).all() for name, tensor in before.items())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--game divider-duel", "the observation in {init} is"),
        ("--game prime-duel-sum --net-arch 8", "the network in {init} is"),
    ],
)
def test_weights_that_do_not_fit_are_refused(arguments, message, finished, tmp_path):
    ran = run_program(PROGRAM, *arguments.split(), "--init", finished, "--out", tmp_path / "run")
    assert ran.code == 2 and message.format(init=finished) in ran.err and len(ran.err.splitlines()) == 1, ran.err
    assert not (tmp_path / "run").exists()


def test_help_is_grouped():
    ran = run_program(PROGRAM, "--help")
    titles = re.findall(r"^(\S.*):$", ran.out, re.MULTILINE)
    assert titles == ["options", "the run", "PPO, by the names of Stable-Baselines3", TITLE_OF_PARAMETERS]
    groups = dict(zip(titles, re.split(r"^\S.*:$", ran.out, flags=re.MULTILINE)[1:]))
    assert "--minutes" in groups["the run"] and "--ent-coef" in groups["PPO, by the names of Stable-Baselines3"]
    assert "--when-empty" in groups[TITLE_OF_PARAMETERS]


TITLE_OF_PARAMETERS = "the game's own parameters (by default, the book's)"
