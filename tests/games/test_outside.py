"""Games that stand in no table of ours, named as module:attribute."""

from __future__ import annotations

import pytest

import numduel_env
from numduel_env import Duel, find_game
from numduel_env.games import find_known_game
from numduel_env.solvers import solver_for
from tests.support.toys import TWO_HEAPS, TwoHeaps

TOYS = "tests.support.toys:"


def test_a_class_of_rules_is_a_game():
    spec = find_game(TOYS + "TwoHeaps")
    assert (spec.name, spec.title, spec.slug) == (TOYS + "TwoHeaps", "Two Heaps", "twoheaps")
    assert spec.params == {"first": 3, "second": 4, "fair": True}
    assert find_game(TOYS + "TwoHeaps") is spec
    assert isinstance(spec.make_rules(first=1), TwoHeaps)


def test_a_spec_is_a_game_under_the_name_it_was_found_by():
    spec = find_game(TOYS + "TWO_HEAPS")
    assert (spec.name, spec.params) == (TOYS + "TWO_HEAPS", TWO_HEAPS.params)


def test_it_opens_every_door_of_the_library():
    environment = numduel_env.env(TOYS + "TwoHeaps", render_mode="ansi", first=1, second=1)
    environment.reset(seed=0)
    environment.step(0)
    assert environment.duel.legal_numbers == [21]
    assert "21" in environment.render()
    results = numduel_env.evaluate(TOYS + "TwoHeaps", ["random", "solver"], duels=20, exploit=True)
    assert results.agents[1].kept == 1 and results.game.name == TOYS + "TwoHeaps"
    rules = find_game(TOYS + "TwoHeaps").make_rules()
    duel = Duel(rules)
    values = solver_for(rules).action_values(duel.position)
    assert rules.numbers[values == 1].tolist() == [21]  # leaves two equal heaps


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("tests.support.toys:Heap", "must be a GameSpec or a subclass of numduel_env.Rules"),
        ("tests.support.toys:Subtraction", "give every parameter of .* a default.*: heap, most has none"),
        ("tests.support.toys:nothing", "cannot be imported: AttributeError"),
        ("no_such_module:Game", "cannot be imported: ModuleNotFoundError.*PYTHONPATH=."),
    ],
)
def test_what_is_no_game_is_refused_in_a_line(name, message):
    with pytest.raises(ValueError, match=message) as wrong:
        find_game(name)
    assert "\n" not in str(wrong.value)


@pytest.mark.parametrize("body", ["raise SystemExit(0)", "1 / 0", "def", "raise GeneratorExit"])
def test_a_module_may_do_anything_while_it_is_imported(body, tmp_path, monkeypatch):
    (tmp_path / "wild_module.py").write_text(body)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ValueError, match="wild_module:Game cannot be imported"):
        find_game("wild_module:Game")


def test_a_name_from_a_file_imports_nothing(tmp_path, monkeypatch):
    (tmp_path / "evil_module.py").write_text("raise AssertionError('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ValueError, match="a file may not import: name it yourself, with --game evil_module:Game"):
        find_known_game("evil_module:Game")
    spec = find_game(TOYS + "TWO_HEAPS")
    assert find_known_game(TOYS + "TWO_HEAPS") is spec
