"""evaluate(), its results as tables, JSON and report, and the program that prints them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import asdict, fields, replace
from html.parser import HTMLParser

import pytest

import numduel_env
from numduel_env import GAMES, GameSpec, Results, evaluate, find_game
from numduel_env.__main__ import run as numduel
from numduel_env.duel import replay
from numduel_env.evaluation.block import OPENINGS_PER_BLOCK
from numduel_env.evaluation.exploitability import Exam
from numduel_env.evaluation.grading import Grade, GradedMove
from numduel_env.evaluation.report import report_page
from numduel_env.evaluation.results import AgentResult, Exploit, Game, KeptAt, Sample, Score
from numduel_env.games import add_game
from tests.support import ROOT
from tests.support.agents import Babble, Cheat, Crash, Editor, Largest, LastMover, Lowest
from tests.support.toys import Subtraction

OWN = "tests.support.agents:"
SMALL = ("--game", "divider-duel", "--duels", "100")


def small(agents, **options):
    return evaluate("divider-duel", agents, **{"duels": 100, **options})


def timeless(results):
    """Return the results without what another run may change."""
    return replace(results, agents=tuple(replace(agent, ms_per_move=0.0) for agent in results.agents))


def test_agents_are_names_factories_agents_and_players():
    rules = find_game("divider-duel").make_rules()
    named = {"class": Largest, "object": Largest(rules), "name": OWN + "Largest", "lambda": lambda rules: Largest()}
    results = small({**named, "random": "random"})
    assert [agent.name for agent in results.agents] == [*named, "random"]
    # They are one agent, which plays every opening twice alike against itself.
    assert {results.matrix[i][j] for i in range(4) for j in range(4) if i != j} == {0.5}
    player = small({"player": LastMover, "agent": Lowest, "random": "random"})
    assert player.agents[0].faults == 0


def test_the_same_call_gives_the_same_results_in_any_order():
    names = ["random", "solver", OWN + "Largest", OWN + "Cheat"]
    one, again = (timeless(small(names, exploit=True)) for _ in range(2))
    assert one == again
    shuffled = timeless(small([names[place] for place in (2, 0, 3, 1)], exploit=True))
    order = [1, 3, 0, 2]  # where each name is among the shuffled
    assert [shuffled.agents[place] for place in order] == list(one.agents)
    assert tuple(tuple(shuffled.matrix[i][j] for j in order) for i in order) == one.matrix
    for field in {field.name for field in fields(Results)} - {"agents", "matrix"}:
        assert getattr(shuffled, field) == getattr(one, field)
    assert small(names, seed=1).matrix != one.matrix


def test_swapping_two_names_swaps_the_table():
    one, two = small(["random", "solver"]), small(["solver", "random"])
    assert one.matrix[0][1] == two.matrix[1][0]
    assert one.matrix[0][1] + one.matrix[1][0] == 1
    assert timeless(one).agents == timeless(two).agents[::-1]


def test_company_does_not_change_a_match():
    alone, together = small(["random", "solver"]), small(["random", OWN + "Largest", "solver"])
    assert alone.matrix[0][1] == together.matrix[0][2]


def test_an_agent_that_writes_into_what_it_is_given_changes_nothing():
    """Not even its own row: what it plays is the smallest legal number."""
    clean, dirty = (timeless(small({"same": kind, "solver": "solver"}, exploit=True)) for kind in (Lowest, Editor))
    assert clean == dirty


def test_an_agent_against_itself_is_even():
    results = small(["random", "random", "solver"])
    first, second, solver = results.agents
    assert [agent.name for agent in results.agents] == ["random (1)", "random (2)", "solver"]
    assert results.matrix[0][1] == results.matrix[1][0] == 0.5
    assert results.matrix[0][2] == results.matrix[1][2]
    assert first.rating == second.rating < solver.rating


def test_results_hang_together():
    agents = ["random", "solver", OWN + "Largest"]
    results = evaluate("divider-duel", agents, duels=100, openings=2, exploit=True, highest=12)
    assert asdict(results.game) == {
        "name": "divider-duel",
        "title": "Divider Duel",
        "version": 0,
        "parameters": {"lowest": 2, "highest": 12},
    }
    assert (results.schema, results.seed, results.duels_per_pair, results.openings) == (2, 0, 100, 2)
    # The size of a block is part of what a seed means, so the results name it.
    assert results.openings_per_block == OPENINGS_PER_BLOCK == 256
    for agent in results.agents:
        assert sum(seat.duels for seat in agent.seats) == agent.total.duels == 200
        for score in (*agent.seats, agent.total):
            assert score.wins + score.draws + score.losses == score.duels
            assert score.interval[0] <= score.score <= score.interval[1]
        assert sum(at.graded for at in agent.kept_by_ply) == agent.grade.graded
        kept = sum(at.kept for at in agent.kept_by_numbers_left)
        assert kept / agent.grade.graded == pytest.approx(agent.kept)
        assert agent.blunders_per_duel == pytest.approx((agent.grade.graded - kept) / 200)
    solver = results.agents[1]
    assert solver.kept == 1 and solver.blunders_per_duel == 0
    exact = {exploit.name: {exam.exact for exam in exploit.exams} for exploit in results.exploits}
    assert exact == {"random": {False}, "solver": {True}, OWN + "Largest": {True}}
    assert sum(len(exploit.exams) for exploit in results.exploits) == 6


def test_results_are_documented_field_by_field():
    sections = dict(
        zip(("results", "agents", "exploits", "samples"), (ROOT / "docs/results.md").read_text().split("\n## "))
    )

    def documented(section):
        return set(re.findall(r"`(\w+)`", sections[section]))

    sections_of = {
        "results": (Results, Game),
        "agents": (AgentResult, Score, Grade, KeptAt),
        "exploits": (Exploit, Exam),
        "samples": (Sample, GradedMove),
    }
    for section, kinds in sections_of.items():
        for kind in kinds:
            assert {field.name for field in fields(kind)} <= documented(section), (section, kind)


def test_saved_results_are_loaded_again(tmp_path):
    results = small(["random", OWN + "Crash", "solver"], exploit=True)
    results.save(tmp_path / "r.json")
    assert Results.load(tmp_path / "r.json") == results
    content = json.loads((tmp_path / "r.json").read_text())
    content["agents"][0]["kept"] = 2
    (tmp_path / "r.json").write_text(json.dumps(content))
    with pytest.raises(ValueError, match=r"agents\[0\].kept"):
        Results.load(tmp_path / "r.json")


def test_samples_are_whole_duels():
    results = small(["random", "solver", OWN + "Largest"])
    game = GAMES["divider-duel"]
    assert len(results.samples) == 3
    for sample in results.samples:
        duel = replay(game, game.make_rules(), [move.number for move in sample.moves])
        assert duel.finished and sample.winner == sample.seats[duel.winner]
        assert [move.seat for move in sample.moves] == [ply % 2 for ply in range(len(sample.moves))]
        for move in sample.moves:
            assert bool(move.better) == (move.verdict == "blunder")
            assert move.number not in move.better


@pytest.mark.parametrize(
    ("agent", "reason"),
    [
        (Cheat, "played an illegal move"),
        (Crash, "raised RuntimeError: out of <ideas> & time"),
        (Babble, "'seven'"),
    ],
)
def test_a_faulty_agent_loses_with_the_reason_in_the_report(agent, reason):
    results = small({"random": "random", "faulty": agent, "solver": "solver"})
    assert reason in str(results) and "faulty lost" in str(results)
    escaped = reason.replace("<", "&lt;").replace(">", "&gt;").replace("& t", "&amp; t").replace("'", "&#39;")
    assert escaped in report_page(results)
    random, faulty, solver = results.agents
    assert random.faults == solver.faults == 0 < faulty.faults
    assert sum(faulty.reasons.values()) == faulty.faults <= 200
    if agent is not Cheat:
        assert faulty.total.score == 0
    assert any(sample.fault and sample.moves[-1].number is None for sample in results.samples)


def test_a_game_too_large_to_solve_has_no_kept_column():
    results = evaluate("prime-rumble", ["random", OWN + "Largest"], duels=4, highest=400)
    said = str(results)
    assert "No kept column" in said and "too many to solve" in said and "kept %" not in said
    assert "blunders" not in said
    assert "too many to solve" in report_page(results)
    assert results.graded is False and results.agents[0].kept is None
    assert results.samples[0].moves[-1].verdict == "ungraded"


def test_grading_can_be_left_out():
    graded, ungraded = (small(["random", "solver"], graded=graded) for graded in (True, False))
    assert graded.matrix == ungraded.matrix and ungraded.graded is False


def test_spoiled_draws_are_counted_in_table_and_report():
    results = evaluate("prime-duel-sum", ["random", "solver"], duels=20, exploit=True)
    random, _ = results.exploits
    assert any(exam.grade.spoiled for exam in random.exams)
    said, page = str(results), report_page(results)
    for exam in random.exams:
        if exam.grade.drawn:
            assert f"{exam.grade.spoiled:,} of {exam.grade.drawn:,} drawn ones spoiled" in said
            assert f"<td>{exam.grade.drawn:,}</td><td>{exam.grade.spoiled:,}</td>" in page


def test_progress_counts_moves_and_ends_with_their_number():
    calls = []
    results = small(["random", "solver"], progress=lambda *call: calls.append(call))
    moves = [(done, total) for task, done, total in calls if task == "moves"]
    done, total = moves[-1]
    assert done == total == sum(agent.moves for agent in results.agents)
    assert [done for done, _ in moves] == sorted(done for done, _ in moves)
    assert all(done <= total for done, total in moves)


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
def test_the_report_stands_alone(game):
    page = report_page(evaluate(game, ["random", "solver", OWN + "Largest"], duels=20))
    links = Links()
    links.feed(page)
    assert not links.fetched and not links.open
    assert not re.search(r"https?:|url\(|@import|<script", page)
    assert page.count("<svg") == 3 and page.count('class="duel"') == 3
    assert "nan" not in page.lower()


def test_the_report_shows_walks_and_escapes_names():
    results = small({"<b>&": "random", "solver": "solver"}, exploit=True)
    page = report_page(results)
    assert "Exploitability" in page and "<b>&<" not in page and "&lt;b&gt;&amp;" in page


def test_a_sixth_game_is_evaluated_too():
    spec = add_game(GameSpec("subtraction-too", "Subtraction", Subtraction, {"heap": 11, "most": 3}))
    try:
        results = evaluate("subtraction-too", ["random", "solver"], duels=50, exploit=True, heap=21)
        assert results.agents[1].kept == 1
        assert results.exploits[-1].exams[-1].grade.thrown == 0
        assert report_page(results).count("<svg") == 3
    finally:
        del GAMES[spec.name]


@pytest.mark.parametrize(
    ("agents", "options", "message"),
    [
        (["random"], {}, "two agents or more"),
        ("random", {}, "agents must be several names"),
        (["random", "nobody"], {}, "there is no agent 'nobody'; there are random, greedy, solver"),
        ({"a": "random", "b": 3}, {}, "an agent is a name"),
        ({"a": "random", 3: "solver"}, {}, "must be named by strings"),
        (["random", "solver"], {"duels": 7}, "duels must be an even number"),
        (["random", "solver"], {"duels": 0}, "duels must be an integer of at least 2"),
        (["random", "solver"], {"seed": -1}, "seed must be"),
        (["random", "solver"], {"openings": 0.5}, "openings must be"),
        (["random", "solver"], {"highest": 1}, "highest must be"),
        (["random", "solver"], {"graded": False, "exploit": True}, "exploit needs perfect play"),
    ],
)
def test_wrong_arguments_are_refused_before_anything_is_played(agents, options, message):
    with pytest.raises(ValueError, match=message):
        small(agents, **options)


# The same as a program.


def test_the_command_works_as_typed(tmp_path):
    """From the repository's root, in a process of its own, with every output at once."""
    command = f"train/evaluate.py --game prime-duel-sum random mcts:2 {OWN}Largest --duels 20 --exploit"
    files = ["--json", str(tmp_path / "r.json"), "--report", str(tmp_path / "r.html")]
    done = subprocess.run(
        [sys.executable, *command.split(), *files], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    for word in ("Score of the row against the column", "kept %", "Elo", "ms/move", "won positions", "mcts:2"):
        assert word in done.stdout
    results = Results.load(tmp_path / "r.json")
    assert list(results.command) == [*command.split(), *files]
    assert (tmp_path / "r.html").read_text().startswith("<!doctype html>")
    assert {path.name for path in tmp_path.iterdir()} == {"r.json", "r.html"}


def test_the_program_prints_what_the_function_returns(capsys):
    assert numduel(["evaluate", *SMALL, "random", "solver", "--exploit", "--highest", "12"]) == 0
    printed = capsys.readouterr().out
    results = small(["random", "solver"], exploit=True, highest=12)
    without_times = re.compile(r"\b\d\.\d{3}\b")
    assert without_times.sub("", printed) == without_times.sub("", f"{results}\n")
    assert numduel(["evaluate", *SMALL, "random", "solver", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["versions"]["numduel_env"] == numduel_env.__version__


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--game divider-duel random", "two agents or more"),
        ("--game divider-duel random nobody", "there is no agent 'nobody'"),
        ("--game divider-duel random no.such.module:Agent", "cannot be imported"),
        (f"--game divider-duel random {OWN}unmakeable", "no weights here"),
        (f"--game divider-duel random {OWN}no_agent", "must return an object with choose"),
        ("--game chess random solver", "there is no game 'chess'"),
        ("--game prime-duel random solver", "choose prime-duel-product or prime-duel-sum"),
        ("--game divider-duel --target 9 random solver", "divider-duel has no --target"),
        ("--game divider-duel --highest 1 random solver", "highest must be"),
        ("--game divider-duel random solver --duels 7", "duels must be an even number"),
        ("--game divider-duel random solver --duels 0", "duels must be an integer of at least 2"),
        ("--game divider-duel random solver --duels many", "invalid int value"),
        ("--game divider-duel random solver --openings -1", "openings must be an integer from 0 to 10000"),
        ("--game divider-duel random solver --seed -1", "seed must be an integer of at least 0"),
        ("--game divider-duel random solver --budget 0", "budget must be an integer of at least 1"),
        ("--game divider-duel random solver --json /no/such/folder/r.json", "no file can be written there"),
        ("--game divider-duel random solver --report /", "no file can be written there"),
        ("--game divider-duel random solver --json /dev/null", "no file can be written there"),
        ("--game divider-duel random solver --json r --report r", "must be different files"),
        ("--game prime-rumble --highest 400 random solver", "too many to solve"),
        ("--game prime-rumble --highest 400 random random --exploit", "exploit needs perfect play"),
        ("random solver", "--game"),
    ],
)
def test_wrong_input_ends_in_one_clear_line(arguments, message, capsys):
    with pytest.raises(SystemExit) as ended:
        numduel(["evaluate", *arguments.split()])
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
