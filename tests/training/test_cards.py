"""Cards of runs that are to go on: a damaged one is refused in one line, and the folder stays as it was."""

from __future__ import annotations

import json

import pytest

from tests.support.programs import run_program
from tests.training.learners import PROGRAM, rewrite_card

DAMAGE = {
    "no training": lambda card: card.pop("training"),
    "no progress": lambda card: card["training"].pop("progress"),
    "no plies": lambda card: card["training"]["progress"].pop("plies"),
    "plies in words": lambda card: card["training"]["progress"].update(plies="many"),
    "negative plies": lambda card: card["training"]["progress"].update(plies=-5),
    "no curve": lambda card: card["training"].pop("curve"),
    "a strange curve": lambda card: card["training"].update(curve=[{"plies": "x"}]),
    "no standing": lambda card: card["training"].pop("standing"),
    "a strange standing": lambda card: card["training"].update(standing={"sample": 2}),
    "no arguments": lambda card: card["training"].pop("arguments"),
    "a strange argument": lambda card: card["training"]["arguments"].update(colour="red"),
    "a strange opponent": lambda card: card["training"]["arguments"].update(opponent="foo"),
    "a strange device": lambda card: card["training"]["arguments"].update(device=[3]),
    "no device": lambda card: card["training"]["arguments"].update(device=None),
    "half a seed": lambda card: card["training"]["arguments"].update(seed=1.5),
    "endless plies": lambda card: card["training"]["arguments"].update(plies=float("inf")),
    "too many plies": lambda card: card["training"]["curve"][0].update(plies=10**400),
    "a share above 1": lambda card: card["training"]["curve"][0].update(against_random=1.5),
    "no sessions": lambda card: card["training"].pop("sessions"),
    "endless layers": lambda card: card["network"].update(layers=[float("inf")]),
    "a hyperparameter that is none": lambda card: card["training"]["preset"].update(n_epoch=5),
    "a hyperparameter out of its limits": lambda card: card["training"]["preset"].update(n_epochs=-5),
    "a hyperparameter of another network": lambda card: card["training"]["preset"].update(net_arch="9"),
    "another program": lambda card: card["training"].update(program="train/rllib.py"),
    "another version": lambda card: card["game"].update(version=7),
    "another schema": lambda card: card.update(schema=1),
    "a strange file": lambda card: card["files"]["state"].update(name="x\0y"),
    "no state": lambda card: card["files"].pop("state"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_card_is_refused_in_one_line(damage, unfinished):
    rewrite_card(unfinished, DAMAGE[damage])
    before = (unfinished / "card.json").read_bytes()
    ran = run_program(PROGRAM, "--resume", unfinished)
    assert ran.code == 2 and len(ran.err.splitlines()) == 1, ran.err
    assert (unfinished / "card.json").read_bytes() == before


def test_the_same_card_undamaged_is_accepted(unfinished):
    rewrite_card(unfinished, lambda card: None)
    ran = run_program(PROGRAM, "--resume", unfinished)
    assert ran.code == 0, ran.err
    assert json.loads((unfinished / "card.json").read_text())["training"]["progress"]["finished"]
