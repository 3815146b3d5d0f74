"""``python -m numduel_env``: what there is to play."""

from __future__ import annotations

import argparse

from numduel_env.games import GAMES


def main(arguments: list[str] | None = None) -> int:
    """Run a command and return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m numduel_env", description="Two-player number games.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("games", help="list the games, their ids and parameters")
    parser.parse_args(arguments)
    list_games()
    return 0


def list_games() -> None:
    """Print the games with their ids and parameters."""
    for spec in GAMES.values():
        params = ", ".join(f"{name}={value}" for name, value in spec.params.items())
        print(f"{spec.name} ({spec.title})")
        print(f"  Gymnasium   {spec.gymnasium_id}")
        print(f"  PettingZoo  {spec.pettingzoo_id}")
        print(f"  parameters  {params}")


if __name__ == "__main__":
    raise SystemExit(main())
