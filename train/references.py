"""The trained agents that come with the project, evaluated anew or trained anew.

    python train/references.py                        the table of all, from the checkpoints as they are
    python train/references.py --retrain              train every one of them as RECIPES says
    python train/references.py --retrain prime-rumble

An agent that was trained anew takes the place of the old one.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from tqdm import tqdm

from agents.checkpoint import BadCheckpoint, read_card, read_tensors, rules_of, write_checkpoint
from agents.learned import REFERENCES, load_agent
from numduel_env.cli import OneLineParser, flag, politely
from numduel_env.solvers import solver_for
from train.runs.grading import evaluate

RECIPES: dict[str, list[str]] = {
    "divider-duel": ["--game", "divider-duel"],
    "factor-chain-duel": ["--game", "factor-chain-duel", "--minutes", "3"],
    "prime-duel-product": ["--game", "prime-duel-product"],
    "prime-duel-sum": ["--game", "prime-duel-sum"],
    "prime-duel-sum-refill": ["--game", "prime-duel-sum", "--when-empty", "refill", "--minutes", "5"],
    "prime-rumble": ["--game", "prime-rumble", "--minutes", "5"],
}
"""How each agent was trained: what train/ppo.py was told."""


def retrain(name: str) -> None:
    """Train one of the agents and put it in the place of the old one, without what only training needs."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / name
        command = [sys.executable, str(Path(__file__).parent / "ppo.py"), *RECIPES[name], flag("out"), str(run)]
        if code := subprocess.run(command, check=False).returncode:
            raise SystemExit(code)
        card = read_card(run)
        # Where it was trained says nothing about it.
        card["arguments"]["out"] = None
        place = REFERENCES / name
        place.mkdir(parents=True, exist_ok=True)
        write_checkpoint(place, card, {"weights": read_tensors(run, card, "weights")})


def row(name: str) -> str:
    """Return one line of the table, from playing and grading the agent now."""
    card = read_card(REFERENCES / name)
    rules = rules_of(card)
    told = evaluate(load_agent(REFERENCES / name, rules), solver_for(rules))
    first, second = told["scores"]["random"]
    thrown = "; ".join(f"{g['where']} {g['thrown']:,} of {g['won']:,}" for g in told["exploitability"])
    progress = card["progress"]
    trained = f"{progress['plies']:,} plies, {progress['seconds']:.0f} s"
    return f"| `{name}` | {trained} | {first:.1%} / {second:.1%} | {told['kept']:.2%} | {thrown} |"


def main() -> int:
    """Train what is asked for, then print the table."""
    parser = OneLineParser(
        prog="train/references.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    which = ", ".join(RECIPES)
    parser.add_argument("--retrain", nargs="*", metavar="NAME", help=f"train these anew, or all: {which}")
    args = parser.parse_args()
    for name in args.retrain or ():
        if name not in RECIPES:
            parser.error(f"there is no reference agent {name!r}; there are {which}")
    if args.retrain is not None:
        for name in args.retrain or RECIPES:
            retrain(name)
    try:
        rows = [row(name) for name in tqdm(RECIPES, leave=False, disable=None)]
    except BadCheckpoint as wrong:
        parser.error(str(wrong))
    print("| agent | trained for | against random, first / second seat | kept | won positions thrown |")
    print("|---|---|---:|---:|---|")
    print("\n".join(rows))
    return 0


if __name__ == "__main__":
    raise SystemExit(politely(main))
