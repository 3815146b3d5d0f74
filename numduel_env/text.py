"""The text of a game: each book's own displays, prompts and messages.

A transcript of a game is made of: ``opening`` once; then for every ply ``status``, ``prompt``, the number that is
entered (after an illegal one ``refusal``, and the prompt again) and ``result``; at last ``ending``. ``Wording`` itself
serves any game.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from numduel_env.batch import BoolArray

if TYPE_CHECKING:
    from numduel_env.duel import Duel


def player(seat: int) -> str:
    """Return a seat's name as the books have it."""
    return f"Player {seat + 1}"


def listed(numbers: Iterable[int], nothing: str = "") -> str:
    """Return numbers separated by commas, or ``nothing`` if there are none."""
    return ", ".join(str(number) for number in numbers) or nothing


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


class Wording:
    """Text that fits any game; a book's own wording overrides it."""

    def opening(self, duel: Duel[Any]) -> str:
        """Return what is shown before the first prompt."""
        return f"Available Numbers: {listed(available(duel), '(none)')}\n"

    def status(self, duel: Duel[Any]) -> str:
        """Return what is shown at the start of a turn."""
        return f"{player(duel.seat)}, it's your turn."

    def prompt(self, duel: Duel[Any]) -> str:
        """Return the request for a number."""
        return "Choose a number: "

    def result(self, duel: Duel[Any]) -> str:
        """Return what the last ply did."""
        return f"\n{player(1 - duel.seat)} chose {duel.moves[-1]}.\n{self.opening(duel)}"

    def refusal(self, duel: Duel[Any], number: int) -> str:
        """Return why ``number`` cannot be chosen now."""
        numbers = duel.rules.numbers
        if number not in numbers:
            return f"{number} is not one of the numbers {listed(numbers.tolist())}."
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

    def caption(self, duel: Duel[Any]) -> str:
        """Return the line under a picture: what its tiles do not show."""
        return f"Played: {', '.join(recent(duel, 16))}" if duel.actions else ""

    def screen(self, duel: Duel[Any]) -> str:
        """Return the whole display between two plies."""
        shown = self.result(duel) if duel.actions else self.opening(duel)
        return f"{shown}\n{self.ending(duel) if duel.finished else self.status(duel)}\n".lstrip("\n")


class PrimeRumbleWording(Wording):
    def opening(self, duel: Duel[Any]) -> str:
        return f"--- Prime Rumble Game Start ---\nInitial Number Pool:\n{listed(available(duel))}\n"

    def status(self, duel: Duel[Any]) -> str:
        return f"{player(duel.seat)}'s Turn:"

    def prompt(self, duel: Duel[Any]) -> str:
        return "Enter a number from the pool: "

    def result(self, duel: Duel[Any]) -> str:
        left = listed(available(duel), "(empty)")
        return f"\nNumbers removed: {listed(taken(duel))}\nUpdated Pool:\n{left}\n"

    def reason(self, duel: Duel[Any], number: int) -> str:
        return f"{number} is not in the pool."

    def victory(self, duel: Duel[Any], winner: int) -> str:
        return f"{self.status(duel)}\nNo valid moves remaining. {player(winner)} wins!"


class DividerDuelWording(Wording):
    def opening(self, duel: Duel[Any]) -> str:
        return f"Shared List: {available(duel)}\n"

    def prompt(self, duel: Duel[Any]) -> str:
        return "Enter the number you wish to remove: "

    def result(self, duel: Duel[Any]) -> str:
        number = duel.moves[-1]
        return (
            f"\nYou removed {number}.\nNumbers divisible by {number} have been removed.\n"
            f"Updated Shared List: {available(duel)}\n"
        )

    def reason(self, duel: Duel[Any], number: int) -> str:
        return f"{number} is not in the list."

    def victory(self, duel: Duel[Any], winner: int) -> str:
        return f"{player(winner)} wins the game!"


class FactorChainWording(Wording):
    def _display(self, duel: Duel[Any], label: str) -> str:
        chain = " → ".join(str(number) for number in duel.moves) or "(empty)"
        last = duel.moves[-1] if duel.moves else "(none)"
        return f"Current Chain: {chain}\nLast Number Played: {last}\n{label}: {available(duel)}\n"

    def opening(self, duel: Duel[Any]) -> str:
        return self._display(duel, "Available Numbers")

    def prompt(self, duel: Duel[Any]) -> str:
        if not duel.actions:
            return "Select any number to start the chain: "
        return f"Select a number that is a factor or multiple of {duel.moves[-1]}: "

    def result(self, duel: Duel[Any]) -> str:
        return "\n" + self._display(duel, "Available Numbers (after move)")

    def reason(self, duel: Duel[Any], number: int) -> str:
        if number in duel.moves:
            return f"{number} has already been used."
        return f"{number} is not a factor or multiple of {duel.moves[-1]}."

    def victory(self, duel: Duel[Any], winner: int) -> str:
        return f"No valid moves for {player(1 - winner)}. {player(winner)} wins!"

    def caption(self, duel: Duel[Any]) -> str:
        return f"Chain: {' > '.join(recent(duel, 12))}" if duel.actions else ""


def scores_by_seat(duel: Duel[Any]) -> list[int]:
    """Return the scores of seat 0 and seat 1; a position has those of the mover and of the other player."""
    mine, theirs = int(duel.position.mine), int(duel.position.theirs)
    return [theirs, mine] if duel.seat else [mine, theirs]


class _ScoreWording(Wording):
    def caption(self, duel: Duel[Any]) -> str:
        return "      ".join(f"{player(seat)}: {score:,}" for seat, score in enumerate(scores_by_seat(duel)))


class PrimeDuelProductWording(_ScoreWording):
    def opening(self, duel: Duel[Any]) -> str:
        return ""

    def status(self, duel: Duel[Any]) -> str:
        mine, theirs = duel.position.mine, duel.position.theirs
        return (
            f"{player(duel.seat)} Turn:\nCurrent Scores - You: {mine}, Opponent: {theirs}\n"
            f"Available Primes: {listed(available(duel))}"
        )

    def prompt(self, duel: Duel[Any]) -> str:
        return "Select a prime number to multiply your score: "

    def result(self, duel: Duel[Any]) -> str:
        return f"Your new score is {duel.position.theirs}.\n"

    def victory(self, duel: Duel[Any], winner: int) -> str:
        rules: Any = duel.rules
        made, target = int(duel.position.theirs), rules.target
        if made == target:
            return f"{player(winner)} has reached {target:,} and wins!"
        return f"{made:,} exceeds {target:,}: {player(1 - winner)} loses. {player(winner)} wins!"


class PrimeDuelSumWording(_ScoreWording):
    rule = "-" * 50

    def opening(self, duel: Duel[Any]) -> str:
        return self.rule

    def status(self, duel: Duel[Any]) -> str:
        mine, theirs = duel.position.mine, duel.position.theirs
        return (
            f"{player(duel.seat)}'s Turn\nAvailable Numbers: {listed(available(duel))}\n"
            f"Your Score: {mine}\nOpponent's Score: {theirs}"
        )

    def prompt(self, duel: Duel[Any]) -> str:
        return "Select a number to add to your score:\n> "

    def result(self, duel: Duel[Any]) -> str:
        rules: Any = duel.rules
        number = duel.moves[-1]
        was_mine = duel.before().position.mine
        theirs, mine = duel.position.mine, duel.position.theirs
        prime = bool(rules.prime[duel.actions[-1]])
        lines = []
        if mine == was_mine:
            lines += [
                f"Adding {number} would exceed {rules.target}. Your score remains at {mine}.",
                f"Number {number} is no longer available.",
            ]
        else:
            lines += [
                f"You selected {number}.",
                f"{number} is a prime number!" if prime else f"{number} is not a prime number.",
                f"Your score increases by {number} to {mine}.",
            ]
        if prime:
            lines.append(f"Opponent's score decreases by {number} to {theirs}.")
        elif mine != was_mine:
            lines.append(f"Opponent's score remains at {theirs}.")
        if len(available(duel)) == len(rules.numbers):
            lines.append("All numbers have been used: the list starts again.")
        return "\n".join([*lines, self.rule])

    def reason(self, duel: Duel[Any], number: int) -> str:
        return f"Number {number} has already been selected."

    def refusal(self, duel: Duel[Any], number: int) -> str:
        return f"Error: {super().refusal(duel, number)} Please choose another number."

    def victory(self, duel: Duel[Any], winner: int) -> str:
        rules: Any = duel.rules
        if rules.target in scores_by_seat(duel):
            return f"{player(winner)} has exactly {rules.target} points and wins!"
        return f"No numbers are left. {player(winner)} has the higher score and wins!"
