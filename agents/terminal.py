"""Who plays at the terminal: a person, who is asked and told why not, or an agent, whose moves read as if typed."""

from __future__ import annotations

import io
import os
import re
import sys
from typing import Protocol

import numpy as np

from numduel_env.duels import Duel
from numduel_env.rules import Policy
from numduel_env.solvers import Solver
from numduel_env.text import Wording, chosen, listed, player

BOLD, DIM = "1", "2"
"""Styles, as terminals number them."""


class Forfeit(Exception):  # noqa: N818 - it says what happened
    """The player to move loses the game without a move; the message completes "Player 1 loses ..."."""


class InputEnded(Exception):  # noqa: N818 - it says what happened
    """There is nobody left who could enter anything."""


class Terminal:
    """Standard input and output: coloured only for a terminal, and a readable transcript when input is piped."""

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
            # Nobody sees what comes through a pipe; behind the prompt it reads as if typed.
            print(text, flush=True)
        return text


class Player(Protocol):
    """Someone who takes turns in front of everybody."""

    def turn(self, duel: Duel) -> int:
        """Show the prompt and what is entered behind it; return that action, or raise ``Forfeit``."""


class Human:
    """Asks until a number is entered that may be chosen; the ``max_invalid``-th invalid entry in a row forfeits.

    An empty line is no entry: it is asked again and not counted. With a ``solver``, a hint comes before the prompt.
    """

    def __init__(
        self, terminal: Terminal, wording: Wording, max_invalid: int | None = None, solver: Solver | None = None
    ) -> None:
        self.terminal = terminal
        self.wording = wording
        self.max_invalid = max_invalid
        self.solver = solver

    def turn(self, duel: Duel) -> int:
        """Return the legal action that is entered; raises ``Forfeit`` or ``InputEnded``."""
        if self.solver is not None:
            self.terminal.say(hint(self.solver, duel), DIM)
        prompt = self.wording.prompt(duel)
        last_line = prompt.rpartition("\n")[2]
        invalid = 0
        self.terminal.request(prompt)
        while True:
            text = self.terminal.entry()
            action, refusal = self._judged(duel, text)
            if action is not None:
                return action
            if text:
                self.terminal.say(refusal)
                invalid += 1
            if invalid == self.max_invalid:
                raise Forfeit("by an invalid entry" if invalid == 1 else f"by {invalid} invalid entries in a row")
            self.terminal.request(last_line)

    def _judged(self, duel: Duel, text: str) -> tuple[int | None, str]:
        """Return the action that ``text`` chooses, or None and why it cannot be chosen."""
        number = whole(text)
        if number is None:
            return None, f"{text!r} is not a whole number."
        actions = np.flatnonzero(duel.rules.numbers == number)
        if len(actions) and duel.legal[actions[0]]:
            return int(actions[0]), ""
        return None, self.wording.refusal(duel, number)


class AgentPlayer:
    """An agent whose moves appear behind the prompt as if typed; one that fails to answer forfeits."""

    def __init__(self, agent: Policy, generator: np.random.Generator, terminal: Terminal, wording: Wording) -> None:
        self.agent = agent
        self.generator = generator
        self.terminal = terminal
        self.wording = wording

    def turn(self, duel: Duel) -> int:
        self.terminal.request(self.wording.prompt(duel))
        numbers = duel.rules.numbers
        try:
            answer = np.asarray(self.agent.choose(duel.position, self.generator))
        except Exception as failure:  # whatever a user's own agent raises costs it the game, not the session
            self.terminal.say("(no answer)")
            raise Forfeit(f"by an error, {type(failure).__name__}: {failure}") from failure
        if answer.size != 1 or answer.dtype.kind not in "iu" or not 0 <= answer.item() < len(numbers):
            self.terminal.say("(no answer)")
            raise Forfeit(f"by answering {answer.tolist()!r}, which is no action")
        action = int(answer.item())
        self.terminal.say(str(numbers[action]))
        return action


def whole(text: str) -> int | None:
    """Return the number that ``text`` writes in plain digits, or None."""
    # Python refuses to read more digits than that.
    return int(text) if re.fullmatch("[+-]?[0-9]{1,4000}", text) else None


def hint(solver: Solver, duel: Duel) -> str:
    """Return which moves win, or failing that draw."""
    value = int(solver.value(duel.position))
    if value < 0:
        return "Hint: every move loses."
    best = listed(chosen(duel, solver.best(duel.position)))
    return f"Hint: winning moves: {best}." if value else f"Hint: no move wins; drawing moves: {best}."


def analysis(solver: Solver, duel: Duel) -> str:
    """Return every move, kept or blunder, with the better moves; and how often each player kept what there was."""
    lines, kept, chances = ["Analysis:"], [0, 0], [0, 0]
    replayed = Duel(duel.rules)
    for ply, (action, number) in enumerate(zip(duel.actions, duel.moves), start=1):
        best, value = solver.best(replayed.position), int(solver.value(replayed.position))
        seat = replayed.seat
        verdict = "kept" if best[action] else f"blunder; better: {listed(chosen(replayed, best))}"
        if value < 0:
            verdict = "kept (every move loses)"
        else:
            chances[seat] += 1
            kept[seat] += int(best[action])
        lines.append(f"{ply:>3}. {player(seat)}: {number} {verdict}")
        replayed.play(action)
    summary = ", ".join(f"{player(seat)} {kept[seat]} of {chances[seat]}" for seat in (0, 1))
    return "\n".join([*lines, f"Kept, where not lost already: {summary}."])
