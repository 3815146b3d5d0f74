"""The server of the page: three files and one door, ``/turn``, which takes a tab's request and keeps nothing of it."""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.requests import Request as HttpRequest
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agents.browser.tab import Board, Refusal, Request, State, Tab
from agents.browser.thinking import NobodyWaits, Thinker
from agents.browser.view import page, reply, style
from numduel_env.outside import described
from numduel_env.solvers import Solver, TooLargeToSolve, solver_for
from numduel_env.storage import from_json

MOST_BYTES = 1 << 17
"""No request has a longer body."""

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach ``host``."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Guard:
    """Refuses what a page of somebody else's may have sent: requests with a foreign Host or Origin.

    A page elsewhere can let its own name lead to this machine (DNS rebinding), but not an address. So a server on
    loopback is called by its names there, and one that others may reach by an address or a name of its own.
    """

    def __init__(self, app: ASGIApp, host: str) -> None:
        self.app, self.host = app, host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        headers = Headers(scope=scope)

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        app = self.app if self._is_own(headers) else PlainTextResponse("This is not your board.", 403)
        await app(scope, receive, send_guarded)

    def _is_own(self, headers: Headers) -> bool:
        if len(hosts := headers.getlist("host")) != 1:
            return False
        origins = headers.getlist("origin")
        return self._known(hosts[0]) and all(origin == f"http://{hosts[0]}" for origin in origins)

    def _known(self, host: str) -> bool:
        parts = re.fullmatch(r"([^\[\]:]+|\[.+\])(:\d+)?", host)
        name = parts[1].strip("[]").lower() if parts else ""
        if is_loopback(name):
            return True
        if is_loopback(self.host):
            return False
        try:
            return bool(ipaddress.ip_address(name))
        except ValueError:
            return name in (self.host.lower(), socket.gethostname().lower())


def file(content: str, media_type: str) -> Callable[[HttpRequest], Response]:
    """Return what answers with a file."""
    return lambda request: Response(content, media_type=media_type)


class Server:
    """The page of a board, with an agent for each name that plays there.

    When ``ending()`` becomes true, agents are not waited for any more: tabs ask again when there is a server again.
    """

    def __init__(self, board: Board, thinkers: Mapping[str, Thinker], host: str) -> None:
        self.board, self.thinkers = board, thinkers
        self.ending = lambda: False
        self.solver: Solver[Any] | None = None
        self.no_solver, self.solved = "", threading.Event()
        # People play while the game is solved; and a program that is told to end does not wait for a daemon.
        threading.Thread(target=self.solve, daemon=True).start()
        script = Path(__file__).with_name("script.js").read_text(encoding="utf-8")
        routes = [
            Route("/", file(page(Tab(board, State())), "text/html")),
            Route("/style.css", file(style(board), "text/css")),
            Route("/script.js", file(script, "text/javascript")),
            Route("/turn", self.turn, methods=["POST"]),
        ]
        self.app = Guard(Starlette(routes=routes, lifespan=self.lifespan), host)

    @asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncIterator[None]:
        """Let the agents go when the server ends."""
        yield
        for thinker in self.thinkers.values():
            thinker.close()

    def solve(self) -> None:
        """Solve the game, or remember why it cannot be solved."""
        try:
            self.solver = solver_for(self.board.rules)
        except Exception as wrong:  # rules of one's own may do anything
            why = wrong if isinstance(wrong, TooLargeToSolve) else described(wrong)
            self.no_solver = f"Perfect play is not known here: {why}."
        self.solved.set()

    async def turn(self, request: HttpRequest) -> Response:
        """Do what a tab asks for, and answer with its next state and what it shows."""
        if request.headers.get("content-type", "").partition(";")[0] != "application/json":
            return PlainTextResponse("A request is JSON.", 415)
        body = b""
        try:
            async for chunk in request.stream():
                body += chunk
                if len(body) > MOST_BYTES:
                    return PlainTextResponse("That is too long.", 413)
            asked = from_json(body, Request)
            tab = Tab(self.board, asked.state)
        except ClientDisconnect:
            return Response(status_code=204)
        except ValueError as wrong:
            return PlainTextResponse(str(wrong), 400)
        try:
            return await self._reply(request, asked, tab)
        except NobodyWaits:
            return Response(status_code=204)

    async def _reply(self, request: HttpRequest, asked: Request, tab: Tab) -> Response:
        refusal = ""
        try:
            if asked.action == "answer":
                state = await self._answered(tab, request)
            else:
                state = getattr(tab, asked.action)(asked.entry)
        except Refusal as refused:
            refusal, state = str(refused), tab.state
        tab = Tab(self.board, state)
        while tab.state.truth and not self.solved.is_set():
            await asyncio.sleep(0.05)
        no_solver = self.no_solver if tab.state.truth else ""
        if tab.state.truth or tab.over:
            shown = await run_in_threadpool(reply, tab, self.solver, no_solver, refusal)
        else:
            # A millisecond or two: threads would only stand in each other's way.
            shown = reply(tab, None, no_solver, refusal)
        return Response(msgspec.json.encode(shown), media_type="application/json")

    async def _answered(self, tab: Tab, request: HttpRequest) -> State:
        """Return the state after the move of the agent whose turn it is, or after it has lost by giving none."""
        if tab.thinking is None:
            raise Refusal("No agent is to move.")

        async def gone() -> bool:
            return self.ending() or await request.is_disconnected()

        answer = await self.thinkers[tab.thinking].answer(tab.duel, gone)
        if isinstance(answer, int):
            return tab.played(answer)
        return tab.forfeited(f"because it {answer}")
