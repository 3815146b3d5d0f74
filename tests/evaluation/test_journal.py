"""An evaluation that was interrupted goes on, asks for nothing twice, and ends as if nothing had happened."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from numduel_env import Results, evaluate
from numduel_env.__main__ import run as numduel
from tests.support import ROOT
from tests.support.agents import Cheat, LastMover, Lowest

AGENTS = {"lowest": Lowest, "random": "random", "cheat": Cheat, "player": LastMover, "solver": "solver"}


def run(journal=None, agents=AGENTS, **options):
    results = evaluate("divider-duel", agents, **{"duels": 40, "exploit": True, "journal": journal, **options})
    return replace(results, agents=tuple(replace(agent, ms_per_move=0.0) for agent in results.agents))


class Counting:
    """Counts the positions it is asked about, over all its instances."""

    asked = 0

    def __init__(self, rules):
        pass

    def choose(self, position, legal, generator):
        Counting.asked += len(legal)
        return legal.argmax(-1)


@pytest.fixture(scope="module")
def expected():
    return run()


def test_a_journal_changes_nothing(expected, tmp_path):
    assert run(tmp_path / "j") == expected
    assert run(tmp_path / "j") == expected  # all from the journal


def test_it_goes_on_from_any_place(expected, tmp_path):
    run(tmp_path / "whole")
    content = (tmp_path / "whole").read_bytes()
    draws = random.Random(0)
    for cut in [0, 1, len(content) - 1, *(draws.randrange(len(content)) for _ in range(12))]:
        (tmp_path / "cut").write_bytes(content[:cut])
        assert run(tmp_path / "cut") == expected
        assert len((tmp_path / "cut").read_bytes()) == pytest.approx(len(content), rel=0.2)


def test_nothing_is_asked_twice(tmp_path):
    agents = {"counting": Counting, "random": "random"}
    Counting.asked = 0
    run(tmp_path / "j", agents, exploit=False)
    asked = Counting.asked
    lines = (tmp_path / "j").read_bytes().splitlines(keepends=True)
    (tmp_path / "j").write_bytes(b"".join(lines[: len(lines) // 2]))
    Counting.asked = 0
    run(tmp_path / "j", agents, exploit=False)
    assert 0 < Counting.asked < asked
    Counting.asked = 0
    run(tmp_path / "j", agents, exploit=False)
    assert Counting.asked == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [({"seed": 1}, "with seed 0, not 1"), ({"duels": 60}, "duels 40, not 60"), ({"highest": 12}, "parameters")],
)
def test_only_the_same_evaluation_goes_on(options, message, tmp_path):
    run(tmp_path / "j")
    before = (tmp_path / "j").read_bytes()
    with pytest.raises(ValueError, match=message):
        run(tmp_path / "j", **options)
    assert (tmp_path / "j").read_bytes() == before


@pytest.mark.parametrize("damage", [b'{"nonsense": 1}\n', b"not json\n", b'{"key": 1, "actions": "x"}\n'])
def test_what_is_no_journal_is_refused_and_kept(damage, tmp_path):
    run(tmp_path / "j")
    content = (tmp_path / "j").read_bytes()
    for spoiled in (damage + content, content + damage):
        (tmp_path / "j").write_bytes(spoiled)
        with pytest.raises(ValueError, match="is no journal of an evaluation"):
            run(tmp_path / "j")
        assert (tmp_path / "j").read_bytes() == spoiled


def test_an_answer_that_does_not_fit_is_refused(tmp_path):
    run(tmp_path / "j", {"lowest": Lowest, "solver": "solver"})
    content = (tmp_path / "j").read_bytes()
    for old, new in ((b'"actions": [', b'"actions": [99, '), (b'"actions": [', b'"actions": [7, ')):
        (tmp_path / "j").write_bytes(content.replace(old, new, 1))
        with pytest.raises(ValueError, match="journal"):
            run(tmp_path / "j", {"lowest": Lowest, "solver": "solver"})


COMMAND = ["evaluate", "--game", "divider-duel", "--duels", "20", "random", "tests.support.agents:Lowest"]


def test_the_program_resumes_and_tidies_up(tmp_path, capsys):
    file = str(tmp_path / "r.json")
    evaluate("divider-duel", COMMAND[-2:], duels=20, journal=f"{file}.journal")

    def refused(*more):
        with pytest.raises(SystemExit):
            numduel([*COMMAND, *more])
        return capsys.readouterr().err

    assert "go on with --resume, or remove it" in refused("--json", file)
    assert "--resume goes on with what stands beside --json F" in refused("--resume")
    assert "there is no unfinished evaluation" in refused("--resume", "--json", str(tmp_path / "other.json"))
    assert numduel([*COMMAND, "--json", file, "--resume"]) == 0
    assert {path.name for path in tmp_path.iterdir()} == {"r.json"}
    assert Results.load(file).agents[0].name == "random"


@pytest.mark.skipif(os.name == "nt", reason="sends signals as POSIX has them")
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
def test_a_killed_program_goes_on(sent, tmp_path):
    file = tmp_path / "r.json"
    arguments = "evaluate --game prime-rumble --duels 2000 --ungraded random greedy --json"
    command = [sys.executable, "-m", "numduel_env", *arguments.split(), str(file)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    journal = tmp_path / "r.json.journal"
    while not (journal.exists() and journal.read_bytes().count(b"\n") > 5):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(sent)
    _, err = process.communicate()
    assert process.returncode != 0 and not file.exists()
    if sent == signal.SIGINT:
        assert "the same command with --resume goes on" in err
    before = len(journal.read_bytes())
    assert before > 0
    subprocess.run([*command, "--resume"], cwd=ROOT, check=True, capture_output=True)
    whole = evaluate("prime-rumble", ["random", "greedy"], duels=2000, graded=False)
    assert Results.load(file).matrix == whole.matrix
    assert not journal.exists()
