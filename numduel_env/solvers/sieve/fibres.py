"""Fibres, the numbers outside the core: their states, and multisets of attached states (see ``__init__.py``)."""

from __future__ import annotations

import math
from functools import cached_property
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from numduel_env.batch import BoolArray
from numduel_env.solvers.sieve.divisibility import DownSets, Indices, Masks, pack
from numduel_env.solvers.sieve.reference import mex

Nimbers = NDArray[np.uint8]


class Fibres:
    """One class of interchangeable fibres of a component, ``members[copies, numbers]``.

    ``divides`` says which numbers of a fibre divide which, ``core_divides`` which core numbers divide which of them;
    ``states`` are the down-sets of one fibre, as ascending masks. States are counted as :class:`DownSets` counts them;
    the attached ones among them are counted once more, from 0, the empty state. A multiset is as large as the class:
    fibres of which nothing attached is left are in the empty state.
    """

    def __init__(self, members: Indices, divides: BoolArray, core_divides: BoolArray, states: Masks) -> None:
        self.members = members
        self._removed = pack(divides.T)
        self._removed_by_core = pack(core_divides.T)
        self._states = DownSets(states)
        self._attached_masks = self._attached_to_core(pack(divides | divides.T))
        self.attached_states = np.flatnonzero(self._attached_masks == self._states.masks)
        copies, attached = len(members), len(self.attached_states)
        self.multisets = math.comb(copies + attached - 1, copies)
        self.bytes = 8 * (2 * self.multisets * (attached + copies) + (len(divides) + 4) * len(states))

    def _attached_to_core(self, related: Masks) -> Masks:
        """Return ``[states]``: the numbers of each state that chains connect to a number with a factor in the core."""
        states = self._states.masks
        attached: Masks = states & np.bitwise_or.reduce(self._removed_by_core, initial=np.uint64(0))
        before = np.zeros_like(attached)
        while (before != attached).any():
            before = attached.copy()
            for bit, relatives in enumerate(related):
                attached |= np.where(attached >> np.uint64(bit) & np.uint64(1), relatives & states, np.uint64(0))
        return attached

    def state(self, bits: BoolArray) -> Indices:
        """Return ``[n]``: the state of a fibre with the numbers ``bits[numbers, n]`` left."""
        return self._states.index(pack(bits))

    @cached_property
    def after(self) -> Indices:
        """``[numbers, states]``: the state after one of the fibre's own numbers has been chosen."""
        return self._states.without(self._removed)

    @cached_property
    def attached(self) -> Indices:
        """``[states]``: the attached state that is left without the detached part."""
        return self.attached_states.searchsorted(self._states.index(self._attached_masks))

    @cached_property
    def detached(self) -> Nimbers:
        """``[states]``: the nimber of the detached part."""
        nimbers = np.zeros(len(self._states), np.uint8)
        for state in range(1, len(nimbers)):
            nimbers[state] = mex({int(nimbers[after]) for after in self.after[:, state] if after != state})
        return nimbers[self._states.index(self._states.masks & ~self._attached_masks)]

    @cached_property
    def _elements(self) -> Indices:
        """``[multisets, copies]``: their attached states, ascending; every move leads to an earlier multiset."""
        kinds, copies = len(self.attached_states), len(self.members)
        return np.array(list(combinations_with_replacement(range(kinds), copies)), np.intp)

    @cached_property
    def insert(self) -> Indices:
        """``[multisets, attached states]``: the multiset with one of its empty states replaced by that one."""
        rows = [tuple(row) for row in self._elements.tolist()]
        places = {row: place for place, row in enumerate(rows)}
        table = np.zeros((self.multisets, len(self.attached_states)), np.intp)
        for place, row in enumerate(rows):
            if row[0] == 0:
                table[place] = [places[tuple(sorted((*row[1:], state)))] for state in range(table.shape[1])]
        table[:, 0] = np.arange(self.multisets)
        return table

    @cached_property
    def remove(self) -> Indices:
        """``[multisets, attached states]``: the multiset with one such state, which it must have, made empty."""
        table = np.zeros_like(self.insert)
        states = np.arange(table.shape[1])
        has_empty = self._elements[:, 0] == 0
        table[self.insert[has_empty], states] = np.arange(self.multisets)[has_empty, None]
        table[:, 0] = np.arange(self.multisets)
        return table

    def core_moves(self) -> tuple[Indices, Nimbers]:
        """Return ``[core numbers, multisets]``: the multiset after each core move, and the nimber it detaches."""
        after = self._states.without(self._removed_by_core)
        multisets = np.zeros((len(after), self.multisets), np.intp)
        detached = np.zeros(multisets.shape, np.uint8)
        for elements in self._elements.T:
            states = after[:, self.attached_states[elements]]
            multisets = self.insert[multisets, self.attached[states]]
            detached ^= self.detached[states]
        return multisets, detached

    def own_moves(self, multiset: int) -> set[tuple[int, int]]:
        """Return the different moves within the fibres: the multiset after each, and the nimber it detaches."""
        moves = set()
        for element in set(self._elements[multiset].tolist()):
            others, state = self.remove[multiset, element], self.attached_states[element]
            for after in self.after[:, state]:
                if after != state:
                    moves.add((int(self.insert[others, self.attached[after]]), int(self.detached[after])))
        return moves
