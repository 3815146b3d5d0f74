"""Whatever comes from outside is shown in one line, with nothing in it that a terminal would obey."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from agents.checkpoint import CARD, read_card, read_tensors, write_checkpoint
from agents.learned import REFERENCES
from numduel_env import Results, evaluate
from numduel_env.__main__ import main as numduel
from tests.support.programs import run_program

NASTY = "\x1b[31m\x07\r\n\x9b2J\u202ered"

PLAY, EVALUATE, LEARN = "agents/play.py", "train/evaluate.py", "train/ppo.py"


def assert_inert(text, lines=None):
    bad = [sign for sign in text if sign != "\n" and not sign.isprintable()]
    assert not bad, text
    assert "Traceback" not in text
    if lines is not None:
        assert text.count("\n") == lines, text


@pytest.fixture
def agent(tmp_path):
    """A trained agent of Divider Duel, to be spoiled."""
    folder = tmp_path / "agent"
    folder.mkdir()
    card = read_card(REFERENCES / "divider-duel")
    return folder, write_checkpoint(
        folder, card, {"weights": read_tensors(REFERENCES / "divider-duel", card, "weights")}
    )


def texts_of(value, path=()):
    """Yield the path of each text and each key in plain JSON."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield (*path, key), True
            yield from texts_of(part, (*path, key))
    elif isinstance(value, list):
        for place, part in enumerate(value[:1]):
            yield from texts_of(part, (*path, place))
    elif isinstance(value, str):
        yield path, False


def spoiled(card, path, is_key):
    """Return the card with the text, or the key, at a path made nasty."""
    card = json.loads(json.dumps(card))
    part = card
    for step in path[:-1]:
        part = part[step]
    if is_key:
        part[path[-1] + NASTY] = part.pop(path[-1])
    else:
        part[path[-1]] += NASTY
    return card


def test_every_text_of_a_card_is_shown_inert(agent):
    folder, _ = agent
    card = json.loads((folder / CARD).read_text())
    places = list(texts_of(card))
    assert len(places) > 50
    refused = 0
    for path, is_key in places:
        (folder / CARD).write_text(json.dumps(spoiled(card, path, is_key)))
        ran = run_program(PLAY, "--game", "divider-duel", "--first", f"ppo:{folder}", "--second", "random", "--seed", 0)
        assert_inert(ran.out)
        assert_inert(ran.err, lines=int(ran.code == 2))
        refused += ran.code == 2
    assert refused > 5


def test_the_card_of_a_run_that_is_to_go_on_is_shown_inert(agent):
    folder, _ = agent
    card = json.loads((folder / CARD).read_text())
    for path, is_key in texts_of(card):
        if path[0] != "evaluation":
            (folder / CARD).write_text(json.dumps(spoiled(card, path, is_key)))
            ran = run_program(LEARN, "--resume", folder)
            assert ran.code == 2
            assert_inert(ran.out + ran.err, lines=1)


def test_names_of_tensors_are_shown_inert(agent):
    folder, card = agent
    weights = read_tensors(folder, card, "weights")
    for name, tensor in ((NASTY, np.ones(3, np.float32)), (NASTY, np.full(3, np.nan, np.float32))):
        write_checkpoint(folder, card, {"weights": {**weights, name: tensor}})
        ran = run_program(PLAY, "--game", "divider-duel", "--first", f"ppo:{folder}", "--second", "random")
        assert ran.code == 2
        assert_inert(ran.out + ran.err, lines=1)


def test_names_of_files_and_agents_are_shown_inert(agent, tmp_path):
    folder = agent[0].rename(tmp_path / f"agent{NASTY}")
    # Read in universal newlines' spirit: what is printed of it is one cell of one row.
    played = run_program(PLAY, "--game", "divider-duel", "--first", f"ppo:{folder}", "--second", "random", "--seed", 0)
    evaluated = run_program(EVALUATE, "--game", "divider-duel", f"ppo:{folder}", "random", "--duels", 2, "--exploit")
    for ran in (played, evaluated):
        assert ran.code == 0, ran.err
        assert_inert(ran.out + ran.err)
    assert len([line for line in evaluated.out.splitlines() if line.startswith("ppo:")]) <= 4
    missing = folder / f"missing{NASTY}"
    for program, *arguments in (
        (PLAY, "--game", "divider-duel", "--first", f"ppo:{missing}"),
        (PLAY, "--game", f"divider{NASTY}"),
        (PLAY, "--game", "divider-duel", "--second", NASTY),
        (EVALUATE, "--game", "divider-duel", f"ppo:{missing}", "random"),
        (EVALUATE, "--game", "divider-duel", "random", "random", "--json", missing / "x"),
        (LEARN, "--resume", missing),
        (LEARN, "--game", "divider-duel", "--out", folder),
        (LEARN, "--game", "divider-duel", "--init", missing),
        (LEARN, "--game", "divider-duel", "--net-arch", NASTY),
        ("train/references.py", "--retrain", NASTY),
    ):
        ran = run_program(program, *arguments)
        assert ran.code == 2, (program, arguments)
        assert_inert(ran.out + ran.err, lines=1)


@pytest.mark.parametrize(
    "arguments",
    [
        ["solve", NASTY],
        ["solve", "divider-duel", "--moves", NASTY],
        ["solve", "prime-duel-sum", "--when-empty", NASTY],
        ["games", "--game", NASTY],
        ["positions", "--game", "divider-duel", "--out", f"/{NASTY}/x"],
        ["evaluate", "--game", "divider-duel", "random", NASTY],
        ["evaluate", "--game", "divider-duel", "random", "random", "--json", f"/{NASTY}/x"],
        ["evaluate", "--game", "divider-duel", "random", "random", "--resume", "--json", f"./{NASTY}"],
        [NASTY],
        ["solve", "divider-duel", NASTY],
    ],
    ids=lambda arguments: " ".join(map(repr, arguments)),
)
def test_what_is_typed_is_shown_inert(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        numduel(arguments)
    assert ended.value.code == 2
    out, err = capsys.readouterr()
    assert_inert(out + err, lines=1)


def test_what_is_entered_is_shown_inert():
    typed = f"4\x1b[31m\x07\n{NASTY}\nquit\n"
    ran = run_program(PLAY, "--game", "divider-duel", "--second", "random", "--seed", 0, typed=typed)
    assert_inert(ran.out + ran.err)


def test_every_text_of_results_is_shown_inert(tmp_path):
    results = evaluate("divider-duel", ["random", "greedy", "solver"], duels=4, exploit=True)
    record = json.loads(results.to_json())
    path, shown = tmp_path / "results.json", 0
    for place, is_key in texts_of(record):
        path.write_text(json.dumps(spoiled(record, place, is_key)))
        try:
            assert_inert(str(Results.load(path)))
            shown += 1
        except ValueError as wrong:
            assert str(wrong).isprintable()
    assert shown > 20


class Nasty:
    """Fails with a nasty text."""

    def __init__(self, rules):
        pass

    def choose(self, position, legal, generator):
        raise RuntimeError(NASTY)


def test_what_an_agent_says_is_shown_inert():
    results = evaluate("divider-duel", {f"nasty{NASTY}": Nasty, "random": "random"}, duels=4)
    assert_inert(str(results))
    assert re.search(r"^nasty\\x1b\[31m\\x07 .*lost [34] duel\(s\): it raised RuntimeError", str(results), re.MULTILINE)
    nameless = replace(results, agents=tuple(replace(agent, reasons={NASTY: 1}) for agent in results.agents))
    assert_inert(str(nameless))
