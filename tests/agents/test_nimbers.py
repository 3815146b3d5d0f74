"""Agents that know Grundy values: the sum of parts against brute force, exact parts, and hostile checkpoints."""

from __future__ import annotations

import json
from itertools import product

import numpy as np
import pytest

from agents import make_agent
from agents.cards import Card, GameCard
from agents.checkpoint import BadCheckpoint, read_card, write_checkpoint
from agents.learned import Architecture, load_agent
from agents.nimbers import ExactParts, NimberNetwork, PartObserver
from agents.part_memory import UNKNOWN, PartMemory
from numduel_env import GAMES
from numduel_env.evaluation.exploitability import random_positions
from numduel_env.games.sieve import Pool, Sieve
from numduel_env.parts import Parts
from numduel_env.solvers import solver_for
from tests.support.toys import Kayles

KAYLES = [0, 1, 2, 3, 1, 4, 3, 2, 1, 4, 2, 6, 4]
"""The Grundy values of rows of 0 to 12 pins, as *Winning Ways* has them."""


def random_weights(observer, layers, seed=0, scale=0.3):
    generator = np.random.default_rng(seed)
    shapes = NimberNetwork.shapes(observer, layers)
    return {name: generator.normal(0, scale, shape).astype(np.float32) for name, shape in shapes.items()}


def grundy(rules, position):
    """The definition: the mex of the Grundy values of what the moves lead to."""
    legal = np.flatnonzero(rules.legal(position))
    after = {grundy(rules, rules.play(position, int(action))) for action in legal}
    return min(set(range(len(after) + 1)) - after)


def test_the_memory_knows_kayles():
    for pins, value in enumerate(KAYLES[2:], 2):
        parts = Parts(Kayles(pins))
        memory, word = PartMemory(parts), parts.words(np.ones((1, 2 * pins - 1), bool))
        assert memory.find(word) == UNKNOWN and memory.learn(word) and memory.find(word) == value


def test_the_memory_is_the_definition_and_the_solver():
    rules = Sieve(2, 40)
    parts = Parts(rules)
    found = parts.split(parts.random_words(200, np.random.default_rng(1))).parts
    small = np.unique(found[np.bitwise_count(found) <= 14])
    memory = PartMemory(parts)
    memory.learn(small)
    values = memory.find(small)
    assert (values == solver_for(rules).nimber(Pool(parts.sets(small)))).all()
    for part, value in list(zip(small, values))[:: max(len(small) // 20, 1)]:
        if np.bitwise_count(part) <= 8:
            assert grundy(rules, Pool(parts.sets(np.array([part]))[0])) == value


def test_a_budget_is_kept_and_then_nothing_is_learned():
    parts = Parts(Sieve(2, 40))
    memory, whole = PartMemory(parts), parts.words(np.ones((1, 39), bool))
    assert not memory.learn(whole, 1000) and len(memory) == 0


@pytest.mark.parametrize("rules", [Sieve(2, 20), Kayles(6)], ids=repr)
def test_moves_are_judged_as_by_brute_force(rules):
    """The probability that the Nim sum is 0, over all combinations of the parts' Grundy values."""
    observer = PartObserver(rules)
    network = NimberNetwork(observer, random_weights(observer, (8, 8)))
    position = random_positions(rules, 6, 5)
    legal = rules.legal(position)
    logits, values = network.evaluate(network.observe(position, legal))

    def zero(word):
        _, parts, lone = observer.parts.split(np.array([word], np.uint64))
        beliefs = network.distributions(parts).astype(float)
        total = 0.0
        for combination in product(range(observer.values), repeat=len(parts)):
            nim_sum = int(lone[0])
            for value in combination:
                nim_sum ^= value
            if nim_sum == 0:
                total += np.prod([belief[value] for belief, value in zip(beliefs, combination)])
        return total

    words = observer.parts.words(legal)
    expected = [[zero(after) for after in observer.parts.moves(words[row : row + 1]).after] for row in range(6)]
    for row, wanted in enumerate(expected):
        assert np.exp(logits[row][legal[row]]) == pytest.approx(wanted, abs=2e-5)
        assert values[row] == pytest.approx(1 - 2 * zero(words[row]), abs=2e-5)


def checkpoint(folder, game="divider-duel", layers=(8, 8), change=lambda tensors: tensors):
    """Write a checkpoint with random weights; ``change`` may spoil them."""
    spec = GAMES[game]
    observer = PartObserver(spec.make_rules())
    architecture = Architecture.of(NimberNetwork.kind, observer, layers)
    card = Card(GameCard.of(spec, {}), *architecture)
    return write_checkpoint(folder, card, {"weights": change(random_weights(observer, layers))})


def test_exact_parts_play_perfectly_where_they_reach(tmp_path):
    checkpoint(tmp_path)
    rules = GAMES["divider-duel"].make_rules()
    solver = solver_for(rules)
    position = random_positions(rules, 300, 0)
    legal, values = rules.legal(position), solver.action_values(position)
    kept = []
    for name in (f"nimbers:{tmp_path}", f"nimbers:{tmp_path}:8"):
        chosen = make_agent(name, rules).choose(position, legal, np.random.default_rng(0))
        kept.append((values[np.arange(300), chosen] == values.max(-1)).mean())
    assert kept[0] < kept[1] == 1


def test_exact_parts_are_exact_and_stop_at_their_size():
    rules = Sieve(2, 50)
    parts = Parts(rules)
    asked = np.unique(parts.split(parts.random_words(30, np.random.default_rng(2))).parts)
    found = ExactParts(parts, 12).find(asked, 30)
    known = found != UNKNOWN
    assert (found[known] == solver_for(rules).nimber(Pool(parts.sets(asked[known])))).all()
    sizes = np.bitwise_count(asked)
    assert known[sizes <= 10].all() and not known[sizes > 12].all()


HOSTILE = {
    "an infinite weight": lambda tensors: tensors | {"part.0.bias": np.full(8, np.inf, np.float32)},
    "a tensor too many": lambda tensors: tensors | {"part.7.bias": np.zeros(8, np.float32)},
    "a tensor too few": lambda tensors: {name: t for name, t in tensors.items() if name != "part.1.bias"},
    "another shape": lambda tensors: tensors | {"part.1.weight": np.zeros((8, 9), np.float32)},
}


@pytest.mark.parametrize("damage", HOSTILE)
def test_hostile_weights_are_refused(damage, tmp_path):
    checkpoint(tmp_path, change=HOSTILE[damage])
    with pytest.raises(BadCheckpoint, match=r"finite|do not fit"):
        load_agent(tmp_path, GAMES["divider-duel"].make_rules())


@pytest.mark.parametrize("layers", [[], [8, 9], [65_000, 3]])
def test_hostile_layers_are_refused(layers, tmp_path):
    checkpoint(tmp_path)
    card = json.loads((tmp_path / "card.json").read_text())
    card["network"]["layers"] = layers
    (tmp_path / "card.json").write_text(json.dumps(card))
    with pytest.raises(BadCheckpoint, match=r"one width"):
        load_agent(tmp_path, GAMES["divider-duel"].make_rules())


def test_weights_of_a_game_that_is_no_sum_are_refused(tmp_path):
    card = checkpoint(tmp_path)
    spec = GAMES["factor-chain-duel"]
    plain = json.loads((tmp_path / "card.json").read_text())
    plain["game"] = {"name": spec.name, "version": spec.version, "parameters": spec.params}
    (tmp_path / "card.json").write_text(json.dumps(plain))
    assert read_card(tmp_path).network == card.network
    with pytest.raises(BadCheckpoint, match="do not split"):
        load_agent(tmp_path, spec.make_rules())


def test_huge_weights_still_play_legally(tmp_path):
    huge = {"part.0.weight": 3e38, "part.2.weight": -3e38}
    checkpoint(tmp_path, change=lambda t: {name: np.full_like(w, huge.get(name, 1)) for name, w in t.items()})
    rules = GAMES["divider-duel"].make_rules()
    position = random_positions(rules, 50, 0)
    legal = rules.legal(position)
    with np.errstate(all="ignore"):
        chosen = load_agent(tmp_path, rules).choose(position, legal, np.random.default_rng(0))
    assert legal[np.arange(50), chosen].all()


@pytest.mark.parametrize("size", ["65", "99999999999999999999"])
def test_a_size_beyond_a_word_is_refused(size, tmp_path):
    checkpoint(tmp_path)
    with pytest.raises(ValueError, match="SIZE"):
        make_agent(f"nimbers:{tmp_path}:{size}", GAMES["divider-duel"].make_rules())
