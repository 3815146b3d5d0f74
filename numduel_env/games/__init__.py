"""The table of games. Ids, command-line choices, the README's table and the tests all derive from it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from numduel_env import text as wording
from numduel_env.duels import Duel
from numduel_env.games.factor_chain import FactorChain
from numduel_env.games.prime_duel_product import PrimeDuelProduct
from numduel_env.games.prime_duel_sum import PrimeDuelSum
from numduel_env.games.sieve import Sieve
from numduel_env.rules import Rules


@dataclass(frozen=True, eq=False)
class GameSpec:
    """One game: ``rules(**params)`` makes its rules, ``params`` are the book's own sizes.

    ``title`` is what the book calls the game; two books may share one. ``version`` counts changes of the rules or
    observations that make older results incomparable.
    """

    name: str
    title: str
    rules: Callable[..., Rules]
    params: dict[str, Any]
    version: int = 0
    wording: wording.Wording = field(default_factory=wording.Wording)

    @property
    def gymnasium_id(self) -> str:
        words = self.name.split("-")
        return f"numduel/{''.join(word.capitalize() for word in words)}-v{self.version}"

    @property
    def pettingzoo_id(self) -> str:
        return f"numduel/{self.name.replace('-', '_')}-v{self.version}"

    @property
    def openspiel_name(self) -> str:
        return f"numduel_{self.name.replace('-', '_')}"

    def make_rules(self, **params: Any) -> Rules:
        """Return the rules with the book's parameters, except for those given."""
        for name in params:
            if name not in self.params:
                allowed = ", ".join(self.params) or "none"
                raise TypeError(f"there is no option {name!r}; the parameters of {self.name} are: {allowed}")
        return self.rules(**{**self.params, **params})

    def replay(self, rules: Rules, moves: Iterable[Any]) -> Duel:
        """Return the duel in which ``moves`` (numbers, not actions) have been played by ``rules``.

        Raises a ``ValueError`` that says which move cannot be played and why.
        """
        if isinstance(moves, str | bytes) or not isinstance(moves, Iterable):
            raise ValueError(f"moves must be a sequence of numbers, not {moves!r}")
        duel = Duel(rules)
        for place, move in enumerate(moves, start=1):
            if isinstance(move, bool | np.bool_) or not isinstance(move, int | np.integer):
                raise ValueError(f"move {place} must be a whole number, not {move!r}")
            number = int(move)
            if duel.finished:
                raise ValueError(f"move {place} ({number}) comes after the end of the game")
            action = np.flatnonzero(rules.numbers == number)
            if not len(action) or not duel.legal[action[0]]:
                raise ValueError(f"move {place} ({number}) is illegal: {self.wording.refusal(duel, number)}")
            duel.play(int(action[0]))
        return duel


GAMES: dict[str, GameSpec] = {}


def add_game(spec: GameSpec) -> GameSpec:
    """Put a game into the table."""
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", spec.name):
        raise ValueError(f"a game's name is lower-case words joined by dashes, not {spec.name!r}")
    if spec.name in GAMES:
        raise ValueError(f"there is a game named {spec.name!r} already")
    GAMES[spec.name] = spec
    return spec


def find_game(name: str | GameSpec) -> GameSpec:
    """Return the game of that name (dashes or underscores), or raise a ``ValueError`` that shows the way."""
    if isinstance(name, GameSpec):
        return name
    wanted = str(name).strip().lower().replace("_", "-")
    if wanted in GAMES:
        return GAMES[wanted]
    namesakes = [spec.name for spec in GAMES.values() if spec.title.lower().replace(" ", "-") == wanted]
    if len(namesakes) == 1:
        return GAMES[namesakes[0]]
    if namesakes:
        raise ValueError(f"{name!r} is the title of several games; choose {' or '.join(namesakes)}")
    nearest = difflib.get_close_matches(wanted, GAMES, n=1, cutoff=0.5)
    hint = f" Did you mean {nearest[0]}?" if nearest else ""
    raise ValueError(f"there is no game {name!r}.{hint} The games are: {', '.join(GAMES)}")


add_game(GameSpec("prime-rumble", "Prime Rumble", Sieve, {"lowest": 2, "highest": 50}, 0, wording.PrimeRumbleWording()))
add_game(
    GameSpec(
        "factor-chain-duel",
        "Factor Chain Duel",
        FactorChain,
        {"lowest": 2, "highest": 50},
        0,
        wording.FactorChainWording(),
    )
)
add_game(GameSpec("divider-duel", "Divider Duel", Sieve, {"lowest": 2, "highest": 9}, 0, wording.DividerDuelWording()))
add_game(
    GameSpec(
        "prime-duel-product",
        "Prime Duel",
        PrimeDuelProduct,
        {"target": 1000, "primes_below": 30},
        0,
        wording.PrimeDuelProductWording(),
    )
)
add_game(
    GameSpec(
        "prime-duel-sum",
        "Prime Duel",
        PrimeDuelSum,
        {"lowest": 2, "highest": 10, "target": 50, "when_empty": "higher", "max_plies": 200},
        0,
        wording.PrimeDuelSumWording(),
    )
)
