"""Players that answer in writing, such as language models: what they write is kept with their moves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from numduel_env.agent import Agent, BadAnswer, PlayerAgent
from numduel_env.duel import Duel
from numduel_env.storage import Amount, Count

Settings = dict[str, str | int | float | bool | None]
"""What a player was set to that can change its moves."""


@dataclass(frozen=True)
class Exchange:
    """One reply in writing: ``prompt`` is what it answers, ``refusal`` the kind of refusal, if any.

    Tokens are None where nobody counted them.
    """

    prompt: str
    reply: str
    refusal: str | None
    prompt_tokens: Count | None
    completion_tokens: Count | None
    seconds: Amount


class Notes:
    """The exchanges about some duels, by their places: those that were had before, and new ones as they are added."""

    def __init__(self) -> None:
        self.exchanges: dict[int, list[Exchange]] = {}

    def known(self, place: int) -> Sequence[Exchange]:
        """Return what was exchanged about a duel so far."""
        return tuple(self.exchanges.get(place, ()))

    def add(self, place: int, exchange: Exchange) -> None:
        """Keep what is new, before anything else is done."""
        self.exchanges.setdefault(place, []).append(exchange)


class WritingPlayer(ABC):
    """The base of players that answer in writing; ``settings`` are shown with their results."""

    settings: Settings

    @abstractmethod
    def converse(self, duels: Sequence[Duel[Any]], notes: Notes) -> list[int | BadAnswer]:
        """Return an action for each duel, or why there is none.

        Nothing that the notes know already is asked again, and everything new is added to them. Raises ``Unavailable``
        if nobody answers.
        """

    def move(self, duel: Duel[Any], generator: np.random.Generator) -> int:
        (answer,) = self.converse([duel], Notes())
        if isinstance(answer, BadAnswer):
            raise answer
        return answer


def writer(agent: Agent) -> WritingPlayer | None:
    """Return the player who answers in writing, if the agent is one."""
    player = agent.player if isinstance(agent, PlayerAgent) else None
    return player if isinstance(player, WritingPlayer) else None
