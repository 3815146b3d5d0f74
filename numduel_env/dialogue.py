"""A game in writing: the prompts for a player such as a language model, and how its replies are read."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np

from numduel_env.duel import Duel
from numduel_env.games import GameSpec
from numduel_env.rules import Rules
from numduel_env.text import listed, player

HOW_TO_REPLY = (
    "In every turn, reply with the number that you choose in square brackets: [N]. You may write more than that; of "
    "several numbers in brackets, the last one counts."
)

UNREADABLE, ILLEGAL_NUMBER = "unreadable", "illegal"
"""Kinds of refusals."""

MOST_DIGITS = 18
"""No number of a game is longer."""

LONGEST_REPEATED = 2000
"""A player is shown the end of a refused reply again, up to this many characters."""

BRACKETS = re.compile(r"\[([^\[\]]*)(\]|$)")
"""What stands in square brackets; those at the end may be left open."""


class Refusal(NamedTuple):
    """Why a reply is not a move: its kind, and the text for the player."""

    kind: str
    text: str


class Unreadable(ValueError):  # noqa: N818 - it says what the reply is
    """A reply without a number that can be read; the message says what is wrong with it, and repeats nothing of it."""


def briefing(game: GameSpec, rules: Rules[Any], seat: int) -> str:
    """Return the first prompt: the game and its rules, the seat, and how to reply."""
    opens = "You open the game." if seat == 0 else f"{player(0)}, your opponent, opens the game."
    return "\n\n".join(
        [
            f"You play a game for two players, {game.heading(rules)}. You are {player(seat)}. {opens}",
            game.wording.rules(rules),
            HOW_TO_REPLY,
        ]
    )


def situation(game: GameSpec, duel: Duel[Any], list_legal: bool = False) -> str:
    """Return the prompt of every turn: the moves so far and the state of the game."""
    lines = [f"Moves so far, {player(0)}'s first: {listed(duel.moves)}"] if duel.actions else []
    lines.append(game.wording.state(duel))
    if list_legal:
        lines.append(f"Legal numbers: {listed(duel.legal_numbers)}")
    return "\n".join([*lines, f"It is your turn, {player(duel.seat)}."])


def read_number(reply: str) -> int:
    """Return the number that a reply chooses, or raise ``Unreadable``.

    It is the last number in square brackets, or else the whole reply. A number is written in plain digits. What looks
    like a number but is none, such as ``[7.0]`` or a bracket that is never closed, is not passed over for an earlier
    one: nobody knows what the player meant.
    """
    attempts = [(text.strip(), closing) for text, closing in BRACKETS.findall(reply) if _like_a_number(text.strip())]
    if not attempts:
        attempts = [(reply.strip(), "]")]
        if not _like_a_number(attempts[0][0]):
            raise Unreadable("There is no number in square brackets.")
    text, closing = attempts[-1]
    if not closing:
        raise Unreadable("The last bracket is not closed.")
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        raise Unreadable("The number is not a whole number in plain digits.")
    if len(text) > MOST_DIGITS:
        raise Unreadable("The number has more digits than any number of the game.")
    return int(text)


def _like_a_number(text: str) -> bool:
    """Return whether a text is digits of any script, with or without signs around and between them."""
    return any(map(str.isnumeric, text)) and all(
        sign.isnumeric() or not (sign.isalnum() or sign.isspace()) for sign in text
    )


def read_reply(game: GameSpec, duel: Duel[Any], reply: str) -> int | Refusal:
    """Return the action that a reply chooses, or why it is refused: if the number is illegal, in the book's words."""
    try:
        number = read_number(reply)
    except Unreadable as wrong:
        return Refusal(UNREADABLE, str(wrong))
    if number not in duel.legal_numbers:
        return Refusal(ILLEGAL_NUMBER, game.wording.refusal(duel, number))
    return int(np.searchsorted(duel.rules.numbers, number))


def request_again(refusal: Refusal, tries: int) -> str:
    """Return the answer to a reply that is refused, with the number of ``tries`` that are left."""
    left = "1 try" if tries == 1 else f"{tries} tries"
    return f"{refusal.text} Choose again, and write the number in square brackets ({left} left)."


class Conversation:
    """One move asked for in writing, as messages in the form that chat models take.

    ``prompt`` is the last one, without the rules. A refused reply may be repeated ``retries`` times;
    then ``over`` is True.
    """

    def __init__(
        self, game: GameSpec, duel: Duel[Any], retries: int, list_legal: bool = False, system_prompt: str | None = None
    ) -> None:
        self.game, self.duel, self.tries = game, duel, retries + 1
        self.prompt = situation(game, duel, list_legal)
        self.messages = [_message("system", system_prompt)] if system_prompt else []
        self.messages.append(_message("user", f"{briefing(game, duel.rules, duel.seat)}\n\n{self.prompt}"))

    @property
    def over(self) -> bool:
        """Whether the player may not reply any more."""
        return self.tries == 0

    def read(self, reply: str) -> int | Refusal:
        """Return the action that a reply chooses; if it is refused, the conversation goes on."""
        answer = read_reply(self.game, self.duel, reply)
        if isinstance(answer, Refusal):
            self.tries -= 1
            if self.tries:
                self.prompt = request_again(answer, self.tries)
                # A chat needs something in every message, and has room for so much.
                self.messages.append(_message("assistant", reply.strip()[-LONGEST_REPEATED:] or "(nothing)"))
                self.messages.append(_message("user", self.prompt))
        return answer


def _message(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}
