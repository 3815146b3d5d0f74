"""Language models as players, at a scripted endpoint on loopback: what they cost, how they fail, what is written."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections import Counter

import numpy as np
import pytest

from agents.endpoint import Endpoint
from agents.llm import LanguageModel
from agents.model_options import ModelOptions, RequestOptions
from numduel_env import Duel, evaluate, find_game, make_agent
from numduel_env.agent import BadAnswer, PlayerAgent, Unavailable, as_player
from numduel_env.envs.text import TextDuel
from numduel_env.evaluation.results import Results
from numduel_env.games import GAMES, game_of
from tests.support.language_models import KEY, language_models
from tests.support.processes import running, wait_for
from tests.support.programs import run_program

QUICK = RequestOptions(timeout=20, request_retries=1)


@pytest.fixture
def server(monkeypatch):
    with language_models() as running_server:
        monkeypatch.setenv("OPENAI_BASE_URL", running_server.url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        yield running_server


def player(model, game="divider-duel", options=None, requests=QUICK):
    return LanguageModel(find_game(game).make_rules(), model, options, requests)


def new_duel(game="divider-duel"):
    return Duel(find_game(game).make_rules())


def played(model, duels=20, openings=0, opponent="solver", options=None, requests=QUICK, journal=None):
    agents = {"model": player(model, options=options, requests=requests), "other": opponent}
    return evaluate("divider-duel", agents, duels=duels, openings=openings, journal=journal)


@pytest.mark.parametrize("game", GAMES)
def test_perfect_play_in_writing_is_perfect(server, game):
    results = evaluate(game, {"model": player("perfect", game), "solver": "solver"}, duels=6, openings=2, seed=1)
    model = results.agents[0]
    assert model.kept == 1 and model.faults == 0
    assert model.written.replies == model.moves and not model.written.refused


def test_a_perfect_model_wins_every_duel_that_the_first_player_wins(server):
    model = played("perfect", duels=20).agents[0]
    assert model.seats[0].wins == model.seats[0].duels == 10
    assert model.written.prompt_tokens > model.written.completion_tokens == model.written.replies
    assert model.written.seconds > 0


def test_a_random_model_plays_as_random_does(server):
    duels = 120
    model = played("random", duels=duels, openings=4, opponent="random").agents[0]
    random = evaluate("divider-duel", ["random", "random"], duels=2000).agents[0]
    low, high = model.total.interval
    assert low <= 0.5 <= high
    # Four standard errors, for the moves of one duel hang together.
    assert abs(model.kept - random.kept) < 4 * np.sqrt(0.25 / model.grade.graded)
    assert model.faults == 0


@pytest.mark.parametrize(("name", "kind"), [("illegal", "illegal"), ("garbage", "unreadable")])
def test_bad_answers_are_faults(server, name, kind):
    model = played(name, duels=8).agents[0]
    assert model.total.losses == model.faults == 8
    assert model.kept == 0
    assert model.written.faults == {kind: 8} and model.written.refused == {kind: 24} == {kind: model.written.replies}
    assert list(model.reasons) == [f"gave 3 replies in a row without a legal move, the last one {kind}"]


def test_a_refused_reply_may_be_repeated(server):
    model = played("second-try", duels=4).agents[0]
    assert model.kept == 1 and model.faults == 0
    assert model.written.refused == {"unreadable": model.moves} and model.written.replies == 2 * model.moves
    again = server.asked[-1].messages
    assert [message["role"] for message in again] == ["user", "assistant", "user"]
    assert again[-1]["content"].startswith("There is no number in square brackets.")
    assert played("second-try", duels=2, options=ModelOptions(retries=0)).agents[0].faults == 2


def test_what_was_asked_for_is_sent_and_nothing_else(server):
    player("perfect").move(new_duel(), np.random.default_rng(0))
    assert [message["role"] for message in server.asked[-1].messages] == ["user"]
    assert server.asked[-1].options == {}
    options = ModelOptions(temperature=0.5, max_tokens=77, system_prompt="Play well.", list_legal=True)
    player("perfect", options=options).move(new_duel(), np.random.default_rng(0))
    assert server.asked[-1].messages[0] == {"role": "system", "content": "Play well."}
    assert "Legal numbers: 2, 3" in server.asked[-1].messages[1]["content"]
    assert server.asked[-1].options == {"temperature": 0.5, "max_tokens": 77}


def test_requests_are_made_at_the_same_time_and_no_more_than_asked_for(server):
    played("slow", duels=24, openings=2, requests=RequestOptions(concurrency=3))
    assert server.most_at_once == 3


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("401", "refuses the key"),
        ("429", "has no quota left"),
        ("500", "failed: InternalServerError"),
        ("400", "failed: BadRequestError"),
        ("unheard-of", "failed: NotFoundError"),
        ("closes", "cannot be reached, or broke off"),
        ("hangs", "did not answer in time"),
        ("drips", "did not answer in time"),
        ("no-json", "gave an answer that is no chat completion"),
        ("empty-object", "gave an answer that is no chat completion"),
    ],
)
def test_an_endpoint_that_fails_is_no_fault_of_the_model(server, name, says):
    slow = name in ("hangs", "drips")
    requests = RequestOptions(timeout=0.3 if slow else 20, request_retries=0 if slow else 1)
    with pytest.raises(Unavailable, match=f"^llm:{name}: http://127.0.0.1:[0-9]+/v1 {says}") as raised:
        player(name, requests=requests).move(new_duel(), np.random.default_rng(0))
    assert KEY not in str(raised.value) and "\n" not in str(raised.value)
    assert len(server.asked) == (2 if name in ("429", "500", "closes") else 1)


def test_a_dead_endpoint_is_said_to_be_dead(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://user:secret-word@127.0.0.1:9/v1?token=secret-word")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(Unavailable, match=r"http://127\.0\.0\.1:9/v1 cannot be reached") as raised:
        player("any", requests=RequestOptions(request_retries=0)).move(new_duel(), np.random.default_rng(0))
    assert "secret-word" not in str(raised.value)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["llm:"], "llm:MODEL"),
        (["llm:x", "--concurrency", "0"], "concurrency must be an integer of at least 1"),
        (["llm:x", "--timeout", "0"], "timeout must be a positive number"),
        (["llm:x", "--max-tokens", "0"], "max_tokens must be"),
        (["llm:x", "--temperature", "-1"], "temperature must be"),
        (["llm:x", "--retries", "-1"], "retries must be"),
        (["llm:x", "--transcripts", "README.md"], "README.md is there already, and is no transcript"),
        (["llm:x", "--transcripts", "no/such/folder.jsonl"], "no transcript can be written there"),
        (["llm:x", "--exploit"], "exploit asks about every line, too much for llm:x"),
    ],
)
def test_wrong_options_are_refused(server, arguments, says):
    ran = run_program("train/evaluate.py", "--game", "divider-duel", "--duels", 2, "random", *arguments)
    assert ran.code == 2 and ran.err.count("\n") == 1 and says in ran.err
    assert not server.asked


def test_without_a_key_or_a_server_nothing_is_asked(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ValueError, match="OPENAI_API_KEY is not set"):
        make_agent("llm:x", find_game("divider-duel").make_rules())


def test_without_the_client_it_says_how_to_get_it(monkeypatch, server):
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(ValueError, match=r"needs the openai client: pip install"):
        player("perfect")


def test_every_exchange_is_in_the_transcript(server, tmp_path):
    path = tmp_path / "said.jsonl"
    results = played("talker", duels=4, openings=2, requests=RequestOptions(transcripts=str(path)))
    lines = path.read_bytes().splitlines()
    assert len(lines) == len(server.answered) == results.agents[0].written.replies
    assert all(0x20 <= byte < 0x7F for line in lines for byte in line)  # nothing that a terminal would obey
    exchanges = [json.loads(line) for line in lines]
    assert {exchange["agent"] for exchange in exchanges} == {"llm:talker"}
    asked = Counter(json.dumps(one.messages) for one in server.answered)
    assert Counter(json.dumps(exchange["messages"]) for exchange in exchanges) == asked
    assert sum(exchange["prompt_tokens"] for exchange in exchanges) == results.agents[0].written.prompt_tokens


def test_a_transcript_goes_on_after_a_line_that_was_cut_short(server, tmp_path):
    path = tmp_path / "said.jsonl"
    requests = RequestOptions(transcripts=str(path))
    played("perfect", duels=2, requests=requests)
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"agent": "llm:per')
    played("perfect", duels=2, requests=requests)
    assert path.read_bytes().startswith(whole)
    assert len([json.loads(line) for line in path.read_bytes().splitlines()]) == 2 * whole.count(b"\n")


def test_the_key_is_nowhere(server, tmp_path):
    files = [tmp_path / name for name in ("results.json", "report.html", "said.jsonl")]
    arguments = ["--json", files[0], "--report", files[1], "--transcripts", files[2], "--duels", 4]
    ran = run_program("train/evaluate.py", "--game", "divider-duel", "llm:leaks", "random", *arguments)
    assert ran.code == 0
    texts = [ran.out, ran.err, *(file.read_text() for file in files)]
    assert all(KEY not in text for text in texts)
    assert all("my key is (key) [1]" in text for text in texts[2:])
    failed = run_program(
        "train/evaluate.py", "--game", "divider-duel", "llm:401", "random", "--json", tmp_path / "r.json"
    )
    assert failed.code == 1 and KEY not in failed.err + (tmp_path / "r.json.journal").read_text()


@pytest.mark.parametrize("key", [KEY, "a key\x01 with\x7f what no header may have", "ключ-секрет", f"{KEY}\n"])
def test_the_key_is_in_no_error(server, monkeypatch, key):
    server.errors = [f"{'x' * padding} Bearer {key}" for padding in range(60, 300, 5)]
    monkeypatch.setenv("OPENAI_API_KEY", key)
    for _ in range(4):
        with pytest.raises(Unavailable) as raised:
            player("401", requests=RequestOptions(request_retries=0)).move(new_duel(), np.random.default_rng(0))
        assert key.strip()[:8] not in str(raised.value) and repr(key)[1:9] not in str(raised.value)


def test_what_is_hostile_reaches_neither_terminal_nor_page(server, tmp_path):
    report, results = tmp_path / "report.html", tmp_path / "results.json"
    files = ["--report", report, "--json", results, "--system-prompt", "\x1b[31m<i>"]
    for name in ("garbage", "talker"):
        ran = run_program("train/evaluate.py", "--game", "divider-duel", f"llm:{name}", "random", "--duels", 4, *files)
        assert ran.code == 0
        for text in (ran.out, ran.err, report.read_text()):
            assert not any(sign in text for sign in "\x1b\x00\u202e")
        page = report.read_text()
        assert "<script>" not in page and "<b>" not in page and "<i>" not in page
        assert ("&lt;script&gt;alert(1)" if name == "garbage" else "&lt;b&gt;I think.") in page
        assert Results.load(results).agents[0].written.settings["system_prompt"] == "\x1b[31m<i>"


def test_the_report_shows_what_was_told_and_replied(server):
    results = played("second-try", duels=2)
    remarks = results.samples[0].remarks
    assert [remark.refusal for remark in remarks[:2]] == ["unreadable", None]
    assert remarks[0].reply == "let me think" and remarks[0].prompt.startswith("In the list: 2, 3")
    own = [ply for ply, move in enumerate(results.samples[0].moves) if results.samples[0].seats[move.seat] == "model"]
    assert sorted({remark.ply for remark in remarks}) == own
    assert "kept %  replies  unreadable (lost)" in str(results)


def test_an_endpoint_that_dies_costs_nothing_twice(server, tmp_path):
    whole = evaluated(tmp_path / "whole.json")
    paid = Counter(one.key for one in server.answered)
    server.asked.clear()
    server.fails_after = 15
    command = ["train/evaluate.py", *command_line(tmp_path / "r.json"), "--request-retries", "0"]
    died = run_program(*command)
    assert died.code == 1
    assert "http" in died.err and f"what is finished is kept in {tmp_path / 'r.json'}.journal" in died.err
    assert len(server.answered) == 15
    server.fails_after = None
    assert run_program(*command, "--resume").code == 0
    assert Counter(one.key for one in server.answered) == paid
    assert comparable(tmp_path / "r.json") == whole


def command_line(path):
    return ["--game", "divider-duel", "llm:second-try", "random", "--duels", "24", "--seed", "3", "--json", str(path)]


def evaluated(path):
    assert run_program("train/evaluate.py", *command_line(path)).code == 0
    return comparable(path)


def comparable(path):
    """Return the results without what another run does not repeat."""
    results = json.loads(path.read_text())
    results["command"] = []
    for agent in results["agents"]:
        agent["ms_per_move"] = 0
        if agent["written"]:
            agent["written"]["seconds"] = 0
    return results


@pytest.mark.parametrize(
    "how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM] if os.name == "posix" else [signal.SIGTERM]
)
def test_a_killed_evaluation_goes_on_and_pays_for_nothing_twice(server, tmp_path, how):
    """Where requests are under way when the process is killed, their answers reach nobody: one at a time here."""
    whole = evaluated(tmp_path / "whole.json")
    paid = Counter(one.key for one in server.answered)
    server.asked.clear()
    said = tmp_path / "said.jsonl"
    arguments = [*command_line(tmp_path / "r.json"), "--concurrency", "1", "--transcripts", str(said)]
    command = [sys.executable, "train/evaluate.py", *arguments]
    log = tmp_path / "log"
    with running(command, log) as process:
        wait_for(lambda: len(server.answered) >= 20, process, log)
        process.send_signal(how)
        process.wait()
    server.settle()
    before = len(server.answered)
    assert 20 <= before < sum(paid.values())
    assert run_program("train/evaluate.py", *arguments, "--resume").code == 0
    assert comparable(tmp_path / "r.json") == whole
    again = Counter(one.key for one in server.answered) - paid
    # Killed without warning, it may lose the answer that was on its way, or that it was about to note.
    lost = int(os.name != "posix" or how == signal.SIGKILL)
    assert sum(again.values()) <= lost
    noted = [json.loads(line) for line in said.read_bytes().splitlines()]
    assert sum(paid.values()) <= len(noted) <= sum(paid.values()) + lost


def test_a_journal_of_other_settings_is_refused(server, tmp_path):
    server.fails_after = 5
    first = run_program("train/evaluate.py", *command_line(tmp_path / "r.json"), "--request-retries", "0")
    assert first.code == 1
    other = run_program("train/evaluate.py", *command_line(tmp_path / "r.json"), "--resume", "--temperature", "1")
    assert other.code == 2 and "is of an evaluation with settings" in other.err


def test_replies_to_nobody_in_a_journal_are_refused(server, tmp_path):
    server.fails_after = 5
    run_program("train/evaluate.py", *command_line(tmp_path / "r.json"), "--request-retries", "0")
    server.fails_after = None
    journal = tmp_path / "r.json.journal"
    journal.write_bytes(journal.read_bytes().replace(b'{"place": 0', b'{"place": 700'))
    ran = run_program("train/evaluate.py", *command_line(tmp_path / "r.json"), "--resume")
    assert ran.code == 2 and "questions that nobody was asked" in ran.err


def test_it_plays_in_the_terminal(server):
    line = ["agents/play.py", "--game", "divider-duel", "--first", "human", "--second"]
    ran = run_program(*line, "llm:perfect", typed="2\n9\n7\n5\n3\n")
    assert ran.code == 0 and "llm:perfect" in ran.out
    fault = run_program(*line, "llm:garbage", "--retries", "0", typed="2\n")
    assert "Player 2 loses because it gave a reply without a legal move, the last one unreadable." in fault.out
    assert "\x1b" not in fault.out
    gone = run_program(*line, "llm:401", typed="2\n")
    assert gone.code == 1 and gone.err.startswith("agents/play.py: llm:401: http") and gone.err.count("\n") == 1


def test_it_is_an_opponent_like_any_other(server):
    duel = TextDuel("divider-duel", "llm:perfect", seat="second")
    assert "Moves so far, Player 1's first: 4" in duel.reset(seed=0)
    gone = TextDuel("divider-duel", PlayerAgent(player("500"), duel.rules), seat="second")
    with pytest.raises(Unavailable):
        gone.reset(seed=0)


def test_it_knows_the_history_and_single_moves_raise_what_is_wrong(server):
    agent = make_agent("llm:perfect", find_game("factor-chain-duel").make_rules())
    duel = new_duel("factor-chain-duel")
    for number in (24, 12, 36):
        duel.push(number)
    as_player(agent).move(duel, np.random.default_rng(0))
    assert "Moves so far, Player 1's first: 24, 12, 36" in server.asked[-1].messages[0]["content"]
    assert np.array_equal(agent.choose(*batch(duel), np.random.default_rng(0)).shape, (1,))
    with pytest.raises(BadAnswer, match="without a legal move"):
        player("illegal").move(new_duel(), np.random.default_rng(0))


def batch(duel):
    return duel.position._make(np.asarray(field)[None] for field in duel.position), duel.legal[None]


def test_it_plays_where_a_loop_runs_already(server):
    import asyncio

    async def main():
        return player("perfect").move(new_duel(), np.random.default_rng(0))

    assert asyncio.run(main()) == 2  # number 4


@pytest.mark.parametrize("stream", [False, True])
def test_the_scripted_endpoint_is_what_the_client_takes_it_for(server, stream):
    import openai

    with openai.OpenAI(max_retries=0) as client:
        messages = [{"role": "user", "content": TextDuel("divider-duel", seat="first").reset(0)}]
        answer = client.chat.completions.create(model="perfect", messages=messages, stream=stream)
        if stream:
            text = "".join(chunk.choices[0].delta.content or "" for chunk in answer if chunk.choices)
        else:
            text = answer.choices[0].message.content
    assert text == "[4]"


def test_games_are_known_by_their_rules():
    for name, spec in GAMES.items():
        assert game_of(spec.make_rules()).name == name
    assert game_of(find_game("prime-rumble").make_rules(highest=30)).name == "prime-rumble"
    assert game_of(find_game("tests.support.toys:TwoHeaps").make_rules()).name == "tests.support.toys:TwoHeaps"


def test_openai_has_another_name_for_the_limit(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    for url, limit in (("", "max_completion_tokens"), ("http://127.0.0.1:9/v1", "max_tokens")):
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        assert player("x", options=ModelOptions(max_tokens=5))._request() == {limit: 5}
    assert "secret" not in str(Endpoint(1, 0))
