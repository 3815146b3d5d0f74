"""Scripted language models behind an OpenAI-compatible endpoint on loopback, streaming or not.

What a model does is in its name, such as ``random`` or ``hangs``: it reads the game from the messages that it is sent
as a real one would, and knows nothing else.
"""

from __future__ import annotations

import contextlib
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

from numduel_env import Duel, Rules, find_game, solver_for
from numduel_env.solvers import Solver

KEY = "sk-loopback-5f1c0de"

MOVES = re.compile(r"^Moves so far, Player 1's first: ([\d, ]+)$", re.MULTILINE)

TITLES = {"Prime Rumble": "prime-rumble", "Divider Duel": "divider-duel", "Factor Chain Duel": "factor-chain-duel"}


@dataclass
class Asked:
    """One request, and whether it was answered and so is paid for."""

    model: str
    messages: list[dict[str, Any]]
    stream: bool
    options: dict[str, Any]
    answered: bool = False

    @property
    def key(self) -> str:
        """All that was said, in one text."""
        return json.dumps([self.model, self.messages])


def told_duel(messages: list[dict[str, Any]]) -> Duel[Any]:
    """Return the duel that the messages tell of: the rules from the first, the moves from the last that has any."""
    texts = [
        "".join(part["text"] for part in text) if isinstance(text, list) else text
        for text in (message["content"] for message in messages if message["role"] == "user")
    ]
    text = "\n".join(texts)
    title = re.search(r"You play a game for two players, ([^.(]+?)( \(.*?\))?\. You are", text)
    assert title, text
    if title[1] == "Prime Duel":
        name = "prime-duel-sum" if "add" in title[2] else "prime-duel-product"
    else:
        name = TITLES[title[1]]
    duel: Duel[Any] = Duel(find_game(name).make_rules())
    moves = MOVES.findall(text)
    for number in moves[-1].split(",") if moves else []:
        duel.push(int(number))
    return duel


class Models:
    """What the models reply; ``generator`` is shared by those that play at random."""

    def __init__(self) -> None:
        self.generator = np.random.default_rng(0)
        self.solvers: dict[Rules[Any], Solver] = {}
        self.replies: dict[str, Callable[[list[dict[str, Any]]], str]] = {
            "random": self.random,
            "perfect": self.perfect,
            "illegal": lambda messages: "I choose [1].",
            "garbage": lambda messages: "\x1b[2J<script>alert(1)</script>\x00\u202e no number & no sense" * 50,
            "talker": lambda messages: f"<b>{'I think. ' * 500}</b>\x1b[31m {self.random(messages)}",
            "second-try": self.second_try,
            "slow": self.slow,
            "leaks": lambda messages: f"my key is {KEY} [1]",
        }

    def random(self, messages: list[dict[str, Any]]) -> str:
        return f"I'd avoid [1]; [{self.generator.choice(told_duel(messages).legal_numbers)}]"

    def perfect(self, messages: list[dict[str, Any]]) -> str:
        duel = told_duel(messages)
        if duel.rules not in self.solvers:
            self.solvers[duel.rules] = solver_for(duel.rules)
        best = duel.rules.numbers[self.solvers[duel.rules].best(duel.position)]
        return f"[{best[0] if len(best) else duel.legal_numbers[0]}]"

    def second_try(self, messages: list[dict[str, Any]]) -> str:
        return self.perfect(messages) if messages[-2:][0]["role"] == "assistant" else "let me think"

    def slow(self, messages: list[dict[str, Any]]) -> str:
        time.sleep(0.05)
        return self.perfect(messages)


@dataclass
class Server:
    """A running endpoint: what it was asked, and from which request on it fails, and how."""

    url: str
    asked: list[Asked] = field(default_factory=list)
    models: Models = field(default_factory=Models)
    fails_after: int | None = None
    failure: str = "500"
    errors: list[str] = field(default_factory=list)
    """What it says with error 401, one after another, before it says the same each time."""
    at_once: int = 0
    most_at_once: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def answered(self) -> list[Asked]:
        """The requests that were answered, and so are paid for."""
        return [one for one in self.asked if one.answered]

    def settle(self) -> None:
        """Wait until nothing is under way."""
        while self.at_once:
            time.sleep(0.01)


class Handler(BaseHTTPRequestHandler):
    """Chat completions, as OpenAI has them."""

    protocol_version = "HTTP/1.1"
    server: Any

    def log_message(self, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._json(200, {"object": "list", "data": [{"id": name, "object": "model"} for name in Models().replies]})

    def do_POST(self) -> None:
        state: Server = self.server.state
        if not self.path.endswith("/chat/completions"):
            self.close_connection = True
            self._json(404, {"error": {"message": f"there is no {self.path}"}})
            return
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        known = ("model", "messages", "stream", "stream_options")
        options = {name: value for name, value in body.items() if name not in known}
        asked = Asked(body["model"], body["messages"], bool(body.get("stream")), options)
        with state.lock:
            state.asked.append(asked)
            number = len(state.asked)
            state.at_once += 1
            state.most_at_once = max(state.most_at_once, state.at_once)
        try:
            failing = state.fails_after is not None and number > state.fails_after
            self._answer(state, asked, body, state.failure if failing else body["model"])
        except OSError:
            self.close_connection = True
        finally:
            with state.lock:
                state.at_once -= 1

    def _answer(self, state: Server, asked: Asked, body: dict[str, Any], model: str) -> None:
        if self.headers.get("Authorization") != f"Bearer {KEY}":
            model = "401"
        if model in ("400", "401", "429", "500"):
            message = "no"
            if model == "401":
                message = state.errors.pop() if state.errors else f"no: {self.headers.get('Authorization')}"
            self._json(int(model), {"error": {"message": message, "code": "insufficient_quota"}})
        elif model == "hangs":
            self.server.ending.wait(60)
            self.close_connection = True
        elif model == "drips":
            self.send_response(200)
            self.send_header("Content-Length", "100000")
            self.end_headers()
            while not self.server.ending.wait(0.05):
                self.wfile.write(b" ")
                self.wfile.flush()
        elif model == "closes":
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b'{"choices": [{"mess')
            self.wfile.flush()
            self.close_connection = True
            self.connection.close()
        elif model == "no-json":
            self._send(200, "text/html", b"<html>a proxy's page</html>")
        elif model == "empty-object":
            self._json(200, {})
        elif model not in state.models.replies:
            self._json(404, {"error": {"message": "no such model"}})
        else:
            self._reply(asked, body, state.models.replies[model](body["messages"]))

    def _reply(self, asked: Asked, body: dict[str, Any], text: str) -> None:
        words = sum(len(str(message["content"]).split()) for message in body["messages"])
        usage = {"prompt_tokens": words, "completion_tokens": len(text.split())}
        usage["total_tokens"] = sum(usage.values())
        common = {"id": "chatcmpl-1", "created": 0, "model": body["model"]}
        if not asked.stream:
            message = {"role": "assistant", "content": text}
            choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
            asked.answered = True
            self._json(200, {**common, "object": "chat.completion", "choices": choices, "usage": usage})
            return
        half = len(text) // 2
        chunks: list[dict[str, Any]] = [
            {"choices": [{"index": 0, "delta": {"role": "assistant", "content": text[:half]}, "finish_reason": None}]},
            {"choices": [{"index": 0, "delta": {"content": text[half:]}, "finish_reason": None}]},
            {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
            {"choices": [], "usage": usage},
        ]
        lines = [json.dumps({**common, "object": "chat.completion.chunk", **chunk}) for chunk in chunks]
        asked.answered = True
        self._send(200, "text/event-stream", "".join(f"data: {line}\n\n" for line in [*lines, "[DONE]"]).encode())

    def _json(self, status: int, content: dict[str, Any]) -> None:
        self._send(status, "application/json", json.dumps(content).encode())

    def _send(self, status: int, kind: str, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("retry-after-ms", "10")
        self.end_headers()
        self.wfile.write(content)


class QuietServer(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that go away."""


@contextlib.contextmanager
def language_models() -> Iterator[Server]:
    """Run an endpoint for as long as the context lasts."""
    server = QuietServer(("127.0.0.1", 0), Handler)
    server.state = Server(f"http://127.0.0.1:{server.server_address[1]}/v1")  # type: ignore[attr-defined]
    server.ending = threading.Event()  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server.state  # type: ignore[attr-defined]
    finally:
        server.ending.set()  # type: ignore[attr-defined]
        server.shutdown()
        server.server_close()
        thread.join()


if __name__ == "__main__":
    with language_models() as endpoint:
        print(f"OPENAI_BASE_URL={endpoint.url} OPENAI_API_KEY={KEY}", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()
