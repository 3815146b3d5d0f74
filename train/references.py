"""The trained agents that come with the project, evaluated anew or trained anew.

    python train/references.py                        the table of all, from the checkpoints as they are
    python train/references.py --retrain              train every one of them as RECIPES says
    python train/references.py --retrain prime-rumble
    python train/references.py --regrade              write on the cards how they play now

An agent that was trained anew takes the place of the old one.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from agents.cards import Card
from agents.checkpoint import BadCheckpoint, read_card, read_tensors, rules_of, write_checkpoint
from agents.learned import REFERENCES, load_agent
from numduel_env.cli import OneLineParser, progress_bar, run_program
from numduel_env.solvers import solver_for
from train.runs.evaluation import evaluate_agent


@dataclass(frozen=True)
class Recipe:
    """How an agent was trained: the program in this folder, and its arguments."""

    program: str
    arguments: tuple[str, ...]


CHAIN = ("--game", "factor-chain-duel", "--minutes")
REFILL = ("--game", "prime-duel-sum", "--when-empty", "refill", "--minutes")
RUMBLE = ("--game", "prime-rumble", "--minutes", "5")

RECIPES = {
    "divider-duel": Recipe("ppo.py", ("--game", "divider-duel")),
    "factor-chain-duel": Recipe("ppo.py", (*CHAIN, "2")),
    "factor-chain-duel-values": Recipe("values.py", (*CHAIN, "3")),
    "prime-duel-product": Recipe("ppo.py", ("--game", "prime-duel-product")),
    "prime-duel-sum": Recipe("ppo.py", ("--game", "prime-duel-sum")),
    "prime-duel-sum-refill": Recipe("ppo.py", (*REFILL, "2.5")),
    "prime-duel-sum-refill-values": Recipe("values.py", (*REFILL, "4")),
    "prime-rumble": Recipe("ppo.py", RUMBLE),
    "prime-rumble-nimbers": Recipe("nimbers.py", RUMBLE),
}
"""How each agent was trained. Where PPO learns all that there is to learn, there is no other."""


def retrain(name: str) -> None:
    """Train one of the agents and put it in the place of the old one."""
    recipe = RECIPES[name]
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / name
        program = str(Path(__file__).parent / recipe.program)
        command = [sys.executable, program, *recipe.arguments, "--out", str(run)]
        if code := subprocess.run(command, check=False).returncode:
            raise SystemExit(code)
        install(name, run)


def install(name: str, run: Path) -> None:
    """Put the agent of a run in the place of the old one, without what only training needs."""
    place = REFERENCES / name
    place.mkdir(parents=True, exist_ok=True)
    card = read_card(run)
    write_checkpoint(place, without_place(card), {"weights": read_tensors(run, card, "weights")})


def without_place(card: Card) -> Card:
    """Return a card that does not say in which folder the agent was trained."""
    assert card.training is not None
    return replace(card, training=replace(card.training, arguments=card.training.arguments | {"out": None}))


def row(name: str, *, rewrite: bool) -> str:
    """Return one line of the table, from playing and grading the agent now; that may be written on its card."""
    place = REFERENCES / name
    card = read_card(place)
    rules = rules_of(card.game)
    evaluation = evaluate_agent(load_agent(place, rules), solver_for(rules))
    if rewrite:
        weights = {"weights": read_tensors(place, card, "weights")}
        write_checkpoint(place, replace(card, evaluation=evaluation), weights)
    score = evaluation.scores["random"]
    exams = "; ".join(f"{exam.where}: {exam.grade}" for exam in evaluation.exams)
    sample = evaluation.sample
    kept = [sample.grade.kept, sample.later.kept] if sample else []
    cells = [
        f"`{name}`",
        f"{card.training.progress.plies:,} plies, {card.training.progress.seconds:.0f} s" if card.training else "",
        f"{score.first:.1%} / {score.second:.1%}",
        " / ".join("-" if share is None else f"{share:.2%}" for share in kept),
        str(evaluation.opening),
        exams,
    ]
    return f"| {' | '.join(cells)} |"


def main() -> int:
    """Train what is asked for, then print the table."""
    parser = OneLineParser(prog="train/references.py", description=__doc__)
    which = ", ".join(RECIPES)
    parser.add_argument("--retrain", nargs="*", metavar="NAME", help=f"train these anew, or all: {which}")
    parser.add_argument("--regrade", action="store_true", help="write on the cards how they play now")
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
                rows.append(row(name, rewrite=args.regrade))
    except BadCheckpoint as wrong:
        parser.error(str(wrong))
    kept = "kept / without the first position"
    print(f"| agent | trained for | against random, by seat | {kept} | opening | won thrown, drawn spoiled |")
    print("|---|---|---:|---:|---:|---|")
    print("\n".join(rows))
    return 0


if __name__ == "__main__":
    raise SystemExit(run_program(main))
