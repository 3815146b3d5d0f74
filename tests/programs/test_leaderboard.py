"""The leaderboard is what its program measures, own agents included."""

from __future__ import annotations

import re

import pytest

from tests.support import ROOT
from tests.support.programs import run_program

PAGE = ROOT / "docs" / "leaderboard.md"
SURE = ("greedy", "mcts:100", "ppo:reference")


def rows(text):
    """Return the rows of each table by agent, without what they cost."""
    found = {}
    for part in text.split("\n## ")[1:]:
        heading, *lines = part.splitlines()
        cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("| `")]
        found[heading] = {agent.strip("`"): (expert, champion) for agent, _, _, expert, _, champion in cells}
    return found


def test_the_page_says_what_the_program_finds():
    ran = run_program("train/leaderboard.py", "--game", "divider-duel", *SURE)
    assert ran.code == 0, ran.err
    (measured,) = rows(f"\n{ran.out}").values()
    assert measured == {agent: rows(PAGE.read_text())["Divider Duel"][agent] for agent in SURE}
    assert measured["ppo:reference"] == ("100.00%", "0 of 14 / 0 of 36")


def test_an_agent_of_ones_own_in_a_variant_of_a_game():
    agent = "tests.support.agents:Largest"
    ran = run_program("train/leaderboard.py", "--game", "divider-duel", "--highest", 12, agent)
    assert ran.code == 0, ran.err
    (heading, of_agent), *others = rows(f"\n{ran.out}").items()
    assert not others
    assert heading == "Divider Duel, highest=12"
    expert, champion = of_agent[agent]
    assert 0 < float(expert.rstrip("%")) < 100
    assert all(0 < int(thrown) < int(of) for thrown, of in re.findall(r"(\d+) of (\d+)", champion))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--game", "divider-duel", "nobody"], "there is no agent 'nobody'; there are"),
        (["--game", "poker"], "poker"),
        (["--game", "prime-rumble", "--highest", "300", "random"], "too many to solve"),
        (["--into", "page.md", "random"], "--into makes the whole page: it goes with no game and no agents"),
        (["--into", "missing/page.md"], "No such file"),
        (["--into", str(ROOT / "README.md")], "the page has no line <!-- tables -->"),
    ],
)
def test_wrong_input(arguments, said):
    ran = run_program("train/leaderboard.py", *arguments)
    assert ran.code == 2
    assert said in ran.err
    assert ran.err.startswith("train/leaderboard.py: ")
    assert ran.err.count("\n") == 1
