"""Agents in processes of their own: whatever they do costs their own duels and nothing else."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from numduel_env import evaluate, find_game, random_legal
from numduel_env.evaluation.process import ProcessAgent
from tests.support import ROOT
from tests.support.agents import Editor, LastMover, Lowest
from tests.support.hostile import (
    FAULTS,
    IN_PROCESS,
    Hangs,
    Unique,
    WritesDuel,
    WritesRules,
)
from tests.support.processes import running, wait_for

HOSTILE = "tests.support.hostile:"
SUPPORT = "tests.support.agents:"


@pytest.fixture(autouse=True)
def _no_process_is_left(monkeypatch):
    started = []
    popen = subprocess.Popen

    def recording(*arguments, **options):
        started.append(popen(*arguments, **options))
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", recording)
    yield
    gc.collect()
    assert all(process.poll() is not None for process in started)
    assert threading.active_count() <= 3


def small(agents, **options):
    results = evaluate("divider-duel", agents, **{"duels": 20, **options})
    return replace(results, agents=tuple(replace(agent, ms_per_move=0.0) for agent in results.agents))


def test_a_process_changes_nothing_but_the_place():
    here = small({"a": Lowest, "b": "random", "c": LastMover}, exploit=True)
    there = small({"a": SUPPORT + "Lowest", "b": "random", "c": SUPPORT + "LastMover"}, exploit=True)
    named = {"a": ProcessAgent(SUPPORT + "Lowest", find_game("divider-duel").make_rules())}
    assert small({**named, "b": "random", "c": LastMover}, exploit=True) == here
    assert [agent.total for agent in there.agents] == [agent.total for agent in here.agents]
    assert [agent.kept for agent in there.agents] == [agent.kept for agent in here.agents]


def test_random_numbers_go_with_the_questions():
    rules = find_game("prime-rumble").make_rules()
    agent = ProcessAgent("numduel_env:RandomAgent", rules)
    ours = np.random.default_rng(3), np.random.default_rng(3)
    position = rules.initial((50,))
    legal = rules.legal(position)
    for _ in range(3):
        np.testing.assert_array_equal(agent.choose(position, legal, ours[0]), random_legal(legal, ours[1]))
    assert ours[0].random() == ours[1].random()
    agent.close()


def test_it_names_the_moves_it_chooses_from_if_it_can():
    rules = find_game("divider-duel").make_rules()
    greedy, lowest = (ProcessAgent(name, rules) for name in ("numduel_env:GreedyAgent", SUPPORT + "Lowest"))
    assert greedy.preferred(rules.initial((1,)), rules.legal(rules.initial((1,)))).any()
    assert not hasattr(lowest, "preferred") and not lowest.wants_history
    greedy.close(), lowest.close()


@pytest.mark.parametrize("kind", FAULTS, ids=lambda kind: kind.__name__)
def test_a_fault_costs_the_duel_and_nothing_else(kind):
    hostile, reason = HOSTILE + kind.__name__, FAULTS[kind]
    results = small([hostile, "random", "solver"], duels=6)
    faulty, random, solver = results.agents
    assert faulty.faults == sum(faulty.reasons.values()) > 0
    assert list(faulty.reasons) == [reason]
    assert random.faults == solver.faults == 0
    assert solver.kept == 1
    assert results.matrix[1][2] == small(["random", "solver"], duels=6).matrix[0][1]
    assert faulty.total.score > 0 or faulty.total.losses > faulty.faults - 1
    assert "\x1b" not in str(results) and "\u202e" not in str(results)


@pytest.mark.parametrize("kind", IN_PROCESS, ids=lambda kind: kind.__name__)
def test_so_does_one_of_an_object_in_this_process(kind):
    made = kind(find_game("divider-duel").make_rules())
    for hostile in (kind, made):
        results = small({"hostile": hostile, "random": "random", "solver": "solver"}, duels=6, exploit=True)
        assert list(results.agents[0].reasons) == [FAULTS[kind]]
        assert results.agents[1].faults == results.agents[2].faults == 0
        assert results.matrix[1][2] == small(["random", "solver"], duels=6).matrix[0][1]


def test_reasons_are_counted_by_kind():
    results = small([HOSTILE + Unique.__name__, "random"])
    (reason,) = results.agents[0].reasons
    assert "raised RuntimeError: error number" in reason and "or much the same: raised RuntimeError" in reason


def test_a_hanging_agent_loses_in_time():
    results = small([HOSTILE + Hangs.__name__, "random"], move_seconds=0.5, duels=4)
    reasons = results.agents[0].reasons
    assert any("did not answer within 0.5 s" in reason for reason in reasons)
    assert results.agents[1].faults == 0


def test_an_agent_without_a_limit_is_not_waited_for_in_silence(monkeypatch, caplog):
    monkeypatch.setattr("numduel_env.evaluation.process.PATIENCE", 0.02)
    results = small([HOSTILE + "Slow", "random"], duels=2)
    assert results.agents[0].faults == 0
    lines = [record.getMessage() for record in caplog.records]
    said = "tests.support.hostile:Slow has not answered for {} s; move_seconds (--move-seconds) limits the time"
    assert lines and lines[0].startswith(said.format(0.02)) and lines[1].startswith(said.format(0.04))


def test_printing_is_no_offence_and_does_not_reach_the_results():
    command = [
        sys.executable,
        *["-m", "numduel_env", "evaluate", "--game", "divider-duel", "--duels", "20", "--json", "-", "random"],
    ]
    ran = subprocess.run([*command, HOSTILE + "Prints"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ran.stdout.startswith("{") and ran.stdout.endswith("}\n") and "raw bytes" not in ran.stdout
    assert ran.stderr == ""


def test_writing_into_the_rules_harms_nobody():
    expected = small({"a": Lowest, "solver": "solver"})
    for writer in (HOSTILE + "WritesRules", HOSTILE + "WritesDuel", SUPPORT + "Editor"):
        results = small([writer, "solver"])
        assert results.agents[1].kept == 1
        assert results.matrix[0][1] == expected.matrix[0][1]
    shared = WritesRules(find_game("divider-duel").make_rules(highest=8))
    assert small({"a": shared, "solver": "solver"}, highest=8).agents[1].kept == 1
    for kind in (WritesRules, Editor, WritesDuel):
        assert small({"a": kind, "solver": "solver"}).agents[1].kept == 1


@pytest.mark.parametrize(
    ("name", "reason"),
    [("exits_when_made", "raised SystemExit: 3"), ("ends_its_process_when_made", "ended its process")],
)
def test_one_that_cannot_be_made_is_refused_in_a_line(name, reason):
    with pytest.raises(ValueError, match=reason) as wrong:
        small([HOSTILE + name, "random"])
    assert "\n" not in str(wrong.value)


@pytest.mark.skipif(not Path("/proc").exists(), reason="looks for processes in /proc")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_no_process_outlives_the_program(how, tmp_path, monkeypatch):
    """Ctrl-C ends what agents have started as well; a program that is killed leaves no hanging agent."""
    pids, log = tmp_path / "pids", tmp_path / "log"
    monkeypatch.setenv("NUMDUEL_TEST_PID", str(pids))
    command = [sys.executable, *["-m", "numduel_env", "evaluate", "--game", "divider-duel", "--duels", "4", "random"]]
    with running([*command, HOSTILE + "StartsAnother"], log) as process:
        agent, another = map(int, wait_for(lambda: pids.exists() and pids.read_text().split(), process, log))
        process.send_signal(how)
        process.wait(60)
    try:
        alive = lambda pid: Path(f"/proc/{pid}").exists() and "(zombie)" not in Path(f"/proc/{pid}/status").read_text()  # noqa: E731
        wait_until(lambda: not alive(agent))
        if how == signal.SIGINT:
            wait_until(lambda: not alive(another))
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(another, signal.SIGKILL)


def wait_until(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)
