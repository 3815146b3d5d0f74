import sys
import time
from functools import cache as remember
from functools import partial

import numpy as np
import pytest

from numduel_env.games.sieve import Pool, Sieve
from numduel_env.solvers import cache
from numduel_env.solvers.progress import Progress
from numduel_env.solvers.sieve import solver as sieve_module
from numduel_env.solvers.sieve import table as parts
from numduel_env.solvers.sieve.divisibility import connected
from numduel_env.solvers.sieve.solver import SieveSolver
from numduel_env.solvers.solver import ILLEGAL, TooLargeToSolve


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMDUEL_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def prime_rumble(tmp_path_factory):
    """The solver of 2..50, made without a cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NUMDUEL_CACHE", str(tmp_path_factory.mktemp("cold")))
        return SieveSolver(Sieve(2, 50))


@remember
def naive_nimber(pool):
    """The least number that is no nimber of a pool one move later; no theory but this one."""
    reached = {naive_nimber(after(pool, number)) for number in pool}
    return next(nimber for nimber in range(len(pool) + 1) if nimber not in reached)


def after(pool, number):
    return frozenset(other for other in pool if other % number)


def naive_action_values(pool, numbers):
    return [(-1 if naive_nimber(after(pool, n)) else 1) if n in pool else ILLEGAL for n in numbers.tolist()]


def reachable(lowest, highest):
    """All pools that play can lead to."""
    found = {frozenset(range(lowest, highest + 1))}
    waiting = list(found)
    while waiting:
        pool = waiting.pop()
        new = {after(pool, number) for number in pool} - found
        found |= new
        waiting += new
    return list(found)


def as_position(rules, pools):
    return Pool(np.array([[number in pool for number in rules.numbers.tolist()] for pool in pools]))


def random_positions(rules, count, generator):
    """Positions after a uniformly random number of random legal moves, as pools."""
    pools = []
    for _ in range(count):
        line = [frozenset(rules.numbers.tolist())]
        while line[-1]:
            line.append(after(line[-1], generator.choice(sorted(line[-1]))))
        pools.append(line[generator.integers(len(line))])
    return pools


RANGES = [(2, highest) for highest in range(2, 21)]
RANGES += [(3, 3), (3, 4), (3, 18), (4, 20), (5, 24), (6, 22), (7, 7), (7, 22), (9, 17), (10, 24), (15, 26)]


@pytest.mark.parametrize(("lowest", "highest"), RANGES)
def test_every_reachable_position_agrees_with_the_naive_recursion(lowest, highest):
    rules = Sieve(lowest, highest)
    pools = reachable(lowest, highest)
    position = as_position(rules, pools)
    solver = SieveSolver(rules)
    assert solver.nimber(position).tolist() == [naive_nimber(pool) for pool in pools]
    values = solver.action_values(position)
    assert values.tolist() == [naive_action_values(pool, rules.numbers) for pool in pools]
    assert values.dtype == np.int8
    assert solver.value(position).tolist() == [1 if naive_nimber(pool) else -1 for pool in pools]


@pytest.mark.parametrize(("lowest", "highest"), [(2, 26), (3, 28), (10, 32)])
def test_random_positions_of_larger_games_agree_with_the_naive_recursion(lowest, highest):
    rules = Sieve(lowest, highest)
    pools = random_positions(rules, 400, np.random.default_rng(1))
    pools = [pool for pool in pools if len(pool) <= 15]
    values = SieveSolver(rules).action_values(as_position(rules, pools))
    assert values.tolist() == [naive_action_values(pool, rules.numbers) for pool in pools]


def plan_with_bound(bound, removes, largest_prime, covers, members, budget):
    """Make the core of a part from all numbers without larger primes; of all its numbers where there are none."""
    in_core = largest_prime[members] <= bound
    if not in_core.any():
        in_core[:] = True
    rest = connected(members[~in_core], covers)
    return parts._plan_with_core(removes, covers, members, members[in_core], rest, budget)


@pytest.mark.parametrize(("lowest", "highest"), [(2, 12), (2, 30), (2, 36), (3, 30), (4, 33), (10, 45)])
def test_every_choice_of_the_core_gives_the_same_nimbers(lowest, highest, monkeypatch):
    rules = Sieve(lowest, highest)
    position = as_position(rules, random_positions(rules, 500, np.random.default_rng(2)))
    nimbers = SieveSolver(rules).nimber(position)
    for bound in (3, 5, 7, 11):
        monkeypatch.setattr(sieve_module, "make_plan", partial(plan_with_bound, bound))
        assert (SieveSolver(rules).nimber(position) == nimbers).all()


def test_nimbers_of_the_full_pool_are_their_moves_least_excluded_number(prime_rumble):
    """The table of 2..50, which is too large for the naive recursion, agrees with itself one move later."""
    solver = prime_rumble
    rules = solver.rules
    position = as_position(rules, random_positions(rules, 2_000, np.random.default_rng(3)))
    nimbers = solver.nimber(position)
    later = solver.nimber(rules.play_all(position))
    for nimber, replies, legal in zip(nimbers.tolist(), later, position.pool):
        reached = set(replies[legal].tolist())
        assert nimber == next(n for n in range(64) if n not in reached)
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
    position = as_position(rules, random_positions(rules, 50, np.random.default_rng(4)))
    whole = solver.action_values(position), solver.nimber(position)
    monkeypatch.setattr(sieve_module, "CELLS_AT_ONCE", 7 * 19)
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
    possible = set(reachable(2, 10))
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
    monkeypatch.setattr(parts, "NO_MOVE", 0)
    part = SieveSolver(Sieve(2, 9))._parts[0][0]
    every = part._next_core.shape[1]
    part._next_core = np.arange(every, dtype=np.int32)[None].repeat(len(part._plan.core), 0)
    part._fibre_choices = lambda setting: {(0, nimber) for nimber in range(64)}
    with pytest.raises(TooLargeToSolve, match="nimbers above 63"):
        part._solve(Progress("", 1))


def refuse_to_solve(monkeypatch):
    """Let every computation that the cache should have spared fail."""
    solve = parts.Part._solve

    def refuse(part, progress):
        assert part._plan.size < parts.WORTH_CACHING
        return solve(part, progress)

    monkeypatch.setattr(parts.Part, "_solve", refuse)


def test_tables_are_kept_and_found_again(monkeypatch):
    rules = Sieve(2, 42)
    first = SieveSolver(rules)
    (file,) = cache.folder().iterdir()
    refuse_to_solve(monkeypatch)
    again = SieveSolver(rules)
    position = as_position(rules, random_positions(rules, 300, np.random.default_rng(5)))
    assert (again.action_values(position) == first.action_values(position)).all()
    assert file.name == "sieve-2..42-0.tables"


@pytest.mark.parametrize("spoil", ["shape", "dtype", "index", "missing"])
def test_cached_tables_of_the_wrong_kind_are_made_anew(spoil):
    rules = Sieve(2, 42)
    nimber = SieveSolver(rules).nimber(rules.initial())
    key = "sieve-2..42-0"
    tables = dict(cache.load(key, parts.VERSION))
    if spoil == "shape":
        tables["nimbers"] = tables["nimbers"][:-1]
    elif spoil == "dtype":
        tables["nimbers"] = tables["nimbers"].astype(np.int16)
    elif spoil == "index":
        tables["next_core"] = tables["next_core"] + np.int32(1)
    else:
        del tables["next_core"]
    cache.store(key, parts.VERSION, tables)
    assert SieveSolver(rules).nimber(rules.initial()) == nimber
    mended = cache.load(key, parts.VERSION)
    assert mended["nimbers"].dtype == np.uint8
    assert mended["next_core"].max() < mended["nimbers"].shape[1] == mended["next_core"].shape[1]


def test_small_games_leave_no_files():
    SieveSolver(Sieve(2, 20))
    assert not cache.folder().exists()


def test_prime_rumble_is_loaded_from_its_cache(prime_rumble, monkeypatch):
    part = prime_rumble._parts[0][0]
    cache.store("sieve-2..50-0", parts.VERSION, {"next_core": part._next_core, "nimbers": part._table})
    refuse_to_solve(monkeypatch)
    loaded = SieveSolver(prime_rumble.rules)
    assert loaded.nimber(loaded.rules.initial()) == 17


class Watched:
    def __init__(self, terminal):
        self.terminal = terminal
        self.text = ""

    def isatty(self):
        return self.terminal

    def write(self, text):
        self.text += text

    def flush(self):
        pass


@pytest.mark.parametrize(("terminal", "seconds"), [(True, 10), (True, 0.9), (False, 10)])
def test_progress_speaks_to_patient_people_only(terminal, seconds, monkeypatch):
    screen = Watched(terminal)
    clock = [0.0]
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    with Progress("Solving 2..50", 1000) as progress:
        for _ in range(1000):
            clock[0] += seconds / 1000
            progress.advance()
    if not terminal or seconds < 1:
        assert screen.text == ""
        return
    _, *lines, wiped, end = screen.text.split("\r")
    assert lines[0] == "Solving 2..50: 10%"
    assert "Solving 2..50: 50%" in lines or "Solving 2..50: 51%" in lines
    assert 40 <= len(lines) <= 46
    assert wiped == " " * len(lines[-1])
    assert end == ""


def test_progress_does_without_a_stderr(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    with Progress("Solving 2..50", 0) as progress:
        progress.advance(5)
