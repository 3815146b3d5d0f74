"""What the five rule books say while a game is played, word for word, and their rules in our own words.

Where a book is silent or contradicts itself, the rules here say what ``docs/rulings.md`` has decided.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numduel_env.duel import Duel
from numduel_env.text import Wording, available, in_short, listed, player, recent, taken


def paragraphs(*texts: str) -> str:
    """Return texts with an empty line between them."""
    return "\n\n".join(texts)


class SieveWording(Wording):
    """What Prime Rumble and Divider Duel share; each has its own word for the numbers that are left."""

    place: str

    def rules(self, rules: Any) -> str:
        numbers = in_short(rules.numbers.tolist())
        return paragraphs(
            f"At first the {self.place} holds the numbers {numbers}. Player 1 opens, then the players take turns. "
            "Nobody may pass.",
            f"Choose any number that is still in the {self.place}. It leaves the {self.place}, and every multiple of "
            "it that is still there leaves with it. What has left does not come back.",
            f"Whoever empties the {self.place} wins, because the other player has nothing left to choose. There are no "
            "draws.",
        )

    def state(self, duel: Duel[Any]) -> str:
        return f"In the {self.place}: {listed(available(duel))}"

    def reason(self, duel: Duel[Any], number: int) -> str:
        return f"{number} is not in the {self.place}."


class PrimeRumbleWording(SieveWording):
    """Prime Rumble."""

    place = "pool"

    def opening(self, duel: Duel[Any]) -> str:
        return f"--- Prime Rumble Game Start ---\nInitial Number Pool:\n{listed(available(duel))}\n"

    def status(self, duel: Duel[Any]) -> str:
        return f"{player(duel.seat)}'s Turn:"

    def prompt(self, duel: Duel[Any]) -> str:
        return "Enter a number from the pool: "

    def result(self, duel: Duel[Any]) -> str:
        left = listed(available(duel), "(empty)")
        return f"\nNumbers removed: {listed(taken(duel))}\nUpdated Pool:\n{left}\n"

    def victory(self, duel: Duel[Any], winner: int) -> str:
        return f"{self.status(duel)}\nNo valid moves remaining. {player(winner)} wins!"


class DividerDuelWording(SieveWording):
    """Divider Duel."""

    place = "list"

    def opening(self, duel: Duel[Any]) -> str:
        return f"Shared List: {available(duel)}\n"

    def status(self, duel: Duel[Any]) -> str:
        return self.turn(duel)

    def prompt(self, duel: Duel[Any]) -> str:
        return "Enter the number you wish to remove: "

    def result(self, duel: Duel[Any]) -> str:
        number = duel.moves[-1]
        return (
            f"\nYou removed {number}.\nNumbers divisible by {number} have been removed.\n"
            f"Updated Shared List: {available(duel)}\n"
        )

    def victory(self, duel: Duel[Any], winner: int) -> str:
        return f"{player(winner)} wins the game!"


class FactorChainWording(Wording):
    """Factor Chain Duel."""

    def rules(self, rules: Any) -> str:
        unrelated = rules.numbers[~rules.related.any(-1)].tolist()
        shortcut = (
            f"The rule book leaves a short cut: whoever opens with {in_short(unrelated)} wins at once, because no "
            "other number of the game divides it or is a multiple of it."
        )
        return paragraphs(
            f"The players build one chain of the numbers {in_short(rules.numbers.tolist())}, taking turns. Player 1 "
            "opens with any of them.",
            "After that, choose a factor or a multiple of the last number in the chain. Every number is used at most "
            "once. Nobody may pass.",
            "Whoever has no number to go on with loses. There are no draws.",
            *([shortcut] if unrelated else []),
        )

    def _display(self, duel: Duel[Any], label: str) -> str:
        chain = " → ".join(str(number) for number in duel.moves) or "(empty)"
        last = duel.moves[-1] if duel.moves else "(none)"
        return f"Current Chain: {chain}\nLast Number Played: {last}\n{label}: {available(duel)}\n"

    def state(self, duel: Duel[Any]) -> str:
        unused = available(duel)
        last = f"The last number of the chain: {duel.moves[-1]}" if duel.actions else "The chain is empty."
        if not duel.actions and duel.legal_numbers != unused:
            # A position without its history does not say which number came last.
            last = f"What can follow the last number: {listed(duel.legal_numbers)}"
        return f"{last}\nNot used yet: {listed(unused)}"

    def opening(self, duel: Duel[Any]) -> str:
        return self._display(duel, "Available Numbers")

    def status(self, duel: Duel[Any]) -> str:
        return self.turn(duel)

    def prompt(self, duel: Duel[Any]) -> str:
        if not duel.actions:
            return "Select any number to start the chain: "
        return f"Select a number that is a factor or multiple of {duel.moves[-1]}: "

    def result(self, duel: Duel[Any]) -> str:
        return "\n" + self._display(duel, "Available Numbers (after move)")

    def reason(self, duel: Duel[Any], number: int) -> str:
        if number not in available(duel):
            return f"{number} has already been used."
        last = duel.moves[-1] if duel.actions else "the last number"
        return f"{number} is not a factor or multiple of {last}."

    def victory(self, duel: Duel[Any], winner: int) -> str:
        return f"No valid moves for {player(1 - winner)}. {player(winner)} wins!"

    def caption(self, duel: Duel[Any]) -> str:
        return f"Chain: {' > '.join(recent(duel, 12))}" if duel.actions else ""


def scores_by_seat(duel: Duel[Any]) -> list[int]:
    """Return the scores of seat 0 and seat 1; a position has those of the mover and of the other player."""
    mine, theirs = int(duel.position.mine), int(duel.position.theirs)
    return [theirs, mine] if duel.seat else [mine, theirs]


class ScoreWording(Wording):
    """What the two games called Prime Duel share."""

    def state(self, duel: Duel[Any]) -> str:
        mine, theirs = int(duel.position.mine), int(duel.position.theirs)
        scores = f"Your score: {mine:,}\nYour opponent's score: {theirs:,}"
        return f"{scores}\nNumbers to choose from: {listed(available(duel))}"

    def board(self, duel: Duel[Any]) -> str:
        return self.status(duel)

    def scores(self, duel: Duel[Any], names: Sequence[str]) -> str:
        return ", ".join(f"{name}: {score:,}" for name, score in zip(names, scores_by_seat(duel)))

    def caption(self, duel: Duel[Any]) -> str:
        return self.scores(duel, [player(0), player(1)])


class PrimeDuelProductWording(ScoreWording):
    """Prime Duel (multiply to 1,000)."""

    def caption(self, duel: Duel[Any]) -> str:
        """Return the scores as products: who has chosen which prime cannot be seen on the tiles."""
        products = [" x ".join(map(str, duel.moves[seat::2])) or "1" for seat in (0, 1)]
        return ", ".join(
            f"{player(seat)}: {products[seat]} = {score:,}" for seat, score in enumerate(scores_by_seat(duel))
        )

    def rules(self, rules: Any) -> str:
        return paragraphs(
            "Both players have a score of 1 at first. Player 1 opens, then they take turns.",
            f"Choose one of the primes {in_short(rules.numbers.tolist())}: your score is multiplied by it. The primes "
            "are never used up; each of them can be chosen on every turn, by both players.",
            f"Whoever makes exactly {rules.target:,} wins at once. Whoever makes more loses at once.",
            "Nobody may pass: if every prime leads past the target, you still choose one, and lose. There are no "
            "draws.",
        )

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


class PrimeDuelSumWording(ScoreWording):
    """Prime Duel (add to 50)."""

    rule = "-" * 50

    def rules(self, rules: Any) -> str:
        numbers, target = rules.numbers.tolist(), f"{rules.target:,}"
        primes = in_short(rules.numbers[rules.prime].tolist()) or "none of these is"
        return paragraphs(
            f"Both players have a score of 0 at first, and share the list of numbers {in_short(numbers)}. Player 1 "
            "opens, then they take turns. Nobody may pass.",
            "Choose a number of the list: it is added to your score, and leaves the list. If it is prime "
            f"({primes}), it is taken from your opponent's score as well, which never falls below 0.",
            f"Whoever makes exactly {target} wins at once. If a number would lead past {target}, your score stays as "
            "it is; the number leaves the list all the same, and a prime still hits your opponent.",
            self._when_empty(rules),
        )

    def _when_empty(self, rules: Any) -> str:
        """Return what happens when the list is empty."""
        if rules.when_empty == "refill":
            return (
                "When the list is empty it begins again with all its numbers, and the scores stay. After "
                f"{rules.max_plies:,} plies the game is stopped, and nobody wins."
            )
        ending = "the higher score wins, and equal scores are a draw"
        said = f"When the list is empty, {ending if rules.when_empty == 'higher' else 'the game is a draw'}."
        count = (len(rules.numbers) + 1) // 2
        most = rules.numbers[-count:].sum()
        if most < rules.target:
            said += (
                f" With these numbers it always comes to that: nobody chooses more than {count} of them, and the "
                f"largest {count} make {most:,}."
            )
        return said

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
