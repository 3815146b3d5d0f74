"""Which vertices of a graph some maximum matching leaves uncovered: the set D of the Gallai-Edmonds decomposition.

Such vertices are called *inessential*. Vertices are small integers, and sets of them are ints used as bit masks: bit
``a`` stands for vertex ``a``. ``neighbours[a]`` is the set of neighbours of ``a`` in the whole graph.

Sources: J. Edmonds, "Paths, trees, and flowers", Canadian Journal of Mathematics 17 (1965), for the search with
blossoms; L. Lovász and M. D. Plummer, "Matching Theory" (1986), chapter 3, for the decomposition.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache


def matching_number(neighbours: list[int], vertices: int) -> int:
    """Return the size of a maximum matching of a subgraph, by trying all matchings."""

    @cache
    def largest(left: int) -> int:
        if not left:
            return 0
        a = left.bit_length() - 1
        left ^= 1 << a
        return max([largest(left), *(1 + largest(left ^ 1 << b) for b in members(neighbours[a] & left))])

    return largest(vertices)


def inessential_by_definition(neighbours: list[int], vertices: int) -> int:
    """Return the vertices whose deletion leaves the matching number unchanged: what ``inessential`` is equal to."""
    full = matching_number(neighbours, vertices)
    return sum(1 << a for a in members(vertices) if matching_number(neighbours, vertices ^ 1 << a) == full)


def inessential(neighbours: list[int], vertices: int) -> int:
    """Return the inessential vertices of the subgraph induced by ``vertices``."""
    # Some maximum matching contains the edge of a leaf, so leaves and their neighbours are taken away in pairs. Given
    # the answer for the rest, a leaf is inessential if its partner has an inessential neighbour, which could be matched
    # with the partner in its place; the partner itself never is. In our graphs this settles most vertices.
    pairs = []
    isolated = 0
    rest = unchecked = vertices
    while unchecked:
        bit = unchecked & -unchecked
        unchecked ^= bit
        adjacent = neighbours[bit.bit_length() - 1] & rest
        if not adjacent:
            isolated |= bit
            rest ^= bit
        elif not adjacent & (adjacent - 1):
            around = neighbours[adjacent.bit_length() - 1]
            pairs.append((bit, around))
            rest ^= bit | adjacent
            unchecked = (unchecked | around) & rest
    found = isolated | _inessential_by_search(neighbours, rest)
    for leaf, around in reversed(pairs):
        if around & found:
            found |= leaf
    return found


def _inessential_by_search(neighbours: list[int], vertices: int) -> int:
    """Return the inessential vertices: match greedily, then augment the matching by Edmonds' search.

    A search that finds no augmenting path leaves a Hungarian tree. Its outer vertices are inessential, and nothing in
    the tree can serve a later search, so the whole tree leaves the graph.
    """
    mate: dict[int, int] = {}
    exposed = _match_greedily(neighbours, vertices, mate)
    found = 0
    while exposed:
        root = exposed.bit_length() - 1
        exposed ^= 1 << root
        tree = _AlternatingTree(neighbours, mate, root)
        end = tree.grow(vertices, exposed)
        if end is None:
            found |= tree.outer
            vertices &= ~(tree.outer | tree.inner)
        else:
            exposed ^= 1 << end
    return found


def _match_greedily(neighbours: list[int], vertices: int, mate: dict[int, int]) -> int:
    """Match neighbours, those of small degree first, and return the vertices that stay exposed."""
    exposed = vertices
    for a in sorted(members(vertices), key=lambda a: (neighbours[a] & vertices).bit_count()):
        candidates = neighbours[a] & exposed
        if candidates and exposed >> a & 1:
            b = min(members(candidates), key=lambda b: (neighbours[b] & exposed).bit_count())
            mate[a], mate[b] = b, a
            exposed ^= 1 << a | 1 << b
    return exposed


class _AlternatingTree:
    """Edmonds' search: every path from the exposed root alternates between unmatched and matched edges.

    Vertices an even number of edges away are *outer*, the others *inner*. An edge between two outer vertices closes an
    odd cycle, a *blossom*; walking around it the other way reaches its inner vertices evenly too, so all become outer.
    """

    def __init__(self, neighbours: list[int], mate: dict[int, int], root: int) -> None:
        self.neighbours = neighbours
        self.mate = mate
        self.root = root
        self.outer = 1 << root
        self.inner = 0
        # The vertex before this one, over an unmatched edge, on an alternating path from the root to its mate.
        self.before: dict[int, int] = {}
        # The blossom of each vertex: its base, the vertex nearest the root, and for a base all it contains.
        self.base: dict[int, int] = {root: root}
        self.blossom: dict[int, int] = {root: 1 << root}

    def grow(self, vertices: int, exposed: int) -> int | None:
        """Grow until an exposed vertex can be reached, augment along that path and return it; None if there is none."""
        mate, base = self.mate, self.base
        waiting = [self.root]
        while waiting:
            a = waiting.pop()
            adjacent = self.neighbours[a] & vertices
            if adjacent & exposed:
                end = (adjacent & exposed).bit_length() - 1
                self._augment(a, end)
                return end
            for b in members(adjacent & ~(self.outer | self.inner)):
                c = mate[b]
                self.before[b] = a
                base[b], base[c] = b, c
                self.blossom[b], self.blossom[c] = 1 << b, 1 << c
                self.inner |= 1 << b
                self.outer |= 1 << c
                waiting.append(c)
            while closing := adjacent & self.outer & ~self.blossom[base[a]]:
                waiting.extend(self._contract(a, closing.bit_length() - 1))
        return None

    def _contract(self, a: int, b: int) -> list[int]:
        """Join the blossom closed by the edge between outer ``a`` and ``b``, and return the vertices now outer."""
        base = self._common_base(a, b)
        joined = self._turn_path(a, base, b) | self._turn_path(b, base, a) | self.blossom[base]
        now_outer = joined & self.inner
        self.inner ^= now_outer
        self.outer |= now_outer
        for vertex in members(joined):
            self.base[vertex] = base
        self.blossom[base] = joined
        return list(members(now_outer))

    def _common_base(self, a: int, b: int) -> int:
        """Return the base of the last blossom that the paths from the root to ``a`` and to ``b`` share."""
        passed = set()
        while True:
            a = self.base[a]
            passed.add(a)
            if a == self.root:
                break
            a = self.before[self.mate[a]]
        while (b := self.base[b]) not in passed:
            b = self.before[self.mate[b]]
        return b

    def _turn_path(self, a: int, base: int, across: int) -> int:
        """Let the path from outer ``a`` down to ``base`` be walked upwards too, entered from ``across``.

        Return all vertices of the blossoms on it, except that of ``base``.
        """
        passed = 0
        while self.base[a] != base:
            middle = self.mate[a]
            passed |= self.blossom[self.base[a]] | self.blossom[self.base[middle]]
            self.before[a] = across
            across = middle
            a = self.before[middle]
        return passed

    def _augment(self, a: int, end: int) -> None:
        """Match ``end`` with outer ``a`` and swap matched and unmatched edges from there to the root."""
        mate = self.mate
        while True:
            freed = mate.get(a)
            mate[a], mate[end] = end, a
            if freed is None:
                return
            end, a = freed, self.before[freed]


def members(vertices: int) -> Iterator[int]:
    """Yield the vertices of a set, in descending order."""
    while vertices:
        a = vertices.bit_length() - 1
        yield a
        vertices ^= 1 << a
