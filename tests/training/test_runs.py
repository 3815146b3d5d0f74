"""Runs that are saved, interrupted, locked and resumed, in this process."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from agents.cards import CurvePoint
from agents.checkpoint import ANNOUNCED, BadCheckpoint, announce, read_card, read_tensors, write_checkpoint
from numduel_env import GAMES
from numduel_env.observation import AfterstateObserver
from numduel_env.storage import write_atomically
from tests.support.programs import run_program
from tests.training.learners import PROGRAM, new_card, reopen, rewrite_card, small_learner
from train.runs.folder import LOCK, LOGS, new_folder, occupied, run_in
from train.runs.progress import Budget
from train.runs.record import Record, session_seed
from train.runs.state import is_sound, restore, training_tensors
from train.sb3_ppo.preset import PRESET
from train.sb3_ppo.watch import LEAST_ANNEALING, Watch


def test_what_was_saved_is_restored(tmp_path):
    trained, fresh = small_learner(0), small_learner(1)
    trained.learn(512)
    state = training_tensors(trained.policy)
    card = write_checkpoint(tmp_path, new_card(plies=512), {"state": state})
    restore(fresh.policy, tmp_path, card)
    restored = training_tensors(fresh.policy)
    assert state.keys() == restored.keys() and any(name.endswith("exp_avg_sq") for name in state)
    assert all((tensor == restored[name]).all() for name, tensor in state.items())
    with pytest.raises(BadCheckpoint, match="does not fit this network"):
        restore(small_learner(layers=(9,)).policy, tmp_path, card)
    del state["optimizer.0.exp_avg"]
    card = write_checkpoint(tmp_path, card, {"state": state})
    with pytest.raises(BadCheckpoint, match="optimiser's state of weight 0"):
        restore(fresh.policy, tmp_path, card)


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("exp_avg_sq", -1),
        ("exp_avg", 3e38),
        ("exp_avg_sq", 3e38),
        ("step", -1),
        ("step", 3e38),
        ("move.0.weight", 3e38),
    ],
)
def test_a_state_that_no_learner_was_ever_in_is_refused(part, value, tmp_path):
    learner = small_learner()
    learner.learn(256)
    state = training_tensors(learner.policy)
    changed = {name: np.full_like(tensor, value) if name.endswith(part) else tensor for name, tensor in state.items()}
    card = write_checkpoint(tmp_path, new_card(plies=256), {"state": changed})
    with pytest.raises(BadCheckpoint, match="absurd"):
        restore(learner.policy, tmp_path, card)


def test_learning_that_diverges_ends_in_one_line_and_is_not_saved(tmp_path):
    ran = run_program(PROGRAM, *BEGIN, "--learning-rate", 1e12, "--out", tmp_path / "run")
    assert ran.code == 2 and "learning has diverged" in ran.err and "Traceback" not in ran.err
    card = read_card(tmp_path / "run")
    assert is_sound(read_tensors(tmp_path / "run", card, "state"))


@pytest.mark.parametrize("opponent", ["self", "pool"])
def test_a_run_goes_on_from_what_was_learned(opponent, tmp_path):
    """A run that is to go on for no ply more leaves everything as it was; for more plies it learns on."""
    folder = tmp_path / "run"
    plies = 2 * PRESET.plies_per_update

    def steps():
        return read_tensors(folder, read_card(folder), "state")["optimizer.0.step"]

    def resumed(*arguments):
        reopen(folder)
        ran = run_program(PROGRAM, "--resume", folder, *arguments)
        assert ran.code == 0, ran.err
        return read_card(folder)

    ran = run_program(PROGRAM, "--game", "divider-duel", "--opponent", opponent, "--plies", plies, "--out", folder)
    assert ran.code == 0, ran.err
    first = read_card(folder)
    learned_steps = steps()
    again = resumed()
    assert again.files == first.files and again.training.curve == first.training.curve
    assert again.training.progress.plies == plies and set(first.files) >= {"weights", "state"}
    if not first.training.standing.positions.blunders:
        pytest.fail("nothing is left to be learned: this test needs fewer plies")
    further = resumed("--plies", 2 * plies).training
    assert further.progress.plies == 2 * plies and further.progress.finished
    assert steps() == 2 * learned_steps
    curve = first.training.curve
    assert further.curve[: len(curve)] == curve and len(further.curve) > len(curve)
    seeds = [session.seed for session in further.sessions]
    assert seeds == [session_seed(0, 0), session_seed(0, plies), session_seed(0, plies)]
    assert [session.from_plies for session in further.sessions] == [0, plies, plies]


def test_learning_rate_and_entropy_bonus_fall_with_the_budget(tmp_path):
    # The learner was graded before it learned, and needs not be again.
    record = Record(new_card(curve=(CurvePoint(0, 0.0, 0.5, None),)), None)
    observer = AfterstateObserver(GAMES["divider-duel"].make_rules())
    watch = Watch(tmp_path, record, observer, Budget(1000, float("inf")))
    for plies, factor in ((0, 1), (250, 0.75), (800, 0.2), (999, LEAST_ANNEALING), (5000, LEAST_ANNEALING)):
        watch.plies = plies
        assert watch.annealing == pytest.approx(factor)
    model = small_learner()
    model.ent_coef = 0.2
    watch.init_callback(model)
    watch._on_training_start()
    watch.num_timesteps = 500
    watch._on_rollout_start()
    assert model.ent_coef == pytest.approx(0.1)


def test_a_finished_run_and_an_occupied_folder_are_refused(learned):
    before = read_card(learned.folder)
    again = run_program(PROGRAM, "--resume", learned.folder)
    assert again.code == 2 and "is finished and plays perfectly: there is nothing to learn" in again.err
    refused = run_program(PROGRAM, "--game", "prime-rumble", "--out", learned.folder)
    assert refused.code == 2 and "holds a run of divider-duel" in refused.err
    assert read_card(learned.folder) == before


@pytest.mark.parametrize(
    "changes",
    [["--game", "prime-rumble"], ["--highest", "31"], ["--seed", "4"], ["--opponent", "pool"], ["--out", "elsewhere"]],
)
def test_what_a_run_learns_cannot_change(changes, unfinished):
    before = read_card(unfinished)
    refused = run_program(PROGRAM, "--resume", unfinished, *changes)
    assert refused.code == 2 and len(refused.err.splitlines()) == 1, refused.err
    assert read_card(unfinished) == before


def test_one_process_at_a_time_trains_in_a_folder(unfinished):
    with occupied(unfinished):
        ran = run_program(PROGRAM, "--resume", unfinished)
    assert ran.code == 2 and "another process is training" in ran.err


def test_a_lock_that_is_a_link_harms_nobody(unfinished, tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (unfinished / LOCK).unlink(missing_ok=True)
    (unfinished / LOCK).symlink_to(victim)
    ran = run_program(PROGRAM, "--resume", unfinished)
    assert ran.code == 2 and "nothing can be written to" in ran.err
    assert victim.read_text() == "precious"


def test_a_run_that_stops_before_the_first_save_can_begin_again(tmp_path, capsys):
    folder = new_folder(str(tmp_path / "run"), "divider-duel")

    def stopped_at_once():
        (folder / LOGS).mkdir()
        raise KeyboardInterrupt

    assert run_in(folder, PROGRAM, "divider-duel", stopped_at_once) == 130
    assert capsys.readouterr().err == "stopped; nothing has been saved yet; the same command begins again\n"
    ran = run_program(PROGRAM, "--game", "divider-duel", "--plies", 8000, "--out", folder)
    assert ran.code == 0, ran.err


def test_a_disk_that_is_full_at_once_ends_the_run_in_one_line(tmp_path, capsys):
    folder = new_folder(str(tmp_path / "run"), "divider-duel")

    def full():
        raise OSError(28, "No space left on device")

    assert run_in(folder, PROGRAM, "divider-duel", full) == 1
    printed = capsys.readouterr().err
    assert printed.startswith("nothing more can be saved: [Errno 28] No space left on device; nothing has been saved")
    assert len(printed.splitlines()) == 1


BEGIN = ("--game", "divider-duel", "--plies", 8000)


class Killed(BaseException):
    """What ends a process at once: nothing is tidied up after it."""


@pytest.mark.parametrize("write", range(5))
def test_a_run_that_dies_in_its_first_save_begins_again(write, tmp_path, monkeypatch):
    """Killed before or in the middle of each of the writes: the announcements, the tensors, the card."""
    folder, writes = tmp_path / "run", []

    def killed_in_the_end(path, content):
        writes.append(path)
        if len(writes) > write:
            Path(f"{path}.{os.getpid()}.tmp").write_bytes(content[:10])
            monkeypatch.setattr("agents.checkpoint.remove_leftovers", lambda folder: None)
            raise Killed
        write_atomically(path, content)

    monkeypatch.setattr("agents.checkpoint.write_atomically", killed_in_the_end)
    with pytest.raises(Killed):
        run_program(PROGRAM, *BEGIN, "--out", folder)
    monkeypatch.undo()
    assert len(writes) == write + 1 and not (folder / "card.json").exists()
    refused = run_program(PROGRAM, "--resume", folder)
    assert refused.code == 2 and len(refused.err.splitlines()) == 1, refused.err
    ran = run_program(PROGRAM, *BEGIN, "--out", folder)
    assert ran.code == 0, ran.err
    assert names_in(folder) == {"card.json", "curve.png", *file_names(folder)}


def names_in(folder):
    """Return what is in a run's folder, but for its lock and its logs."""
    return {path.name for path in folder.iterdir()} - {LOCK, LOGS}


def file_names(folder):
    """Return the names of the files that the card names."""
    return {file.name for file in read_card(folder).files.values()}


@pytest.mark.parametrize("write", range(5))
def test_a_disk_that_is_full_in_the_first_save_leaves_nothing_half_written(write, tmp_path, monkeypatch):
    folder, writes = tmp_path / "run", []

    def full_in_the_end(path, content):
        writes.append(path)
        if len(writes) > write:
            raise OSError(28, "No space left on device")
        write_atomically(path, content)

    monkeypatch.setattr("agents.checkpoint.write_atomically", full_in_the_end)
    ran = run_program(PROGRAM, *BEGIN, "--out", folder)
    assert ran.code == (2 if write == 0 else 1), ran.err
    assert "No space left on device" in ran.err and "Traceback" not in ran.err
    assert names_in(folder) <= {ANNOUNCED}
    monkeypatch.undo()
    ran = run_program(PROGRAM, *BEGIN, "--out", folder)
    assert ran.code == 0, ran.err


def test_a_users_files_are_the_users(unfinished):
    theirs = ["best-20261118aaaa.safetensors", "weights-0123456789ab.safetensors", "todo.tmp", "notes.7.tmp"]
    for name in theirs:
        (unfinished / name).write_text(name)
    (unfinished / "rllib-000000000000").mkdir()
    # What the card before named goes.
    (unfinished / "pool-0123456789ab.safetensors").write_text("")
    rewrite_card(
        unfinished, lambda card: card["files"].update(pool={"name": "pool-0123456789ab.safetensors", "sha256": ""})
    )
    leftover = unfinished / f"card.json.{os.getpid()}.tmp"
    leftover.write_text("{")
    ran = run_program(PROGRAM, "--resume", unfinished, "--plies", 2_000_000)
    assert ran.code == 0, ran.err
    assert [(unfinished / name).read_text() for name in theirs] == theirs
    assert (unfinished / "rllib-000000000000").is_dir() and not leftover.exists()
    names = {"card.json", "curve.png", "rllib-000000000000", *theirs, *file_names(unfinished)}
    assert names_in(unfinished) == names


def test_what_a_killed_save_left_goes_with_the_next(unfinished):
    left = [
        "weights-00112233aabb.safetensors",
        "rllib-000000008192",
        f"weights-00112233aabb.safetensors.{os.getpid()}.tmp",
    ]
    kept = ["state-00112233aabb.safetensors", "card.json"]
    announce(
        unfinished, [left[0], left[1], "todo.tmp", "..", "curve.png", "/etc", *file_names(unfinished), "card.json"]
    )
    (unfinished / left[1]).mkdir()
    for name in (left[0], left[2], kept[0], "todo.tmp"):
        (unfinished / name).write_text("")
    with occupied(unfinished):
        assert names_in(unfinished) == {"card.json", "curve.png", "todo.tmp", kept[0], *file_names(unfinished)}


@pytest.mark.parametrize("place", [LOGS, f"{LOGS}/ppo_0"])
def test_logs_that_are_a_link_are_not_followed(place, unfinished, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    shutil.rmtree(unfinished / place)
    (unfinished / place).symlink_to(elsewhere)
    ran = run_program(PROGRAM, "--resume", unfinished)
    assert ran.code == 2 and f"{unfinished / place} is a link" in ran.err
    assert not any(elsewhere.iterdir())


def test_a_folder_with_other_peoples_files_is_not_a_run_that_died(tmp_path):
    for name in ("lock", "notes.md"):
        (tmp_path / name).write_text("")
    with pytest.raises(BadCheckpoint, match="is not empty"):
        new_folder(str(tmp_path), "divider-duel")
