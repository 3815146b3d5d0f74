"""Counted positions: move sequences to a depth (perft), and every position that can arise."""

import copy

import numpy as np
import pytest

from numduel_env.batch import take_rows
from numduel_env.games import GAMES
from tests.support.naive import NAIVE

SEQUENCES = [
    ("prime-rumble", {}, [49, 2_244, 96_746]),
    ("factor-chain-duel", {}, [49, 216, 1_614, 9_556]),
    ("divider-duel", {}, [8, 50, 240, 862, 2_226, 3_887, 4_102, 1_960, 0]),
    ("prime-duel-product", {}, [10, 100, 1_000, 10_000, 100_000, 514_000]),
    ("prime-duel-product", {"target": 12, "primes_below": 6}, [3, 9, 27, 54, 108, 18, 3]),
    ("prime-duel-sum", {}, [9, 72, 504, 3_024, 15_120]),
    ("prime-duel-sum", {"highest": 5, "target": 7}, [4, 12, 24, 20, 0]),
    ("prime-duel-sum", {"highest": 5, "target": 7, "when_empty": "refill"}, [4, 12, 24, 20, 64, 174, 294]),
]


def successors(rules, position):
    """Every position one ply after those of a batch, one for each legal move; a finished game has none."""
    rows, actions = np.nonzero(rules.legal(position))
    return rules.play(take_rows(position, rows), actions)


def size(position):
    return len(position[0])


def real_counts(rules, depth):
    position, counts = rules.initial((1,)), []
    for _ in range(depth - 1):
        position = successors(rules, position)
        counts.append(size(position))
    return [*counts, np.count_nonzero(rules.legal(position))]


def naive_counts(game, depth):
    games, counts = [game], []
    for _ in range(depth - 1):
        games = [played(game, number) for game in games for number in game.legal()]
        counts.append(len(games))
    return [*counts, sum(len(game.legal()) for game in games)]


def played(game, number):
    after = copy.copy(game)
    for name, part in vars(game).items():
        if isinstance(part, list):
            setattr(after, name, list(part))
    after.play(number)
    return after


@pytest.mark.parametrize(("name", "params", "expected"), SEQUENCES)
def test_move_sequences(name, params, expected):
    """``expected[d - 1]`` sequences of ``d`` legal moves begin at the start."""
    spec = GAMES[name]
    assert real_counts(spec.make_rules(**params), len(expected)) == expected
    assert naive_counts(NAIVE[name](**{**spec.params, **params}), len(expected)) == expected


def rows_of(position):
    """A batch of positions as bytes: a row for each, equal exactly where positions are."""
    parts = [np.asarray(part, np.int64).reshape(size(position), -1) for part in position]
    rows = np.ascontiguousarray(np.concatenate(parts, axis=1))
    return rows.view(np.dtype((np.void, rows.strides[0]))).ravel()


def distinct(position):
    return take_rows(position, np.unique(rows_of(position), return_index=True)[1])


def levels(rules):
    """The distinct positions after 0, 1, 2... plies, breadth first, until nobody can move."""
    position = rules.initial((1,))
    while size(position):
        yield position
        if rules.over(position).all():
            return
        position = distinct(successors(rules, position))


def counted(name, **params):
    """Count the positions of a game in four ways.

    A position is what the rules keep, seen from the player to move: two games that differ only in who is to move, or
    in how many plies they took, stand in the same position. "by ply" counts it once for every number of plies that
    can lead to it.
    """
    rules = GAMES[name].make_rules(**params)
    every = list(levels(rules))
    rows = [rows_of(position) for position in every]
    going = [part[~rules.over(position)] for part, position in zip(rows, every)]
    return {
        "all": len(np.unique(np.concatenate(rows))),
        "unfinished": len(np.unique(np.concatenate(going))),
        "all by ply": sum(map(len, rows)),
        "unfinished by ply": sum(map(len, going)),
    }


def test_divider_duel_positions():
    """72 pools, the empty one included; it is reached after 4, 5, 6, 7 or 8 plies and so counts five times by ply."""
    assert counted("divider-duel") == {"all": 72, "unfinished": 71, "all by ply": 156, "unfinished by ply": 151}


def test_prime_duel_product_positions():
    """58,665 unfinished pairs of scores: a score is a product of as many primes as its player has moved.

    So a pair of scores tells the number of plies and the seat, and it makes no difference whether they count. Finished
    games (one score at the target or past it) come on top.
    """
    assert counted("prime-duel-product") == {
        "all": 280_603,
        "unfinished": 58_665,
        "all by ply": 280_603,
        "unfinished by ply": 58_665,
    }


def test_prime_duel_sum_positions():
    """17,303 lists with both scores, 223 finished ones (an empty list) included.

    The length of the list tells the number of plies and the seat, so it makes no difference whether they count.
    """
    assert counted("prime-duel-sum") == {
        "all": 17_303,
        "unfinished": 17_080,
        "all by ply": 17_303,
        "unfinished by ply": 17_080,
    }
