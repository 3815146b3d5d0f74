"""The taskset of verifiers, run by its own command line at a scripted endpoint on loopback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import ROOT
from tests.support.language_models import KEY, language_models

pytestmark = pytest.mark.interop


@pytest.fixture(scope="module")
def server():
    with language_models() as running:
        yield running


def evaluated(server, folder, model, *arguments, tasks=4):
    """Return the rewards and metrics of each duel."""
    command = [
        *[Path(sys.executable).parent / "vf-eval", "numduel_verifiers", "-m", model, "-n", str(tasks), "--no-push"],
        *["-o", folder, "--client.base-url", server.url, "--client.api-key-var", "OPENAI_API_KEY", *arguments],
    ]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])  # it calls uv
    environment = {**os.environ, "OPENAI_API_KEY": KEY, "PATH": path}
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    (traces,) = folder.rglob("traces.jsonl")
    lines = [json.loads(line) for line in traces.read_text().splitlines()]
    return [trace for line in lines for trace in line.get("traces", [line])]


def test_a_perfect_model_is_perfect(server, tmp_path):
    traces = evaluated(server, tmp_path, "perfect", "--env.taskset.seat", "first")
    assert len(traces) == 4
    for trace in traces:
        assert trace["rewards"]["payoff"]["score"] == 1
        assert {name: trace["metrics"][name] for name in ("won", "fault", "kept")} == {"won": 1, "fault": 0, "kept": 1}


def test_an_illegal_one_has_faults_and_kept_nothing(server, tmp_path):
    for trace in evaluated(server, tmp_path, "illegal", "--env.taskset.seat", "first"):
        assert trace["rewards"]["payoff"]["score"] == -1
        metrics = trace["metrics"]
        assert (metrics["won"], metrics["fault"], metrics["illegal"], metrics["kept"]) == (0, 1, 3, 0)


def test_kept_is_missing_where_nothing_was_graded(server, tmp_path):
    options = ["--env.taskset.seat", "second", "--env.taskset.reward", "move"]
    for trace in evaluated(server, tmp_path, "garbage", *options, tasks=2):
        assert "kept" not in trace["metrics"] and trace["metrics"]["fault"] == 1
        assert trace["rewards"]["move_reward"]["score"] == 0


def test_it_is_a_package_of_its_own(tmp_path):
    command = [sys.executable, "-m", "pip", "show", "-f", "numduel-verifiers"]
    said = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path).stdout
    assert "Requires: numduel-env, verifiers" in said
    assert (ROOT / "docs/examples/verifiers/numduel_verifiers/__init__.py").exists()
