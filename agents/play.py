"""Play a game in the terminal, in the manner of its rule book: people and agents, one game or a match."""

from __future__ import annotations

import argparse
import secrets
import sys
from functools import partial
from typing import Any

import numpy as np

from agents import llm
from agents.advice import analysis
from agents.arguments import add_seats, at_least, told_apart
from agents.scorecard import Scorecard
from agents.table import COMMANDS, Human, Quit, Seated, ShownPlayer, Table, play_duel
from agents.terminal import DIM, InputEnded, Terminal
from numduel_env.agent import Agent, Unavailable, as_player
from numduel_env.cli import LONGEST_ERROR, OneLineParser, chosen_game, run_program
from numduel_env.evaluation.grading import graded_moves
from numduel_env.evaluation.process import make_apart
from numduel_env.outside import one_line
from numduel_env.rules import Rules
from numduel_env.solvers import TooLargeToSolve, solver_for

EPILOG = f"""A person enters numbers, or {", ".join(COMMANDS)}.
Example: python agents/play.py --game prime-rumble --first human --second solver --hint
(exit codes: 0 when everything was played or a person quit, 1 when the input ended before or the game is too large
to solve, 2 for a wrong command line, 130 after Ctrl-C)."""


def make_parser() -> OneLineParser:
    """Return the command line's parser."""
    parser = OneLineParser(prog="agents/play.py", description=__doc__, epilog=EPILOG)
    add_seats(parser)
    parser.add_argument("--toss", action="store_true", help="let chance decide who is Player 1 (in the first game)")
    parser.add_argument(
        "--max-invalid",
        type=partial(at_least, 1),
        metavar="N",
        help="the N-th invalid entry in a row loses (default: no limit)",
    )
    parser.add_argument("--hint", action="store_true", help="show the winning moves before a human's prompt")
    parser.add_argument("--analyse", action="store_true", help="after each game, grade every move by perfect play")
    parser.add_argument("--seed", type=partial(at_least, 0), help="of the toss and the agents (default: a new one)")
    parser.add_parameter_flags()
    return parser


def named_agents(parser: OneLineParser, args: argparse.Namespace, rules: Rules[Any]) -> list[Agent | None]:
    """Return the agents that ``--first`` and ``--second`` name, None for a person; a wrong name ends the program."""
    agents: list[Agent | None] = []
    for option, name in (("--first", args.first), ("--second", args.second)):
        try:
            agents.append(None if name == "human" else make_apart(name, rules))
        except TooLargeToSolve:
            raise
        except ValueError as wrong:
            parser.error(f"argument {option}: {wrong}")
    return agents


def run(parser: OneLineParser, args: argparse.Namespace, terminal: Terminal) -> None:
    """Play what the command line asks for."""
    game, _, rules = chosen_game(parser, args)
    llm.register_as_asked(parser, args)
    agents = named_agents(parser, args, rules)
    solver = solver_for(rules) if args.hint or args.analyse else None
    seed = secrets.randbits(32) if args.seed is None else args.seed
    *generators, coin = (np.random.default_rng([seed, stream]) for stream in range(3))
    names = told_apart(args.first, args.second)
    if None in agents and terminal.typed:
        terminal.say(f"At every prompt: a number, or {', '.join(COMMANDS)}.", DIM)
    opener = int(coin.integers(2)) if args.toss else 0
    if args.toss:
        terminal.say(f"The toss: {names[opener]} opens.\n")
    several = args.best_of or args.rounds
    card = Scorecard(names, several or 1, args.best_of is not None, opener)
    while not card.decided:
        seating = card.seating()
        table = Table(terminal, game, [names[place] if agents[place] else None for place in seating])
        terminal.say(card.announcement() if several else table.introduction())
        human = Human(table, args.max_invalid, solver if args.hint else None)
        seats = []
        for place in seating:
            agent = agents[place]
            seats.append(Seated(ShownPlayer(as_player(agent), table) if agent else human, generators[place]))
        played = play_duel(rules, table, seats)
        if args.analyse:
            moves = graded_moves(played.duel, solver, forfeited=played.forfeited)
            terminal.say("\n" + analysis(moves), DIM)
        card.record(None if played.winner is None else seating[played.winner])
        terminal.say(card.score() if several else "")


def main() -> int:
    """Play in the terminal and return the exit code."""
    parser = make_parser()
    try:
        run(parser, parser.parse_args(), Terminal())
    except (TooLargeToSolve, Unavailable) as why:
        print(f"{parser.prog}: {one_line(str(why), LONGEST_ERROR)}", file=sys.stderr)
        return 1
    except Quit:
        print("Goodbye: the game is left unfinished.")
    except InputEnded:
        print("\nThe input has ended: the game is left unfinished.")
        return 1
    except KeyboardInterrupt:
        print("\nGoodbye: the game is left unfinished.")
        return 130
    return 0


if __name__ == "__main__":
    raise SystemExit(run_program(main))
