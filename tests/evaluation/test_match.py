"""Matches, the grading of their moves, and walks against every opponent line."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from agents import make_agent
from numduel_env.duels import Duel
from numduel_env.evaluation.exploitability import (
    WalkTooLong,
    exploitability,
    grade_everywhere,
    grade_sample,
    random_positions,
    walk,
)
from numduel_env.evaluation.match import (
    BLUNDER,
    KEPT,
    NO_ACTION,
    OPENINGS_PER_BLOCK,
    UNGRADED,
    Player,
    dice,
    draw_openings,
    play_block,
    play_match,
)
from numduel_env.games import GAMES
from numduel_env.rules import take_rows
from numduel_env.solvers import ILLEGAL, solver_for

GAME_NAMES = list(GAMES)


class Lowest:
    """Plays the smallest legal number."""

    def __init__(self, rules):
        self.rules = rules

    def choose(self, position, generator):
        return self.rules.legal(position).argmax(-1)


class Scripted:
    """Answers what a function of (position, generator) says."""

    def __init__(self, answer):
        self.choose = answer


@pytest.fixture(scope="module")
def solvers():
    made = {}

    def solver_of(name):
        if name not in made:
            made[name] = solver_for(GAMES[name].make_rules())
        return made[name]

    return solver_of


def rules_of(name):
    return GAMES[name].make_rules()


def player(spec, rules):
    return Player(spec, make_agent(spec, rules))


def duel_list(match, players):
    """Return every duel as (names by seat, moves, payoff, verdicts, fault), sorted."""
    reasons = {fault.duel: fault.reason for fault in match.faults}
    return sorted(
        (
            tuple(players[int(opener) ^ seat].spec for seat in (0, 1)),
            match.actions[row, : match.length[row]].tolist(),
            int(match.payoff[row]),
            match.verdicts[row, : match.length[row]].tolist(),
            reasons.get(row, ""),
        )
        for row, opener in enumerate(match.opener)
    )


@pytest.mark.parametrize("name", GAME_NAMES)
def test_every_duel_is_a_legal_game_with_the_right_verdicts(name, solvers):
    solver = solvers(name)
    rules = solver.rules
    players = (player("random", rules), player("solver", rules))
    match = play_match(rules, players, 60, seed=3, judge=solver)
    assert not match.faults
    assert len(match.opener) == 60 and match.opener.sum() == 30
    for row in range(60):
        duel = Duel(rules)
        for ply in range(match.length[row]):
            action = int(match.actions[row, ply])
            assert match.movers()[row, ply] == match.opener[row] ^ (ply & 1)
            if ply >= match.opening[row]:
                values = solver.action_values(duel.position)
                assert match.left[row, ply] == rules.available(duel.position).sum()
                expected = UNGRADED if values.max() < 0 else KEPT if values[action] == values.max() else BLUNDER
                assert match.verdicts[row, ply] == expected
            else:
                assert match.verdicts[row, ply] == UNGRADED
            duel.play(action)
        assert duel.finished and duel.offence is None
        assert match.payoff[row] == duel.payoff[0]
        assert (match.actions[row, match.length[row] :] == NO_ACTION).all()
        assert match.opening[row] <= min(4, match.length[row] - 1)
    # The solver never blunders, and both seatings of an opening begin alike.
    assert BLUNDER not in match.verdicts[match.movers() == 1]
    for one, other in zip(range(30), range(30, 60)):
        opening = match.opening[one]
        assert opening == match.opening[other]
        np.testing.assert_array_equal(match.actions[one, :opening], match.actions[other, :opening])
    assert set(match.opening.tolist()) >= {0, 1, 2}


def test_truncated_duels_are_draws():
    rules = GAMES["prime-duel-sum"].make_rules(when_empty="refill", max_plies=12)
    players = (player("random", rules), player("random", rules))
    match = play_match(rules, players, 100, openings=50)
    assert match.length.max() == 12 and match.opening.max() <= 11
    assert (match.payoff[(match.length == 12)] == 0).any()


@pytest.mark.parametrize("name", GAME_NAMES)
def test_the_order_of_the_names_changes_nothing(name):
    rules = rules_of(name)
    one, other = player("random", rules), Player("lowest", Lowest(rules))
    match, swapped = play_match(rules, (one, other), 600), play_match(rules, (other, one), 600)
    assert duel_list(match, (one, other)) == duel_list(swapped, (other, one))
    assert match.scores(0).sum() == swapped.scores(1).sum()


def test_blocks_do_not_know_each_other():
    rules = rules_of("divider-duel")
    players = (player("random", rules), Player("lowest", Lowest(rules)))
    whole = play_match(rules, players, 4 * OPENINGS_PER_BLOCK + 20)
    later = play_block(rules, players, 1, OPENINGS_PER_BLOCK, 4, 0)
    rows = slice(2 * OPENINGS_PER_BLOCK, 4 * OPENINGS_PER_BLOCK)
    width = later.actions.shape[1]
    np.testing.assert_array_equal(whole.actions[rows, :width], later.actions)
    np.testing.assert_array_equal(whole.payoff[rows], later.payoff)
    assert not np.array_equal(whole.payoff[: 2 * OPENINGS_PER_BLOCK], later.payoff)
    shorter = play_match(rules, players, 4 * OPENINGS_PER_BLOCK)
    np.testing.assert_array_equal(whole.payoff[: 4 * OPENINGS_PER_BLOCK], shorter.payoff)


def test_the_same_seed_repeats_everything_but_the_time():
    rules = rules_of("prime-duel-sum")
    players = (player("random", rules), player("solver", rules))
    one, again, other = (play_match(rules, players, 100, seed=seed) for seed in (5, 5, 6))
    for field in fields(one):
        if field.name != "seconds":
            np.testing.assert_array_equal(getattr(one, field.name), getattr(again, field.name))
    assert duel_list(one, players) != duel_list(other, players)


@pytest.mark.parametrize("name", GAME_NAMES)
@pytest.mark.parametrize("spec", ["random", "solver"])
def test_an_agent_against_itself_is_even(name, spec):
    rules = rules_of(name)
    match = play_match(rules, (player(spec, rules), player(spec, rules)), 200)
    assert match.scores(0).mean() == match.scores(1).mean() == 0.5
    for side in (0, 1):
        first = match.opener == side
        assert match.scores(side)[first].sum() + match.scores(side)[~first].sum() == 100


def test_openings_stop_short_of_the_end():
    rules = rules_of("factor-chain-duel")
    duels, actions = draw_openings(rules, 500, 30, dice(0, 0))
    assert not rules.over(duels.position).any()
    np.testing.assert_array_equal((actions != NO_ACTION).sum(1), duels.plies)
    assert len(set(duels.plies.tolist())) > 5


def raising_on_odd_rows(position, generator):
    if position.pool[:, 0].sum() if len(position.pool) > 1 else not position.pool[0, 0]:
        raise RuntimeError("two is gone")
    return position.pool.argmax(-1)


FAULTS = {
    "illegal": (lambda position, generator: np.argmin(position.pool, -1), "played an illegal move, action"),
    "raises": (lambda position, generator: 1 // 0, "raised ZeroDivisionError"),
    "floats": (lambda position, generator: np.zeros(len(position.pool)), "whole numbers"),
    "bools": (lambda position, generator: np.zeros(len(position.pool), bool), "whole numbers"),
    "nothing": (lambda position, generator: None, "whole numbers"),
    "scalar": (lambda position, generator: 0, "shape ()"),
    "too many": (lambda position, generator: np.zeros(len(position.pool) + 1, int), "shape (2,)"),
    "ragged": (lambda position, generator: [[1], [2, 3]], "is no array"),
    "negative": (lambda position, generator: np.full(len(position.pool), -1), "is no action: they are 0 to 7"),
    "too large": (lambda position, generator: np.full(len(position.pool), 8), "answered 8, which is no action"),
    "huge": (lambda position, generator: np.full(len(position.pool), 2**64 - 1, np.uint64), "is no action"),
}


@pytest.mark.parametrize("kind", FAULTS)
def test_a_faulty_agent_loses_and_the_match_goes_on(kind, solvers):
    answer, reason = FAULTS[kind]
    rules = rules_of("divider-duel")
    players = (player("random", rules), Player("faulty", Scripted(answer)))
    match = play_match(rules, players, 40, judge=solvers("divider-duel"))
    assert match.faults
    for fault in match.faults:
        assert fault.player == 1 and reason in fault.reason
        assert match.length[fault.duel] == fault.ply
        assert match.scores(1)[fault.duel] == 0
        assert match.movers()[fault.duel, fault.ply] == 1
        assert match.verdicts[fault.duel, fault.ply] in (BLUNDER, UNGRADED)
    faulted = [fault.duel for fault in match.faults]
    assert len(faulted) == len(set(faulted))
    if kind != "illegal":
        # It lost wherever it was asked.
        assert match.asked[1] == len(faulted)


def test_only_the_guilty_duels_are_lost():
    rules = rules_of("divider-duel")
    players = (player("random", rules), Player("moody", Scripted(raising_on_odd_rows)))
    match = play_match(rules, players, 100)
    guilty = {fault.duel for fault in match.faults}
    assert 0 < len(guilty) < 100
    for fault in match.faults:
        assert fault.reason == "raised RuntimeError: two is gone"
        duel = Duel(rules, match.actions[fault.duel, : fault.ply].tolist())
        assert not duel.position.pool[0]
    assert match.scores(1)[[row for row in range(100) if row not in guilty]].any()


def test_writing_into_a_position_harms_nobody():
    rules = rules_of("divider-duel")

    def scribble(position, generator):
        actions = position.pool.argmax(-1)
        position.pool[:] = False
        return actions

    clean, dirty = (Player("same", agent) for agent in (Lowest(rules), Scripted(scribble)))
    other = player("random", rules)
    one, two = (duel_list(play_match(rules, (other, who), 60), (other, who)) for who in (clean, dirty))
    assert one == two


@pytest.mark.parametrize("duels", [0, 1, 7, -2])
def test_duels_come_in_pairs(duels):
    rules = rules_of("divider-duel")
    with pytest.raises(ValueError, match="even number"):
        play_match(rules, (player("random", rules), player("random", rules)), duels)


def test_always_two_throws_38_of_24871_won_positions(solvers):
    """Over all reachable positions; against every line from the first position it throws 5, all in the first seat."""
    solver = solvers("prime-duel-product")
    agent = Lowest(solver.rules)
    grades = grade_everywhere(agent, solver)
    assert (grades.thrown, grades.won, grades.positions) == (38, 24_871, 58_665)
    assert grades.exact
    first, second = walk(agent, solver)
    assert (first.thrown, first.won, second.thrown, second.won) == (5, 384, 0, 386)


@pytest.mark.parametrize("name", ["divider-duel", "prime-duel-product", "prime-duel-sum"])
def test_perfect_play_throws_nothing(name, solvers):
    solver = solvers(name)
    for grades in walk(make_agent("solver", solver.rules), solver):
        assert grades.won > 0
        assert (grades.thrown, grades.spoiled) == (0, 0)
        assert grades.exact


def test_a_walk_against_dice_says_that_it_is_no_proof(solvers):
    for grades in walk(make_agent("random", solvers("divider-duel").rules), solvers("divider-duel")):
        assert not grades.exact
        assert 0 < grades.thrown < grades.won


def test_one_bad_choice_among_several_is_enough(solvers):
    """An agent that may play anything reaches everything and throws all that can be thrown."""
    solver = solvers("divider-duel")
    agent = make_agent("random", solver.rules)
    agent.preferred = solver.rules.legal
    for grades in walk(agent, solver):
        assert grades.exact
    everywhere = random_positions(solver.rules, 3_000, seed=0)
    values = solver.action_values(everywhere)
    throwable = ((values == 1).any(-1) & (values == -1).any(-1)).sum()
    assert grade_sample(agent, solver, 3_000, seed=0).thrown == throwable


def lines(duel, agent, seat, seen):
    """Collect by recursion the positions in which the agent, in its seat, has to move."""
    if duel.finished:
        return
    if duel.seat == seat:
        seen[str(duel.position)] = duel.position
        action = int(agent.choose(take_rows(duel.position._make(f[None] for f in duel.position), [0]), None)[0])
        lines(Duel(duel.rules, [*duel.actions, action]), agent, seat, seen)
    else:
        for action in np.flatnonzero(duel.legal):
            lines(Duel(duel.rules, [*duel.actions, int(action)]), agent, seat, seen)


def test_the_walk_agrees_with_recursion(solvers):
    solver = solvers("divider-duel")
    agent = Lowest(solver.rules)
    for seat, grades in enumerate(walk(agent, solver)):
        seen = {}
        lines(Duel(solver.rules), agent, seat, seen)
        values = [solver.action_values(position) for position in seen.values()]
        moves = [int(solver.rules.legal(position).argmax()) for position in seen.values()]
        assert grades.positions == len(seen)
        assert grades.won == sum(value.max() == 1 for value in values)
        assert grades.thrown == sum(value.max() == 1 != value[move] for value, move in zip(values, moves))


def test_a_faulty_agent_throws_what_it_cannot_play(solvers):
    solver = solvers("divider-duel")
    first, _ = walk(Scripted(lambda position, generator: None), solver)
    assert (first.positions, first.won, first.thrown) == (1, 1, 1)


def test_a_game_that_may_turn_in_circles_can_be_walked():
    rules = GAMES["prime-duel-sum"].make_rules(highest=4, target=9, when_empty="refill")
    solver = solver_for(rules)
    for grades in walk(make_agent("solver", rules), solver):
        assert (grades.thrown, grades.spoiled) == (0, 0)


def test_a_walk_that_is_too_long_becomes_a_sample(solvers):
    solver = solvers("prime-rumble")
    agent = Lowest(solver.rules)
    with pytest.raises(WalkTooLong, match="more than the budget of 500 positions"):
        walk(agent, solver, budget=500)
    (grades,) = exploitability(agent, solver, budget=500)
    assert grades.where == "random positions" and grades.positions == 10_000
    assert "budget of 500 positions" in grades.refusal
    assert 0 < grades.thrown < grades.won
    assert grades.exact


def test_samples_repeat_with_their_seed(solvers):
    solver = solvers("prime-duel-sum")
    agent = Lowest(solver.rules)
    assert grade_sample(agent, solver, 300, seed=1) == grade_sample(agent, solver, 300, seed=1)
    assert grade_sample(agent, solver, 300, seed=1) != grade_sample(agent, solver, 300, seed=2)


def test_random_positions_lie_at_uniformly_random_plies():
    rules = rules_of("prime-duel-sum")
    position = random_positions(rules, 9_000, seed=0)
    assert not rules.over(position).any()
    counts = np.bincount(9 - rules.available(position).sum(-1))
    assert len(counts) == 9 and counts.min() > 880 and counts.max() < 1120


def test_a_sample_is_graded_with_dice_of_its_own():
    """Random play keeps what its share of good moves says; it would keep more if it repeated the dice of the sample."""
    for game in ("divider-duel", "prime-duel-product"):
        rules = GAMES[game].make_rules()
        solver = solver_for(rules)
        for seed in range(3):
            grades = grade_sample(make_agent("random", rules), solver, 10_000, seed)
            values = solver.action_values(random_positions(rules, 10_000, seed))
            won = values.max(-1) == 1
            expected = ((values == 1).sum(-1) / (values != ILLEGAL).sum(-1))[won].mean()
            assert grades.won == won.sum()
            assert 1 - grades.thrown / grades.won == pytest.approx(expected, abs=0.02)


def test_a_method_of_the_same_name_does_no_harm():
    rules = GAMES["divider-duel"].make_rules()

    class Preferring(Lowest):
        def preferred(self):
            raise RuntimeError

    plain, named = (exploitability(kind(rules), solver_for(rules)) for kind in (Lowest, Preferring))
    assert plain == named
