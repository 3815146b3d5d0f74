"""Agents that were trained: the network of a checkpoint, and how it is loaded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.cards import Card, NetworkCard, ObservationCard
from agents.checkpoint import BadCheckpoint, Tensors, read_card, read_tensors, rules_of
from agents.networks import AfterstateNetwork, FlatNetwork, Floats, Network, softmax
from agents.nimbers import ExactParts, NimberNetwork, PartObserver
from numduel_env.batch import BoolArray, Position
from numduel_env.observation import AfterstateObserver, Observer
from numduel_env.rules import Rules, same_rules

NETWORKS: dict[str, type[FlatNetwork] | type[AfterstateNetwork] | type[NimberNetwork]] = {
    network.kind: network for network in (FlatNetwork, AfterstateNetwork, NimberNetwork)
}
"""Networks by what a card calls their kind."""

REFERENCES = Path(__file__).parent / "reference"
"""Holds a folder for each trained agent that comes with the project."""


class LearnedAgent:
    """Plays the legal move with the highest logit."""

    def __init__(self, rules: Rules[Any], network: Network) -> None:
        self.rules, self.network = rules, network

    def choose(self, position: Position, legal: BoolArray, generator: np.random.Generator) -> NDArray[np.int64]:
        return self.choose_observed(self.network.observe(position, legal), legal)

    # Weights may be so large that their products are infinite: the moves are legal all the same, and nobody is warned.
    @np.errstate(over="ignore", invalid="ignore")
    def choose_observed(self, observed: Any, legal: BoolArray) -> NDArray[np.int64]:
        """Return the moves in a batch of positions that such a network has observed."""
        chosen: NDArray[np.int64] = masked(self.network.logits(observed), legal).argmax(-1)
        return chosen

    @np.errstate(over="ignore", invalid="ignore")
    def evaluate(self, position: Position, legal: BoolArray) -> tuple[Floats, Floats]:
        """Return the prior ``[N, A]`` over the legal moves and the values ``[N]`` to the movers, for a tree search."""
        logits, values = self.network.evaluate(self.network.observe(position, legal))
        return softmax(masked(logits, legal)), np.nan_to_num(values)


def masked(logits: Floats, legal: BoolArray) -> Floats:
    """Return the logits with -inf for illegal moves, and more than that for legal ones.

    Weights may be so large that a logit is infinite; even then no illegal move may equal a legal one.
    """
    among_legal: Floats = np.where(legal, np.nan_to_num(logits), -np.inf)
    return among_legal


class Architecture(NamedTuple):
    """A network without its weights, as a card describes it."""

    network: NetworkCard
    observation: ObservationCard

    @classmethod
    def of(
        cls, kind: str, observer: Observer | AfterstateObserver | PartObserver, layers: Sequence[int]
    ) -> Architecture:
        """Return the description of a network with hidden ``layers`` over an observer's observations."""
        return cls(NetworkCard(kind, tuple(layers)), ObservationCard(observer.lookahead, observer.layout))


def load_agent(folder: Path, rules: Rules[Any], exact: int = 0) -> LearnedAgent:
    """Return the agent of a checkpoint for ``rules``; raises ``BadCheckpoint`` that names what does not fit.

    Parts of at most ``exact`` numbers are not left to the network: see ``agents.nimbers.ExactParts``.
    """
    card = read_card(folder)
    try:
        network = load_network(folder, card, rules)
    except BadCheckpoint:
        # Whoever trains in the folder may have replaced the files since the card was read.
        if (newer := read_card(folder)) == card:
            raise
        network = load_network(folder, newer, rules)
    if exact:
        if not isinstance(network, NimberNetwork):
            raise BadCheckpoint(f"the network in {folder} does not judge parts, so none can be backed up exactly")
        network.exact = ExactParts(network.observer.parts, exact)
    return LearnedAgent(rules, network)


def load_network(folder: Path, card: Card, rules: Rules[Any]) -> Network:
    """Return the network of a checkpoint with its weights, or raise ``BadCheckpoint``."""
    weights = read_weights(folder, card, rules)
    kind = NETWORKS[card.network.kind]
    observer: Any = kind.make_observer(rules, card.observation.lookahead)
    return kind(observer, weights)


def read_weights(folder: Path, card: Card, rules: Rules[Any]) -> Tensors:
    """Return the weights of a checkpoint, or raise ``BadCheckpoint`` unless they and the card fit ``rules``."""
    if not same_rules(rules_of(card.game), rules):
        raise BadCheckpoint(f"{folder} was trained for {card.game}, not for the game that is played here")
    return fitting_weights(folder, card, rules)


def fitting_weights(folder: Path, card: Card, rules: Rules[Any]) -> Tensors:
    """Return the weights of a checkpoint, of whatever game, or raise ``BadCheckpoint`` unless they fit ``rules``.

    They do if the game that was learned is observed as this one is.
    """
    try:
        kind = NETWORKS[card.network.kind]
        observer: Any = kind.make_observer(rules, card.observation.lookahead)
    except (KeyError, ValueError) as wrong:
        raise BadCheckpoint(f"the card in {folder} does not describe its network: {wrong!r}") from None
    refuse_misfit(folder, card, Architecture.of(kind.kind, observer, card.network.layers))
    weights = read_tensors(folder, card, "weights")
    try:
        shapes = kind.shapes(observer, card.network.layers)
    except ValueError as wrong:
        raise BadCheckpoint(f"the card in {folder} does not describe its network: {wrong}") from None
    for name in sorted(shapes.keys() | weights.keys()):
        found = weights[name].shape if name in weights else None
        if found != shapes.get(name):
            raise BadCheckpoint(
                f"the weights in {folder} do not fit the card: {name} should be {shapes.get(name)}, is {found}"
            )
    return weights


def refuse_misfit(folder: Path, card: Card, here: Architecture) -> None:
    """Raise ``BadCheckpoint`` if the network of a checkpoint is built otherwise than ``here``."""
    for part, there, wanted in zip(here._fields, (card.network, card.observation), here):
        if there != wanted:
            raise BadCheckpoint(f"the {part} in {folder} is {there}; here it is {wanted}")


def reference_for(rules: Rules[Any], program: str) -> Path:
    """Return the folder of the agent that ``program`` has trained for ``rules`` and that comes with the project."""
    cards = {folder: read_card(folder) for folder in sorted(REFERENCES.glob("*/"))}
    games = {folder: card.game for folder, card in cards.items() if card.training and card.training.program == program}
    for folder, game in games.items():
        if same_rules(rules_of(game), rules):
            return folder
    known = ", ".join(map(str, games.values())) or "none"
    raise BadCheckpoint(f"no agent of {program} comes with the project for this game; there are: {known}")
