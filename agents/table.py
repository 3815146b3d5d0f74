"""The table at which people and agents sit in a terminal: what they see of a game, and how it is played."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from agents.advice import hint
from agents.terminal import BOLD, DIM, Terminal, whole
from numduel_env.agent import BadAnswer, Player, Unavailable, checked_answer
from numduel_env.duel import Duel
from numduel_env.games import GameSpec
from numduel_env.outside import one_line
from numduel_env.rules import Rules
from numduel_env.solvers import Solver
from numduel_env.text import Wording, player

COMMANDS = {
    "help": "this list",
    "rules": "the rules of the game",
    "board": "the game as it stands",
    "undo": "take back your last move and the answer to it; between two people, the last move",
    "quit": "leave; the game stays unfinished",
}
"""What can be entered instead of a number, and what it does."""

YOU = "You"
"""The name of the only person at a table."""


class Forfeit(Exception):  # noqa: N818 - it says what happened
    """The player to move loses the game without a move; the message completes "Player 1 loses ..."."""


class TakeBack(Exception):  # noqa: N818 - it says what happens
    """The player to move takes back the last ``plies``."""

    def __init__(self, plies: int) -> None:
        super().__init__(plies)
        self.plies = plies


class Quit(Exception):  # noqa: N818 - it says what happens
    """The player to move leaves."""


class Table:
    """A game as it is shown in a terminal, in the words of its book.

    ``agents`` are the names of those in seat 0 and seat 1, None for a person. To a person who plays an agent it is said
    whose scores are whose, since the books say "your score" to either player.
    """

    def __init__(self, terminal: Terminal, game: GameSpec, agents: Sequence[str | None]) -> None:
        self.terminal, self.game, self.wording = terminal, game, game.wording
        self.one_person = list(agents).count(None) == 1
        self.names = [agent or YOU for agent in agents]

    def introduction(self) -> str:
        """Return who is who, if one person plays an agent."""
        if not self.one_person:
            return ""
        mine = self.names.index(YOU)
        return f"{YOU} are {player(mine)}, {self.names[1 - mine]} is {player(1 - mine)}.\n"

    def show_turn(self, duel: Duel[Any]) -> None:
        """Show whose turn it is, and what is to be seen before it."""
        self.terminal.say(self.wording.status(duel))
        self._show_scores(duel)

    def show_board(self, duel: Duel[Any]) -> None:
        """Show the game as it stands."""
        self.terminal.say(self.wording.board(duel))
        self._show_scores(duel)

    def _show_scores(self, duel: Duel[Any]) -> None:
        if self.one_person:
            names = [f"{name} ({player(seat)})" for seat, name in enumerate(self.names)]
            self.terminal.say(self.wording.scores(duel, names), DIM)


class Human:
    """A person as a player: asks until a legal number is entered, and obeys the ``COMMANDS``.

    The ``max_invalid``-th invalid entry in a row forfeits; an empty line is asked again and not counted. With a
    ``solver``, a hint comes before the prompt.
    """

    def __init__(self, table: Table, max_invalid: int | None = None, solver: Solver[Any] | None = None) -> None:
        self.table, self.terminal, self.wording = table, table.terminal, table.wording
        self.max_invalid = max_invalid
        self.solver = solver

    def move(self, duel: Duel[Any], generator: np.random.Generator) -> int:
        """Return the legal action that is entered; raises ``Forfeit``, ``TakeBack``, ``Quit`` or ``InputEnded``."""
        if self.solver is not None:
            self.terminal.say(hint(self.solver, duel), DIM)
        if self.table.one_person:
            # What was typed while the opponent was thinking answers no question.
            self.terminal.forget_typed()
        prompt = request = self.wording.prompt(duel)
        invalid = 0
        while True:
            text = self.terminal.ask(request)
            if text.lower() in COMMANDS:
                self.obey(text.lower(), duel)
                request = prompt
                continue
            answer = read_entry(self.wording, duel, text)
            if isinstance(answer, int):
                return answer
            if text:
                self.terminal.say(answer)
                invalid += 1
            if invalid == self.max_invalid:
                raise Forfeit("by an invalid entry" if invalid == 1 else f"by {invalid} invalid entries in a row")
            request = prompt.rpartition("\n")[2]

    def obey(self, command: str, duel: Duel[Any]) -> None:
        """Do what one of the ``COMMANDS`` asks for."""
        if command == "help":
            self.terminal.say("Enter the number that you choose, or one of these words:")
            for word, meaning in COMMANDS.items():
                self.terminal.say(f"  {word:<6} {meaning}")
        elif command == "rules":
            self.terminal.explain(f"{self.table.game.heading(duel.rules)}\n\n{self.wording.rules(duel.rules)}")
        elif command == "board":
            self.table.show_board(duel)
        elif command == "undo":
            plies = 2 if self.table.one_person else 1
            if len(duel.actions) >= plies:
                raise TakeBack(plies)
            self.terminal.say("There is no move to take back.")
        else:
            raise Quit


def read_entry(wording: Wording, duel: Duel[Any], text: str) -> int | str:
    """Return the legal action that a person has entered, or why there is none, in the book's words."""
    number = whole(text)
    if number is None:
        return f"{one_line(repr(text), 60)} is not a whole number."
    if number not in duel.legal_numbers:
        return wording.refusal(duel, number)
    return int(np.searchsorted(duel.rules.numbers, number))


class ShownPlayer:
    """A player whose moves appear behind the prompt as if typed; one that answers with no action forfeits."""

    def __init__(self, player: Player, table: Table) -> None:
        self.player = player
        self.terminal, self.wording = table.terminal, table.wording

    def move(self, duel: Duel[Any], generator: np.random.Generator) -> int:
        """Return the action that the other player answers with, which may be illegal; raises ``Forfeit``."""
        self.terminal.request(self.wording.prompt(duel))
        numbers = duel.rules.numbers
        try:
            (action,) = checked_answer([self.player.move(duel, generator)], 1).tolist()
            if not 0 <= action < len(numbers):
                raise BadAnswer(f"answered {action}, which is no action: they are 0 to {len(numbers) - 1}")
        except Unavailable:
            self.terminal.say("(no answer)")
            raise
        except BadAnswer as wrong:
            self.terminal.say("(no answer)")
            raise Forfeit(f"because it {wrong.reason}") from wrong
        self.terminal.say(str(numbers[action]))
        return int(action)


@dataclass(frozen=True)
class Seated:
    """A player at the table, with random numbers of its own."""

    player: Player
    generator: np.random.Generator


@dataclass(frozen=True)
class PlayedDuel:
    """A duel that was played to its end; ``forfeited`` if the player to move gave no legal answer."""

    duel: Duel[Any]
    winner: int | None
    forfeited: bool


def play_duel(rules: Rules[Any], table: Table, seats: Sequence[Seated]) -> PlayedDuel:
    """Play one game between those in seats 0 and 1, who see copies of it; raises ``Quit`` or ``InputEnded``."""
    duel, wording, terminal = Duel(rules), table.wording, table.terminal
    terminal.say(wording.opening(duel))
    table.show_turn(duel)
    while not duel.finished:
        mover = seats[duel.seat]
        try:
            action = mover.player.move(copy.deepcopy(duel), mover.generator)
        except TakeBack as taken:
            duel = Duel(rules, duel.actions[: -taken.plies])
            table.show_board(duel)
            continue
        except Forfeit as forfeit:
            terminal.say(f"{player(duel.seat)} loses {forfeit}. {player(1 - duel.seat)} wins!", BOLD)
            return PlayedDuel(duel, 1 - duel.seat, forfeited=True)
        duel.play(action)
        if duel.offence is None:
            terminal.say(wording.result(duel))
        if not duel.finished:
            table.show_turn(duel)
    terminal.say(wording.ending(duel), BOLD)
    return PlayedDuel(duel, duel.winner, forfeited=duel.offence is not None)
