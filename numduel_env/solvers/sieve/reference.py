"""The sieve games by the definition of nimbers alone: slow and plain, what the tests compare the real solver with."""

from __future__ import annotations

from collections.abc import Collection, Iterable

Pool = frozenset[int]


def mex(nimbers: Collection[int]) -> int:
    """Return the least natural number (0 included) that is not among ``nimbers``."""
    return next(candidate for candidate in range(len(nimbers) + 1) if candidate not in nimbers)


def after(pool: Pool, number: int) -> Pool:
    """Return the pool after ``number`` has been chosen: without it and its multiples."""
    return pool.difference(range(number, max(pool) + 1, number))


def nimber(pool: Iterable[int]) -> int:
    """Return the nimber of a pool; the mover has lost exactly when it is 0."""
    pool = frozenset(pool)
    return nimbers(pool)[pool]


def nimbers(*pools: Iterable[int]) -> dict[Pool, int]:
    """Return every pool that play can lead to from ``pools``, and its nimber: the mex of the nimbers one move later."""
    known: dict[Pool, int] = {}

    def solve(pool: Pool) -> int:
        if pool not in known:
            known[pool] = mex({solve(after(pool, number)) for number in pool})
        return known[pool]

    for pool in pools:
        solve(frozenset(pool))
    return known
