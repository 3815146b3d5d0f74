"""Text duels served by OpenEnv, for real: started by the command, asked by OpenEnv's own client."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from openenv import GenericEnvClient

from numduel_env.envs.text import TextDuel
from tests.support import ROOT
from tests.support.processes import running, wait_for

pytestmark = pytest.mark.interop

GAME = ["--game", "divider-duel", "--seat", "first"]


@pytest.fixture(scope="module")
def serve(tmp_path_factory):
    """Return a function that starts a server with some arguments and returns its address."""
    stack = []

    def start(*arguments):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        log = tmp_path_factory.mktemp("serve") / "log"
        command = [sys.executable, "-m", "numduel_env", "serve", *arguments, "--port", str(port)]
        context = running(command, log)
        process = context.__enter__()
        stack.append(context)

        def up():
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", port)) == 0

        wait_for(up, process, log)
        return f"http://127.0.0.1:{port}"

    yield start
    for context in stack:
        context.__exit__(None, None, None)


@pytest.fixture(scope="module")
def server(serve):
    return serve(*GAME, "--opponent", "solver", "--reward", "move")


def client(url):
    return GenericEnvClient(base_url=url).sync()


def test_a_duel_is_that_of_the_library(server):
    here = TextDuel("divider-duel", "solver", seat="first", reward="move")
    with client(server) as there:
        told = there.reset(seed=5)
        assert told.observation["text"] == here.reset(seed=5)
        assert not told.done and told.reward == 0
        for reply in ("no number", "I'd avoid [4]; [7]", "[7", "[-7]", "７"):
            turn, result = here.step(reply), there.step({"reply": reply})
            assert result.observation["text"] == turn.text
            assert (result.reward, result.done) == (turn.reward, turn.finished)
            assert result.observation["refusal"] == turn.refusal
            assert result.observation["verdict"] == (turn.move.verdict if turn.move else None)
            assert result.observation["better"] == (list(turn.move.better) if turn.move else [])
        assert result.done and there.state()["fault"] == "unreadable"
        assert there.state()["kept"] == here.outcome.kept
        with pytest.raises(RuntimeError, match="the duel is finished"):
            there.step({"reply": "[2]"})
        assert not there.reset(seed=6).done


def test_sessions_know_nothing_of_each_other(server):
    def play(seed):
        here = TextDuel("divider-duel", "solver", seat="first", reward="move")
        with client(server) as there:
            for duel in range(3):
                told = there.reset(seed=seed + duel).observation["text"]
                assert told == here.reset(seed=seed + duel)
                generator = np.random.default_rng(seed)
                while not here.finished:
                    reply = f"[{generator.choice(here.duel.legal_numbers)}]"
                    turn, result = here.step(reply), there.step({"reply": reply})
                    assert (result.observation["text"], result.reward, result.done) == (
                        turn.text,
                        turn.reward,
                        turn.finished,
                    )
                assert there.state()["moves"] == list(here.outcome.moves)
        return seed

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(play, range(0, 80, 10))) == list(range(0, 80, 10))


def test_the_reward_may_come_at_the_end(serve):
    with client(serve(*GAME, "--opponent", "random")) as there:
        there.reset(seed=0)
        result = there.step({"reply": "[4]"})
        while not result.done:
            assert result.reward == 0
            numbers = re.search(r"In the list: ([\d, ]+)", result.observation["text"])[1]
            result = there.step({"reply": f"[{numbers.split(', ')[-1]}]"})
        assert result.reward == result.observation["payoff"] in (-1, 1)


@pytest.mark.parametrize("options", [{"opponent": "os:abort"}, {"moves": [77]}, {"moves": "4"}, {"seed": -1}])
def test_what_a_client_may_not_ask_for_is_refused_and_the_session_goes_on(server, options):
    with client(server) as there:
        there.reset(seed=1)
        with pytest.raises(RuntimeError):
            there.reset(**options)
        assert not there.reset(seed=1).done


def test_a_reply_that_is_no_text_or_endless_is_refused(server):
    with client(server) as there:
        there.reset(seed=1)
        for reply in (7, None, "[4]" * 50_000):
            with pytest.raises(RuntimeError):
                there.step({"reply": reply})
        assert there.step({"reply": "x" * 50_000 + "\x1b[2J\u202e<b>[4]"}).observation["verdict"] == "kept"


def test_wrong_arguments_are_said_in_one_line():
    for arguments, says in (
        (["--game", "chess"], "there is no game 'chess'"),
        ([*GAME, "--opponent", "nobody"], "there is no agent 'nobody'"),
        ([*GAME, "--port", "0"], "--port must be from 1"),
    ):
        command = [sys.executable, "-m", "numduel_env", "serve", *arguments]
        ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert ran.returncode == 2 and says in ran.stderr and ran.stderr.count("\n") == 1
