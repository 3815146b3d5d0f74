"""The trained agents that come with the project, evaluated anew or trained anew.

    python train/references.py                        the table of all, from the checkpoints as they are
    python train/references.py --retrain              train every one of them as RECIPES says
    python train/references.py --retrain prime-rumble

An agent that was trained anew takes the place of the old one.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from agents.cards import Card
from agents.checkpoint import BadCheckpoint, read_card, read_tensors, rules_of, write_checkpoint
from agents.learned import REFERENCES, load_agent
from numduel_env.cli import OneLineParser, progress_bar, run_program
from numduel_env.solvers import solver_for
from train.runs.evaluation import evaluate_agent

RECIPES: dict[str, list[str]] = {
    "divider-duel": ["--game", "divider-duel"],
    "factor-chain-duel": ["--game", "factor-chain-duel", "--minutes", "3"],
    "prime-duel-product": ["--game", "prime-duel-product"],
    "prime-duel-sum": ["--game", "prime-duel-sum"],
    "prime-duel-sum-refill": ["--game", "prime-duel-sum", "--when-empty", "refill", "--minutes", "5"],
    "prime-rumble": ["--game", "prime-rumble", "--minutes", "5"],
}
"""How each agent was trained: the arguments of train/ppo.py."""


def retrain(name: str) -> None:
    """Train one of the agents and put it in the place of the old one, without what only training needs."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / name
        command = [sys.executable, str(Path(__file__).parent / "ppo.py"), *RECIPES[name], "--out", str(run)]
        if code := subprocess.run(command, check=False).returncode:
            raise SystemExit(code)
        place = REFERENCES / name
        place.mkdir(parents=True, exist_ok=True)
        card = read_card(run)
        write_checkpoint(place, without_place(card), {"weights": read_tensors(run, card, "weights")})


def without_place(card: Card) -> Card:
    """Return a card that does not say in which folder the agent was trained."""
    assert card.training is not None
    return replace(card, training=replace(card.training, arguments=card.training.arguments | {"out": None}))


def row(name: str) -> str:
    """Return one line of the table, from playing and grading the agent now."""
    card = read_card(REFERENCES / name)
    rules = rules_of(card.game)
    evaluation = evaluate_agent(load_agent(REFERENCES / name, rules), solver_for(rules))
    score = evaluation.scores["random"]
    exams = "; ".join(f"{exam.where}: {exam.grade}" for exam in evaluation.exams)
    kept = evaluation.sample.grade.kept if evaluation.sample else None
    cells = [
        f"`{name}`",
        f"{card.training.progress.plies:,} plies, {card.training.progress.seconds:.0f} s" if card.training else "",
        f"{score.first:.1%} / {score.second:.1%}",
        "-" if kept is None else f"{kept:.2%}",
        exams,
    ]
    return f"| {' | '.join(cells)} |"


def main() -> int:
    """Train what is asked for, then print the table."""
    parser = OneLineParser(prog="train/references.py", description=__doc__)
    which = ", ".join(RECIPES)
    parser.add_argument("--retrain", nargs="*", metavar="NAME", help=f"train these anew, or all: {which}")
    args = parser.parse_args()
    for name in args.retrain or ():
        if name not in RECIPES:
            parser.error(f"there is no reference agent {name!r}; there are {which}")
    if args.retrain is not None:
        for name in args.retrain or RECIPES:
            retrain(name)
    rows = []
    try:
        with progress_bar() as progress:
            for done, name in enumerate(RECIPES):
                progress("agents", done, len(RECIPES))
                rows.append(row(name))
    except BadCheckpoint as wrong:
        parser.error(str(wrong))
    print("| agent | trained for | against random, first / second seat | kept | won thrown, drawn spoiled |")
    print("|---|---|---:|---:|---|")
    print("\n".join(rows))
    return 0


if __name__ == "__main__":
    raise SystemExit(run_program(main))
