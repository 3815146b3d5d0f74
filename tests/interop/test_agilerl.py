"""AgileRL learns on the native vector environment, beside a PettingZoo without a registry."""

from __future__ import annotations

import numpy as np
import pettingzoo
import pytest
from pettingzoo.test import api_test

import numduel_env
from tests.interop.examples import run_documented_lines, run_example
from tests.support.variants import each_game

pytestmark = [
    pytest.mark.interop,
    # AgileRL warns of what it does itself.
    pytest.mark.filterwarnings("ignore:MakeEvolvable will be deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*to_module:FutureWarning"),
]


def test_the_example_learns():
    learned = run_example("agilerl_divider_duel.py", "--steps", "16384")
    assert learned.steps == 16_384
    assert learned.score > 65 > 55 > learned.untrained


def test_the_documented_lines_choose_legal_moves():
    made = run_documented_lines("AgileRL")
    legal = made["infos"]["action_mask"]
    assert legal[np.arange(len(legal)), np.asarray(made["actions"]).astype(int)].all()


@pytest.mark.filterwarnings("ignore::UserWarning")
@each_game
def test_the_pettingzoo_environments_need_no_registry(game, params):
    assert not hasattr(pettingzoo, "make")
    api_test(numduel_env.env(game, **params), num_cycles=100)
