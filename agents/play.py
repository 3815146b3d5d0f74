"""Play a game in the terminal, in the manner of its rule book: people and agents, one game or a match."""

from __future__ import annotations

import argparse
import os
import secrets
import sys
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from agents import AGENTS, WITH_ARGUMENTS, make_agent
from agents.terminal import BOLD, DIM, AgentPlayer, Forfeit, Human, InputEnded, Player, Terminal, analysis, whole
from numduel_env.cli import OneLineParser, add_parameter_flags, chosen_game
from numduel_env.duels import Duel
from numduel_env.games import GAMES
from numduel_env.rules import Policy, Rules
from numduel_env.solvers import TooLargeToSolve, solver_for
from numduel_env.text import Wording, player

EPILOG = """Example: python agents/play.py --game prime-rumble --first human --second solver --hint
(exit codes: 0 when everything was played, 1 when the input ended before or the game is too large to solve,
2 for a wrong command line, 130 after Ctrl-C)."""


def play_duel(rules: Rules, wording: Wording, players: list[Player], terminal: Terminal) -> tuple[Duel, int | None]:
    """Play one game between the players of seats 0 and 1; return it and the seat that won, if one did."""
    duel = Duel(rules)
    terminal.say(wording.opening(duel))
    while not duel.finished:
        terminal.say(wording.status(duel))
        try:
            duel.play(players[duel.seat].turn(duel))
        except Forfeit as forfeit:
            terminal.say(f"{player(duel.seat)} loses {forfeit}. {player(1 - duel.seat)} wins!", BOLD)
            return duel, 1 - duel.seat
        if duel.offence is None:
            terminal.say(wording.result(duel))
    terminal.say(wording.ending(duel), BOLD)
    return duel, duel.winner


@dataclass
class Scorecard:
    """``games`` games, or fewer where ``early`` lets a decided match end; seats alternate from ``opener`` on."""

    names: list[str]
    games: int
    early: bool
    opener: int
    played: int = 0
    wins: list[int] = field(default_factory=lambda: [0, 0])

    @property
    def decided(self) -> bool:
        """Whether no further game is played: a drawn one counts as played and for nobody."""
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


def at_least(least: int, text: str) -> int:
    """Return the number that ``text`` writes, for argparse."""
    number = whole(text)
    if number is None or number < least:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least {least}, not {text!r}")
    return number


def make_parser() -> OneLineParser:
    """Return the command line's parser."""
    parser = OneLineParser(prog="agents/play.py", description=__doc__, epilog=EPILOG)
    who = ", ".join([*AGENTS, *WITH_ARGUMENTS])
    parser.add_argument("--game", required=True, help=", ".join(GAMES))
    parser.add_argument("--first", default="human", metavar="AGENT", help=f"who is Player 1: {who} (default: human)")
    parser.add_argument("--second", default="random", metavar="AGENT", help="who is Player 2 (default: random)")
    many = parser.add_mutually_exclusive_group()
    count: dict[str, Any] = {"type": partial(at_least, 1), "metavar": "N"}
    many.add_argument(
        "--best-of",
        **count,
        help="play up to N games, stopping as soon as nobody can catch up; who opens alternates, a draw counts for "
        "neither, and the match is tied if the wins are equal in the end",
    )
    many.add_argument("--rounds", **count, help="the same, but play all N games")
    parser.add_argument("--toss", action="store_true", help="let chance decide who is Player 1 (in the first game)")
    parser.add_argument("--max-invalid", **count, help="the N-th invalid entry in a row loses (default: no limit)")
    parser.add_argument("--hint", action="store_true", help="show the winning moves before a human's prompt")
    parser.add_argument("--analyse", action="store_true", help="after each game, tell kept moves from blunders")
    parser.add_argument("--seed", type=partial(at_least, 0), help="of the toss and the agents (default: a new one)")
    add_parameter_flags(parser)
    return parser


def seat_agent(parser: OneLineParser, option: str, name: str, rules: Rules, seed: int) -> Policy:
    """Return the agent that an option names; an unknown one ends the program."""
    try:
        return make_agent(name, rules, seed)
    except TooLargeToSolve:
        raise
    except ValueError as wrong:
        parser.error(f"argument {option}: {wrong}")


def run(parser: OneLineParser, args: argparse.Namespace, terminal: Terminal) -> None:
    """Play what the command line asks for."""
    game, params = chosen_game(parser, args)
    rules = game.make_rules(**params)
    seed = secrets.randbits(32) if args.seed is None else args.seed
    *generators, coin = (np.random.default_rng([seed, stream]) for stream in range(3))
    names = [args.first, args.second]
    agents = [
        None if name == "human" else seat_agent(parser, option, name, rules, seed)
        for option, name in zip(("--first", "--second"), names)
    ]
    solver = solver_for(rules) if args.hint or args.analyse else None
    human = Human(terminal, game.wording, args.max_invalid, solver if args.hint else None)
    contenders: list[Player] = [
        human if agent is None else AgentPlayer(agent, generator, terminal, game.wording)
        for agent, generator in zip(agents, generators)
    ]
    if args.first == args.second:
        names = [f"{args.first} (first)", f"{args.second} (second)"]
    opener = int(coin.integers(2)) if args.toss else 0
    if args.toss:
        terminal.say(f"The toss: {names[opener]} opens.\n")
    several = args.best_of or args.rounds
    card = Scorecard(names, several or 1, args.best_of is not None, opener)
    while not card.decided:
        terminal.say(card.announcement() if several else "")
        seating = card.seating()
        duel, winner = play_duel(rules, game.wording, [contenders[contender] for contender in seating], terminal)
        if args.analyse and solver is not None:
            terminal.say("\n" + analysis(solver, duel), DIM)
        card.record(None if winner is None else seating[winner])
        terminal.say(card.score() if several else "")


def main(arguments: list[str] | None = None) -> int:
    """Play in the terminal and return the exit code."""
    parser = make_parser()
    try:
        run(parser, parser.parse_args(arguments), Terminal())
    except TooLargeToSolve as too_large:
        print(f"{parser.prog}: {too_large}", file=sys.stderr)
        return 1
    except InputEnded:
        print("\nThe input has ended: the game is left unfinished.")
        return 1
    except KeyboardInterrupt:
        print("\nGoodbye: the game is left unfinished.")
        return 130
    except BrokenPipeError:
        # Nobody reads on; Python would complain once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
