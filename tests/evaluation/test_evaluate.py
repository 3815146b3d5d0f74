"""The evaluation program: its numbers, its files, and what it says to wrong input."""

from __future__ import annotations

import copy
import json
import re
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

from numduel_env.evaluation import match as match_module
from numduel_env.evaluation.ratings import bradley_terry, wilson
from numduel_env.evaluation.report import report_page
from numduel_env.games import GAMES, GameSpec, add_game
from tests.support import ROOT
from train import evaluate

OWN = "tests.evaluation.test_evaluate:"


class Largest:
    """Plays the largest legal number."""

    def __init__(self, rules, seed):
        self.rules = rules

    def choose(self, position, generator):
        legal = self.rules.legal(position)
        return legal.shape[-1] - 1 - legal[..., ::-1].argmax(-1)


class Cheat(Largest):
    """Plays an illegal number as soon as there is one."""

    def choose(self, position, generator):
        return self.rules.legal(position).argmin(-1)


class Crash(Largest):
    """Raises."""

    def choose(self, position, generator):
        raise RuntimeError("out of <ideas> & time")


class Babble(Largest):
    """Answers with nonsense."""

    def choose(self, position, generator):
        return "seven"


def unmakeable(rules, seed):
    raise RuntimeError("no weights here")


def no_agent(rules, seed):
    return 7


def run(*arguments, capsys=None):
    """Run the program and return its results."""
    assert evaluate.main([*arguments, "--json", "-"]) == 0
    assert capsys is not None
    return json.loads(capsys.readouterr().out)


@pytest.fixture
def results_of(capsys):
    return lambda *arguments: run(*map(str, arguments), capsys=capsys)


def timeless(results):
    """Return the results without what another run, or other names, may change."""
    results = copy.deepcopy(results)
    for agent in results["agents"]:
        del agent["ms_per_move"]
    del results["command"]
    return results


SMALL = ("--game", "divider-duel", "--duels", 100)


def test_the_command_works_as_typed(tmp_path):
    """From the repository's root, in a process of its own, with every output at once."""
    command = "train/evaluate.py --game prime-duel-sum random solver tests.evaluation.test_evaluate:Largest --duels 20 --exploit"
    files = ["--json", str(tmp_path / "r.json"), "--report", str(tmp_path / "r.html")]
    done = subprocess.run(
        [sys.executable, *command.split(), *files], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    for word in ("Score of the row against the column", "kept %", "Elo", "ms/move", "won positions", "solver"):
        assert word in done.stdout
    results = json.loads((tmp_path / "r.json").read_text())
    assert results["command"] == [*command.split(), *files]
    assert (tmp_path / "r.html").read_text().startswith("<!doctype html>")
    assert {path.name for path in tmp_path.iterdir()} == {"r.json", "r.html"}


def test_same_command_same_results_in_any_order(results_of):
    names = ["random", "solver", OWN + "Largest", OWN + "Cheat"]
    one, again = (timeless(results_of(*SMALL, "--exploit", *names)) for _ in range(2))
    assert one == again
    shuffled = timeless(results_of(*SMALL, "--exploit", *(names[place] for place in (2, 0, 3, 1))))
    order = [1, 3, 0, 2]  # where each name is among the shuffled
    assert [shuffled["agents"][place] for place in order] == one["agents"]
    assert [[shuffled["matrix"][i][j] for j in order] for i in order] == one["matrix"]
    for field in set(one) - {"agents", "matrix"}:
        assert shuffled[field] == one[field]
    assert timeless(results_of(*SMALL, "--seed", 1, *names))["matrix"] != one["matrix"]


def test_swapping_two_names_swaps_the_table(results_of):
    one, two = results_of(*SMALL, "random", "solver"), results_of(*SMALL, "solver", "random")
    assert one["matrix"][0][1] == two["matrix"][1][0]
    assert one["matrix"][0][1] + one["matrix"][1][0] == 1
    assert timeless(one)["agents"] == timeless(two)["agents"][::-1]


def test_company_does_not_change_a_match(results_of):
    alone, together = results_of(*SMALL, "random", "solver"), results_of(*SMALL, "random", OWN + "Largest", "solver")
    assert alone["matrix"][0][1] == together["matrix"][0][2]


def test_an_agent_against_itself_is_even(results_of):
    results = results_of(*SMALL, "random", "random", "solver")
    first, second, solver = results["agents"]
    assert [agent["name"] for agent in results["agents"]] == ["random (1)", "random (2)", "solver"]
    assert results["matrix"][0][1] == results["matrix"][1][0] == 0.5
    assert results["matrix"][0][2] == results["matrix"][1][2]
    assert first["rating"] == second["rating"] < solver["rating"]


def test_results_as_documented(results_of):
    results = results_of(*SMALL, "--highest", 12, "--openings", 2, "--exploit", "random", "solver", OWN + "Largest")
    text = (ROOT / "docs" / "results.md").read_text()
    sections = dict(zip(("results", "agents", "exploit", "samples"), text.split("\n## ")))

    def documented(section):
        cells = re.findall(r"^\| (`.*?) \|", sections[section], re.MULTILINE)
        return {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}

    assert set(results) == documented("results")
    assert set(results["agents"][0]) == documented("agents")
    assert set(results["exploit"][0]) == documented("exploit")
    assert set(results["samples"][0]) == documented("samples")
    assert results["game"] == {
        "name": "divider-duel",
        "title": "Divider Duel",
        "version": 0,
        "parameters": {"lowest": 2, "highest": 12},
    }
    assert (results["schema"], results["seed"], results["duels_per_pair"], results["openings"]) == (1, 0, 100, 2)
    for agent in results["agents"]:
        assert sum(seat["duels"] for seat in agent["seats"]) == agent["duels"] == 200
        for seat in (*agent["seats"], agent):
            assert seat["interval"][0] <= seat["score"] <= seat["interval"][1]
        assert sum(graded for _, _, graded in agent["kept_by_ply"]) == agent["graded_moves"]
        kept = sum(kept for _, kept, _ in agent["kept_by_numbers_left"])
        assert kept / agent["graded_moves"] == pytest.approx(agent["kept"])
        assert agent["blunders_per_duel"] == pytest.approx((agent["graded_moves"] - kept) / 200)
    solver = results["agents"][1]
    assert solver["kept"] == 1 and solver["blunders_per_duel"] == 0
    assert {grades["spec"]: grades["exact"] for grades in results["exploit"]} == {
        "random": False,
        "solver": True,
        OWN + "Largest": True,
    }
    assert len(results["exploit"]) == 6


def test_samples_tell_whole_duels(results_of):
    results = results_of(*SMALL, "random", "solver", OWN + "Largest")
    game = GAMES["divider-duel"]
    assert len(results["samples"]) == 3
    for sample in results["samples"]:
        duel = game.replay(game.make_rules(), [move["number"] for move in sample["moves"]])
        assert duel.finished and sample["winner"] == sample["seats"][duel.winner]
        assert [move["seat"] for move in sample["moves"]] == [ply % 2 for ply in range(len(sample["moves"]))]
        for move in sample["moves"]:
            assert bool(move["better"]) == (move["verdict"] == "blunder")
            assert move["number"] not in move["better"]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("Cheat", "played an illegal move"),
        ("Crash", "raised RuntimeError: out of <ideas> & time"),
        ("Babble", "'seven'"),
    ],
)
def test_a_faulty_agent_loses_with_the_reason_in_the_report(name, reason, capsys, tmp_path):
    arguments = [*map(str, SMALL), "random", OWN + name, "solver", "--report", str(tmp_path / "r.html")]
    assert evaluate.main(arguments) == 0
    printed = capsys.readouterr().out
    assert reason in printed and "lost" in printed
    page = (tmp_path / "r.html").read_text()
    assert reason.replace("<", "&lt;").replace(">", "&gt;").replace("& t", "&amp; t").replace("'", "&#x27;") in page
    results = run(*arguments, capsys=capsys)
    random, faulty, solver = results["agents"]
    assert random["illegal_moves"] == solver["illegal_moves"] == 0 < faulty["illegal_moves"]
    assert sum(faulty["reasons"].values()) == faulty["illegal_moves"] <= 200
    if name != "Cheat":
        assert faulty["score"] == 0
    assert any(sample["fault"] and sample["moves"][-1]["number"] is None for sample in results["samples"])


def test_a_game_too_large_to_solve_has_no_kept_column(capsys, tmp_path):
    report = tmp_path / "r.html"
    arguments = ["--game", "prime-rumble", "--highest", "400", "--duels", "4", "random", OWN + "Largest"]
    assert evaluate.main([*arguments, "--report", str(report)]) == 0
    printed = capsys.readouterr().out
    assert "No kept column" in printed and "too many to solve" in printed and "kept %" not in printed
    assert "blunders" not in printed
    assert "too many to solve" in report.read_text()
    results = run(*arguments, capsys=capsys)
    assert results["graded"] is False and results["agents"][0]["kept"] is None
    assert results["samples"][0]["moves"][-1]["verdict"] == "ungraded"


def test_grading_can_be_left_out(results_of):
    graded, ungraded = (results_of(*SMALL, "random", "solver", *flags) for flags in ((), ("--ungraded",)))
    assert graded["matrix"] == ungraded["matrix"] and ungraded["graded"] is False


class Links(HTMLParser):
    """Collects whatever a page would fetch, and checks that tags are closed in order."""

    def __init__(self):
        super().__init__()
        self.fetched, self.open = [], []

    def handle_starttag(self, tag, attrs):
        self.fetched += [value for name, value in attrs if name in ("src", "href", "srcset", "data", "xlink:href")]
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.parametrize("game", GAMES)
def test_the_report_stands_alone(game, results_of):
    page = report_page(results_of("--game", game, "--duels", 20, "random", "solver", OWN + "Largest"))
    links = Links()
    links.feed(page)
    assert not links.fetched and not links.open
    assert not re.search(r"https?:|url\(|@import|<script", page)
    assert page.count("<svg") == 3 and page.count('class="duel"') == 3
    assert "nan" not in page.lower().replace("tenant", "")


def test_the_report_shows_walks_and_escapes_names(results_of):
    results = results_of(*SMALL, "--exploit", "random", "solver")
    results["agents"][0]["name"] = "<b>&"
    page = report_page(results)
    assert "Exploitability" in page and "<b>&<" not in page and "&lt;b&gt;&amp;" in page


def test_a_sixth_game_is_evaluated_too(results_of):
    # Imported here, because this module is also loaded for the agents in it, and that one is heavy.
    from tests.games.test_sixth_game import Subtraction

    spec = add_game(GameSpec("subtraction-too", "Subtraction", Subtraction, {"heap": 11, "most": 3}))
    try:
        arguments = ("--game", "subtraction-too", "--heap", 21, "--duels", 50, "random", "solver", "--exploit")
        results = results_of(*arguments)
        assert results["agents"][1]["kept"] == 1
        assert results["exploit"][-1]["thrown"] == 0
        assert report_page(results).count("<svg") == 3
    finally:
        del GAMES[spec.name]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--game divider-duel random", "two agents or more"),
        ("--game divider-duel random nobody", "there is no agent 'nobody'"),
        ("--game divider-duel random human", "a human plays in the terminal only"),
        ("--game divider-duel random no.such.module:Agent", "cannot be imported"),
        ("--game divider-duel random tests.evaluation.test_evaluate:unmakeable", "no weights here"),
        ("--game divider-duel random tests.evaluation.test_evaluate:no_agent", "must return an object with choose"),
        ("--game chess random solver", "there is no game 'chess'"),
        ("--game prime-duel random solver", "choose prime-duel-product or prime-duel-sum"),
        ("--game divider-duel --target 9 random solver", "divider-duel has no --target"),
        ("--game divider-duel --highest 1 random solver", "highest must be"),
        ("--game divider-duel random solver --duels 7", "--duels must be an even number"),
        ("--game divider-duel random solver --duels 0", "--duels must be an even number"),
        ("--game divider-duel random solver --duels many", "invalid int value"),
        ("--game divider-duel random solver --openings -1", "--openings must be at least 0"),
        ("--game divider-duel random solver --seed -1", "--seed must be at least 0"),
        ("--game divider-duel random solver --budget 0", "--budget must be at least 1"),
        ("--game divider-duel random solver --json /no/such/folder/r.json", "no file can be written there"),
        ("--game divider-duel random solver --report /", "no file can be written there"),
        ("--game divider-duel random solver --json /dev/null", "no file can be written there"),
        ("--game prime-rumble --highest 400 random solver", "too many to solve"),
        ("--game prime-rumble --highest 400 random random --exploit", "--exploit needs perfect play"),
        ("random solver", "--game"),
    ],
)
def test_wrong_input_ends_in_one_clear_line(arguments, message, capsys):
    with pytest.raises(SystemExit) as ended:
        evaluate.main(arguments.split())
    assert ended.value.code == 2
    told = capsys.readouterr().err
    assert message in told and told.count("\n") == 1


def test_intervals():
    low, high = wilson(50, 100)
    assert (low, high) == (pytest.approx(0.4038, abs=1e-4), pytest.approx(0.5962, abs=1e-4))
    assert wilson(0, 10)[0] == 0 and wilson(10, 10)[1] == 1
    assert wilson(10, 10)[0] == pytest.approx(0.7225, abs=1e-4)


def test_ratings_recover_true_strengths():
    true = np.array([-300.0, -50.0, 100.0, 250.0])
    expected = 1 / (1 + 10 ** ((true[None] - true[:, None]) / 400))
    points = 1e6 * expected * (1 - np.eye(4))
    np.testing.assert_allclose(bradley_terry(points), true, atol=0.1)
    order = [2, 0, 3, 1]
    np.testing.assert_allclose(bradley_terry(points[np.ix_(order, order)]), true[order], atol=0.1)


def test_ratings_stay_finite_and_fair():
    points = np.array([[0, 1000, 1000], [0, 0, 500], [0, 500, 0.0]])
    best, second, third = bradley_terry(points)
    assert np.isfinite(best) and best > 500
    assert second == pytest.approx(third) and best + second + third == pytest.approx(0)


def test_another_block_size_would_be_other_duels(results_of):
    """The size of a block is part of what a seed means, so the results name it."""
    assert results_of(*SMALL, "random", "solver")["openings_per_block"] == match_module.OPENINGS_PER_BLOCK == 256
