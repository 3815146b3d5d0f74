"""The score of a match at the terminal."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Scorecard:
    """A match of ``games`` games between two contenders, who alternate seats from ``opener`` on.

    With ``early`` it ends as soon as nobody can catch up. A draw counts as played and for neither.
    """

    names: list[str]
    games: int
    early: bool
    opener: int
    played: int = 0
    wins: list[int] = field(default_factory=lambda: [0, 0])

    @property
    def decided(self) -> bool:
        """Whether no further game is played."""
        left = self.games - self.played
        return left == 0 or (self.early and abs(self.wins[0] - self.wins[1]) > left)

    def record(self, winner: int | None) -> None:
        """Count a game that one of the contenders won, or nobody."""
        self.played += 1
        if winner is not None:
            self.wins[winner] += 1

    def seating(self) -> list[int]:
        """Return which contender has seat 0 and which has seat 1 in the next game."""
        first = (self.opener + self.played) % 2
        return [first, 1 - first]

    def announcement(self) -> str:
        """Return which game comes next, and who has which seat."""
        first, second = (self.names[contender] for contender in self.seating())
        return f"Game {self.played + 1} of {self.games}: {first} is Player 1, {second} is Player 2.\n"

    def score(self) -> str:
        """Return the score so far, or the result of a match that is decided."""
        drawn = self.played - sum(self.wins)
        tally = ", ".join(f"{name} {wins}" for name, wins in zip(self.names, self.wins))
        tally += f", drawn {drawn}" if drawn else ""
        if not self.decided:
            return f"\nScore: {tally}.\n"
        if self.wins[0] == self.wins[1]:
            return f"\nFinal score: {tally}. The match is tied."
        return f"\nFinal score: {tally}. {self.names[self.wins[1] > self.wins[0]]} wins the match!"
