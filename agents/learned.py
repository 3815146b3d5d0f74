"""Agents that were trained: the network of a checkpoint, and how it is loaded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.checkpoint import BadCheckpoint, Tensors, name_of_game, read_card, read_tensors, rules_of
from agents.networks import NETWORKS, Floats, Network, softmax
from numduel_env.observation import MoveObserver, Observer
from numduel_env.rules import BoolArray, Position, Rules, flattened, same_rules

REFERENCES = Path(__file__).parent.parent / "train" / "reference"
"""Holds a folder for each trained agent that comes with the project."""


class LearnedAgent:
    """Plays the legal move that its network prefers."""

    def __init__(self, rules: Rules, network: Network) -> None:
        self.rules, self.network = rules, network

    def choose(self, position: Position, generator: np.random.Generator) -> NDArray[np.int64]:
        legal = self.rules.legal(position)
        flat = legal.reshape(-1, legal.shape[-1])
        seen = self.network.see(flattened(position, legal.ndim - 1), flat)
        return self.choose_seen(seen, flat).reshape(legal.shape[:-1])

    def choose_seen(self, seen: Any, legal: BoolArray) -> NDArray[np.int64]:
        """Return the moves in a batch of positions that were ``seen`` by such a network."""
        chosen: NDArray[np.int64] = masked(self.network.preferences(seen), legal).argmax(-1)
        return chosen

    def evaluate(self, position: Position) -> tuple[Floats, Floats]:
        """Return the probability of each legal move ``[N, A]`` and the value to the mover, as a tree search asks."""
        legal = self.rules.legal(position)
        preferences, values = self.network.judge(self.network.see(position, legal))
        return softmax(masked(preferences, legal)), np.nan_to_num(values)


def masked(preferences: Floats, legal: BoolArray) -> Floats:
    """Return the preferences with -inf for illegal moves, and something more for legal ones.

    Weights may be so large that a preference is infinite; even then no illegal move may match a legal one.
    """
    among_legal: Floats = np.where(legal, np.nan_to_num(preferences), -np.inf)
    return among_legal


def card_of_network(kind: str, observer: Observer | MoveObserver, layers: Sequence[int]) -> dict[str, Any]:
    """Return what a card says of a network and of what it sees."""
    observation = {"lookahead": observer.lookahead, "layout": observer.layout}
    return {"network": {"kind": kind, "layers": list(layers), "activation": "ReLU"}, "observation": observation}


def load_agent(folder: Path, rules: Rules) -> LearnedAgent:
    """Return the agent of a checkpoint for ``rules``; raises ``BadCheckpoint`` that names what does not fit."""
    card = read_card(folder)
    try:
        made, observer, tensors = read_network(folder, card, rules)
    except BadCheckpoint:
        # Whoever trains in the folder may have replaced the files since the card was read.
        if (newer := read_card(folder)) == card:
            raise
        made, observer, tensors = read_network(folder, newer, rules)
    return LearnedAgent(rules, made(observer, tensors))


def read_network(folder: Path, card: dict[str, Any], rules: Rules) -> tuple[Any, Any, Tensors]:
    """Return the class of a checkpoint's network, its observer and its weights, all checked against ``rules``."""
    if not same_rules(rules_of(card), rules):
        raise BadCheckpoint(f"{folder} was trained for {name_of_game(card)}, not for the game that is played here")
    try:
        layers = [int(width) for width in card["network"]["layers"]]
        made = NETWORKS[card["network"]["kind"]]
        observer: Any = made.make_observer(rules, bool(card["observation"]["lookahead"]))
        described = card_of_network(made.kind, observer, layers)
    except (KeyError, TypeError, ValueError, OverflowError) as wrong:
        raise BadCheckpoint(f"the card in {folder} does not describe its network: {wrong!r}") from None
    for part, here in described.items():
        if card[part] != here:
            raise BadCheckpoint(f"the {part} in {folder} is {card[part]}; this version has {here}")
    tensors = read_tensors(folder, card, "weights")
    expected = made.shapes(observer, layers)
    for name in sorted(expected.keys() | tensors.keys()):
        found = tensors[name].shape if name in tensors else None
        if found != expected.get(name):
            raise BadCheckpoint(
                f"the weights in {folder} do not fit the card: {name} should be {expected.get(name)}, is {found}"
            )
    return made, observer, tensors


def reference_for(rules: Rules) -> Path:
    """Return the folder of the trained agent that comes with the project for ``rules``."""
    cards = {folder: read_card(folder) for folder in sorted(REFERENCES.glob("*/"))}
    for folder, card in cards.items():
        if same_rules(rules_of(card), rules):
            return folder
    known = ", ".join(map(name_of_game, cards.values())) or "none"
    raise BadCheckpoint(f"no trained agent comes with the project for this game; there are: {known}")
