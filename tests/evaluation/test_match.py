"""Matches and the grading of their moves."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from numduel_env.agent import make_agent
from numduel_env.duel import Duel
from numduel_env.evaluation.answers import NO_ACTION
from numduel_env.evaluation.block import OPENINGS_PER_BLOCK, Block, draw_openings, play_match, random_stream
from numduel_env.evaluation.grading import BLUNDER, KEPT, LOST, UNGRADED
from numduel_env.evaluation.match import Entrant
from numduel_env.games import GAMES
from tests.support.agents import Editor, LastMover, Lowest, Scripted

GAME_NAMES = list(GAMES)


def rules_of(name):
    return GAMES[name].make_rules()


def entrant(name, rules):
    return Entrant(name, make_agent(name, rules))


def duel_list(match, entrants):
    """Return every duel as (names by seat, moves, payoff, verdicts, fault), sorted."""
    reasons = {fault.duel: fault.reason.text for fault in match.faults}
    return sorted(
        (
            tuple(entrants[int(opener) ^ seat].name for seat in (0, 1)),
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
    entrants = (entrant("random", rules), entrant("solver", rules))
    match = play_match(rules, entrants, 60, seed=3, judge=solver)
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
                expected = LOST if values.max() < 0 else KEPT if values[action] == values.max() else BLUNDER
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
    entrants = (entrant("random", rules), entrant("random", rules))
    match = play_match(rules, entrants, 100, openings=50)
    assert match.length.max() == 12 and match.opening.max() <= 11
    assert (match.payoff[(match.length == 12)] == 0).any()


@pytest.mark.parametrize("name", GAME_NAMES)
def test_the_order_of_the_names_changes_nothing(name):
    rules = rules_of(name)
    one, other = entrant("random", rules), Entrant("lowest", Lowest(rules))
    match, swapped = play_match(rules, (one, other), 600), play_match(rules, (other, one), 600)
    assert duel_list(match, (one, other)) == duel_list(swapped, (other, one))
    assert match.scores(0).sum() == swapped.scores(1).sum()


def test_blocks_do_not_know_each_other():
    rules = rules_of("divider-duel")
    entrants = (entrant("random", rules), Entrant("lowest", Lowest(rules)))
    whole = play_match(rules, entrants, 4 * OPENINGS_PER_BLOCK + 20)
    later = Block(rules, entrants, 1, OPENINGS_PER_BLOCK, 4, 0).play(None)
    rows = slice(2 * OPENINGS_PER_BLOCK, 4 * OPENINGS_PER_BLOCK)
    width = later.actions.shape[1]
    np.testing.assert_array_equal(whole.actions[rows, :width], later.actions)
    np.testing.assert_array_equal(whole.payoff[rows], later.payoff)
    assert not np.array_equal(whole.payoff[: 2 * OPENINGS_PER_BLOCK], later.payoff)
    shorter = play_match(rules, entrants, 4 * OPENINGS_PER_BLOCK)
    np.testing.assert_array_equal(whole.payoff[: 4 * OPENINGS_PER_BLOCK], shorter.payoff)


def test_the_same_seed_repeats_everything_but_the_time():
    rules = rules_of("prime-duel-sum")
    entrants = (entrant("random", rules), entrant("solver", rules))
    one, again, other = (play_match(rules, entrants, 100, seed=seed) for seed in (5, 5, 6))
    for field in fields(one):
        if field.name != "seconds":
            np.testing.assert_array_equal(getattr(one, field.name), getattr(again, field.name))
    assert duel_list(one, entrants) != duel_list(other, entrants)


@pytest.mark.parametrize("name", GAME_NAMES)
@pytest.mark.parametrize("spec", ["random", "solver"])
def test_an_agent_against_itself_is_even(name, spec):
    rules = rules_of(name)
    match = play_match(rules, (entrant(spec, rules), entrant(spec, rules)), 200)
    assert match.scores(0).mean() == match.scores(1).mean() == 0.5
    for side in (0, 1):
        first = match.opener == side
        assert match.scores(side)[first].sum() + match.scores(side)[~first].sum() == 100


def test_openings_stop_short_of_the_end():
    rules = rules_of("factor-chain-duel")
    duels, actions = draw_openings(rules, 500, 30, random_stream(0, 0))
    assert not rules.over(duels.position).any()
    np.testing.assert_array_equal((actions != NO_ACTION).sum(1), duels.plies)
    assert len(set(duels.plies.tolist())) > 5


def raising_on_odd_rows(position, legal, generator):
    if position.pool[:, 0].sum() if len(position.pool) > 1 else not position.pool[0, 0]:
        raise RuntimeError("two is gone")
    return position.pool.argmax(-1)


FAULTS = {
    "illegal": (lambda position, legal, generator: np.argmin(position.pool, -1), "played an illegal move, action"),
    "raises": (lambda position, legal, generator: 1 // 0, "raised ZeroDivisionError"),
    "floats": (lambda position, legal, generator: np.zeros(len(position.pool)), "whole numbers"),
    "bools": (lambda position, legal, generator: np.zeros(len(position.pool), bool), "whole numbers"),
    "nothing": (lambda position, legal, generator: None, "whole numbers"),
    "scalar": (lambda position, legal, generator: 0, "shape ()"),
    "too many": (lambda position, legal, generator: np.zeros(len(position.pool) + 1, int), "shape (2,)"),
    "ragged": (lambda position, legal, generator: [[1], [2, 3]], "is no array"),
    "negative": (lambda position, legal, generator: np.full(len(position.pool), -1), "is no action: they are 0 to 7"),
    "too large": (lambda position, legal, generator: np.full(len(position.pool), 8), "answered 8, which is no action"),
    "huge": (lambda position, legal, generator: np.full(len(position.pool), 2**64 - 1, np.uint64), "is no action"),
}


@pytest.mark.parametrize("kind", FAULTS)
def test_a_faulty_agent_loses_and_the_match_goes_on(kind, solvers):
    answer, reason = FAULTS[kind]
    rules = rules_of("divider-duel")
    entrants = (entrant("random", rules), Entrant("faulty", Scripted(answer)))
    match = play_match(rules, entrants, 40, judge=solvers("divider-duel"))
    assert match.faults
    for fault in match.faults:
        assert fault.entrant == 1 and reason in fault.reason.text
        assert match.length[fault.duel] == fault.ply
        assert match.scores(1)[fault.duel] == 0
        assert match.movers()[fault.duel, fault.ply] == 1
        assert match.verdicts[fault.duel, fault.ply] in (BLUNDER, LOST)
    faulted = [fault.duel for fault in match.faults]
    assert len(faulted) == len(set(faulted))
    if kind != "illegal":
        # It lost wherever it was asked.
        assert match.asked[1] == len(faulted)


def test_only_the_guilty_duels_are_lost():
    rules = rules_of("divider-duel")
    entrants = (entrant("random", rules), Entrant("moody", Scripted(raising_on_odd_rows)))
    match = play_match(rules, entrants, 100)
    guilty = {fault.duel for fault in match.faults}
    assert 0 < len(guilty) < 100
    for fault in match.faults:
        assert fault.reason == ("raised RuntimeError", "raised RuntimeError: two is gone")
        duel = Duel(rules, match.actions[fault.duel, : fault.ply].tolist())
        assert not duel.position.pool[0]
    assert match.scores(1)[[row for row in range(100) if row not in guilty]].any()


@pytest.mark.parametrize("agent", [Editor, LastMover])
def test_writing_into_what_is_given_harms_nobody(agent):
    """What both play is the smallest legal number."""
    rules = rules_of("divider-duel")
    clean, dirty = (Entrant("same", make_agent(kind, rules)) for kind in (Lowest, agent))
    other = entrant("random", rules)
    one, two = (duel_list(play_match(rules, (other, who), 60), (other, who)) for who in (clean, dirty))
    assert one == two


def test_a_player_sees_the_whole_duel():
    rules = rules_of("factor-chain-duel")
    seen = []

    class Watching(LastMover):
        def move(self, duel, generator):
            seen.append(duel.moves)
            return super().move(duel, generator)

    entrants = entrant("random", rules), Entrant("watching", make_agent(Watching, rules))
    match = play_match(rules, entrants, 20)
    assert not match.faults
    duels = [Duel(rules, match.actions[row, : match.length[row]].tolist()) for row in range(20)]
    asked = [
        duels[row].moves[:ply]
        for row in range(20)
        for ply in range(match.opening[row], match.length[row])
        if match.movers()[row, ply] == 1
    ]
    assert sorted(seen) == sorted(asked)


@pytest.mark.parametrize("duels", [0, 1, 7, -2])
def test_duels_come_in_pairs(duels):
    rules = rules_of("divider-duel")
    with pytest.raises(ValueError, match="even number"):
        play_match(rules, (entrant("random", rules), entrant("random", rules)), duels)
