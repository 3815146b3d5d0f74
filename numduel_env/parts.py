"""Positions as disjunctive sums: sets of numbers that fall into independent parts.

For games that say which of their numbers can disturb each other (``Rules.disturbs``). A position of such a game is its
set of legal numbers; here a set is a *word*, an unsigned integer of 64 bits, of which bit ``a`` says whether
``numbers[a]`` is in it. A *part* is a set that hangs together: from each of its numbers to each other one there is a
way over numbers that can disturb each other. By the theorem of Sprague and Grundy, the Grundy value of a position is
the Nim sum of its parts' (Berlekamp, Conway & Guy, *Winning Ways*, chapter 3).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from numduel_env.batch import BoolArray, Position, random_legal, take_rows
from numduel_env.rules import Rules

Word = np.uint64
Words = NDArray[np.uint64]
Rows = NDArray[np.intp]

WIDTH = 64
"""A word holds as many numbers."""

EXAMINED_GAMES = 50
"""Random games that a game has to play in parts as it plays them whole."""


class NotASum(ValueError):  # noqa: N818 - it says what the game is not
    """The positions of a game are not known to be sums of independent parts; the message says why."""


class Moves(NamedTuple):
    """All moves of some words, word by word: the word's row, the action, the word that is left."""

    rows: Rows
    actions: Rows
    after: Words


class Split(NamedTuple):
    """The parts of some words.

    ``rows`` says which word each of ``parts``, of two numbers or more, is from. A number alone can only be taken, so
    its Grundy value is 1: ``lone`` holds the Nim sum of these for each word.
    """

    rows: Rows
    parts: Words
    lone: NDArray[np.uint8]


class Parts:
    """The positions of one game as words, their moves, and how they split. Raises ``NotASum`` for other games."""

    def __init__(self, rules: Rules[Any]) -> None:
        self.rules, self.size = rules, len(rules.numbers)
        disturbs = rules.disturbs()
        if disturbs is None:
            raise NotASum(_why_not(rules))
        if self.size > WIDTH:
            raise NotASum(
                f"it has {self.size} numbers, and the parts of a position are kept as sets of at most {WIDTH}"
            )
        shape = (self.size, self.size)
        if not isinstance(disturbs, np.ndarray) or disturbs.shape != shape or disturbs.dtype != bool:
            raise NotASum(f"disturbs must return an array of bool of shape {shape}")
        self.disturbs: BoolArray = (disturbs | disturbs.T) & ~np.eye(self.size, dtype=bool)
        self._disturbed = _unions(self.words(self.disturbs))
        _examine(self)
        start = self.split(self.words(rules.legal(rules.initial((1,)))))
        self.largest = int(np.bitwise_count(start.parts).max(initial=1))
        """The most numbers that a part has."""

    def words(self, legal: BoolArray) -> Words:
        """Return the words ``[N]`` of sets of numbers ``[N, A]``."""
        padded = np.zeros((len(legal), WIDTH), bool)
        padded[:, : self.size] = legal
        packed = np.packbits(padded, axis=-1, bitorder="little")
        words: Words = packed.view("<u8")[:, 0].astype(Word)
        return words

    def sets(self, words: Words) -> BoolArray:
        """Return the sets of numbers ``[N, A]`` of words."""
        sets: BoolArray = np.unpackbits(_bytes(words), axis=-1, count=self.size, bitorder="little").view(bool)
        return sets

    def moves(self, words: Words) -> Moves:
        """Return all moves of words."""
        sets = self.sets(words)
        rows, actions = np.nonzero(sets)
        after = self.rules.play(self.rules.position_of(sets[rows]), actions)
        return Moves(rows, actions, self.words(self.rules.legal(after)))

    def split(self, words: Words) -> Split:
        """Return the parts of words."""
        lone = words & ~self._reached_from(words)
        rest = words ^ lone
        rows = np.flatnonzero(rest)
        rest = rest[rows]
        all_rows, all_parts = [np.zeros(0, np.intp)], [np.zeros(0, Word)]
        while len(rows):
            part = self._hanging_together(rest & (~rest + Word(1)), rest)
            all_rows.append(rows)
            all_parts.append(part)
            rest = rest ^ part
            going = np.flatnonzero(rest)
            rows, rest = rows[going], rest[going]
        return Split(np.concatenate(all_rows), np.concatenate(all_parts), np.bitwise_count(lone) & np.uint8(1))

    def random_words(self, games: int, generator: np.random.Generator) -> Words:
        """Return the unfinished positions of ``games`` random games, at all their plies, as words."""
        position = self.rules.initial((games,))
        found = []
        for _ in range(self.rules.max_plies):
            legal = self.rules.legal(position)
            going = np.flatnonzero(legal.any(-1))
            if not len(going):
                break
            position, legal = take_rows(position, going), legal[going]
            found.append(self.words(legal))
            position = self.rules.play(position, random_legal(legal, generator))
        return np.concatenate(found)

    def _reached_from(self, words: Words) -> Words:
        """Return the union of what each number of a word can disturb."""
        of_byte = _bytes(words)
        union: Words = self._disturbed[0].take(of_byte[:, 0])
        for place in range(1, len(self._disturbed)):
            union |= self._disturbed[place].take(of_byte[:, place])
        return union

    def _hanging_together(self, part: Words, whole: Words) -> Words:
        """Return all numbers of ``whole`` that hang together with those of ``part``: a flood fill, word by word."""
        part = part.copy()
        active, grown = np.arange(len(part)), part
        while len(active):
            more = grown | (self._reached_from(grown) & whole)
            changed = more != grown
            part[active] = more
            active, grown, whole = active[changed], more[changed], whole[changed]
        return part


def _bytes(words: Words) -> NDArray[np.uint8]:
    return np.ascontiguousarray(words, "<u8").view(np.uint8).reshape(-1, WIDTH // 8)


def _unions(of_number: Words) -> Words:
    """Return ``[bytes, 256]``: for each byte of a word and each of its values, the union of its numbers' words."""
    table = np.zeros((-(-len(of_number) // 8), 256), Word)
    for number, word in enumerate(of_number):
        place, bit = divmod(number, 8)
        table[place, np.arange(256) >> bit & 1 == 1] |= word
    return table


def _random_positions(rules: Rules[Any], generator: np.random.Generator) -> list[Position]:
    """Return the positions of random games after each ply, the finished ones included."""
    positions = [rules.initial((EXAMINED_GAMES,))]
    for _ in range(min(rules.max_plies, 1000)):
        legal = rules.legal(positions[-1])
        going = np.flatnonzero(legal.any(-1))
        if not len(going):
            break
        actions = random_legal(legal[going], generator)
        positions.append(rules.play(take_rows(positions[-1], going), actions))
    return positions


def _why_not(rules: Rules[Any]) -> str:
    """Return why a game that does not say so is not a sum of parts, as far as random games show."""
    for position in _random_positions(rules, np.random.default_rng(0)):
        if reason := _breach(rules, position):
            return reason
        if not np.array_equal(rules.legal(position), rules.available(position)):
            return "its positions do not split: which numbers are legal depends on the last move"
    return "it does not say which of its numbers can disturb each other (Rules.disturbs)"


def _breach(rules: Rules[Any], position: Position) -> str | None:
    """Return how positions break what holds for every impartial game in which who cannot move has lost."""
    if not all(map(np.array_equal, position, rules.turned(position))):
        return "it is not impartial: the two players see different positions, for example scores"
    if (rules.value(position)[rules.over(position)] != -1).any():
        return "a player who cannot move has not always lost"
    return None


def _examine(parts: Parts) -> None:
    """Raise ``NotASum`` where random games show that a game does not keep what it promises."""
    rules = parts.rules
    for position in _random_positions(rules, np.random.default_rng(0)):
        if reason := _breach(rules, position):
            raise NotASum(reason)
        legal = rules.legal(position)
        words, (rows, actions) = parts.words(legal), np.nonzero(legal)
        same = rules.position_of(legal)
        if [np.shape(field) for field in same] != [np.shape(field) for field in position]:
            raise NotASum("it must say which position has given legal numbers (Rules.position_of)")
        if not np.array_equal(rules.legal(same), legal):
            raise NotASum("position_of returns a position with other legal numbers")
        after = parts.words(rules.legal(rules.play(take_rows(position, rows), actions)))
        if not np.array_equal(parts.moves(words).after, after):
            raise NotASum("its legal numbers are not all there is to a position")
        if ((after & ~words[rows]) | (after == words[rows])).any():
            raise NotASum("a move must take legal numbers away and bring none back")
        chosen = Word(1) << actions.astype(Word)
        part = parts._hanging_together(chosen, words[rows])
        alone = parts.words(rules.legal(rules.play(rules.position_of(parts.sets(part)), actions)))
        if (after != (alone | (words[rows] & ~part))).any():
            raise NotASum("a move disturbs numbers that do not hang together with it by disturbs")
