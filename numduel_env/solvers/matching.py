"""Perfect play in Factor Chain Duel, by the theory of undirected vertex geography.

The chain walks along the graph whose edges join each number to its factors and multiples, never twice to the same
number. A move to a number wins exactly when some maximum matching of the unused numbers leaves that number uncovered
(A. S. Fraenkel, E. R. Scheinerman and D. Ullman, "Undirected edge geography", 1993). Such numbers are called
*inessential* here; they are the set D of the Gallai-Edmonds decomposition, and depend on the pool alone.

Sets of numbers are ints: bit ``a`` stands for ``numbers[a]``.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from numduel_env.games.factor_chain import Chain, FactorChain
from numduel_env.rules import BoolArray
from numduel_env.solvers.solver import ILLEGAL, Solver

REMEMBERED = 1 << 16
"""So many pools are remembered with their answers before all are forgotten."""


class GeographySolver(Solver):
    """Exact values of every position of a Factor Chain game, whatever its size."""

    rules: FactorChain

    def __init__(self, rules: FactorChain) -> None:
        super().__init__(rules)
        self._relatives = _as_ints(rules.related)
        self._known: dict[int, int] = {}

    def action_values(self, position: Chain) -> NDArray[np.int8]:
        size = len(self.rules.numbers)
        pools = _as_ints(np.reshape(position.pool, (-1, size)))
        winning = _as_bools([self._winning(pool) for pool in pools], size).reshape(np.shape(position.pool))
        values = np.where(winning, 1, -1)
        return np.where(position.followers, values, ILLEGAL).astype(np.int8)

    def _winning(self, pool: int) -> int:
        answer = self._known.get(pool)
        if answer is None:
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            answer = self._known[pool] = inessential(self._relatives, pool)
        return answer


def inessential(relatives: list[int], pool: int) -> int:
    """Return the numbers of ``pool`` that some maximum matching of it leaves uncovered.

    ``relatives[a]`` is the set of the neighbours of ``a``, inside the pool or not.
    """
    # A number with a single neighbour may always be matched with it. When the rest G' is answered, the answer here is
    # that of G', and the single-minded number as well if its partner has a neighbour that G' can spare. The partner
    # itself is never spared.
    pairs = []
    alone = 0
    rest = unsure = pool
    while unsure:
        bit = unsure & -unsure
        unsure ^= bit
        neighbours = relatives[bit.bit_length() - 1] & rest
        if not neighbours:
            alone |= bit
            rest ^= bit
        elif not neighbours & (neighbours - 1):
            around = relatives[neighbours.bit_length() - 1]
            pairs.append((bit, around))
            rest ^= bit | neighbours
            unsure = (unsure | around) & rest
    spared = alone | _spared_by_search(relatives, rest)
    for bit, around in reversed(pairs):
        if around & spared:
            spared |= bit
    return spared


def _spared_by_search(relatives: list[int], pool: int) -> int:
    """Return the inessential numbers of ``pool``: match greedily, then mend the matching with Edmonds' search.

    A search that finds no augmenting path leaves an alternating tree. Its outer numbers are inessential, and nothing
    in the tree can serve a later search, so the whole tree leaves the pool.
    """
    partner: dict[int, int] = {}
    exposed = _match_greedily(relatives, pool, partner)
    spared = 0
    while exposed:
        root = exposed.bit_length() - 1
        exposed ^= 1 << root
        tree = _Tree(relatives, partner, root)
        end = tree.grow(pool, exposed)
        if end is None:
            spared |= tree.outer
            pool &= ~(tree.outer | tree.inner)
        else:
            exposed ^= 1 << end
    return spared


def _match_greedily(relatives: list[int], pool: int, partner: dict[int, int]) -> int:
    """Match neighbours, those with few neighbours first, and return the numbers left over."""
    free = pool
    for a in sorted(_members(pool), key=lambda a: (relatives[a] & pool).bit_count()):
        candidates = relatives[a] & free
        if candidates and free >> a & 1:
            b = min(_members(candidates), key=lambda b: (relatives[b] & free).bit_count())
            partner[a], partner[b] = b, a
            free ^= 1 << a | 1 << b
    return free


class _Tree:
    """An alternating tree: every path from the root alternates between unmatched and matched edges.

    Numbers an even number of edges away are *outer*, the others *inner*. An edge between two outer numbers closes an
    odd cycle, a *blossom*; walking around it the other way reaches its inner numbers evenly too, so all become outer.
    """

    def __init__(self, relatives: list[int], partner: dict[int, int], root: int) -> None:
        self.relatives = relatives
        self.partner = partner
        self.root = root
        self.outer = 1 << root
        self.inner = 0
        # The number before this one, over an unmatched edge, on an alternating path from the root to its partner.
        self.before: dict[int, int] = {}
        # The blossom of each number: its base, the number nearest the root, and for a base all it contains.
        self.base: dict[int, int] = {root: root}
        self.blossom: dict[int, int] = {root: 1 << root}

    def grow(self, pool: int, exposed: int) -> int | None:
        """Grow until an exposed number can be reached, match along that path and return it; None if there is none."""
        partner, base = self.partner, self.base
        waiting = [self.root]
        while waiting:
            a = waiting.pop()
            neighbours = self.relatives[a] & pool
            if neighbours & exposed:
                end = (neighbours & exposed).bit_length() - 1
                self._augment(a, end)
                return end
            for b in _members(neighbours & ~(self.outer | self.inner)):
                c = partner[b]
                self.before[b] = a
                base[b], base[c] = b, c
                self.blossom[b], self.blossom[c] = 1 << b, 1 << c
                self.inner |= 1 << b
                self.outer |= 1 << c
                waiting.append(c)
            while closing := neighbours & self.outer & ~self.blossom[base[a]]:
                waiting.extend(self._contract(a, closing.bit_length() - 1))
        return None

    def _contract(self, a: int, b: int) -> list[int]:
        """Join the blossom closed by the edge between outer ``a`` and ``b``, and return the numbers now outer."""
        base = self._common_base(a, b)
        joined = self._turn_path(a, base, b) | self._turn_path(b, base, a) | self.blossom[base]
        now_outer = joined & self.inner
        self.inner ^= now_outer
        self.outer |= now_outer
        for member in _members(joined):
            self.base[member] = base
        self.blossom[base] = joined
        return list(_members(now_outer))

    def _common_base(self, a: int, b: int) -> int:
        """Return the base of the last blossom that the paths from the root to ``a`` and to ``b`` share."""
        passed = set()
        while True:
            a = self.base[a]
            passed.add(a)
            if a == self.root:
                break
            a = self.before[self.partner[a]]
        while (b := self.base[b]) not in passed:
            b = self.before[self.partner[b]]
        return b

    def _turn_path(self, a: int, base: int, across: int) -> int:
        """Let the path from outer ``a`` down to ``base`` be walked upwards too, entered from ``across``.

        Return all numbers of the blossoms on it, except that of ``base``.
        """
        passed = 0
        while self.base[a] != base:
            middle = self.partner[a]
            passed |= self.blossom[self.base[a]] | self.blossom[self.base[middle]]
            self.before[a] = across
            across = middle
            a = self.before[middle]
        return passed

    def _augment(self, a: int, end: int) -> None:
        """Match ``end`` with outer ``a`` and swap matched and unmatched edges from there to the root."""
        partner = self.partner
        while True:
            freed = partner.get(a)
            partner[a], partner[end] = end, a
            if freed is None:
                return
            end, a = freed, self.before[freed]


def _members(numbers: int) -> Iterator[int]:
    while numbers:
        a = numbers.bit_length() - 1
        yield a
        numbers ^= 1 << a


def _as_ints(rows: BoolArray) -> list[int]:
    """Return each row of bools ``[n, A]`` as a set."""
    return [int.from_bytes(row.tobytes(), "little") for row in np.packbits(rows, axis=-1, bitorder="little")]


def _as_bools(sets: list[int], size: int) -> BoolArray:
    """Return the sets as rows of bools ``[n, size]``."""
    width = (size + 7) // 8
    packed = np.frombuffer(b"".join(numbers.to_bytes(width, "little") for numbers in sets), np.uint8)
    return np.unpackbits(packed.reshape(-1, width), axis=-1, count=size, bitorder="little").view(np.bool_)
