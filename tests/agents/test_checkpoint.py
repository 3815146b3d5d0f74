"""Checkpoints are data: what does not fit is named, and nothing in them is ever run."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load, save

from agents import make_agent
from agents.cards import Card, CurvePoint, GameCard, TrainingCard, TrainingProgress
from agents.checkpoint import LARGEST_CARD, LARGEST_FILE, BadCheckpoint, read_card, read_tensors, write_checkpoint
from agents.learned import NETWORKS, Architecture, load_agent
from numduel_env import GAMES
from numduel_env.rules import same_rules
from tests.support.programs import run_program
from tests.support.variants import each_variant


def write_agent(folder, game="divider-duel", kind="afterstates", seed=0, **params):
    """Write an agent that has learned nothing, and return its card."""
    spec = GAMES[game]
    rules = spec.make_rules(**params)
    network = NETWORKS[kind]
    observer = network.make_observer(rules, True)
    generator = np.random.default_rng(seed)
    tensors = {
        name: generator.normal(size=shape).astype(np.float32)
        for name, shape in network.shapes(observer, [8, 8]).items()
    }
    folder.mkdir(exist_ok=True)
    card = Card(GameCard.of(spec, params), *Architecture.of(kind, observer, [8, 8]))
    written = write_checkpoint(folder, card, {"weights": tensors})
    assert read_card(folder) == written
    return written


@pytest.mark.parametrize("kind", ["flat", "afterstates"])
@each_variant
def test_a_written_agent_is_read_and_plays_legally(game, params, kind, tmp_path):
    write_agent(tmp_path, game, kind, **params)
    rules = GAMES[game].make_rules(**params)
    agent = load_agent(tmp_path, rules)
    position = rules.initial((5,))
    generator = np.random.default_rng(0)
    for _ in range(rules.max_plies):
        legal = rules.legal(position)
        chosen = agent.choose(position, legal, generator)
        assert legal[np.arange(5), chosen].all()
        prior, value = agent.evaluate(position, legal)
        np.testing.assert_allclose(prior.sum(-1), 1, atol=1e-5)
        assert not prior[~legal].any() and (np.abs(value) <= 1).all()
        np.testing.assert_array_equal(prior.argmax(-1), chosen)
        position = rules.play(position, chosen)
        if rules.over(position).any():
            break
    # Nothing is preferred where nothing is legal, and no warning is given.
    over = position._make(np.concatenate([field, field]) for field in position)
    assert agent.evaluate(over, rules.legal(over))[0].shape == (10, len(rules.numbers))


def test_saving_again_leaves_one_checkpoint(tmp_path):
    first = write_agent(tmp_path, seed=0)
    second = write_agent(tmp_path, seed=1)
    assert first.files != second.files
    assert {path.name for path in tmp_path.iterdir()} == {"card.json", second.files["weights"].name}


def test_a_writer_that_dies_leaves_the_checkpoint_before(tmp_path, monkeypatch):
    before = write_agent(tmp_path, seed=0)

    def die(path, content):
        if str(path).endswith("card.json"):
            raise KeyboardInterrupt
        Path(path).write_bytes(content)

    monkeypatch.setattr("agents.checkpoint.write_atomically", die)
    with pytest.raises(KeyboardInterrupt):
        write_agent(tmp_path, seed=1)
    assert read_card(tmp_path) == before
    assert load_agent(tmp_path, GAMES["divider-duel"].make_rules())


def rewrite(folder, change):
    """Change the card on disk."""
    card = json.loads((folder / "card.json").read_text())
    change(card)
    (folder / "card.json").write_text(json.dumps(card))


def put_weights(folder, content):
    """Put other bytes in the place of the weights, with a digest that fits them."""

    def change(card):
        entry = card["files"]["weights"]
        (folder / entry["name"]).write_bytes(content)
        entry["sha256"] = hashlib.sha256(content).hexdigest()

    rewrite(folder, change)


def changed_tensors(folder, change):
    tensors = load(weights_of(folder).read_bytes())
    change(tensors)
    put_weights(folder, save(tensors))


def weights_of(folder):
    return folder / read_card(folder).files["weights"].name


def truncate(folder):
    path = weights_of(folder)
    path.write_bytes(path.read_bytes()[:-7])


def flip_a_bit(folder):
    path = weights_of(folder)
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)


def replaced(path, make):
    """Put something else in the place of a file."""
    path.unlink()
    make(path)


class Bomb:
    def __reduce__(self):
        return os.mkdir, ("exploded",)


def written_card(content):
    """Return what puts other bytes in the place of the card."""
    return lambda folder: (folder / "card.json").write_bytes(content)


def spoiled_tensor(tensor):
    """Return what puts another tensor in the place of a bias."""
    return lambda folder: changed_tensors(folder, lambda tensors: tensors.update({"move.0.bias": tensor}))


BAD_CARDS = {
    "another schema": (lambda card: card.update(schema=99), "schema 99"),
    "no schema": (lambda card: card.pop("schema"), "missing required field `schema`"),
    "no game": (lambda card: card.pop("game"), "missing required field `game`"),
    "an unknown game": (lambda card: card["game"].update(name="go"), "there is no game 'go'"),
    "other parameters": (lambda card: card["game"]["parameters"].update(highest=10), "highest=10"),
    "nonsense parameters": (lambda card: card["game"]["parameters"].update(highest=-1), "highest"),
    "another version": (lambda card: card["game"].update(version=7), "version 7"),
    "no network": (lambda card: card.pop("network"), "missing required field `network`"),
    "another kind": (lambda card: card["network"].update(kind="lstm"), "lstm"),
    "another activation": (lambda card: card["network"].update(activation="tanh"), "tanh"),
    "another layout": (lambda card: card["observation"].update(layout={"pool": 9}), "'pool': 9"),
    "no lookahead": (lambda card: card["observation"].update(lookahead=False), "looks ahead"),
    "other layers": (lambda card: card["network"].update(layers=[8, 5]), "do not fit the card"),
    "endless layers": (lambda card: card["network"].update(layers=[1e999]), "JSON is malformed"),
    "a layer too wide": (lambda card: card["network"].update(layers=[10**9]), "$.network.layers[0]"),
    "an empty layer": (lambda card: card["network"].update(layers=[0]), "$.network.layers[0]"),
    "no file named": (lambda card: card["files"].clear(), "names no file of weights"),
    "a file elsewhere": (lambda card: card["files"]["weights"].update(name="../x"), "names no file"),
}
"""Changes of a card, and a part of the refusal."""

BAD_FILES = {
    "no card": (lambda f: (f / "card.json").unlink(), "is not the folder of a trained agent"),
    "a card that is cut off": (written_card(b"{"), "is no card of a trained agent: Input data was truncated"),
    "a card that is no object": (written_card(b"[1]"), "is no card of a trained agent: Expected `object`"),
    "a pickled card": (written_card(pickle.dumps(Bomb())), "is no card of a trained agent: JSON is malformed"),
    "a card of many brackets": (written_card(b'{"schema": 2, "x": ' + b"[" * 100_000), "is no card of a trained agent"),
    "a card in another code": (written_card(b"\xff\xfe"), "is no card of a trained agent: JSON is malformed"),
    "a folder for a card": (lambda f: replaced(f / "card.json", Path.mkdir), "cannot be read"),
    "no file": (lambda f: weights_of(f).unlink(), "cannot be read"),
    "a pipe": (lambda f: replaced(weights_of(f), os.mkfifo), "it is no file"),
    "a device": (lambda f: replaced(weights_of(f), lambda path: path.symlink_to("/dev/zero")), "it is no file"),
    "a card too large": (
        lambda f: (f / "card.json").write_bytes((f / "card.json").read_bytes() + b" " * LARGEST_CARD),
        "it is no file of at most 4,194,304 bytes",
    ),
    "a file too large": (lambda f: os.truncate(weights_of(f), LARGEST_FILE + 1), "it is no file of at most"),
    "a truncated file": (truncate, "SHA-256"),
    "a changed file": (flip_a_bit, "SHA-256"),
    "a pickle": (lambda f: put_weights(f, pickle.dumps(Bomb())), "is no safetensors file"),
    "an empty file": (lambda f: put_weights(f, b""), "is no safetensors file"),
    "a missing tensor": (lambda f: changed_tensors(f, lambda tensors: tensors.pop("move.0.bias")), "move.0.bias"),
    "one tensor more": (
        lambda f: changed_tensors(f, lambda tensors: tensors.update(x=np.zeros(1, np.float32))),
        "x should be None",
    ),
    "not a number": (spoiled_tensor(np.full(8, np.nan, np.float32)), "finite float32"),
    "integers": (spoiled_tensor(np.zeros(8, np.int64)), "finite float32"),
}
"""Changes of a folder, and a part of the refusal."""


def refusal(folder):
    """Return why a folder is refused, which is the same by whichever door."""
    rules = GAMES["divider-duel"].make_rules()
    with pytest.raises(BadCheckpoint) as refused:
        load_agent(folder, rules)
    with pytest.raises(ValueError, match="the agent 'ppo:") as named:
        make_agent(f"ppo:{folder}", rules)
    message = str(refused.value)
    assert message in str(named.value) and "\n" not in message
    return message


@pytest.mark.parametrize("damage", BAD_CARDS)
def test_a_card_that_does_not_fit_is_refused(damage, tmp_path):
    write_agent(tmp_path)
    change, message = BAD_CARDS[damage]
    rewrite(tmp_path, change)
    assert message in refusal(tmp_path)


@pytest.mark.parametrize("damage", BAD_FILES)
def test_a_file_that_does_not_fit_is_refused(damage, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "agent"
    write_agent(folder)
    spoil, message = BAD_FILES[damage]
    spoil(folder)
    assert message in refusal(folder)
    assert not (tmp_path / "exploded").exists()


@pytest.mark.parametrize("kind", NETWORKS)
def test_whatever_the_weights_moves_are_legal(kind, tmp_path):
    write_agent(tmp_path, kind=kind)
    changed_tensors(tmp_path, lambda tensors: [tensor.fill(-3e38) for tensor in tensors.values()])
    rules = GAMES["divider-duel"].make_rules()
    agent = load_agent(tmp_path, rules)
    position = rules.play(rules.initial((1,)), np.array([0]))
    legal = rules.legal(position)
    # Without a warning, too, which here would be an error.
    assert legal[0, agent.choose(position, legal, np.random.default_rng(0))[0]]
    prior, value = agent.evaluate(position, legal)
    assert np.isfinite(value).all() and prior.sum() == pytest.approx(1)
    assert not prior[~legal].any()


def test_a_checkpoint_that_is_replaced_meanwhile_is_read_anew(tmp_path, monkeypatch):
    """Whoever reads beside a trainer may have read the card just before its files were replaced."""
    write_agent(tmp_path, seed=0)
    rules = GAMES["divider-duel"].make_rules()
    replaced_once = []

    def read_and_replace(folder):
        card = read_card(folder)
        if not replaced_once:
            replaced_once.append(card)
            write_agent(tmp_path, seed=1)
        return card

    monkeypatch.setattr("agents.learned.read_card", read_and_replace)
    agent = load_agent(tmp_path, rules)
    assert replaced_once[0] != read_card(tmp_path)
    monkeypatch.undo()
    position = rules.initial((1,))
    asked = position, rules.legal(position)
    np.testing.assert_array_equal(agent.evaluate(*asked)[0], load_agent(tmp_path, rules).evaluate(*asked)[0])


def test_what_is_not_json_is_not_written(tmp_path):
    before = write_agent(tmp_path)
    curve = (CurvePoint(0, 0.0, float("nan"), None),)
    training = TrainingCard("train/ppo.py", {}, {}, TrainingProgress(0, 0.0, finished=False), curve, None, ())
    with pytest.raises(ValueError, match="JSON"):
        write_checkpoint(tmp_path, replace(before, training=training), {})
    assert read_card(tmp_path) == before


def test_an_agent_of_another_game_is_refused(tmp_path):
    write_agent(tmp_path)
    for other in (GAMES["divider-duel"].make_rules(highest=10), GAMES["prime-rumble"].make_rules()):
        with pytest.raises(BadCheckpoint, match=r"was trained for divider-duel \(lowest=2, highest=9\)"):
            load_agent(tmp_path, other)


def test_rules_are_the_same_by_their_data():
    for name, spec in GAMES.items():
        for other_name, other in GAMES.items():
            assert same_rules(spec.make_rules(), other.make_rules()) == (name == other_name)
    one, two = (GAMES["prime-duel-sum"].make_rules(when_empty=ending) for ending in ("higher", "refill"))
    assert not same_rules(one, two)
    # What is made later on demand is no difference.
    asked, fresh = GAMES["divider-duel"].make_rules(), GAMES["divider-duel"].make_rules()
    asked.outlook(asked.initial())
    assert same_rules(asked, fresh)


def test_the_programs_say_it_in_one_line(tmp_path):
    write_agent(tmp_path)
    truncate(tmp_path)
    for command in (
        ["train/evaluate.py", "--game", "divider-duel", f"ppo:{tmp_path}", "random"],
        ["agents/play.py", "--game", "divider-duel", "--first", f"ppo:{tmp_path}", "--second", "random"],
        ["agents/play.py", "--game", "divider-duel", "--highest", "12", "--first", "ppo:reference"],
    ):
        ran = run_program(*command)
        assert ran.code == 2
        assert len(ran.err.splitlines()) == 1, ran.err


def test_without_safetensors_the_way_out_is_named(tmp_path, monkeypatch):
    write_agent(tmp_path)
    monkeypatch.setitem(sys.modules, "safetensors", None)
    with pytest.raises(BadCheckpoint, match=r"safetensors, which is not installed: pip install"):
        read_tensors(tmp_path, read_card(tmp_path), "weights")
