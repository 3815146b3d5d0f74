"""The page of a game, from the table of games and the code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from agents.cards import Card
from agents.checkpoint import read_card
from agents.learned import REFERENCES
from numduel_env import Duel, GameSpec
from numduel_env.__main__ import principal_line
from numduel_env.text import listed
from observations import observation_section
from openings import OPENINGS, Solved, variants
from tables import Row, summary, table

HISTORY = {
    "prime-rumble": (("0.1.0", "as in the book."),),
    "factor-chain-duel": (("0.1.0", "as in the book."),),
    "divider-duel": (("0.1.0", "as in the book."),),
    "prime-duel-product": (("0.1.0", "as in the book."),),
    "prime-duel-sum": (("0.1.0", "as in the book; `when_empty` says what happens when the list runs out."),),
}
"""For each version of a game, from 0 on, the release that it came with and what it has changed."""

PARAMETERS = {
    "lowest": "the smallest number",
    "highest": "the largest number",
    "target": "the score that wins",
    "primes_below": "the numbers are the primes below this",
    "when_empty": "what happens when the list runs out",
    "max_plies": 'a game of this many plies is truncated (with `when_empty="refill"` only)',
}


def game_page(root: Path, spec: GameSpec) -> str:
    """Return the page of a game."""
    rules = spec.make_rules()
    sections = {
        "Rules": spec.wording.rules(rules),
        "Parameters": parameter_table(spec),
        "Spaces and observation": observation_section(spec),
        "Rewards": rewards(spec),
        "Illegal moves": illegal_moves(spec),
        "Rulings and errata": rulings(root, spec),
        "Perfect play": perfect_play(spec),
        "What trained agents reach": trained(spec),
        "Versions": versions(spec),
    }
    body = "\n\n".join(f"## {heading}\n\n{text.strip()}" for heading, text in sections.items())
    title = spec.heading(rules)
    return (
        f"<!-- Made by `python docs/generate`, from the code. -->\n\n# {title}\n\n{summary(spec)}\n\n"
        f"![{title}, some plies into a game](../pictures/{spec.name}.png)\n\n{names(spec)}\n{body}\n"
    )


def names(spec: GameSpec) -> str:
    """Return the names of a game as a table."""
    example = f'`gymnasium.make("{spec.gymnasium_id}", opponent="solver")`'
    rows = [
        ["on command lines", f"`--game {spec.name}`"],
        ["PettingZoo", f'`numduel_env.env("{spec.name}")` or `pettingzoo.make("aec", "{spec.pettingzoo_id}")`'],
        ["Gymnasium", example],
        ["vector", f'`gymnasium.make_vec("{spec.gymnasium_id}", num_envs=4096)`'],
        ["OpenSpiel", f'`pyspiel.load_game("{spec.openspiel_name}")` after `import numduel_env.envs.openspiel`'],
    ]
    return table(["in", "name"], rows)


def parameter_table(spec: GameSpec) -> str:
    """Return the parameters with what they mean and what is allowed, as the rules themselves say it."""
    rows = []
    for name, default in spec.params.items():
        try:
            spec.make_rules(**{name: None})
        except ValueError as refusal:
            allowed = str(refusal).partition("must be ")[2].partition(", not ")[0]
            rows.append([f"`{name}`", f"`{default!r}`", PARAMETERS[name], allowed])
    return table(["parameter", "default", "meaning", "allowed"], rows)


def rewards(spec: GameSpec) -> str:
    """Return what the seats get."""
    drawn = "; 0 and 0 for a draw" if "draw" in spec.wording.rules(spec.make_rules()).replace("no draws", "") else ""
    truncated = ", and when a game is truncated" if "max_plies" in spec.params else ""
    return (
        f"0 while the game goes on{truncated}; at the end +1 to the winner and -1 to the loser{drawn}. A "
        "[Gymnasium](../environments.md#gymnasium) environment rewards its learner, "
        '[self-play](../environments.md#vector-environment) (`opponent="self"`) whoever has just moved.'
    )


def illegal_moves(spec: GameSpec) -> str:
    """Return when a move is illegal, with the game's own words for it, and what follows."""
    duel: Duel[Any] = Duel(spec.make_rules())
    while not duel.finished and duel.legal.all():
        duel.play(0)
    if duel.finished:
        return "There are none: every number can be chosen on every turn."
    number = int(duel.rules.numbers[~duel.legal][-1])
    said = spec.wording.reason(duel, number)
    return (
        f'After {listed(duel.moves)}, choosing {number} is refused: "{said}" In an environment an illegal action '
        'loses at once (-1 to the offender, +1 to the other), unless `illegal="raise"` is given; the terminal asks '
        "again."
    )


def rulings(root: Path, spec: GameSpec) -> str:
    """Return what docs/rulings.md has to say of this game alone."""
    text = (root / "docs" / "rulings.md").read_text(encoding="utf-8")
    found = re.search(rf"<!-- (?:[a-z -]* )?{spec.name}(?: [a-z -]*)? -->\n\n(.*?)(?=\n## |\Z)", text, re.DOTALL)
    assert found, f"docs/rulings.md has no part for {spec.name}"
    return f"{found[1].strip()}\n\nThose that hold for [all games](../rulings.md#all-games) come on top."


def perfect_play(spec: GameSpec) -> str:
    """Return who wins and how, with the book's parameters and with other endings."""
    solved = [Solved(spec, params) for params in variants(spec)]
    facts = "\n".join(f"- {fact}" for fact in solved[0].facts())
    first = principal_line(solved[0].solver, solved[0].duel)[0]
    return (
        table(OPENINGS, [one.cells() for one in solved])
        + f"\n{facts}\n\n`numduel solve {spec.name} --moves {first}` says who wins after this opening, and how."
    )


def trained(spec: GameSpec) -> str:
    """Return what the agents that come with the project have scored, as their cards say."""
    cards = [(folder.name, read_card(folder)) for folder in sorted(REFERENCES.glob("*/"))]
    rows = [row(name, card) for name, card in cards if card.game.name == spec.name]
    head = ["agent", "learned from", "against random, first / second seat", "kept", "against every line"]
    return (
        table(head, rows)
        + "\n`python train/references.py` plays and grades them anew. [Kept](../evaluation.md) is measured on random "
        "positions."
    )


def row(name: str, card: Card) -> Row:
    """Return what the card of a trained agent says."""
    assert card.training is not None
    assert card.evaluation is not None
    score, sample = card.evaluation.scores["random"], card.evaluation.sample
    kept = sample.grade.kept if sample else None
    walks = [exam for exam in card.evaluation.exams if exam.where.endswith("seat")]
    progress = card.training.progress
    return [
        f"`{name}`",
        f"{progress.plies:,} plies in {progress.seconds:.0f} s",
        f"{score.first:.1%} / {score.second:.1%}",
        "-" if kept is None else f"{kept:.2%}",
        "; ".join(f"{exam.where}: {exam.grade}" for exam in walks) or "more lines than can be walked",
    ]


def versions(spec: GameSpec) -> str:
    """Return what each version has changed; a new version needs its line."""
    lines = HISTORY[spec.name]
    assert len(lines) == spec.version + 1, f"HISTORY says nothing of version {spec.version} of {spec.name}"
    return "\n".join(f"- v{version} ({release}): {text}" for version, (release, text) in enumerate(lines))
