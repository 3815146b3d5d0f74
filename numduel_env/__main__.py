"""What there is to play, how to play it perfectly, and how good agents are: `numduel`, or `python -m numduel_env`."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from numduel_env import positions, serving
from numduel_env.agent import SolverAgent
from numduel_env.batch import Position, batch_of_one
from numduel_env.cli import (
    LONGEST_ERROR,
    OneLineParser,
    chosen_game,
    chosen_games,
    game_names,
    progress_bar,
    run_program,
)
from numduel_env.duel import Duel, replay
from numduel_env.evaluation import program as evaluation
from numduel_env.games import GAMES, GameSpec, Params
from numduel_env.outside import one_line
from numduel_env.solvers import Solver, TooLargeToSolve, solver_for
from numduel_env.solvers.exhaustive import ExhaustiveSolver
from numduel_env.storage import to_json
from numduel_env.text import listed, player

OUTCOMES = {1: "wins", 0: "draws", -1: "loses"}


@dataclass(frozen=True)
class Solution:
    """What perfect play makes of a position, in numbers (not actions); values are those to the player to move."""

    game: str
    params: Params
    moves: list[int]
    to_move: int
    value: int
    best: list[int]
    action_values: dict[str, int]

    @classmethod
    def of(cls, spec: GameSpec, params: Params, solver: Solver, duel: Duel[Any]) -> Solution:
        """Return the solution of the position in which a duel stands."""
        numbers, seat = duel.rules.numbers.tolist(), duel.seat
        values, best, value = {}, [], duel.payoff[seat]
        if not duel.finished:
            action_values = solver.action_values(duel.position)
            value = int(action_values.max())
            values = {str(numbers[action]): int(action_values[action]) for action in duel.legal.nonzero()[0]}
            best = duel.rules.numbers[action_values == value].tolist()
        return cls(spec.name, {**spec.params, **params}, duel.moves, seat, value, best, values)

    def verdict(self) -> str:
        """Return who wins."""
        if self.action_values:
            return f"{player(self.to_move)} to move {OUTCOMES[self.value]}"
        winner = self.to_move if self.value > 0 else 1 - self.to_move
        return "the game is over: " + (f"{player(winner)} wins" if self.value else "nobody wins")

    def best_moves(self) -> str:
        """Return the moves that keep the value."""
        if self.value < 0:
            return "every move loses"
        return f"{'winning' if self.value else 'drawing'} moves: {listed(self.best)}"


def list_games(parser: argparse.ArgumentParser, args: argparse.Namespace) -> None:
    """Print the games, or the one that is asked for: ids, parameters and what perfect play makes of them."""
    for spec, given, rules in chosen_games(parser, args):
        params = ", ".join(f"{name}={value}" for name, value in {**spec.params, **given}.items()) or "no parameters"
        print(f"{spec.name} ({spec.heading(rules)}): {len(rules.numbers)} numbers, {params}")
        if spec.name in GAMES:
            print(f"  Gymnasium   {spec.gymnasium_id}")
            print(f"  PettingZoo  {spec.pettingzoo_id}")
        try:
            with progress_bar() as progress:
                solution = Solution.of(spec, given, solver_for(rules, progress=progress), Duel(rules))
            print(f"  perfect     {solution.verdict()}; {solution.best_moves()}")
        except TooLargeToSolve as refusal:
            print(f"  perfect     unknown: {one_line(str(refusal), LONGEST_ERROR)}")


def solve(parser: argparse.ArgumentParser, args: argparse.Namespace) -> None:
    """Print what perfect play makes of a position."""
    spec, params, rules = chosen_game(parser, args)
    if args.budget is not None and args.budget < 1:
        parser.error(f"--budget must be at least 1, not {args.budget}")
    try:
        duel = replay(spec, rules, parsed_moves(args.moves))
    except ValueError as wrong:
        parser.error(f"--moves {args.moves}: {wrong}")
    with progress_bar() as progress:
        solver = solver_for(rules, args.budget, progress)
    solution = Solution.of(spec, params, solver, duel)
    if args.json:
        print(to_json(solution).decode(), end="")
        return
    print(solution.verdict())
    if duel.finished:
        return
    print(solution.best_moves())
    for value, outcome in OUTCOMES.items():
        moves = [int(number) for number, its_value in solution.action_values.items() if its_value == value]
        print(f"{outcome:>6}: {listed(moves, '(none)')}")
    print(f"line: {listed(principal_line(solver, duel))}")


def parsed_moves(text: str) -> list[int]:
    """Return the numbers of a comma-separated list; an empty text has none."""
    moves = []
    for place, part in enumerate(text.split(",") if text.strip() else [], start=1):
        if not re.fullmatch(r"-?[0-9]{1,18}", part.strip()):
            raise ValueError(f"move {place} must be a whole number, not {part.strip()!r}")
        moves.append(int(part))
    return moves


def principal_line(solver: Solver, duel: Duel[Any]) -> list[int]:
    """Return the numbers that both sides would play from here.

    Each sets the other the harder problem; where positions can come again, the winner takes the shortest way and the
    loser the longest. A game that nobody can win is left where it would go in circles.
    """
    agent, line = SolverAgent(duel.rules, solver), Duel(duel.rules, duel.actions)
    seen = set()
    while not line.finished and _key(line.position) not in seen:
        seen.add(_key(line.position))
        (preferred,) = agent.preferred(batch_of_one(line.position), line.legal[None])
        choices = np.flatnonzero(preferred)
        value = int(solver.value(line.position))
        if isinstance(solver, ExhaustiveSolver) and value:
            best = np.flatnonzero(solver.best(line.position))
            ways = [int(solver.plies_left(line.rules.play(line.position, int(action)))) for action in best]
            choices = best[np.argsort(value * np.array(ways), kind="stable")]
        line.play(int(choices[0]))
    return line.moves[len(duel.actions) :]


def _key(position: Position) -> bytes:
    return b"".join(np.asarray(field).tobytes() for field in position)


def make_parser() -> tuple[OneLineParser, dict[str, argparse.ArgumentParser]]:
    """Return the command line's parser, and those of its commands."""
    parser = OneLineParser(prog="numduel", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    games = commands.add_parser("games", help="list the games: ids, parameters, who wins and with which openings")
    games.add_argument("--game", help=f"this one alone: {game_names()}")
    games.add_parameter_flags()
    solving = commands.add_parser("solve", help="say who wins a position, and by which moves")
    which = solving.add_mutually_exclusive_group(required=True)
    # Absent, it must not write over what --game says.
    which.add_argument("game", nargs="?", default=argparse.SUPPRESS, metavar="GAME", help=game_names())
    which.add_argument("--game", metavar="GAME", help="the same as a flag, as all programs have it")
    solving.add_argument("--moves", default="", help="the numbers played so far, such as 5,17 (default: none)")
    solving.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    solving.add_argument("--budget", type=int, help="how large a table may be built before the game is refused")
    solving.add_parameter_flags(bare_game=True)
    evaluating = commands.add_parser(
        "evaluate", help="play agents against each other, every move graded", description=evaluation.__doc__
    )
    evaluation.add_arguments(evaluating)
    writing = commands.add_parser(
        "positions", help="write solved positions as data, a line each", description=positions.__doc__
    )
    positions.add_arguments(writing)
    serve = commands.add_parser("serve", help="serve text duels to others, by OpenEnv", description=serving.__doc__)
    serving.add_arguments(serve)
    return parser, {
        "games": games,
        "solve": solving,
        "evaluate": evaluating,
        "positions": writing,
        "serve": serve,
    }


def run(arguments: Sequence[str]) -> int:
    """Run a command and return its exit code."""
    parser, commands = make_parser()
    args = parser.parse_args(arguments)
    try:
        if args.command == "games":
            list_games(commands["games"], args)
        elif args.command == "solve":
            solve(commands["solve"], args)
        elif args.command == "positions":
            positions.run(commands["positions"], args, [parser.prog, *arguments])
        elif args.command == "serve":
            return serving.run(commands["serve"], args)
        else:
            return evaluation.run(commands["evaluate"], args, [parser.prog, *arguments])
    except TooLargeToSolve as too_large:
        print(f"{parser.prog}: {one_line(str(too_large), LONGEST_ERROR)}", file=sys.stderr)
        return 1
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; ``arguments`` are those of the command line unless others are given."""
    return run_program(lambda: run(sys.argv[1:] if arguments is None else arguments))


if __name__ == "__main__":
    raise SystemExit(main())
