"""Large games: what is asked for is done, or refused in one line before memory or patience is gone."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import astuple

import numpy as np
import pytest

from numduel_env import evaluate, find_game
from numduel_env.__main__ import main as numduel
from numduel_env.agent import GreedyAgent
from numduel_env.evaluation import block
from numduel_env.positions import every_line
from numduel_env.solvers.keys import Fields
from tests.support import ROOT

GIGABYTES = 3_500_000_000

LARGE = {
    "prime-rumble": ["--highest", "10000"],
    "factor-chain-duel": ["--highest", "10000"],
    "prime-duel-sum": ["--highest", "10000"],
    "prime-duel-product": ["--primes-below", "10000"],
}


def within_limits(*arguments):
    """Run the command line with 3.5 GB of address space and 60 s of processor time."""
    import resource

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (GIGABYTES, GIGABYTES))
        resource.setrlimit(resource.RLIMIT_CPU, (60, 60))

    command = [sys.executable, "-m", "numduel_env", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, preexec_fn=limit, check=False)


@pytest.mark.skipif(sys.platform != "linux", reason="not every system limits the memory of a process")
@pytest.mark.parametrize("game", LARGE)
@pytest.mark.parametrize("command", [["solve", "--game"], ["evaluate", "random", "greedy", "--duels", "4", "--game"]])
def test_large_games_are_done_or_refused_within_memory(game, command):
    ran = within_limits(*command, game, *LARGE[game])
    assert ran.returncode in (0, 1, 2)
    assert "Traceback" not in ran.stderr and "memory for this" not in ran.stderr
    if ran.returncode:
        assert ran.stderr.count("\n") == 1 and ran.stdout == ""


def test_greedy_says_at_once_that_a_game_is_too_large():
    for game in ("prime-rumble", "prime-duel-sum"):
        assert GreedyAgent(find_game(game).make_rules(highest=300))
        with pytest.raises(ValueError, match=r"greedy looks at all replies to all moves, about [\d,]+ at the start"):
            GreedyAgent(find_game(game).make_rules(highest=2_000))


def test_more_duels_than_memory_holds_are_refused_with_what_is_allowed(capsys):
    with pytest.raises(ValueError, match=r"duels must be at most [\d,]+ for 2 agents at this game, not 1,000,000,000"):
        evaluate("divider-duel", ["random", "random"], duels=10**15)
    with pytest.raises(SystemExit):
        numduel(["evaluate", "--game", "divider-duel", "random", "random", "--openings", "1000000000"])
    assert "openings must be an integer from 0 to 10000" in capsys.readouterr().err


def test_positions_are_graded_as_they_come_and_alike(monkeypatch):
    """However few are kept and valued at once, the results are the same, and progress is shown."""

    def results():
        seen = []
        found = evaluate("prime-duel-sum", ["random", "greedy"], duels=40, progress=lambda *call: seen.append(call))
        graded = [(agent.grade, agent.kept_by_ply, agent.kept_by_numbers_left, agent.total) for agent in found.agents]
        return graded, [astuple(sample) for sample in found.samples], seen

    at_once, samples, _ = results()
    monkeypatch.setattr(block, "GRADED_AT_ONCE", 1)
    monkeypatch.setattr(block, "CELLS_VALUED_AT_ONCE", 7 * 9**2)
    piecemeal, same_samples, seen = results()
    assert piecemeal == at_once and same_samples == samples
    assert {task for task, _, _ in seen} >= {"moves", "positions to grade"}


def test_a_game_with_too_many_positions_is_not_enumerated():
    played = []
    rules = find_game("prime-duel-sum").make_rules(highest=150)
    original = type(rules).play

    class Counting(type(rules)):
        def play(self, position, action):
            played.append(np.size(action))
            return original(self, position, action)

    counting = Counting(2, 150, 50, "higher", 200)
    assert every_line(counting, 10_000) is None
    # Two plies lead to 22,052 positions, and a part of the 3,200,000 moves from these is enough.
    assert sum(played) < 1_000_000


def test_words_of_flags_are_what_their_product_with_powers_of_two_is():
    rules = find_game("prime-rumble").make_rules(highest=200)
    fields = Fields(rules.initial((1,)))
    position = rules.initial((50,))
    position = position._replace(pool=np.random.default_rng(0).random((50, 199)) < 0.5)
    words = [position.pool[:, first : first + 48] for first in range(0, 199, 48)]
    for column, word in zip(fields.split(position), words, strict=True):
        assert (column == word @ (1 << np.arange(word.shape[1]))).all()
    assert (fields.join(fields.split(position)).pool == position.pool).all()
