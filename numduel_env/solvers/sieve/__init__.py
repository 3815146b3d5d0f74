"""The sieve games (Prime Rumble, Divider Duel, any range) solved by Sprague-Grundy theory: a guide to this package.

A move takes a number and all its multiples out of the pool; who cannot move has lost. The *nimber* (Grundy value) of a
pool is the mex, the least natural number that is missing, of the nimbers one move later. A pool is lost for the mover
exactly when its nimber is 0, and the nimber of a disjunctive sum of games is the Nim sum (exclusive or) of theirs
(Berlekamp, Conway and Guy, "Winning Ways", chapters 3 and 4). ``reference.py`` is this definition and nothing else:

>>> from numduel_env.solvers.sieve.reference import mex, nimber
>>> nimber({2, 4, 8})  # a chain of factors is a Nim heap: one move leaves any shorter chain
3
>>> mex({1, 1, 0}) == nimber({2, 3, 6})  # taking 2 leaves {3}, of nimber 1; 3 leaves {2}; 6 leaves {2, 3}, 1 ^ 1 = 0
True

It takes a step for each pool that can arise, which is hopeless for 2..50. Four facts make the table small; 2..12 shows
them all.

**Down-sets.** With each of its numbers, a pool that can arise holds all its factors: it is a *down-set* (order ideal)
of divisibility. Every down-set can arise, and sets of at most 64 numbers are kept as bit masks (``divisibility.py``).

**Components.** Numbers that no chain of factors and multiples connects never disturb each other. So the game is the
disjunctive sum of the connected components, and isomorphic components share one table:

>>> import numpy as np
>>> from numduel_env.solvers.sieve.divisibility import components, covering_pairs
>>> for component in components(np.arange(11), covering_pairs(2, 12)):
...     print((component + 2).tolist())
[2, 3, 4, 5, 6, 8, 9, 10, 12]
[7]
[11]

**Core and fibres.** The *core* of a component is made of its smooth numbers, those without a prime factor above some
bound; the connected components of the others are its *fibres* (``plan.py``). A core number may take multiples out of
a fibre, but a fibre number takes nothing out of the core: its multiples share its large prime. Here the bound is 3:

>>> from numduel_env.games.sieve import Sieve
>>> from numduel_env.solvers.sieve import SieveSolver
>>> rules = Sieve(2, 12)
>>> solver = SieveSolver(rules)
>>> (component, copies), (lone, lone_copies) = solver.components
>>> numbers = rules.numbers[copies[0]]
>>> numbers[component.plan.core].tolist()
[2, 3, 4, 6, 8, 9, 12]
>>> [numbers[fibre].tolist() for fibres in component.plan.fibres for fibre in fibres.members]
[[5, 10]]

**States.** The *state* of a fibre is what is left of it: here {}, {5} or {5, 10}. A part of a state that is connected
to no possible factor in the core is *detached*: a summand of its own, whose nimber is known beforehand, like {5} once
10 is gone. Only the *attached* rest counts in the table, and fibres with the same order and the same factors in the
core are interchangeable, so that all that matters is the multiset of their attached states (``fibres.py``).

The table (``table.py``) has a row for each choice of multisets, one for each class of fibres, and a column for each
down-set of the core; here one fibre is {} or {5, 10}, and one more column stands for moves that are illegal:

>>> component.plan.rows, component.plan.columns
(2, 23)

The nimber of a position is the Nim sum of the table's entries and the detached nimbers. Both lone numbers are Nim
heaps of one and cancel, so the whole game has the nimber of its large component; the only winning opening is 12:

>>> nimber(numbers.tolist()), nimber({7}), nimber({11}), int(solver.nimber(rules.initial()))
(7, 1, 1, 7)
>>> rules.numbers[solver.best(rules.initial())].tolist()
[12]
"""

from __future__ import annotations

from numduel_env.solvers.sieve.solver import SieveSolver

__all__ = ["SieveSolver"]
