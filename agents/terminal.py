"""A game at the terminal: people who are asked for numbers, agents whose moves are shown as if typed."""

from __future__ import annotations

import copy
import io
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from numduel_env.agent import BadAnswer, Player, checked_answer
from numduel_env.duel import Duel
from numduel_env.evaluation.grading import BLUNDER, KEPT, LOST, VERDICTS, GradedMove
from numduel_env.outside import described
from numduel_env.rules import Rules
from numduel_env.solvers import Solver
from numduel_env.text import Wording, chosen, listed, player

BOLD, DIM = "1", "2"
"""Styles, as terminals number them."""


class Forfeit(Exception):  # noqa: N818 - it says what happened
    """The player to move loses the game without a move; the message completes "Player 1 loses ..."."""


class InputEnded(Exception):  # noqa: N818 - it says what happened
    """Standard input has ended, so nobody can enter a number any more."""


class Terminal:
    """Standard input and output: coloured only on a terminal, and a readable transcript when input is piped."""

    def __init__(self) -> None:
        for stream in (sys.stdin, sys.stdout):
            if isinstance(stream, io.TextIOWrapper):
                # A byte that is no text, or an arrow that the locale cannot show, should not end the game.
                stream.reconfigure(errors="replace")
        self._typed = sys.stdin is not None and sys.stdin.isatty()
        plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
        self._coloured = sys.stdout.isatty() and not plain

    def say(self, text: str, style: str = "") -> None:
        """Print a text and a line end; an empty text prints nothing."""
        if text and style and self._coloured:
            text = f"\x1b[{style}m{text}\x1b[0m"
        if text:
            print(text, flush=True)

    def request(self, prompt: str) -> None:
        """Print a prompt, behind which an entry is to appear."""
        print(prompt, end="", flush=True)

    def entry(self) -> str:
        """Return the next line that is entered, without the blanks around it; raises ``InputEnded``."""
        line = sys.stdin.readline() if sys.stdin is not None else ""
        if not line:
            raise InputEnded
        text = line.strip()
        if not self._typed:
            # No terminal echoes piped input; printed behind the prompt, it reads as if typed.
            print(text, flush=True)
        return text


class Human:
    """A person as a player: asks until a legal number is entered.

    The ``max_invalid``-th invalid entry in a row forfeits; an empty line is asked again and not counted. With a
    ``solver``, a hint comes before the prompt.
    """

    def __init__(
        self,
        terminal: Terminal,
        wording: Wording,
        max_invalid: int | None = None,
        solver: Solver[Any] | None = None,
    ) -> None:
        self.terminal = terminal
        self.wording = wording
        self.max_invalid = max_invalid
        self.solver = solver

    def move(self, duel: Duel[Any], generator: np.random.Generator) -> int:
        """Return the legal action that is entered; raises ``Forfeit`` or ``InputEnded``."""
        if self.solver is not None:
            self.terminal.say(hint(self.solver, duel), DIM)
        prompt = self.wording.prompt(duel)
        last_line = prompt.rpartition("\n")[2]
        invalid = 0
        self.terminal.request(prompt)
        while True:
            text = self.terminal.entry()
            number = whole(text)
            if number is not None and number in duel.legal_numbers:
                return int(np.searchsorted(duel.rules.numbers, number))
            if text:
                refusal = f"{text!r} is not a whole number." if number is None else self.wording.refusal(duel, number)
                self.terminal.say(refusal)
                invalid += 1
            if invalid == self.max_invalid:
                raise Forfeit("by an invalid entry" if invalid == 1 else f"by {invalid} invalid entries in a row")
            self.terminal.request(last_line)


class ShownPlayer:
    """A player whose moves appear behind the prompt as if typed; one that answers with no action forfeits."""

    def __init__(self, player: Player, terminal: Terminal, wording: Wording) -> None:
        self.player = player
        self.terminal = terminal
        self.wording = wording

    def move(self, duel: Duel[Any], generator: np.random.Generator) -> int:
        """Return the action that the other player answers with, which may be illegal; raises ``Forfeit``."""
        self.terminal.request(self.wording.prompt(duel))
        numbers = duel.rules.numbers
        try:
            (action,) = checked_answer([self.player.move(duel, generator)], 1).tolist()
            if not 0 <= action < len(numbers):
                raise BadAnswer(f"answered {action}, which is no action: they are 0 to {len(numbers) - 1}")
        except Exception as wrong:  # whatever a user's own agent raises costs it the game, not the session
            self.terminal.say("(no answer)")
            if isinstance(wrong, BadAnswer):
                raise Forfeit(f"because it {wrong.reason}") from wrong
            raise Forfeit(f"by an error, {described(wrong)}") from wrong
        self.terminal.say(str(numbers[action]))
        return int(action)


@dataclass(frozen=True)
class Contender:
    """A player with random numbers of its own."""

    player: Player
    generator: np.random.Generator


@dataclass(frozen=True)
class PlayedDuel:
    """A duel that was played to its end; ``forfeited`` if the player to move gave no legal answer."""

    duel: Duel[Any]
    winner: int | None
    forfeited: bool


def play_duel(rules: Rules[Any], wording: Wording, seats: Sequence[Contender], terminal: Terminal) -> PlayedDuel:
    """Play one game between the contenders in seats 0 and 1, who see copies of it."""
    duel = Duel(rules)
    terminal.say(wording.opening(duel))
    while not duel.finished:
        terminal.say(wording.status(duel))
        mover = seats[duel.seat]
        try:
            action = mover.player.move(copy.deepcopy(duel), mover.generator)
        except Forfeit as forfeit:
            terminal.say(f"{player(duel.seat)} loses {forfeit}. {player(1 - duel.seat)} wins!", BOLD)
            return PlayedDuel(duel, 1 - duel.seat, forfeited=True)
        duel.play(action)
        if duel.offence is None:
            terminal.say(wording.result(duel))
    terminal.say(wording.ending(duel), BOLD)
    return PlayedDuel(duel, duel.winner, forfeited=duel.offence is not None)


def whole(text: str) -> int | None:
    """Return the number that ``text`` writes in plain digits, or None."""
    # Python refuses to read more digits than that.
    return int(text) if re.fullmatch("[+-]?[0-9]{1,4000}", text) else None


def hint(solver: Solver[Any], duel: Duel[Any]) -> str:
    """Return which moves win, or failing that draw."""
    value = int(solver.value(duel.position))
    if value < 0:
        return "Hint: every move loses."
    best = listed(chosen(duel, solver.best(duel.position)))
    return f"Hint: winning moves: {best}." if value else f"Hint: no move wins; drawing moves: {best}."


def analysis(moves: Sequence[GradedMove]) -> str:
    """Return a line for each move of a duel with its verdict, and how many moves each player kept."""
    lines = [f"{ply:>3}. {graded(move)}" for ply, move in enumerate(moves, start=1)]
    kept = ", ".join(f"{player(seat)} {tally(moves, seat)}" for seat in (0, 1))
    return "\n".join(["Analysis:", *lines, f"Kept, where not lost already: {kept}."])


def graded(move: GradedMove) -> str:
    """Return a move with its verdict; after a blunder, with the moves that would have been kept."""
    number = "(no legal answer)" if move.number is None else move.number
    why = f"; better: {listed(move.better)}" if move.better else ""
    if move.verdict == VERDICTS[LOST]:
        why = "; every move loses"
    return f"{player(move.seat)}: {number} {move.verdict}{why}"


def tally(moves: Sequence[GradedMove], seat: int) -> str:
    """Return how many of a player's moves were kept, of how many that could be."""
    verdicts = [move.verdict for move in moves if move.seat == seat]
    kept, blunders = (verdicts.count(VERDICTS[verdict]) for verdict in (KEPT, BLUNDER))
    return f"{kept} of {kept + blunders}"
