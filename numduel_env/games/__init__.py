"""The table of games. Ids, command-line choices, the README's table and the tests all derive from it."""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakValueDictionary

from numduel_env.games.books import (
    DividerDuelWording,
    FactorChainWording,
    PrimeDuelProductWording,
    PrimeDuelSumWording,
    PrimeRumbleWording,
)
from numduel_env.games.factor_chain import FactorChain
from numduel_env.games.prime_duel_product import PrimeDuelProduct
from numduel_env.games.prime_duel_sum import PrimeDuelSum
from numduel_env.games.sieve import Sieve
from numduel_env.outside import is_reference, load
from numduel_env.rules import Rules, same_rules, whole_number
from numduel_env.text import Wording

Params = dict[str, Any]
"""A game's parameters by name."""


@dataclass(frozen=True, eq=False)
class GameSpec:
    """One game: ``rules(**params)`` makes its rules, ``params`` are the book's own sizes.

    ``title`` is what the book calls the game; two books may share one, and then ``variant`` says which is meant, with
    data of the rules in braces. ``version`` counts changes of the rules or observations that make older results
    incomparable. A game that stands in no table of ours is named as it was found, ``module:attribute``; only games of
    the table have ids.
    """

    name: str
    title: str
    rules: Callable[..., Rules[Any]]
    params: Params
    version: int = 0
    wording: Wording = field(default_factory=Wording)
    variant: str = ""

    def heading(self, rules: Rules[Any]) -> str:
        """Return what stands over a picture or a report: the title, and the variant if there is one."""
        return f"{self.title} ({self.variant.format_map(vars(rules))})" if self.variant else self.title

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

    @property
    def slug(self) -> str:
        """The name in letters, digits and dashes, for folders and the like."""
        return re.sub(r"[^a-z0-9]+", "-", self.name.rpartition(":")[2].lower()).strip("-")

    def make_rules(self, **params: Any) -> Rules[Any]:
        """Return the rules with the book's parameters, except for those given.

        Rules never change, so all who ask for the same at the same time share one object.
        """
        for name in params:
            if name not in self.params:
                allowed = ", ".join(self.params) or "none"
                raise TypeError(f"there is no option {name!r}; the parameters of {self.name} are: {allowed}")
        options = {**self.params, **params}
        # 9, 9.0 and True may be equal keys, but only one of them is a number of the game.
        key = (self, *((name, type(value), value) for name, value in options.items()))
        try:
            rules = _RULES_IN_USE.get(key)
        except TypeError:  # an unhashable value: the rules will say what is wrong with it
            return self.rules(**options)
        if rules is None:
            rules = self.rules(**options)
            if not isinstance(rules, Rules):
                raise TypeError(f"{self.name} must make an instance of numduel_env.Rules, not {type(rules).__name__}")
            _RULES_IN_USE[key] = rules
        return rules


_RULES_IN_USE: WeakValueDictionary[Any, Rules[Any]] = WeakValueDictionary()


GAMES: dict[str, GameSpec] = {}


def add_game(spec: GameSpec) -> GameSpec:
    """Put a game into the table."""
    if not isinstance(spec, GameSpec):
        raise ValueError(f"register_game takes a GameSpec, not {spec!r}")
    if not isinstance(spec.name, str) or not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", spec.name):
        raise ValueError(f"a game's name is lower-case words joined by dashes, not {spec.name!r}")
    if spec.name in GAMES:
        raise ValueError(f"there is a game named {spec.name!r} already")
    if not isinstance(spec.title, str) or not spec.title.strip() or not spec.title.isprintable():
        raise ValueError(f"a game's title must be a text in one line, not {spec.title!r}")
    if not callable(spec.rules):
        raise ValueError(f"rules must be a class of rules or a function that makes them, not {spec.rules!r}")
    if not isinstance(spec.params, dict) or not all(isinstance(name, str) for name in spec.params):
        raise ValueError(f"params must be a dict of parameters by name, not {spec.params!r}")
    whole_number("version", spec.version, 0)
    GAMES[spec.name] = spec
    return spec


_OUTSIDE: dict[str, GameSpec] = {}
"""Games found as ``module:attribute``, by that name."""


def find_game(name: str | GameSpec) -> GameSpec:
    """Return the game of that name, or raise a ``ValueError`` that shows the way.

    A name of the table may have dashes, underscores or blanks. ``module:attribute`` is imported, and must be a
    ``GameSpec`` or a subclass of ``Rules`` whose parameters have defaults.
    """
    if isinstance(name, GameSpec):
        return name
    if is_reference(name):
        if name not in _OUTSIDE:
            _OUTSIDE[name] = _game_of(load(name), name)
        return _OUTSIDE[name]
    return _game_of_the_table(name)


def find_known_game(name: str) -> GameSpec:
    """Return the game of a name that stands in a file, where ``module:attribute`` must not be imported.

    It has to be known: of the table, or found before because the person at the keyboard has named it.
    """
    if is_reference(name) and name not in _OUTSIDE:
        raise ValueError(
            f"it is for the game {name}, which a file may not import: name it yourself, with --game {name}"
        )
    return find_game(name)


def game_of(rules: Rules[Any]) -> GameSpec:
    """Return the game that rules are of, as far as they tell: the one whose own sizes they have, or one of their class.

    Rules of a class that is not known are a game of that class's name.
    """
    related = [spec for spec in (*GAMES.values(), *_OUTSIDE.values()) if spec.rules is type(rules)]
    exact = [spec for spec in related if same_rules(spec.make_rules(), rules)]
    return (exact or related or [GameSpec(type(rules).__name__, type(rules).__name__, type(rules), {})])[0]


def _game_of(found: Any, name: str) -> GameSpec:
    """Return what was found under a name outside as a game of this name."""
    if isinstance(found, GameSpec):
        return replace(found, name=name)
    if not (isinstance(found, type) and issubclass(found, Rules)):
        raise ValueError(f"{name} must be a GameSpec or a subclass of numduel_env.Rules, not {found!r}")
    parameters = inspect.signature(found).parameters.values()
    bare = [parameter.name for parameter in parameters if parameter.default is parameter.empty]
    if bare:
        raise ValueError(
            f"give every parameter of {name} a default, or make a GameSpec with params: {', '.join(bare)} has none"
        )
    title = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", found.__name__)
    return GameSpec(name, title, found, {parameter.name: parameter.default for parameter in parameters})


def _game_of_the_table(name: str) -> GameSpec:
    wanted = re.sub("[_ ]", "-", str(name).strip().lower())
    if wanted in GAMES:
        return GAMES[wanted]
    namesakes = [spec.name for spec in GAMES.values() if spec.title.lower().replace(" ", "-") == wanted]
    if len(namesakes) == 1:
        return GAMES[namesakes[0]]
    if namesakes:
        raise ValueError(f"{name!r} is the title of several games; choose {' or '.join(namesakes)}")
    nearest = difflib.get_close_matches(wanted, GAMES, n=1, cutoff=0.5)
    hint = f" Did you mean {nearest[0]}?" if nearest else ""
    raise ValueError(f"there is no game {name!r}.{hint} The games are: {', '.join(GAMES)}, or module:attribute")


for _spec in (
    GameSpec("prime-rumble", "Prime Rumble", Sieve, {"lowest": 2, "highest": 50}, 0, PrimeRumbleWording()),
    GameSpec(
        "factor-chain-duel", "Factor Chain Duel", FactorChain, {"lowest": 2, "highest": 50}, 0, FactorChainWording()
    ),
    GameSpec("divider-duel", "Divider Duel", Sieve, {"lowest": 2, "highest": 9}, 0, DividerDuelWording()),
    GameSpec(
        "prime-duel-product",
        "Prime Duel",
        PrimeDuelProduct,
        {"target": 1000, "primes_below": 30},
        0,
        PrimeDuelProductWording(),
        "multiply to {target:,}",
    ),
    GameSpec(
        "prime-duel-sum",
        "Prime Duel",
        PrimeDuelSum,
        {"lowest": 2, "highest": 10, "target": 50, "when_empty": "higher", "max_plies": 200},
        0,
        PrimeDuelSumWording(),
        "add to {target:,}",
    ),
):
    add_game(_spec)
