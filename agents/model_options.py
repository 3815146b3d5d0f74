"""How language models are asked, and the flags that say so on a command line."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, fields
from typing import TypeVar

from numduel_env.rules import whole_number

OptionsT = TypeVar("OptionsT", bound="ModelOptions | RequestOptions")


@dataclass(frozen=True)
class ModelOptions:
    """How a model is asked. What is None is left to the endpoint.

    ``retries`` and ``list_legal`` are those of a text duel.
    """

    temperature: float | None = None
    max_tokens: int | None = None
    system_prompt: str | None = None
    retries: int = 2
    list_legal: bool = False

    def __post_init__(self) -> None:
        whole_number("retries", self.retries, 0)
        if self.max_tokens is not None:
            whole_number("max_tokens", self.max_tokens, 1)
        if self.temperature is not None and not 0 <= self.temperature < float("inf"):
            raise ValueError(f"temperature must be at least 0, not {self.temperature}")


@dataclass(frozen=True)
class RequestOptions:
    """How requests are made, which changes no results: how many at once, for how long, how often.

    ``timeout`` is in seconds, for one attempt; ``request_retries`` more are made where that may help. ``transcripts``
    is a file to which every exchange is appended.
    """

    concurrency: int = 8
    timeout: float = 120.0
    request_retries: int = 4
    transcripts: str | None = None

    def __post_init__(self) -> None:
        whole_number("concurrency", self.concurrency, 1)
        whole_number("request_retries", self.request_retries, 0)
        if not 0 < self.timeout < float("inf"):
            raise ValueError(f"timeout must be a positive number of seconds, not {self.timeout}")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags; each has the name of an option."""
    model, requests = ModelOptions(), RequestOptions()
    flags = parser.add_argument_group("language models (llm:MODEL, at OPENAI_BASE_URL with OPENAI_API_KEY)")
    flags.add_argument("--temperature", type=float, metavar="T", help="as the endpoint has it (its own default)")
    flags.add_argument("--max-tokens", type=int, metavar="N", help="of a reply, at most (the endpoint's own limit)")
    flags.add_argument("--system-prompt", metavar="TEXT", help="said to the model before everything else (nothing)")
    again = f"how often a refused reply may be repeated before the duel is lost ({model.retries})"
    flags.add_argument("--retries", type=int, default=model.retries, metavar="N", help=again)
    flags.add_argument("--list-legal", action="store_true", help="tell the model the legal numbers")
    flags.add_argument(
        "--concurrency", type=int, default=requests.concurrency, metavar="N", help="requests at once (%(default)s)"
    )
    flags.add_argument(
        "--timeout", type=float, default=requests.timeout, metavar="S", help="seconds for a request (%(default)g)"
    )
    more = "more attempts at a request that failed (%(default)s)"
    flags.add_argument("--request-retries", type=int, default=requests.request_retries, metavar="N", help=more)
    flags.add_argument("--transcripts", metavar="F.jsonl", help="append every exchange to this file, as it happens")


def parsed(kind: type[OptionsT], args: argparse.Namespace) -> OptionsT:
    """Return options of this kind as a command line gives them, or raise a ``ValueError``."""
    return kind(**{field.name: getattr(args, field.name) for field in fields(kind)})
