"""What a tab of the browser knows of its game, and what a person can do to it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from msgspec import Meta

from agents.scorecard import Scorecard
from agents.table import YOU, read_entry
from numduel_env.duel import Duel
from numduel_env.duel import replay as replayed
from numduel_env.evaluation.results import Sample
from numduel_env.games import GameSpec, Params
from numduel_env.outside import one_line
from numduel_env.rules import Rules
from numduel_env.storage import LARGEST

RESIGNED = "by resigning"

Number = Annotated[int, Meta(ge=-LARGEST, le=LARGEST)]
Place = Annotated[int, Meta(ge=0, le=1_000_000)]
Contender = Annotated[int, Meta(ge=0, le=1)]
Text = Annotated[str, Meta(max_length=500)]


@dataclass(frozen=True)
class State:
    """All that a tab knows.

    ``forfeit`` is why the player to move has lost without a move; it completes "Player 1 loses ...". ``winners`` are
    those of the match's earlier games, as places on the command line; ``swapped`` says that the second contender opens
    the first game. ``at`` is how many plies are shown of a game that is over, None for all of them; ``sample`` is which
    of the stored duels is shown, where the board shows such.
    """

    moves: tuple[Number, ...] = ()
    forfeit: Text = ""
    winners: Annotated[tuple[Contender | None, ...], Meta(max_length=10_000)] = ()
    swapped: bool = False
    truth: bool = False
    at: Place | None = None
    sample: Place = 0


@dataclass(frozen=True)
class Request:
    """What a tab asks for: a person's action, or an agent's answer. ``entry`` is what was clicked or typed."""

    action: Literal["answer", "show", "choose", "undo", "resign", "new", "swap", "next"]
    state: State
    entry: Text = ""


@dataclass(frozen=True)
class Board:
    """What the command line has chosen: a game and two contenders, None for a person, or stored duels to look at."""

    spec: GameSpec
    params: Params
    rules: Rules[Any]
    contenders: list[str]
    agents: list[str | None]
    games: int = 1
    early: bool = False
    samples: tuple[Sample, ...] = ()

    @property
    def name(self) -> str:
        """What tells this board's games from those of another."""
        return f"{self.spec.name} {self.params} {len(self.samples)}"


class Refusal(Exception):  # noqa: N818 - it says what it is
    """What was asked for cannot be done; the message says why, to a person."""


class Tab:
    """The game of one tab. Raises a ``ValueError`` if no play leads to its state."""

    def __init__(self, board: Board, state: State) -> None:
        self.board, self.sample = board, None
        if board.samples:
            if state.sample >= len(board.samples):
                raise ValueError(f"there are {len(board.samples)} duels, and no number {state.sample + 1}")
            self.sample = board.samples[state.sample]
            moves = tuple(move.number for move in self.sample.moves if move.number is not None)
            state = replace(state, moves=moves, forfeit="")
        # Of a record that was read, msgspec writes only the fields that were there.
        self.state = state = replace(state)
        self.duel: Duel[Any] = replayed(board.spec, board.rules, state.moves)
        if state.forfeit and self.duel.finished:
            raise ValueError("a game that has ended cannot be lost once more")
        self.over = bool(self.duel.finished or state.forfeit or self.sample)
        self.card = Scorecard(board.contenders, board.games, board.early, int(state.swapped))
        for winner in state.winners:
            self.card.record(winner)
        seating = self.card.seating()
        self.agents = [board.agents[place] for place in seating]
        names = self.sample.seats if self.sample else [board.contenders[place] for place in seating]
        self.names = [YOU if name == "human" and not self.sample else one_line(name) for name in names]
        seat = 1 - self.duel.seat if state.forfeit else self.duel.winner
        self.winner = None if seat is None else seating[seat]
        """The contender who has won, if one has."""
        if self.over:
            self.card.record(self.winner)

    @property
    def thinking(self) -> str | None:
        """The agent whose turn it is, None if it is a person's or nobody's."""
        return None if self.over else self.agents[self.duel.seat]

    def shown(self) -> Duel[Any]:
        """Return the game as it is to be shown."""
        plies = self.state.at if self.over and self.state.at is not None else len(self.duel.actions)
        return Duel(self.board.rules, self.duel.actions[:plies])

    def played(self, action: int) -> State:
        """Return the state after a legal action."""
        return replace(self.state, moves=(*self.state.moves, int(self.board.rules.numbers[action])), at=None)

    def forfeited(self, reason: str) -> State:
        """Return the state after the player to move has lost without a move."""
        return replace(self.state, forfeit=reason[:500], at=None)

    # What a person can do, named as in a ``Request``: each returns the next state, or raises ``Refusal``.

    def show(self, entry: str) -> State:
        """Look at the game."""
        return self.state

    def choose(self, entry: str) -> State:
        """Choose a number."""
        self._refuse_unless_turn()
        answer = read_entry(self.board.spec.wording, self.duel, entry.strip())
        if isinstance(answer, str):
            raise Refusal(answer)
        return self.played(answer)

    def resign(self, entry: str) -> State:
        """Give the game up."""
        self._refuse_unless_turn()
        return self.forfeited(RESIGNED)

    def _refuse_unless_turn(self) -> None:
        if self.over:
            raise Refusal("The game is over.")
        if self.thinking:
            raise Refusal(f"It is not your turn: {self.thinking} is to move.")

    def undo(self, entry: str) -> State:
        """Take back the last choice of a person, and what came after it."""
        plies = len(self.state.moves) - (not self.state.forfeit)
        while plies >= 0 and self.agents[plies & 1]:
            plies -= 1
        if plies < 0 or self.sample:
            raise Refusal("There is no move to take back.")
        return replace(self.state, moves=self.state.moves[:plies], forfeit="", at=None)

    def new(self, entry: str) -> State:
        """Begin anew, a match from its first game."""
        return State(swapped=self.state.swapped, truth=self.state.truth, sample=self.state.sample)

    def swap(self, entry: str) -> State:
        """Begin anew, in the other seats."""
        return replace(self.new(entry), swapped=not self.state.swapped)

    def next(self, entry: str) -> State:
        """Begin the next game of a match."""
        if not self.over or self.card.decided:
            raise Refusal("This match has no next game.")
        return replace(self.new(entry), winners=(*self.state.winners, self.winner))
