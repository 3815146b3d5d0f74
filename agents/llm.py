"""Language models as players: ``llm:MODEL``, at any OpenAI-compatible endpoint.

The endpoint is named by ``OPENAI_BASE_URL`` and ``OPENAI_API_KEY``. Every move is a conversation of its own: the
rules, the moves so far and the situation, then the model's reply, which is read as strictly as in a text duel.
"""

from __future__ import annotations

import argparse
import asyncio
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

from agents.endpoint import Endpoint, run
from agents.model_options import ModelOptions, RequestOptions, parsed
from agents.transcript import Transcript
from numduel_env.agent import Agent, BadAnswer, PlayerAgent, Unavailable, register_agent
from numduel_env.dialogue import Conversation, Refusal
from numduel_env.duel import Duel
from numduel_env.games import GameSpec, game_of
from numduel_env.rules import Rules
from numduel_env.writing import Exchange, Notes, Settings, WritingPlayer

NAME, USAGE = "llm", "llm:MODEL"


@dataclass
class _Round:
    """Conversations that are had at the same time: what they share."""

    client: Any
    gate: asyncio.Semaphore
    notes: Notes
    stopped: threading.Event
    trouble: list[Unavailable] = field(default_factory=list)


class LanguageModel(WritingPlayer):
    """A language model as a player of ``rules``; the game's words are those of ``game``, if given."""

    def __init__(
        self,
        rules: Rules[Any],
        model: str,
        options: ModelOptions | None = None,
        requests: RequestOptions | None = None,
        game: GameSpec | None = None,
    ) -> None:
        if not model.strip():
            raise ValueError(f"{USAGE} needs the name of a model")
        self.rules, self.model = rules, model
        self.options = options or ModelOptions()
        self.requests = requests or RequestOptions()
        self.game = game or game_of(rules)
        self.settings: Settings = {"model": model, **asdict(self.options)}
        self._endpoint = Endpoint(self.requests.timeout, self.requests.request_retries)
        self._transcript = Transcript(self.requests.transcripts)

    def converse(self, duels: Sequence[Duel[Any]], notes: Notes) -> list[int | BadAnswer]:
        """Return an action for each duel, or why there is none; as many are asked about at once as the options say.

        Once the endpoint fails, what is under way is finished and noted, and nothing new is asked.
        """
        stopped = threading.Event()
        return run(lambda: self._converse(duels, notes, stopped), stopped.set)

    async def _converse(
        self, duels: Sequence[Duel[Any]], notes: Notes, stopped: threading.Event
    ) -> list[int | BadAnswer]:
        async with self._endpoint.client() as client:
            together = _Round(client, asyncio.Semaphore(self.requests.concurrency), notes, stopped)
            moves = [self._move(duel, place, together) for place, duel in enumerate(duels)]
            answers = await asyncio.gather(*moves)
        if None in answers:
            raise together.trouble[0] if together.trouble else Unavailable("stopped")
        return [answer for answer in answers if answer is not None]

    async def _move(self, duel: Duel[Any], place: int, together: _Round) -> int | BadAnswer | None:
        """Return an action, or why there is none; None if the conversations are broken off."""
        talk = Conversation(self.game, duel, self.options.retries, self.options.list_legal, self.options.system_prompt)
        known = iter(together.notes.known(place))
        async with together.gate:
            while True:
                exchange = next(known, None)
                if exchange is not None:
                    answer = talk.read(exchange.reply)
                elif together.trouble or together.stopped.is_set():
                    return None
                else:
                    try:
                        answer = await self._ask(talk, place, together)
                    except Unavailable as trouble:
                        together.trouble.append(Unavailable(f"{NAME}:{self.model}: {trouble}"))
                        return None
                if not isinstance(answer, Refusal):
                    return answer
                if talk.over:
                    replies = "a reply" if self.options.retries == 0 else f"{self.options.retries + 1} replies in a row"
                    reason = f"gave {replies} without a legal move, the last one {answer.kind}"
                    return BadAnswer(reason, answer.kind)

    async def _ask(self, talk: Conversation, place: int, together: _Round) -> int | Refusal:
        """Ask and read the reply, which is noted before anything else is done."""
        prompt, messages = talk.prompt, [*talk.messages]
        reply = await self._endpoint.complete(together.client, self.model, messages, **self._request())
        answer = talk.read(reply.text)
        refusal = answer.kind if isinstance(answer, Refusal) else None
        self._transcript.add(
            {
                "agent": f"{NAME}:{self.model}",
                "settings": self.settings,
                "game": self.game.name,
                "seat": talk.duel.seat,
                "moves": talk.duel.moves,
                "messages": messages,
                "reply": reply.text,
                "refusal": refusal,
                "prompt_tokens": reply.prompt_tokens,
                "completion_tokens": reply.completion_tokens,
                "seconds": reply.seconds,
            }
        )
        exchange = Exchange(prompt, reply.text, refusal, reply.prompt_tokens, reply.completion_tokens, reply.seconds)
        together.notes.add(place, exchange)
        return answer

    def _request(self) -> dict[str, object]:
        """Return the options of a request, those alone that were asked for."""
        # OpenAI's newer models refuse the older name, which is the one that everybody else knows.
        limit = "max_completion_tokens" if self._endpoint.is_openai else "max_tokens"
        named = {"temperature": self.options.temperature, limit: self.options.max_tokens}
        return {name: value for name, value in named.items() if value is not None}


def register(model: ModelOptions | None = None, requests: RequestOptions | None = None) -> None:
    """Let models be named ``llm:MODEL``, and be asked with these options."""

    def make(rules: Rules[Any], argument: str) -> Agent:
        return PlayerAgent(LanguageModel(rules, argument, model, requests), rules)

    register_agent(NAME, make, USAGE)


def asked_by(parser: argparse.ArgumentParser, args: argparse.Namespace) -> Callable[[], None]:
    """Return what lets models be asked with the options of a command line; wrong ones end the program."""
    try:
        return partial(register, parsed(ModelOptions, args), parsed(RequestOptions, args))
    except ValueError as wrong:
        parser.error(str(wrong))


def register_as_asked(parser: argparse.ArgumentParser, args: argparse.Namespace) -> None:
    """Let models be asked here with the options of a command line; wrong ones end the program."""
    asked_by(parser, args)()
