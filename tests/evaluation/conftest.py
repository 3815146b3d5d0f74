"""Solvers that the tests of this room share."""

from functools import cache

import pytest

from numduel_env import find_game, solver_for


@pytest.fixture(scope="session")
def solvers():
    return cache(lambda name: solver_for(find_game(name).make_rules()))
