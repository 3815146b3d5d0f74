"""One finished run of Divider Duel, learned once for all tests of this room."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.programs import Ran, run_program
from tests.training.learners import PROGRAM, reopen


class Learned(NamedTuple):
    """What train/ppo.py printed of a run, and the folder that it wrote."""

    ran: Ran
    folder: Path


@pytest.fixture(scope="session")
def learned(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "divider"
    ran = run_program(PROGRAM, "--game", "divider-duel", "--out", folder)
    assert ran.code == 0, ran.err
    return Learned(ran, folder)


@pytest.fixture
def unfinished(learned, tmp_path):
    """The folder of a run that was killed just before its end."""
    folder = tmp_path / "unfinished"
    shutil.copytree(learned.folder, folder)
    reopen(folder)
    return folder
