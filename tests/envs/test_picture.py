"""Pictures show every number as it stands."""

from __future__ import annotations

import builtins

import numpy as np
import pytest
from PIL import Image

import numduel_env
from numduel_env import GAMES, Duel, GameSpec, find_game
from numduel_env.picture import INK, LOOKS, PAPER, draw, last_ply, looks
from tests.support import ROOT
from tests.support.colours import contrast
from tests.support.programs import run_program
from tests.support.toys import Subtraction
from tests.support.variants import each_variant

PICTURES = ROOT / "docs" / "pictures"


def played(game, moves, **params):
    duel = Duel(find_game(game).make_rules(**params))
    for number in moves:
        duel.push(number)
    return duel


def shown(duel):
    """Return the numbers by their look, and those of the last ply."""
    numbers = duel.rules.numbers
    by_look = {look: numbers[[each == look for each in looks(duel)]].tolist() for look in LOOKS}
    return {**by_look, "last ply": numbers[last_ply(duel)].tolist()}


def test_who_took_what():
    assert shown(played("divider-duel", [5, 3])) == {
        "legal now": [2, 4, 7, 8],
        "left": [],
        "taken by Player 1": [5],
        "taken by Player 2": [3, 6, 9],
        "last ply": [3, 6, 9],
    }
    chain = shown(played("factor-chain-duel", [10, 5], highest=20))
    assert chain["legal now"] == [15, 20]
    assert (chain["taken by Player 1"], chain["taken by Player 2"], chain["last ply"]) == ([10], [5], [5])
    assert len(chain["left"]) == 15
    product = shown(played("prime-duel-product", [7]))
    assert product["last ply"] == [7] and len(product["legal now"]) == 10
    assert shown(played("prime-duel-sum", [7, 9, 2]))["taken by Player 1"] == [2, 7]


def test_a_list_that_starts_again_belongs_to_nobody():
    refilled = shown(played("prime-duel-sum", range(2, 11), when_empty="refill"))
    assert refilled["legal now"] == list(range(2, 11)) and refilled["last ply"] == [10]
    again = shown(played("prime-duel-sum", [*range(2, 11), 3], when_empty="refill"))
    assert again["taken by Player 2"] == [3] and not again["taken by Player 1"]


def test_a_win_takes_only_the_number_chosen():
    won = shown(played("prime-duel-sum", [10], target=10))
    assert (won["taken by Player 1"], won["last ply"]) == ([10], [10])
    assert won["left"] == list(range(2, 10)) and not won["legal now"]


def test_words_can_be_read_on_their_grounds():
    for look in LOOKS.values():
        assert contrast(look.fill, look.ink) >= 4.5, look
    assert contrast(PAPER, INK) >= 4.5


def test_who_took_what_is_seen_without_colours(monkeypatch):
    """Painted alike, a number taken by one player still looks unlike the same taken by the other, or by nobody."""
    for name, look in LOOKS.items():
        monkeypatch.setitem(LOOKS, name, look._replace(fill="#ffffff", ink="#000000"))
    spec = find_game("factor-chain-duel")
    by_first, by_second, by_nobody = (
        draw(spec, played(spec, moves, highest=8))[76:132, 152:208]  # the tile of 4
        for moves in ([4, 2, 6], [2, 4, 8], [2, 6, 3])
    )
    assert (by_first != by_second).any() and (by_first != by_nobody).any() and (by_second != by_nobody).any()


def test_the_two_prime_duels_differ_by_their_headings():
    """Where everything else is the same, the target makes the picture."""
    spec = find_game("prime-duel-sum")
    one, other = (draw(spec, played(spec, [2], target=target))[:76] for target in (50, 60))
    assert (one != other).any()


def test_words_stay_within_the_picture():
    spec = GameSpec("long", "A Title Of Forty Words Or So " * 4, Subtraction, {"heap": 3000, "most": 3})
    duel = played(spec, [3] * 40)
    margin = draw(spec, duel)[:, -20:]
    assert (margin == margin[0, 0]).all()
    large = find_game("prime-duel-sum")
    duel = played(large, [9993, 9994], target=10**15, lowest=9990, highest=10000)
    margin = draw(large, duel)[:, -20:]
    assert (margin == margin[0, 0]).all()


@each_variant
def test_every_size_can_be_drawn(game, params):
    environment = numduel_env.env(game, render_mode="rgb_array", **params)
    environment.reset()
    first = environment.render()
    assert first.dtype == np.uint8 and first.ndim == 3 and first.shape[2] == 3
    environment.step(int(np.flatnonzero(environment.last()[0]["action_mask"])[-1]))
    second = environment.render()
    assert second.shape == first.shape
    assert (first != second).any()


def test_without_pillow_the_error_names_the_extra(monkeypatch):
    real = builtins.__import__

    def without_pillow(name, *rest):
        if name.partition(".")[0] == "PIL":
            raise ImportError(name)
        return real(name, *rest)

    environment = numduel_env.env("divider-duel", render_mode="rgb_array")
    environment.reset()
    monkeypatch.setattr(builtins, "__import__", without_pillow)
    with pytest.raises(ImportError, match=r"pip install 'numduel-env\[pictures\]'"):
        environment.render()


def test_the_documented_pictures_are_drawn_by_the_documented_command(tmp_path):
    assert run_program("docs/generate", "--pictures", "--into", tmp_path).code == 0
    drawn = sorted((tmp_path / "docs" / "pictures").iterdir())
    assert {path.name for path in drawn} == {f"{game}.png" for game in GAMES} | {"duel.gif"}
    for path in drawn:
        with Image.open(path) as here, Image.open(PICTURES / path.name) as there:
            frames = [getattr(picture, "n_frames", 1) for picture in (here, there)]
            assert frames[0] == frames[1] and (frames[0] > 1) == (path.suffix == ".gif"), path.name
            for frame in range(frames[0]):
                here.seek(frame)
                there.seek(frame)
                pixels, documented = (np.asarray(picture.convert("RGB"), float) for picture in (here, there))
                # Another release of Pillow may smooth its letters otherwise.
                assert pixels.shape == documented.shape and np.abs(pixels - documented).mean() < 1, path.name
