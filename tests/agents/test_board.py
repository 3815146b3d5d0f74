"""The board's server: what a tab can do to its game, what it shows, and what it refuses from whoever."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import random
import re
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from starlette.testclient import TestClient

from agents import llm
from agents.arguments import told_apart
from agents.browser.server import MOST_BYTES, Server
from agents.browser.tab import Board, State, Tab
from agents.browser.thinking import NobodyWaits, Thinker
from numduel_env import GAMES, Duel, evaluate, find_game, solver_for
from numduel_env.agent import SolverAgent
from numduel_env.evaluation.grading import graded_moves
from numduel_env.picture import looks
from tests.support import ROOT
from tests.support.processes import running, wait_for
from tests.support.programs import run_program
from tests.support.tabs import play_many

PEOPLE = ("human", "human")


def board_of(game, first="human", second="human", games=1, early=False, samples=(), **params):
    spec = find_game(game)
    agents = [None if name == "human" else name for name in (first, second)]
    contenders = told_apart(first, second)
    return Board(spec, spec.params | params, spec.make_rules(**params), contenders, agents, games, early, samples)


def serving(board, seconds=30.0, host="127.0.0.1"):
    thinkers = {name: Thinker(name, board.rules, seconds, 0, llm.register) for name in board.agents if name}
    return Server(board, thinkers, host)


def client_of(board, **options):
    return TestClient(serving(board, **options).app, base_url="http://127.0.0.1:8000")


class Table:
    """A tab of the browser, which keeps its state."""

    def __init__(self, client):
        self.client, self.state, self.shown = client, {}, {}

    def do(self, action, entry="", **changes):
        request = {"action": action, "state": self.state | changes, "entry": str(entry)}
        answer = self.client.post("/turn", json=request)
        assert answer.status_code == 200, answer.text
        self.shown = answer.json()
        self.state = self.shown["state"]
        return self.shown["status"]

    def tiles(self):
        """Return the attributes of every tile, by its number."""
        found = re.findall(
            r'<button id="n(\d+)" class="tile ([^"]*)"(.*?)>(.*?)</button>', self.shown["html"], re.DOTALL
        )
        return {
            int(number): dict(re.findall(r'([\w-]+)="(.*?)"', rest)) | {"class": look, "text": text}
            for number, look, rest, text in found
        }


@pytest.fixture
def table():
    clients = []

    def made(*names, **options):
        client = client_of(board_of(*names, **options))
        client.__enter__()
        clients.append(client)
        return Table(client)

    yield made
    for client in clients:
        client.__exit__(None, None, None)


@pytest.mark.parametrize("game", GAMES)
def test_a_game_between_two_people(game, table):
    """Tiles are those of the pictures, previews say what is taken, and the ending is the book's."""
    here = table(game, *PEOPLE)
    rules, choices = here_rules(game), random.Random(0)
    duel = Duel(rules)
    here.do("show")
    while not duel.finished:
        tiles = here.tiles()
        assert list(tiles) == rules.numbers.tolist()
        for action, (look, tile) in enumerate(zip(looks(duel), tiles.values())):
            assert tile["class"].startswith(look.lower().replace(" ", "-"))
            assert (tile["aria-disabled"] == "false") == duel.legal[action]
            if duel.legal[action]:
                taken = rules.numbers[rules.removed(duel.position, action)].tolist()
                assert tile["data-takes"] == " ".join(map(str, taken))
        number = choices.choice(duel.legal_numbers)
        duel.push(number)
        status = here.do("choose", number)
        assert status.startswith(f"human ({'second' if len(duel.actions) % 2 == 0 else 'first'}) chose {number}")
    assert status.endswith(GAMES[game].wording.ending(duel))
    assert here.state["moves"] == duel.moves
    # Once the game is solved, every move has its verdict.
    here.do("show", truth=True)
    verdicts = re.findall(r'<button id="m\d+" class="(\w+)"', here.shown["html"])
    assert verdicts == [move.verdict for move in graded_moves(duel, solver_for(rules))]


def here_rules(game, **params):
    return find_game(game).make_rules(**params)


def test_refusals_are_in_the_books_words(table):
    here = table("divider-duel", *PEOPLE)
    here.do("choose", 4)
    wording, duel = GAMES["divider-duel"].wording, Duel(here_rules("divider-duel"), [2])
    for entry, said in (
        ("8", wording.refusal(duel, 8)),
        (" 10 ", wording.refusal(duel, 10)),
        ("-3", wording.refusal(duel, -3)),
        ("7.0", "'7.0' is not a whole number."),
        ("", "'' is not a whole number."),
        ("<b>", "'<b>' is not a whole number."),
        ("9" * 500, None),
    ):
        status = here.do("choose", entry)
        assert here.shown["refused"] and here.state["moves"] == [4]
        assert said is None or status == f"{said} Player 2, it's your turn."


def test_truth_is_the_solvers(table):
    here, rules = table("prime-rumble", *PEOPLE), here_rules("prime-rumble")
    solver, duel = solver_for(rules), Duel(rules)
    for number in (3, 25, 7):
        here.do("choose", number)
        duel.push(number)
    here.do("show", truth=True)
    values = solver.action_values(duel.position)
    for action, (number, tile) in enumerate(here.tiles().items()):
        if not duel.legal[action]:
            assert "value" not in tile["text"]
            continue
        value = "win" if values[action] > 0 else "loss"
        grundy = int(solver.nimber(rules.play(duel.position, action)))
        line = Duel(rules, [*duel.actions, action])
        while not line.finished:
            position = line.position._make(field[None] for field in line.position)
            line.play(int(SolverAgent(rules, solver).preferred(position, line.legal[None]).argmax()))
        assert f'class="value {value}" aria-hidden="true">{value}<' in tile["text"]
        assert f">*{grundy}<" in tile["text"] and (grundy == 0) == (value == "win")
        plies = len(line.actions) - len(duel.actions)
        assert tile["data-preview"].endswith(f"A {value}, Grundy value {grundy}, {plies} plies to the end."), number
    assert "With perfect play Player" in here.shown["html"]


def test_draws_are_values_too(table):
    here = table("prime-duel-sum", *PEOPLE)
    here.do("show", truth=True)
    found = {number: re.search(r'class="value (\w+)"', tile["text"])[1] for number, tile in here.tiles().items()}
    assert [number for number, value in found.items() if value == "draw"] == [3, 6]
    assert [number for number, value in found.items() if value == "loss"] == [2, 4]
    assert "Grundy" not in here.shown["html"]


def test_a_game_too_large_to_solve_is_played_and_says_so(table):
    here = table("prime-rumble", "human", "random", highest=90)
    here.do("choose", 2, truth=True)
    assert "Perfect play is not known here: the numbers 2..90 are too many" in here.shown["html"]
    assert here.shown["thinking"] == "random"
    assert not any("value" in tile["text"] for tile in here.tiles().values())
    here.do("answer")
    assert len(here.state["moves"]) == 2
    status = here.do("resign")
    assert status.endswith("Player 1 loses by resigning. Player 2 wins!")


def test_undo_takes_back_what_a_person_has_chosen_and_the_answer(table):
    here = table("prime-rumble", "human", "random")
    assert here.do("undo").startswith("There is no move to take back.")
    here.do("choose", 17)
    here.do("answer")
    first = here.state["moves"]
    here.do("choose", 5 if 5 not in first else 7)
    assert here.do("choose", 11).startswith("It is not your turn: random is to move.")
    here.do("undo")
    assert here.state["moves"] == first  # the agent had not answered yet
    here.do("undo")
    assert here.state["moves"] == []
    here.do("choose", 2)
    assert here.do("resign").startswith("It is not your turn")
    here.do("answer")
    moves = here.state["moves"]
    assert here.do("resign").endswith("Player 1 loses by resigning. Player 2 wins!")
    assert here.state["forfeit"] == "by resigning"
    here.do("undo")
    assert here.state["moves"] == moves and here.state["forfeit"] == ""
    people = table("prime-rumble", *PEOPLE)
    people.do("choose", 17)
    people.do("choose", 5)
    people.do("undo")
    assert people.state["moves"] == [17]


def test_an_agent_that_opens_cannot_be_undone(table):
    here = table("divider-duel", "solver", "human")
    assert here.do("show").startswith("solver is thinking")
    here.do("answer")
    assert here.state["moves"] == [4]
    assert here.do("undo").startswith("There is no move to take back.")
    here.do("choose", 5)
    here.do("undo")
    assert here.state["moves"] == [4]


def test_the_other_seat(table):
    here = table("divider-duel", "human", "solver")
    here.do("swap")
    assert here.shown["thinking"] == "solver"
    here.do("answer")
    assert here.state["moves"] == [4]
    here.do("swap")
    assert here.shown["thinking"] is None and here.state["moves"] == []


def test_a_match_of_best_of_three(table):
    here = table("divider-duel", "human", "random", games=3, early=True)
    for game in range(3):
        while here.do("show") is None or 'class="moves"' not in here.shown["html"]:
            if here.shown["thinking"]:
                here.do("answer")
            else:
                here.do(
                    "choose", next(number for number, tile in here.tiles().items() if tile["aria-disabled"] == "false")
                )
        assert len(here.state["winners"]) == game
        if 'id="next"' not in here.shown["html"]:
            break
        here.do("next")
        assert len(here.state["winners"]) == game + 1
        # Who opens alternates.
        assert (here.shown["thinking"] == "random") == (game % 2 == 0)
    assert "wins the match!" in here.shown["html"]
    assert here.do("next").startswith("This match has no next game.")
    here.do("new")
    assert here.state["winners"] == [] and here.state["moves"] == []


@pytest.mark.parametrize(
    ("agent", "said"),
    [
        ("Crash", "raised RuntimeError: out of &lt;ideas&gt; &amp; time"),
        ("Babble", "answered with &#39;seven&#39;: actions are whole numbers"),
        ("Cheat", "played an illegal move, action 0"),
    ],
)
def test_an_agent_that_fails_loses_with_the_reason(agent, said, table):
    here = table("divider-duel", "human", f"tests.support.agents:{agent}")
    here.do("choose", 2)
    status = here.do("answer")
    assert status.endswith("Player 1 wins!") and "Player 2 loses because it " in status
    plain = said.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&").replace("&#39;", "'")
    assert plain in status
    # Another game begins as if nothing had been.
    here.do("new")
    here.do("choose", 2)
    assert "Player 2 loses because it " in here.do("answer")


def test_agents_that_end_or_hang_lose_and_the_server_goes_on(table):
    board = board_of("divider-duel", "human", "tests.support.hostile:EndsItsProcess")
    with client_of(board) as client:
        here = Table(client)
        for _ in range(2):
            here.do("new")
            here.do("choose", 2)
            assert "because it ended its process instead of answering" in here.do("answer")
    board = board_of("divider-duel", "human", "tests.support.hostile:Hangs")
    with client_of(board, seconds=0.2) as client:
        here = Table(client)
        for _ in range(4):
            here.do("new")
            here.do("choose", 2)
            assert "because it did not answer within 0.2 s" in here.do("answer")
        here.do("new")
        here.do("choose", 3)
        assert "chose 2" in here.do("answer")


def test_whoever_goes_away_is_not_waited_for():
    """A request that is given up ends the agent's process, and others are answered by another."""
    board = board_of("divider-duel", "human", "tests.support.hostile:Hangs")
    thinker = Thinker("tests.support.hostile:Hangs", board.rules, 600.0, 0, llm.register)
    duel = Duel(board.rules)
    duel.push(2)

    async def asked():
        looks = itertools.count()

        async def gone():
            return next(looks) >= 1

        (process,) = thinker._idle
        child = process._process
        with pytest.raises(NobodyWaits, match=r"^$"):
            await thinker.answer(duel, gone)
        assert child.poll() is not None
        other = Duel(board.rules)
        other.push(3)
        assert await thinker.answer(other, gone) == 0

    asyncio.run(asked())
    thinker.close()


def results_of(game="divider-duel", agents=("random", "greedy", "tests.support.agents:Crash")):
    return evaluate(game, list(agents), duels=20)


def test_replay_steps_through_the_duels_of_an_evaluation():
    results = results_of()
    spec = find_game("divider-duel")
    board = Board(spec, spec.params, spec.make_rules(), ["", ""], [None, None], samples=results.samples)
    with client_of(board) as client:
        assert all(name in client.get("/").text for name in results.samples[0].seats)
        here = Table(client)
        for number, sample in enumerate(results.samples):
            numbers = [move.number for move in sample.moves if move.number is not None]
            status = here.do("show", sample=number)
            assert here.state["moves"] == numbers
            if sample.fault:
                assert status.endswith(f"loses: it {sample.fault}.")
            for at, move in enumerate(sample.moves[: len(numbers)], start=1):
                status = here.do("show", at=at)
                assert status.startswith(f"Move {at} of {len(numbers)}. {sample.seats[move.seat]} chose {move.number}")
                assert ("A blunder. Better: " in status) == (move.verdict == "blunder")
                better = [number for number, tile in here.tiles().items() if "better" in tile["class"].split()]
                assert better == list(move.better)
        for action in ("choose", "undo", "resign"):
            here.do(action, "2")
            assert here.shown["refused"]
        assert client.post("/turn", json={"action": "show", "state": {"sample": 99}}).status_code == 400


def test_command_lines_that_are_wrong(tmp_path):
    (tmp_path / "broken.json").write_text("{")
    results = results_of(agents=("random", "greedy")).to_json()
    (tmp_path / "cheat.json").write_text(re.sub(r'"number": \d+', '"number": 77', results))
    (tmp_path / "outside.json").write_text(results.replace('"name": "divider-duel"', '"name": "this:game"'))
    (tmp_path / "size.json").write_text(results.replace('"highest": 9', '"highest": "9"'))
    for arguments, said in (
        ([], "name a game with --game, or the results of an evaluation"),
        (["--game", "nim"], "there is no game 'nim'"),
        (["--game", "divider-duel", "--second", "nobody"], "argument --second: there is no agent 'nobody'"),
        (["--game", "divider-duel", "--first", "ppo"], "argument --first: the agent 'ppo': ppo:PATH needs the folder"),
        (["--game", "prime-rumble", "--highest", "90", "--second", "solver"], "2..90 are too many to solve"),
        (["--game", "factor-chain-duel", "--highest", "2000"], "a page shows games of at most 1,000 numbers"),
        (["--game", "divider-duel", "--move-seconds", "nan"], "argument --move-seconds: must be a positive number"),
        (["--game", "divider-duel", "--port", "-1"], "argument --port: must be a whole number of at least 0"),
        (["--game", "divider-duel", "--port", "99999"], "argument --port: must be at most 65535"),
        (["--game", "divider-duel", "--host", "no.such.host.invalid"], "no.such.host.invalid, port 8000"),
        ([tmp_path / "nowhere.json"], "nowhere.json: No such file"),
        ([tmp_path / "broken.json"], "broken.json: "),
        ([tmp_path / "cheat.json"], "77 is not one of the numbers 2, 3, 4, 5, 6, 7, 8, 9."),
        ([tmp_path / "outside.json"], "which a file may not import"),
        ([tmp_path / "size.json"], "highest must be an integer"),
    ):
        ran = run_program("agents/board.py", *arguments, "--no-open")
        assert (ran.code, ran.out) == (2, "")
        assert ran.err.startswith("agents/board.py: ") and ran.err.count("\n") == 1
        assert said in ran.err


# What must be refused


def test_foreign_hosts_and_origins_are_refused():
    with client_of(board_of("divider-duel", *PEOPLE)) as client:
        for host in ("127.0.0.1:8000", "localhost", "LOCALHOST:1", "[::1]:8000", "[::1]", "127.1.2.3"):
            assert client.get("/", headers={"Host": host}).status_code == 200, host
            same = {"Host": host, "Origin": f"http://{host}"}
            assert client.post("/turn", json={"action": "show", "state": {}}, headers=same).status_code == 200
        for host in (
            "evil.example",
            "127.0.0.1.evil.example",
            "localhost.evil.example:8000",
            "10.0.0.1",
            "",
            "[::1",
            "localhost:8000:9",
            "localhost@evil.example",
            "8.8.8.8:8000",
            ":8000",
        ):
            assert client.get("/", headers={"Host": host}).status_code == 403, host
        for origin in (
            "http://evil.example",
            "null",
            "https://127.0.0.1:8000",
            "http://127.0.0.1:8001",
            "http://localhost:8000",
            "",
        ):
            for path in ("/", "/turn", "/nowhere"):
                assert client.post(path, json={}, headers={"Origin": origin}).status_code == 403, origin


def test_a_board_for_others_goes_by_addresses_and_its_own_names():
    with client_of(board_of("divider-duel", *PEOPLE), host="0.0.0.0") as client:
        for host, status in (
            ("192.168.1.5:8000", 200),
            ("[fe80::1]:8000", 200),
            ("evil.example", 403),
            ("localhost", 200),
        ):
            assert client.get("/", headers={"Host": host}).status_code == status


def test_every_answer_is_under_a_strict_policy():
    with client_of(board_of("divider-duel", *PEOPLE)) as client:
        for path in ("/", "/style.css", "/script.js", "/turn", "/nowhere", "/../etc/passwd"):
            answer = client.get(path)
            policy = answer.headers["content-security-policy"]
            assert policy.startswith("default-src 'none';") and "unsafe" not in policy
            assert answer.headers["x-content-type-options"] == "nosniff"
        page = client.get("/").text
        assert not re.search(r"\son\w+=|\sstyle=|<script>|<style", page)
        assert set(re.findall(r'(?:src|href)="(.*?)"', page)) == {"data:,", "#moves=", "/style.css", "/script.js"}
        assert not re.search(r"url\(|@import|https?:", client.get("/style.css").text)


HOSTILE_VALUES = [
    None, True, False, 0, -1, 1, 2, 17, 2**31, 2**63, -(2**63), 10**400, 1.5, 1e308, "", "17",
    "x" * 600, "\0", "\ud83d", [], [[]], [2], [2, 2], [4, -4], [4] * 5000, list(range(2, 10)), [10**30], ["4"], [None],
    {}, {"seat": 0}, "<script>alert(1)</script>\u202e\x1b[2J", {"moves": [2]},
]  # fmt: skip


def hostile_requests(count):
    """Yield methods, paths, headers and bodies that no tab sends."""
    draw = random.Random(18)
    fields = ["moves", "forfeit", "winners", "swapped", "truth", "at", "sample", "other"]
    actions = ["show", "choose", "undo", "resign", "new", "swap", "next", "answer", "quit", "__init__", "", None, 7]
    paths = [
        "/turn",
        "/turn",
        "/turn",
        "/",
        "/turn/",
        "//turn",
        "/style.css",
        "/..%2f..%2fetc/passwd",
        "/%00",
        "/script.js/",
        "/a" * 900,
    ]
    for _ in range(count):
        state = {name: draw.choice(HOSTILE_VALUES) for name in draw.sample(fields, draw.randrange(4))}
        body = {"action": draw.choice(actions), "state": draw.choice([state, state, *HOSTILE_VALUES])}
        if draw.random() < 0.7:
            body["entry"] = draw.choice([*map(str, HOSTILE_VALUES[:16]), *HOSTILE_VALUES])
        content = json.dumps(body).encode()
        content = draw.choice(
            [content] * 6 + [content[:-3], b"", b"\xff\xfe", b"[" * 5000, content + b" " * MOST_BYTES]
        )
        headers = {"Content-Type": draw.choice(["application/json"] * 5 + ["text/plain", ""])}
        headers |= draw.choice(
            [{}] * 6 + [{"Origin": "http://evil.example"}, {"Host": "evil.example"}, {"Content-Length": "7"}]
        )
        yield draw.choice(["POST"] * 6 + ["GET", "PUT", "DELETE", "HEAD"]), draw.choice(paths), headers, content


def test_hostile_requests_get_an_answer_and_change_nothing():
    with client_of(board_of("divider-duel", "human", "random")) as client:
        before = client.post("/turn", json={"action": "choose", "state": {}, "entry": "4"}).json()
        counts = {}
        for method, path, headers, content in hostile_requests(1000):
            answer = client.request(method, path, headers=headers, content=content)
            counts[answer.status_code] = counts.get(answer.status_code, 0) + 1
            assert answer.status_code < 500, (method, path, headers, content[:300])
            assert "<script>alert" not in answer.text or answer.headers["content-type"] != "text/html"
        assert {200, 400, 403, 404, 405, 413, 415} <= set(counts)
        assert client.post("/turn", json={"action": "choose", "state": {}, "entry": "4"}).json() == before


def test_what_a_page_is_sent_is_escaped():
    board = board_of("divider-duel", *PEOPLE)
    with client_of(board) as client:
        forfeit = "<img src=x onerror=alert(1)>\u202e"
        shown = client.post("/turn", json={"action": "show", "state": {"forfeit": forfeit}}).json()
    # The status is set as text, never as HTML.
    assert "\u202e" not in shown["status"] and "<img" not in shown["html"]
    samples = results_of(agents=("random", "greedy")).samples
    evil = [type(sample)(("<b>\u202e", "&"), *list(vars(sample).values())[1:]) for sample in samples]
    board = Board(board.spec, board.params, board.rules, ["", ""], [None, None], samples=tuple(evil))
    with client_of(board) as client:
        page = client.get("/").text
        assert "<b>" not in page and "&lt;b&gt;" in page


def test_no_play_leads_to_a_state_that_is_forged():
    board = board_of("divider-duel", *PEOPLE)
    for moves in ((4, 8), (2, 3, 5, 7, 9), (10,)):
        with pytest.raises(ValueError, match="move"):
            Tab(board, State(moves=moves))


def test_fifty_games_at_the_same_time_are_fifty_games():
    server = serving(board_of("divider-duel", "human", "random"))

    async def play_all():
        transport = httpx.ASGITransport(server.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000", timeout=120) as client:
            return await play_many(client)

    try:
        played = asyncio.run(play_all())
    finally:
        for thinker in server.thinkers.values():
            thinker.close()
    rules = here_rules("divider-duel")
    for game in played:
        duel = Duel(rules)
        for number in game.moves:
            duel.push(number)
        assert duel.finished
    assert len({tuple(game.moves) for game in played}) > 10


def test_ctrl_c_while_an_agent_thinks_ends_the_board_and_the_agent(tmp_path):
    """Nothing is printed but that it stopped; the tab is told nothing, and asks again when there is a board again."""
    log, agent = tmp_path / "log", "tests.support.hostile:Hangs"
    command = [
        sys.executable,
        "agents/board.py",
        "--game",
        "divider-duel",
        "--second",
        agent,
        "--no-open",
        "--port",
        "0",
    ]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with running(command, log, env=environment) as process, ThreadPoolExecutor() as pool:
        address = wait_for(lambda: re.search(r"http://\S+/", log.read_text()), process, log)[0]
        request = {"action": "answer", "state": {"moves": [2]}}
        asked = pool.submit(httpx.post, f"{address}turn", json=request, timeout=60)
        assert httpx.get(address).status_code == 200
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        assert asked.result().status_code == 204
        assert process.wait(30) == 130
        assert log.read_text().splitlines()[1:] == ["stopped"]
