"""Runs as processes of their own: killed, interrupted, or out of disk."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys

import pytest

from agents.checkpoint import read_card, read_tensors
from agents.learned import load_agent
from numduel_env import GAMES
from tests.support import ROOT
from tests.support.processes import PATIENCE, running, wait_for
from tests.support.programs import run_program
from tests.training.learners import PROGRAM

pytestmark = pytest.mark.skipif(os.name != "posix", reason="these signals and limits are POSIX")

RUMBLE = ("--game", "prime-rumble", "--highest", "20", "--seed", "3")


def run(*arguments):
    """Return the command of a run."""
    return [sys.executable, PROGRAM, *map(str, arguments)]


def has_saved(folder, saves):
    """Return whether a run has saved this often; the first time it has learned nothing yet."""
    return (folder / "card.json").exists() and len(read_card(folder).training.curve) >= saves


@pytest.mark.parametrize("saves", [1, 2])
def test_a_killed_run_goes_on(saves, tmp_path):
    folder, log = tmp_path / "run", tmp_path / "log"
    with running(run(*RUMBLE, "--plies", 10**6, "--out", folder), log) as process:
        wait_for(lambda: has_saved(folder, saves), process, log)
        process.send_signal(signal.SIGKILL)
    before = read_card(folder).training
    assert before.progress.plies < 10**6 and not before.progress.finished
    assert before.progress.plies > 0 or saves == 1
    assert load_agent(folder, GAMES["prime-rumble"].make_rules(highest=20))

    goal = before.progress.plies + 10_000
    ran = run_program(PROGRAM, "--resume", folder, "--plies", goal)
    assert ran.code == 0, ran.err
    after = read_card(folder).training
    assert after.progress.finished and goal <= after.progress.plies < goal + 8192
    assert after.progress.seconds > before.progress.seconds
    assert after.curve[: len(before.curve)] == before.curve and len(after.curve) > len(before.curve)


@pytest.mark.parametrize("how", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_stopped_run_is_saved_as_far_as_it_learned_and_says_how_to_go_on(how, tmp_path):
    folder, log = tmp_path / "a run", tmp_path / "log"
    with running(run(*RUMBLE, "--out", folder), log) as process:
        # Between two saves: one update has been learned from.
        wait_for(lambda: "8.19k/" in log.read_text(), process, log)
        process.send_signal(getattr(signal, how))
        assert process.wait(PATIENCE) == 130
    printed = log.read_text()
    assert printed.splitlines()[-1] == f"stopped; to go on: python {PROGRAM} --resume '{folder}'"
    assert "Traceback" not in printed
    card = read_card(folder)
    assert card.training.progress.plies >= 8192 and not card.training.progress.finished
    # The optimiser has made the steps of as many updates.
    updates = card.training.progress.plies // 8192
    assert read_tensors(folder, card, "state")["optimizer.0.step"] == updates * 64
    assert {path.name for path in folder.glob("*.safetensors")} == {file.name for file in card.files.values()}


def test_a_full_disk_is_reported_in_one_line_and_the_run_goes_on(tmp_path):
    folder = tmp_path / "run"
    # The first save fits; the log or a later save outgrows the limit.
    limited = f"ulimit -f 70; exec {shlex.join(run(*RUMBLE, '--out', folder))}"
    ran = subprocess.run(["bash", "-c", limited], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
    assert ran.returncode == 1 and "Traceback" not in ran.stderr
    last = ran.stderr.splitlines()[-1]
    assert last.startswith("nothing more can be saved: ") and last.endswith(f"{PROGRAM} --resume {folder}")
    assert load_agent(folder, GAMES["prime-rumble"].make_rules(highest=20))
