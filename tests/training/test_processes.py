"""Runs as processes of their own: killed, interrupted, or out of disk."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import time

import pytest

from agents.checkpoint import read_card
from agents.learned import load_agent
from numduel_env import GAMES
from tests.support import ROOT
from tests.support.programs import run_program
from tests.training.learners import PROGRAM

pytestmark = pytest.mark.skipif(os.name != "posix", reason="these signals and limits are POSIX")

PATIENCE = 120
"""Seconds after which a run that does not come is given up."""

RUMBLE = ("--game", "prime-rumble", "--highest", "20", "--seed", "3")


@contextlib.contextmanager
def running(*arguments):
    """Run train/ppo.py in a process of its own, which does not outlive the test."""
    command = [sys.executable, PROGRAM, *map(str, arguments)]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_for_saves(process, folder, saves):
    """Wait until a run has saved this often; the first time it has learned nothing yet."""
    deadline = time.monotonic() + PATIENCE
    while not (folder / "card.json").exists() or len(read_card(folder).training.curve) < saves:
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            pytest.fail(f"the run has not saved anything: {process.communicate()}")
        time.sleep(0.005)


@pytest.mark.parametrize("saves", [1, 2])
def test_a_killed_run_goes_on(saves, tmp_path):
    folder = tmp_path / "run"
    with running(*RUMBLE, "--plies", 10**6, "--out", folder) as process:
        wait_for_saves(process, folder, saves)
        process.send_signal(signal.SIGKILL)
    before = read_card(folder).training
    assert before.progress.plies < 10**6 and not before.progress.finished
    assert (before.progress.plies > 0) == (saves > 1)
    assert load_agent(folder, GAMES["prime-rumble"].make_rules(highest=20))

    goal = before.progress.plies + 10_000
    ran = run_program(PROGRAM, "--resume", folder, "--plies", goal)
    assert ran.code == 0, ran.err
    after = read_card(folder).training
    assert after.progress.finished and goal <= after.progress.plies < goal + 8192
    assert after.progress.seconds > before.progress.seconds
    assert after.curve[: len(before.curve)] == before.curve and len(after.curve) > len(before.curve)


def test_an_interrupted_run_says_how_to_go_on(tmp_path):
    folder = tmp_path / "a run"
    with running(*RUMBLE, "--out", folder) as process:
        wait_for_saves(process, folder, 1)
        process.send_signal(signal.SIGINT)
        _, printed = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130 and f"--resume '{folder}'" in printed.splitlines()[-1]
    assert "Traceback" not in printed


def test_a_full_disk_is_reported_in_one_line_and_the_run_goes_on(tmp_path):
    folder = tmp_path / "run"
    command = shlex.join([sys.executable, PROGRAM, *RUMBLE, "--out", str(folder)])
    # The first save fits; the log or a later save outgrows the limit.
    limited = f"ulimit -f 70; exec {command}"
    ran = subprocess.run(["bash", "-c", limited], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
    assert ran.returncode == 1 and "Traceback" not in ran.stderr
    last = ran.stderr.splitlines()[-1]
    assert last.startswith("nothing more can be saved: ") and last.endswith(f"{PROGRAM} --resume {folder}")
    assert load_agent(folder, GAMES["prime-rumble"].make_rules(highest=20))
