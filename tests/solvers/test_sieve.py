"""The sieve solver against the definition of nimbers (``reference.py``), and its tables on disk."""

import doctest
from functools import partial

import numpy as np
import pytest

from numduel_env.games.sieve import Pool, Sieve
from numduel_env.solvers import cache, sieve, solver_for
from numduel_env.solvers.sieve import SieveSolver, plan, table
from numduel_env.solvers.sieve import solver as solver_module
from numduel_env.solvers.sieve.divisibility import components, pack
from numduel_env.solvers.sieve.reference import after, mex, nimbers
from numduel_env.solvers.solver import ILLEGAL, TooLargeToSolve
from tests.solvers.positions import random_positions

pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.fixture(scope="module")
def prime_rumble(tmp_path_factory):
    """The solver of 2..50, made without a cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NUMDUEL_CACHE", str(tmp_path_factory.mktemp("cold")))
        return SieveSolver(Sieve(2, 50))


def test_the_guide_to_the_package_is_true():
    results = doctest.testmod(sieve)
    assert results.attempted > 10
    assert results.failed == 0


def test_the_definition_on_games_done_by_hand():
    assert mex(set()) == 0
    assert mex({0, 1, 3}) == 2
    assert mex({1, 2}) == 0
    assert after(frozenset({2, 3, 4, 6, 9}), 3) == {2, 4}
    # Numbers that do not divide each other are Nim heaps of one, powers of one prime a heap of as many as there are.
    assert nimbers({5, 7}) == {frozenset({5, 7}): 0, frozenset({5}): 1, frozenset({7}): 1, frozenset(): 0}
    assert nimbers({2, 4, 8, 16})[frozenset({2, 4, 8, 16})] == 4


def as_position(rules, pools):
    return Pool(np.array([[number in pool for number in rules.numbers.tolist()] for pool in pools]))


def as_pools(rules, position):
    return [frozenset(rules.numbers[row].tolist()) for row in position.pool]


def assert_right(solver, pools, expected):
    """Compare everything that a solver says of some pools with their nimbers and those one move later."""
    numbers = solver.rules.numbers.tolist()
    position = as_position(solver.rules, pools)
    assert solver.nimber(position).tolist() == [expected[pool] for pool in pools]
    values = solver.action_values(position)
    assert values.tolist() == [
        [(-1 if expected[after(pool, number)] else 1) if number in pool else ILLEGAL for number in numbers]
        for pool in pools
    ]
    assert values.dtype == np.int8
    assert solver.value(position).tolist() == [1 if expected[pool] else -1 for pool in pools]


RANGES = [(2, highest) for highest in range(2, 21)]
RANGES += [(3, 3), (3, 4), (3, 18), (4, 20), (5, 24), (6, 22), (7, 7), (7, 22), (9, 17), (10, 24), (15, 26)]


@pytest.mark.parametrize(("lowest", "highest"), RANGES)
def test_every_reachable_pool_agrees_with_the_definition(lowest, highest):
    rules = Sieve(lowest, highest)
    expected = nimbers(rules.numbers.tolist())
    assert_right(SieveSolver(rules), list(expected), expected)


@pytest.mark.parametrize(("lowest", "highest"), [(2, 26), (3, 28), (10, 32)])
def test_random_pools_of_larger_games_agree_with_the_definition(lowest, highest):
    rules = Sieve(lowest, highest)
    pools = [pool for pool in as_pools(rules, random_positions(rules, 400, seed=1)) if len(pool) <= 13]
    assert len(pools) > 150
    assert_right(SieveSolver(rules), pools, nimbers(*pools))


def plan_with_bound(bound, divides, largest_prime, covers, members, budget):
    """Make the core of a part from all numbers without larger primes; of all its numbers where there are none."""
    in_core = largest_prime[members] <= bound
    if not in_core.any():
        in_core[:] = True
    fibres = components(members[~in_core], covers)
    return plan._plan_with_core(divides, covers, members, members[in_core], fibres, budget)


@pytest.mark.parametrize(("lowest", "highest"), [(2, 12), (2, 30), (2, 36), (3, 30), (4, 33), (10, 45)])
def test_every_choice_of_the_core_gives_the_same_nimbers(lowest, highest, monkeypatch):
    rules = Sieve(lowest, highest)
    position = random_positions(rules, 500, seed=2)
    nimbers = SieveSolver(rules).nimber(position)
    for bound in (3, 5, 7, 11):
        monkeypatch.setattr(solver_module, "make_plan", partial(plan_with_bound, bound))
        assert (SieveSolver(rules).nimber(position) == nimbers).all()


def test_fibres_of_one_shape_under_different_core_numbers_are_not_interchangeable():
    # Two core numbers, each with a multiple of its own; no range is known in which this happens.
    divides = np.eye(4, dtype=bool)
    divides[[0, 1], [2, 3]] = True
    numbers = np.arange(4)
    apart = plan._plan_with_core(divides, [(0, 2), (1, 3)], numbers, numbers[:2], [numbers[2:3], numbers[3:]], 10**6)
    assert [fibres.members.tolist() for fibres in apart.fibres] == [[[2]], [[3]]]


def test_nimbers_of_prime_rumble_are_the_mex_of_those_one_move_later(prime_rumble):
    """The game of 2..50 is too large for the definition alone."""
    solver = prime_rumble
    rules = solver.rules
    position = random_positions(rules, 2_000, seed=3)
    nimbers = solver.nimber(position)
    later = solver.nimber(rules.play_all(position))
    for nimber, replies, legal in zip(nimbers.tolist(), later, position.pool):
        assert nimber == mex(set(replies[legal].tolist()))
    values = solver.action_values(position)
    assert (values == np.where(position.pool, np.where(later == 0, 1, -1), ILLEGAL)).all()


def test_prime_rumble_is_won_by_five_openings(prime_rumble):
    solver = prime_rumble
    start = solver.rules.initial()
    assert solver.nimber(start) == 17
    assert solver.rules.numbers[solver.action_values(start) == 1].tolist() == [5, 17, 19, 23, 42]
    assert solver.rules.numbers[solver.best(start)].tolist() == [5, 17, 19, 23, 42]


def test_divider_duel_is_won_by_4_only():
    rules = Sieve(2, 9)
    assert rules.numbers[SieveSolver(rules).action_values(rules.initial()) == 1].tolist() == [4]


@pytest.mark.parametrize("shape", [(), (1,), (0,), (3, 0), (2, 3, 4)])
def test_any_batch_shape_is_answered(shape, prime_rumble):
    solver = prime_rumble
    position = solver.rules.initial(shape)
    assert solver.action_values(position).shape == (*shape, 49)
    assert solver.nimber(position).shape == solver.value(position).shape == shape
    assert (solver.nimber(position) == 17).all()


def test_a_large_batch_is_answered_like_its_rows(monkeypatch):
    rules = Sieve(2, 20)
    solver = SieveSolver(rules)
    position = random_positions(rules, 50, seed=4)
    whole = solver.action_values(position), solver.nimber(position)
    monkeypatch.setattr(solver_module, "CELLS_AT_ONCE", 7 * 19)
    assert (solver.action_values(position) == whole[0]).all()
    assert (solver.nimber(position) == whole[1]).all()
    assert (solver.action_values(Pool(position.pool.reshape(5, 10, -1))).reshape(50, -1) == whole[0]).all()


def test_the_question_is_not_changed(prime_rumble):
    solver = prime_rumble
    position = solver.rules.initial((3,))
    solver.action_values(position)
    assert position.pool.all()


def test_a_pool_that_no_play_leads_to_is_refused():
    rules = Sieve(2, 12)
    solver = SieveSolver(rules)
    pool = rules.initial((4,)).pool
    pool[2, rules.numbers == 3] = False
    for question in (solver.action_values, solver.nimber, solver.value, solver.best):
        with pytest.raises(ValueError, match="has 6 but not its factor 3"):
            question(Pool(pool))
    with pytest.raises(ValueError, match="11 numbers"):
        solver.action_values(Pool(np.ones((2, 10), bool)))


def test_exactly_the_reachable_pools_are_answered():
    rules = Sieve(2, 10)
    solver = SieveSolver(rules)
    possible = nimbers(range(2, 11))
    for word in range(1 << 9):
        position = Pool(np.array([word >> bit & 1 for bit in range(9)], bool))
        if frozenset(rules.numbers[position.pool].tolist()) in possible:
            solver.nimber(position)
        else:
            with pytest.raises(ValueError, match="no play"):
                solver.nimber(position)


@pytest.mark.parametrize(("lowest", "highest"), [(2, 60), (2, 100), (2, 1000), (50, 2000)])
def test_too_large_a_game_is_refused_at_once(lowest, highest):
    with pytest.raises(TooLargeToSolve, match=rf"{lowest}\.\.{highest} .* 200,000,000 bytes"):
        SieveSolver(Sieve(lowest, highest))


def test_the_budget_decides():
    with pytest.raises(TooLargeToSolve, match=r"2\.\.30 .* 1,000 bytes"):
        SieveSolver(Sieve(2, 30), budget=1_000)
    SieveSolver(Sieve(2, 30), budget=1_000_000)
    with pytest.raises(ValueError, match="budget must be"):
        SieveSolver(Sieve(2, 9), budget=0)


def test_thousands_of_numbers_without_factors_among_them_are_no_trouble():
    rules = Sieve(1001, 2000)
    solver = SieveSolver(rules)
    assert solver.nimber(rules.initial()) == 0
    position = rules.play(rules.initial(), 17)
    assert (solver.action_values(position) == np.where(position.pool, 1, ILLEGAL)).all()


def test_nimbers_that_do_not_fit_are_noticed(monkeypatch):
    monkeypatch.setattr(table, "NO_MOVE", 0)
    component = SieveSolver(Sieve(2, 9)).components[0][0]
    component._next_column = np.arange(component.plan.columns, dtype=np.int32)[None].repeat(3, 0)
    component._own_moves = lambda row: {(0, nimber) for nimber in range(64)}
    with pytest.raises(TooLargeToSolve, match="nimbers above 63"):
        component._solve(lambda rows: None)


def refuse_to_solve(monkeypatch):
    """Let every computation that the cache should have spared fail."""
    solve = table.Component._solve

    def refuse(component, advanced):
        assert component.plan.bytes < table.CACHED_FROM
        return solve(component, advanced)

    monkeypatch.setattr(table.Component, "_solve", refuse)


def test_tables_are_kept_and_found_again(monkeypatch):
    rules = Sieve(2, 42)
    first = SieveSolver(rules)
    (file,) = cache.folder().iterdir()
    refuse_to_solve(monkeypatch)
    again = SieveSolver(rules)
    position = random_positions(rules, 300, seed=5)
    assert (again.action_values(position) == first.action_values(position)).all()
    assert file.name == "sieve-2..42-0.npz"


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """The rules of 2..42, the nimber of its full pool and its tables."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NUMDUEL_CACHE", str(tmp_path_factory.mktemp("cold")))
        solver = SieveSolver(Sieve(2, 42))
    return solver.rules, solver.nimber(solver.rules.initial()), stored(solver.components[0][0])


def stored(component):
    return {"nimbers": component._flat.reshape(component.plan.rows, component.plan.columns)}


@pytest.mark.parametrize("spoil", ["shape", "dtype", "values", "missing", "more"])
def test_cached_tables_of_the_wrong_kind_are_made_anew(spoil, tables):
    rules, nimber, good = tables
    spoiled = dict(good)
    if spoil == "shape":
        spoiled["nimbers"] = good["nimbers"][:-1]
    elif spoil == "dtype":
        spoiled["nimbers"] = good["nimbers"].astype(np.int16)
    elif spoil == "values":
        spoiled["nimbers"] = good["nimbers"] ^ np.uint8(1)
    elif spoil == "missing":
        del spoiled["nimbers"]
    else:
        spoiled["more"] = good["nimbers"]
    key = "sieve-2..42-0"
    cache.store(key, table.VERSION, spoiled)
    assert SieveSolver(rules).nimber(rules.initial()) == nimber
    mended = cache.load(key, table.VERSION, {name: (array.dtype, array.shape) for name, array in good.items()})
    for name, array in good.items():
        np.testing.assert_array_equal(mended[name], array)


def test_small_games_leave_no_files():
    SieveSolver(Sieve(2, 20))
    assert not cache.folder().exists()


def test_prime_rumble_is_loaded_from_its_cache(prime_rumble, monkeypatch):
    cache.store("sieve-2..50-0", table.VERSION, stored(prime_rumble.components[0][0]))
    refuse_to_solve(monkeypatch)
    loaded = SieveSolver(prime_rumble.rules)
    assert loaded.nimber(loaded.rules.initial()) == 17


def test_progress_counts_up_to_the_end():
    seen = []
    solver = solver_for(Sieve(2, 42), progress=lambda *report: seen.append(report))
    total = sum(component.plan.rows for component, _ in solver.components)
    assert total > 100
    assert {(task, whole) for task, _, whole in seen} == {("solving 2..42", total)}
    counts = [done for _, done, _ in seen]
    assert counts == sorted(counts)
    assert counts[0] == 1
    assert len(set(counts)) == total == counts[-1]
    seen.clear()
    solver_for(Sieve(2, 42), progress=lambda *report: seen.append(report))  # from the cache
    assert seen[-1] == ("solving 2..42", total, total)


@pytest.mark.parametrize("count", [1, 7, 8, 9, 63, 64])
def test_pack_is_its_specification(count):
    bits = np.random.default_rng(count).random((count, 50)) < 0.5
    weights = np.uint64(1) << np.arange(count, dtype=np.uint64)
    np.testing.assert_array_equal(pack(bits), (bits * weights[:, None]).sum(0, dtype=np.uint64))
