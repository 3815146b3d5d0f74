"""The wheel alone, in a virtual environment that holds nothing else: an agent is graded, results saved and reported."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import venv
import zipfile

import pytest

from tests.support import ROOT

PROGRAM = """
import sys
import numduel_env

class Largest:
    def __init__(self, rules):
        pass

    def choose(self, position, legal, generator):
        return legal.shape[1] - 1 - legal[:, ::-1].argmax(1)

agents = {"mine": Largest, "random": "random", "solver": "solver"}
results = numduel_env.evaluate("divider-duel", agents, duels=20, seed=0, exploit=True)
assert [agent.name for agent in results.agents] == ["mine", "random", "solver"]
assert results.agents[2].kept == 1 > results.agents[0].kept
print(results)
results.save("results.json")
results.report("report.html")
assert numduel_env.Results.load("results.json") == results
assert not {"torch", "stable_baselines3", "matplotlib", "agents", "train"} & set(sys.modules)
"""


@pytest.mark.slow
def test_the_wheel_grades_an_agent(tmp_path):
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    subprocess.run([*pip, "wheel", str(ROOT), "--no-deps", "-w", str(tmp_path)], check=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as opened:
        (metadata,) = (opened.read(name).decode() for name in opened.namelist() if name.endswith("/METADATA"))
    described = metadata.partition("\n\n")[2]
    # An index of packages has neither the pictures of the checkout nor its pages.
    targets = re.findall(r"\]\(([^)]*)\)", described)
    assert described.startswith("# numduel_env") and targets
    assert all(target.startswith("https://") for target in targets)
    place = tmp_path / "environment"
    venv.create(place, with_pip=True)
    scripts = place / ("Scripts" if os.name == "nt" else "bin")
    subprocess.run([str(scripts / "python"), *pip[1:], "install", str(wheel)], check=True)

    def run(*command: str) -> str:
        options = {"cwd": tmp_path, "capture_output": True, "text": True, "check": False}
        ran = subprocess.run([str(scripts / command[0]), *command[1:]], **options)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    assert "kept %" in run("python", "-c", PROGRAM)
    assert (tmp_path / "report.html").read_text().startswith("<!doctype html>")
    assert "kept %" in run("numduel", "evaluate", "--game", "prime-duel-sum", "random", "solver", "--duels", "20")
    assert "winning moves: 4" in run("python", "-m", "numduel_env", "solve", "divider-duel")
    listed = run("python", "-m", "pip", "list", "--disable-pip-version-check").lower()
    assert not any(heavy in listed for heavy in ("torch", "matplotlib", "stable", "pillow"))
