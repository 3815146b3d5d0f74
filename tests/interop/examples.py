"""Running the example scripts and the documented lines as a reader would."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import Any, NamedTuple

from tests.support import ROOT

LAST_LINE = re.compile(
    r"(?P<steps>[\d,]+) steps: (?P<score>[\d.]+)% of 1,000 duels against random, seats swapped"
    r" \(untrained (?P<untrained>[\d.]+)%\)$"
)


class Learned(NamedTuple):
    """What a script prints in the end; scores in percent."""

    steps: int
    score: float
    untrained: float


def run_example(script: str, *arguments: str) -> Learned:
    """Run a script on one thread and return what it printed in the end; raises if it failed or printed another line."""
    ran = subprocess.run(
        [sys.executable, f"docs/examples/{script}", *arguments],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    said = LAST_LINE.search(ran.stdout.strip())
    assert said, ran.stdout
    return Learned(int(said["steps"].replace(",", "")), float(said["score"]), float(said["untrained"]))


def run_documented_lines(framework: str) -> dict[str, Any]:
    """Run the lines about a framework in ``docs/frameworks.md`` and return the names they made."""
    section = (ROOT / "docs" / "frameworks.md").read_text().split(f"\n## {framework}\n")[1].split("\n## ")[0]
    (lines,) = re.findall(r"```py\n(.*?)```", section, re.DOTALL)
    made: dict[str, Any] = {"__name__": "documented"}
    exec(compile(lines, "docs/frameworks.md", "exec"), made)
    return made
