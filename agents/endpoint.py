"""An OpenAI-compatible endpoint, asked by many conversations at once."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlsplit

from numduel_env.agent import Unavailable
from numduel_env.outside import one_line

OPENAI = "https://api.openai.com/v1"

LONGEST_BACKOFF = 60.0
"""The client waits no longer than that between two attempts, in seconds."""

GRACE = 30.0
"""Replies that are on their way when a program is stopped are awaited for so long, in seconds."""

SHORTEST_SECRET = 4
"""A shorter key than that is none, such as a server at home is content with; nothing is blotted out for it."""

Message = dict[str, str]
ResultT = TypeVar("ResultT")


@dataclass(frozen=True)
class Completion:
    """What a model replied; tokens as the endpoint counted them, None if it did not."""

    text: str
    prompt_tokens: int | None
    completion_tokens: int | None
    seconds: float


class Endpoint:
    """The endpoint that ``OPENAI_BASE_URL`` and ``OPENAI_API_KEY`` name, as they are when it is made.

    An attempt takes ``timeout`` seconds at most, and the client repeats it ``retries`` times where that may help.
    """

    def __init__(self, timeout: float, retries: int) -> None:
        try:
            import openai  # noqa: F401
        except ImportError:
            raise ValueError(
                "a language model needs the openai client: pip install -c constraints.txt -e '.[llm]'"
            ) from None
        self.timeout, self.retries = timeout, retries
        self._url = os.environ.get("OPENAI_BASE_URL") or OPENAI
        self._key = (os.environ.get("OPENAI_API_KEY") or "").strip()
        if not self._key and self._url == OPENAI:
            raise ValueError(
                "OPENAI_API_KEY is not set, nor OPENAI_BASE_URL, which may name a server that needs no key"
            )

    def __str__(self) -> str:
        """Return the address without what may be secret in it."""
        parts = urlsplit(self._url)
        return one_line(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}")

    @property
    def is_openai(self) -> bool:
        """Whether it is OpenAI's own, which has other words for some options."""
        return urlsplit(self._url).hostname == urlsplit(OPENAI).hostname

    def clean(self, text: str) -> str:
        """Return a text from outside without the key, and such that it can be written."""
        text = text.encode("utf-8", "replace").decode()
        if len(self._key) >= SHORTEST_SECRET:
            # An error may show the key as Python writes it.
            for shown in (self._key, repr(self._key)[1:-1]):
                text = text.replace(shown, "(key)")
        return text

    def client(self) -> Any:
        """Return a client, to be entered as an asynchronous context."""
        from openai import AsyncOpenAI

        return AsyncOpenAI(
            api_key=self._key or "none", base_url=self._url, timeout=self.timeout, max_retries=self.retries
        )

    async def complete(self, client: Any, model: str, messages: list[Message], **options: Any) -> Completion:
        """Return a model's reply, or raise ``Unavailable`` that says why there is none."""
        # The client's time-out begins again with every byte that comes.
        patience = self.timeout * (self.retries + 1) + LONGEST_BACKOFF * self.retries
        start = time.perf_counter()
        try:
            request = client.chat.completions.create(model=model, messages=messages, **options)
            answer = await asyncio.wait_for(request, patience)
        except Exception as wrong:  # whatever goes wrong between here and there is no fault of the model's
            raise Unavailable(f"{self} {self._trouble(wrong)}") from None
        seconds = time.perf_counter() - start
        try:
            content = answer.choices[0].message.content
        except (AttributeError, IndexError, TypeError):
            raise Unavailable(f"{self} gave an answer that is no chat completion") from None
        usage = getattr(answer, "usage", None)
        text = self.clean(content) if isinstance(content, str) else ""
        return Completion(text, _count(usage, "prompt_tokens"), _count(usage, "completion_tokens"), seconds)

    def _trouble(self, wrong: Exception) -> str:
        """Return what went wrong in one line, as what the endpoint did."""
        import openai

        if isinstance(wrong, openai.APITimeoutError | TimeoutError):
            return "did not answer in time"
        if isinstance(wrong, openai.APIConnectionError):
            return "cannot be reached, or broke off" + (f": {self._said(wrong.__cause__)}" if wrong.__cause__ else "")
        if isinstance(wrong, openai.AuthenticationError | openai.PermissionDeniedError):
            return f"refuses the key: {self._said(wrong)}"
        if isinstance(wrong, openai.RateLimitError):
            return f"has no quota left, or wants slower requests: {self._said(wrong)}"
        return f"failed: {self._said(wrong)}"

    def _said(self, wrong: BaseException) -> str:
        # Cleaned before it is cut: half a key is a secret, too.
        return one_line(f"{type(wrong).__name__}: {self.clean(str(wrong))}", 300)


def _count(usage: Any, name: str) -> int | None:
    count = getattr(usage, name, None)
    return count if type(count) is int and 0 <= count < 2**53 else None


def run(work: Callable[[], Awaitable[ResultT]], stop: Callable[[], None]) -> ResultT:
    """Run asynchronous work to its end, also where a loop runs already, as in a notebook.

    After Ctrl-C, ``stop`` is called and the work awaited for ``GRACE`` seconds; after another, it is left at once.
    """
    result: Future[ResultT] = Future()

    async def main() -> ResultT:
        return await work()

    def target() -> None:
        try:
            result.set_result(asyncio.run(main()))
        except BaseException as wrong:
            result.set_exception(wrong)

    threading.Thread(target=target, daemon=True).start()
    try:
        _await(result)
    except KeyboardInterrupt:
        stop()
        _await(result, GRACE)
        raise
    return result.result()


def _await(result: Future[Any], most: float = float("inf")) -> None:
    end = time.monotonic() + most
    # Without a limit, Windows would not let Ctrl-C through.
    while time.monotonic() < end and not wait([result], timeout=1).done:
        pass
