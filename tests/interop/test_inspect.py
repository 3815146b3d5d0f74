"""The task of Inspect, run by its own command line at a scripted endpoint on loopback."""

from __future__ import annotations

import json
import math
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


def evaluated(server, folder, model, **options):
    """Return the metrics of each score."""
    command = [
        *[Path(sys.executable).parent / "inspect", "eval", "docs/examples/inspect_numduel.py"],
        *["--model", f"openai/{model}", "-M", "responses_api=false", "--log-dir", folder, "--log-format", "json"],
        *[part for name, value in options.items() for part in ("-T", f"{name}={value}")],
    ]
    environment = {**os.environ, "OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": KEY, "INSPECT_DISPLAY": "plain"}
    ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    (log,) = folder.glob("*.json")
    results = json.loads(log.read_text())["results"]["scores"]
    return {
        score["name"]: {name: metric["value"] for name, metric in score["metrics"].items()} | score for score in results
    }


def test_a_perfect_model_is_perfect(server, tmp_path):
    scores = evaluated(server, tmp_path, "perfect", seat="first", duels=5, opponent="random")
    assert scores["won"]["mean"] == 1 and scores["won"]["stderr"] == 0
    assert scores["fault"]["mean"] == 0
    assert scores["kept"]["pooled"] == 1 and scores["kept"]["pooled_stderr"] == 0


def test_a_random_one_has_errors(server, tmp_path):
    scores = evaluated(server, tmp_path, "random", duels=12, opponent="random", openings=2)
    assert 0 <= scores["kept"]["pooled"] < 1 and scores["kept"]["pooled_stderr"] > 0
    assert scores["fault"]["mean"] == 0


def test_an_illegal_one_has_faults_and_kept_nothing(server, tmp_path):
    scores = evaluated(server, tmp_path, "illegal", seat="first", duels=3)
    assert scores["won"]["mean"] == 0 and scores["fault"]["mean"] == 1 and scores["kept"]["pooled"] == 0


def test_kept_is_missing_where_nothing_was_graded(server, tmp_path):
    scores = evaluated(server, tmp_path, "garbage", seat="second", duels=3)
    assert scores["fault"]["mean"] == 1
    assert scores["kept"]["scored_samples"] == 0 and scores["kept"]["unscored_samples"] == 3
    assert scores["kept"]["pooled"] is None or math.isnan(scores["kept"]["pooled"])
