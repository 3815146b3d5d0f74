"""The text of a game: what is shown and asked while it is played, and its rules.

``Wording`` serves any game; what the five rule books say in its place is in ``games/books.py``. A transcript is made
of: ``opening`` once; then for every ply ``status``, ``prompt``, the number that is entered (after an illegal one
``refusal``, and the prompt again) and ``result``; at last ``ending``.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from numduel_env.batch import BoolArray

if TYPE_CHECKING:
    from numduel_env.duel import Duel
    from numduel_env.rules import Rules

SHORT_LIST = 12
"""The most numbers that a sentence names one by one."""


def player(seat: int) -> str:
    """Return a seat's name as the books have it."""
    return f"Player {seat + 1}"


def listed(numbers: Iterable[object], nothing: str = "") -> str:
    """Return numbers separated by commas, or ``nothing`` if there are none."""
    return ", ".join(str(number) for number in numbers) or nothing


def in_short(numbers: Sequence[int]) -> str:
    """Return ascending numbers in a few words: a long range by its ends, another long list by some at either end."""
    if len(numbers) <= SHORT_LIST:
        return listed(numbers)
    if is_range(numbers):
        return f"{numbers[0]} to {numbers[-1]}"
    return f"{listed(numbers[:4])}, ..., {listed(numbers[-2:])}"


def is_range(numbers: Sequence[int]) -> bool:
    """Return whether the numbers are consecutive."""
    return list(numbers) == list(range(numbers[0], numbers[-1] + 1))


def available(duel: Duel[Any]) -> list[int]:
    """Return the numbers still in the game."""
    return chosen(duel, duel.rules.available(duel.position))


def chosen(duel: Duel[Any], mask: BoolArray) -> list[int]:
    """Return the numbers that a mask ``[A]`` holds."""
    numbers: list[int] = duel.rules.numbers[mask].tolist()
    return numbers


def taken(duel: Duel[Any]) -> list[int]:
    """Return the numbers that left the game with the last ply."""
    return chosen(duel, duel.rules.removed(duel.before().position, duel.actions[-1]))


def recent(duel: Duel[Any], most: int) -> list[str]:
    """Return the last numbers played, after dots if there were more."""
    return ["..."] * (len(duel.actions) > most) + [str(number) for number in duel.moves[-most:]]


def fields(duel: Duel[Any]) -> str:
    """Return the position field by field, a line for each; a mask over the numbers as the numbers that it holds."""
    numbers, lines = duel.rules.numbers, []
    for name, field in duel.position._asdict().items():
        values = np.asarray(field)
        if values.dtype == bool and values.shape == numbers.shape:
            values = numbers[values]
        lines.append(f"{name}: {listed(values.ravel().tolist(), '(none)')}")
    return "\n".join(lines)


class Wording:
    """Text that fits any game: it shows the fields of the position. A book's own wording overrides it."""

    def rules(self, rules: Rules[Any]) -> str:
        """Return the rules in full, for these parameters: paragraphs of one line, with an empty line between them.

        By default it is what the docstring of the class says.
        """
        return inspect.cleandoc(type(rules).__doc__ or f"{type(rules).__name__} has no docstring that says its rules.")

    def opening(self, duel: Duel[Any]) -> str:
        """Return what is shown before the first turn."""
        return ""

    def status(self, duel: Duel[Any]) -> str:
        """Return what is shown at the start of a turn."""
        return f"{self.turn(duel)}\n{fields(duel)}\nAvailable Numbers: {listed(duel.legal_numbers, '(none)')}"

    def turn(self, duel: Duel[Any]) -> str:
        """Return whose turn it is."""
        return f"{player(duel.seat)}, it's your turn."

    def state(self, duel: Duel[Any]) -> str:
        """Return an unfinished game as it stands, to a player who knows the moves and sees nothing else."""
        return fields(duel)

    def prompt(self, duel: Duel[Any]) -> str:
        """Return the request for a number."""
        return "Choose a number: "

    def result(self, duel: Duel[Any]) -> str:
        """Return what the last ply did."""
        return f"\n{player(1 - duel.seat)} chose {duel.moves[-1]}.\n"

    def refusal(self, duel: Duel[Any], number: int) -> str:
        """Return why ``number`` cannot be chosen now."""
        numbers = duel.rules.numbers.tolist()
        if number not in numbers:
            return f"{number} is not one of the numbers {in_short(numbers)}."
        return self.reason(duel, number)

    def reason(self, duel: Duel[Any], number: int) -> str:
        """Return why one of the game's own numbers cannot be chosen now."""
        return f"{number} cannot be chosen now."

    def ending(self, duel: Duel[Any]) -> str:
        """Return how the game ended."""
        if duel.offence is not None:
            why = self.reason(duel, int(duel.rules.numbers[duel.offence]))
            return f"{why}\n{player(duel.seat)} loses by an illegal move. {player(1 - duel.seat)} wins!"
        if duel.truncated:
            return f"The game is stopped after {len(duel.actions)} plies. Nobody wins."
        if duel.winner is None:
            return "The game is a draw."
        return self.victory(duel, duel.winner)

    def victory(self, duel: Duel[Any], winner: int) -> str:
        """Return who won."""
        return f"{player(winner)} wins!"

    def scores(self, duel: Duel[Any], names: Sequence[str]) -> str:
        """Return the scores of seat 0 and seat 1, which have these names; empty where there are no scores."""
        return ""

    def caption(self, duel: Duel[Any]) -> str:
        """Return the line under a picture: what its tiles do not show."""
        return f"Played: {', '.join(recent(duel, 16))}" if duel.actions else ""

    def board(self, duel: Duel[Any]) -> str:
        """Return an unfinished game as it stands, for the player to move."""
        return self.screen(duel).rstrip("\n")

    def screen(self, duel: Duel[Any]) -> str:
        """Return the whole display between two plies."""
        shown = self.result(duel) if duel.actions else self.opening(duel)
        return f"{shown}\n{self.ending(duel) if duel.finished else self.status(duel)}\n".lstrip("\n")
