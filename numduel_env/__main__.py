"""``python -m numduel_env``: what there is to play, and how to play it perfectly."""

from __future__ import annotations

import argparse
import json
import re
import sys
from typing import Any

import numpy as np

from numduel_env.batch import Position
from numduel_env.cli import add_parameter_flags, chosen_game, politely
from numduel_env.duels import Duel
from numduel_env.games import GAMES, GameSpec
from numduel_env.solvers import Solver, SolverPolicy, TooLargeToSolve, solver_for
from numduel_env.solvers.exhaustive import ExhaustiveSolver
from numduel_env.text import listed, player

OUTCOMES = {1: "wins", 0: "draws", -1: "loses"}


def main(arguments: list[str] | None = None) -> int:
    """Run a command and return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m numduel_env", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("games", help="list the games: ids, parameters, who wins and with which openings")
    solve = commands.add_parser("solve", help="say who wins a position, and by which moves")
    solve.add_argument("game", help="a game's name, as listed by `games`")
    solve.add_argument("--moves", default="", help="the numbers played so far, such as 5,17 (default: none)")
    solve.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    solve.add_argument("--budget", type=int, help="how large a table may be built before the game is refused")
    add_parameter_flags(solve)
    args = parser.parse_args(arguments)
    try:
        if args.command == "games":
            list_games()
        else:
            solve_position(solve, args)
    except TooLargeToSolve as too_large:
        print(f"{parser.prog}: {too_large}", file=sys.stderr)
        return 1
    return 0


def list_games() -> None:
    """Print the games with their ids, parameters and what perfect play makes of them."""
    for spec in GAMES.values():
        rules = spec.make_rules()
        solution = solved(spec, {}, solver_for(rules), Duel(rules))
        params = ", ".join(f"{name}={value}" for name, value in spec.params.items())
        print(f"{spec.name} ({spec.title}): {len(rules.numbers)} numbers, {params}")
        print(f"  Gymnasium   {spec.gymnasium_id}")
        print(f"  PettingZoo  {spec.pettingzoo_id}")
        print(f"  perfect     {verdict(solution)}; {best_moves(solution)}")


def solve_position(parser: argparse.ArgumentParser, args: argparse.Namespace) -> None:
    """Print what perfect play makes of a position."""
    spec, params = chosen_game(parser, args)
    if args.budget is not None and args.budget < 1:
        parser.error(f"--budget must be at least 1, not {args.budget}")
    rules = spec.make_rules(**params)
    try:
        duel = spec.replay(rules, parsed_moves(args.moves))
    except ValueError as wrong:
        parser.error(f"--moves {args.moves}: {wrong}")
    solver = solver_for(rules, args.budget)
    solution = solved(spec, params, solver, duel)
    if args.json:
        print(json.dumps(solution))
        return
    print(verdict(solution))
    if duel.finished:
        return
    print(best_moves(solution))
    for value, outcome in OUTCOMES.items():
        moves = [number for number, worth in solution["action_values"].items() if worth == value]
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


def solved(spec: GameSpec, params: dict[str, Any], solver: Solver, duel: Duel) -> dict[str, Any]:
    """Return what perfect play makes of a position, in numbers (not actions)."""
    numbers, seat = duel.rules.numbers.tolist(), duel.seat
    values, best = {}, []
    value = duel.payoff[seat]
    if not duel.finished:
        worths, keeps = solver.action_values(duel.position), solver.best(duel.position)
        values = {str(numbers[action]): int(worths[action]) for action in duel.legal.nonzero()[0]}
        best = [number for number, kept in zip(numbers, keeps) if kept]
        value = int(solver.value(duel.position))
    return {
        "game": spec.name,
        "params": {**spec.params, **params},
        "moves": duel.moves,
        "to_move": seat,
        "value": value,
        "best": best,
        "action_values": values,
    }


def verdict(solution: dict[str, Any]) -> str:
    """Return who wins."""
    mover, value = solution["to_move"], solution["value"]
    if not solution["action_values"]:
        return "the game is over: " + (
            "nobody wins" if not value else f"{player(mover if value > 0 else 1 - mover)} wins"
        )
    return f"{player(mover)} to move {OUTCOMES[value]}"


def best_moves(solution: dict[str, Any]) -> str:
    """Return the moves that keep the value."""
    if solution["value"] < 0:
        return "every move loses"
    return f"{'winning' if solution['value'] else 'drawing'} moves: {listed(solution['best'])}"


def principal_line(solver: Solver, duel: Duel) -> list[int]:
    """Return the numbers that both sides would play from here.

    Each sets the other the harder problem; where positions can come again, the winner takes the shortest way and the
    loser the longest. A game that nobody can win is left where it would go in circles.
    """
    policy, line = SolverPolicy(solver), Duel(duel.rules, duel.actions)
    seen = set()
    while not line.finished and _identity(line.position) not in seen:
        seen.add(_identity(line.position))
        choices = np.flatnonzero(policy.preferred(line.position))
        value = int(solver.value(line.position))
        if isinstance(solver, ExhaustiveSolver) and value:
            best = np.flatnonzero(solver.best(line.position))
            ways = [int(solver.plies_left(line.rules.play(line.position, int(action)))) for action in best]
            choices = best[np.argsort(value * np.array(ways), kind="stable")]
        line.play(int(choices[0]))
    return line.moves[len(duel.actions) :]


def _identity(position: Position) -> bytes:
    return b"".join(np.asarray(field).tobytes() for field in position)


if __name__ == "__main__":
    raise SystemExit(politely(main))
