"""The board as people meet it: played by clicks, taps and keys in a real browser, and held to its promises there."""

from __future__ import annotations

import os
import random
import re
import sys

import pytest

from numduel_env import GAMES, Duel, evaluate, find_game, solver_for
from numduel_env.solvers import ILLEGAL
from tests.browser.conftest import board, until
from tests.support import ROOT

MINE = ".tiles [aria-disabled=false]"
"""The numbers that a person can choose now."""

TURN_OR_END = f"{MINE}, .moves"


def moves_of(page):
    return page.evaluate("history.state?.moves")


def status_of(page):
    return page.inner_text("#status")


def choices_of(page):
    """Wait for the person's turn or the end, and return the numbers that can be chosen."""
    page.wait_for_selector(TURN_OR_END)
    return page.eval_on_selector_all(MINE, "tiles => tiles.map(tile => Number(tile.dataset.number))")


def duel_of(page, game, **params):
    """Return the duel that the page shows, by the rules."""
    duel = Duel(find_game(game).make_rules(**params))
    for number in moves_of(page):
        duel.push(number)
    return duel


def play_to_the_end(page, choose, seed=0):
    draw = random.Random(seed)
    while choices := choices_of(page):
        before = moves_of(page)
        number = draw.choice(choices)
        choose(number)
        until(page, "length => history.state?.moves.length > length", len(before))
        assert moves_of(page)[len(before)] == number


@pytest.mark.parametrize("game", GAMES)
def test_a_whole_duel_by_clicks(game, serve, tab):
    page = tab(serve("--game", game, "--second", "random", "--seed", 3))
    play_to_the_end(page, lambda number: page.click(f"#n{number}"))
    duel = duel_of(page, game)
    assert duel.finished
    ending = re.sub(r"\s+", " ", GAMES[game].wording.ending(duel))
    assert re.sub(r"\s+", " ", status_of(page)).endswith(ending)
    assert page.locator(".moves button").count() == len(duel.actions)
    verdicts = page.eval_on_selector_all(".moves button", "moves => moves.map(move => move.className)")
    assert set(verdicts) <= {"kept", "blunder", "lost"}


def test_a_whole_duel_by_keys_alone(serve, tab):
    """Arrow keys and Enter in one half of the moves, typed numbers in the other."""
    page = tab(serve("--game", "prime-rumble", "--second", "random", "--seed", 3, "--highest", 30))
    turns = iter(range(100))

    def choose(number):
        if next(turns) % 2:
            page.keyboard.type(str(number))  # wherever the focus is
            assert page.input_value("#number") == str(number)
            page.keyboard.press("Enter")
            return
        while page.evaluate("document.activeElement.closest('.tiles')") is None:
            page.keyboard.press("Shift+Tab" if page.evaluate("document.activeElement.id") == "number" else "Tab")
        keys = {"down": "ArrowDown", "up": "ArrowUp", "right": "ArrowRight", "left": "ArrowLeft"}
        for _ in range(40):
            here = int(page.evaluate("document.activeElement.dataset.number"))
            if here == number:
                break
            way = (
                ("down" if here < number else "up")
                if abs(here - number) >= 10
                else "right"
                if here < number
                else "left"
            )
            page.keyboard.press(keys[way])
        assert page.evaluate("document.activeElement.dataset.number") == str(number)
        shown = page.inner_text("#preview")
        assert shown.startswith((f"{number} takes ", f"After {number} ", f"{number} ends it"))
        page.keyboard.press("Enter")

    page.keyboard.press("Tab")
    play_to_the_end(page, choose)
    assert duel_of(page, "prime-rumble", highest=30).finished


def test_a_number_shows_what_it_takes(serve, tab):
    page = tab(serve("--game", "prime-rumble", "--second", "solver"))
    page.hover("#n11")
    assert page.inner_text("#preview") == "11 takes 22, 33, 44 with it."
    going = page.eval_on_selector_all(".goes", "tiles => tiles.map(tile => tile.dataset.number)")
    assert going == ["11", "22", "33", "44"]
    page.hover("h1")
    assert page.inner_text("#preview") == "" and page.locator(".goes").count() == 0


def test_refused_moves_change_nothing(serve, tab):
    page = tab(serve("--game", "divider-duel", "--first", "human", "--second", "human"))
    page.click("#n4")
    page.wait_for_selector("#n8.taken-by-player-1")
    page.click("#n8", force=True)
    page.wait_for_selector("#status.refused")
    assert status_of(page) == "8 is not in the list. Player 2, it's your turn."
    page.fill("#number", "seven")
    page.keyboard.press("Enter")
    until(page, "document.getElementById('status').textContent.startsWith(\"'seven' is not\")")
    assert page.input_value("#number") == "seven"  # to be mended
    assert moves_of(page) == [4]
    page.click("#n5")
    page.wait_for_selector("#status:not(.refused)")
    assert moves_of(page) == [4, 5]


def test_undo_resign_new_game_and_the_other_seat(serve, tab):
    page = tab(serve("--game", "divider-duel", "--second", "solver"))
    page.click("#n4")
    until(page, "history.state?.moves.length === 2")
    page.click("#undo")
    until(page, "history.state?.moves.length === 0")
    page.click("#resign")
    page.wait_for_selector("#resign[disabled]")
    assert status_of(page) == "Player 1 loses by resigning. Player 2 wins!"
    page.click("#swap")
    until(page, "history.state?.moves.length === 1")
    assert "solver chose 4" in status_of(page)
    page.click("#new")
    until(page, "history.state?.moves.length === 0")
    until(page, "history.state?.moves.length === 1")


def test_best_of_three(serve, tab):
    page = tab(serve("--game", "divider-duel", "--second", "random", "--best-of", 3))
    for game in range(1, 4):
        play_to_the_end(page, lambda number: page.click(f"#n{number}"), seed=game)
        if not page.query_selector("#next"):
            break
        page.click("#next")
        until(page, "games => history.state?.winners.length === games", game)
    assert "wins the match!" in page.inner_text(".seats")


@pytest.mark.parametrize("game", ["prime-rumble", "factor-chain-duel", "prime-duel-sum"])
def test_the_truth_that_is_shown_is_the_solvers(game, serve, tab):
    page = tab(serve("--game", game, "--second", "random", "--seed", 3))
    page.click("#perfect")
    page.wait_for_selector(".tile .value")
    for _ in range(2):
        duel = duel_of(page, game)
        values = solver_for(duel.rules).action_values(duel.position)
        names = {1: "win", 0: "draw", -1: "loss", ILLEGAL: None}
        shown = {
            number: page.evaluate("id => document.querySelector(`#${id} .value`)?.textContent ?? null", f"n{number}")
            for number in duel.rules.numbers.tolist()
        }
        assert list(shown.values()) == [names[value] for value in values.tolist()]
        page.click(MINE)
        until(page, "length => history.state?.moves.length === length + 2", len(duel.actions))
    page.click("#perfect")
    page.wait_for_selector("#perfect[aria-pressed=false]")
    assert page.locator(".value").count() == 0


def test_stepping_through_a_game_that_is_over(serve, tab):
    page = tab(serve("--game", "divider-duel", "--second", "solver") + "#moves=2,3,5,7")
    assert status_of(page).endswith("Player 2 wins the game!")
    page.wait_for_selector(".moves .blunder")
    page.click("#m1")
    page.wait_for_selector("#m1[aria-current]")
    assert status_of(page) == "Move 1 of 4. You chose 2, and 4, 6, 8 went with it. A blunder. Better: 4."
    assert page.get_attribute("#n4", "class").split()[-1] == "better"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_selector("#m2[aria-current]")
    page.click("#back")
    page.wait_for_selector("#m1[aria-current]")
    page.click("#back")
    page.wait_for_selector("#back[disabled]")
    assert page.evaluate("document.activeElement.id") == "forward"
    assert page.url.endswith("#moves=2,3,5,7&at=0")


def test_a_link_restores_the_position(serve, tab):
    address = serve("--game", "prime-rumble", "--second", "solver")
    page = tab(address + "#moves=17,40,3")
    until(page, "history.state?.moves.length === 4")  # and the agent goes on
    moves = moves_of(page)
    other = tab(page.url)
    assert moves_of(other) == moves
    page.evaluate("location.hash = '#moves=5,17'")
    until(page, "String(history.state?.moves) === '5,17'")
    page.evaluate("location.hash = '#moves=5,10'")
    page.wait_for_selector("#status.refused")
    assert status_of(page) == "There is no such game: move 2 (10) is illegal: 10 is not in the pool."
    page.click("#n2")
    until(page, "history.state?.moves.length === 2")
    del tab.errors[:]  # Chromium tells of the answer 400 that was wanted


def test_two_tabs_do_not_disturb_each_other(serve, tab):
    address = serve("--game", "divider-duel", "--first", "human", "--second", "human")
    one, other = tab(address), tab(address)
    one.click("#n4")
    one.wait_for_selector("#n4.last")
    other.click("#n2")
    other.wait_for_selector("#n2.last")
    one.reload()
    one.wait_for_selector("#n4.last")
    assert (moves_of(one), moves_of(other)) == ([4], [2])


def test_a_server_that_is_killed_and_comes_back(tmp_path, tab):
    arguments = ("--game", "prime-rumble", "--second", "random", "--seed", 3)
    with board(tmp_path, *arguments) as (process, address):
        page = tab(address)
        page.click("#n17")
        until(page, "history.state?.moves.length === 2")
        choices_of(page)
        moves = moves_of(page)
        process.kill()
        process.wait()
        page.click(MINE)
        page.wait_for_selector("#status.refused")
        assert status_of(page).startswith("The board does not answer. Your moves are kept")
        assert moves_of(page) == moves
    with board(tmp_path, *arguments, port=int(address.rstrip("/").rpartition(":")[2])):
        until(page, "history.state?.moves.length === 4")  # it was tried again
        assert moves_of(page)[:2] == moves
        page.reload()
        page.wait_for_selector(MINE)
        assert len(moves_of(page)) == 4
    with board(tmp_path, "--game", "divider-duel", port=int(address.rstrip("/").rpartition(":")[2])):
        page.click(MINE)
        page.wait_for_selector("h1:text('Divider Duel')")  # another game has come: it is begun
        page.wait_for_selector("#n9.legal-now")
        assert page.locator(".tile[data-number]").count() == 8
    del tab.errors[:]  # Chromium tells of the connection that was lost


def test_an_agent_that_hangs_can_be_stopped(serve, tab):
    page = tab(serve("--game", "divider-duel", "--second", "tests.support.hostile:Hangs"))
    page.wait_for_selector("#thinking", state="hidden")
    boxes = page.eval_on_selector_all(".tile", "tiles => tiles.map(tile => tile.getBoundingClientRect().y)")
    page.click("#n2")
    page.wait_for_selector("#thinking:text('Stop')")
    assert status_of(page) == "tests.support.hostile:Hangs is thinking …".join(
        ["You chose 2, and 4, 6, 8 went with it. ", ""]
    )
    page.wait_for_timeout(800)
    page.click("#n3", force=True)  # at the wrong time
    assert moves_of(page) == [2]
    # Nothing jumps while it thinks.
    assert page.eval_on_selector_all(".tile", "tiles => tiles.map(tile => tile.getBoundingClientRect().y)") == boxes
    page.click("#thinking")
    assert status_of(page) == "tests.support.hostile:Hangs has been stopped."
    page.click("#perfect")
    page.wait_for_selector("#perfect[aria-pressed=true]")
    assert status_of(page) == "tests.support.hostile:Hangs has been stopped."
    page.click("#thinking:text('Let tests.support.hostile:Hangs move')")
    page.wait_for_selector("#thinking:text('Stop')")
    assert page.locator("#status.refused").count() == 0
    page.click("#undo")
    until(page, "history.state?.moves.length === 0")
    page.click("#n3")
    until(page, "history.state?.moves.length === 2")


def test_an_agent_that_takes_too_long_or_raises_loses(serve, tab):
    page = tab(serve("--game", "divider-duel", "--second", "tests.support.hostile:Hangs", "--move-seconds", 0.3))
    page.click("#n2")
    page.wait_for_selector(".moves")
    assert status_of(page).endswith("Player 2 loses because it did not answer within 0.3 s. Player 1 wins!")
    page = tab(serve("--game", "divider-duel", "--second", "tests.support.agents:Crash"))
    page.click("#n2")
    page.wait_for_selector(".moves")
    assert "Player 2 loses because it raised RuntimeError: out of <ideas> & time." in status_of(page)


def test_clicks_at_the_wrong_time(serve, tab):
    page = tab(serve("--game", "prime-rumble", "--second", "random", "--seed", 3))
    page.evaluate("for (const n of [17, 17, 3, 17, 5]) document.getElementById(`n${n}`).click()")
    until(page, "history.state?.moves.length === 2")
    assert moves_of(page)[0] == 5  # the last of them
    page.evaluate(
        "for (const id of ['undo', 'undo', 'new', 'resign', 'swap', 'swap']) document.getElementById(id).click()"
    )
    page.wait_for_timeout(1200)
    assert len(moves_of(page)) in (0, 1)
    page.dblclick(MINE)
    page.wait_for_timeout(1200)
    duel_of(page, "prime-rumble")


def test_clicks_without_any_sense(serve, tab):
    """Whatever is clicked whenever, in whatever order: no error, and a position that the rules know."""
    page, draw = (
        tab(serve("--game", "prime-rumble", "--second", "random", "--best-of", 3, "--highest", 12)),
        random.Random(1),
    )
    click = "place => { const all = document.querySelectorAll('button'); all[Math.floor(place * all.length)].click() }"
    for _ in range(150):
        page.evaluate(click, draw.random())
        if draw.random() < 0.5:
            page.keyboard.press(draw.choice(["7", "Enter", "Tab", "ArrowDown", "ArrowLeft", "Home", "Backspace"]))
        if draw.random() < 0.2:
            page.wait_for_timeout(draw.choice([1, 50, 500]))
    page.wait_for_timeout(1500)
    duel_of(page, "prime-rumble", highest=12)
    page.reload()
    page.wait_for_selector(TURN_OR_END + ", #thinking:not(.idle)")


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """The results of a real evaluation, in a file."""
    path = tmp_path_factory.mktemp("results") / "results.json"
    found = evaluate("prime-rumble", ["random", "greedy", "tests.support.agents:Crash"], duels=20, highest=20)
    found.save(path)
    return found, path


def test_replay_of_an_evaluation(results, serve, tab):
    found, path = results
    page = tab(serve(path))
    assert page.locator("#sample option").count() == len(found.samples)
    for number, sample in enumerate(found.samples):
        page.select_option("#sample", str(number))
        until(page, "number => history.state.sample === number && history.state.at === 0", number)
        moves = [move for move in sample.moves if move.number is not None]
        for at, move in enumerate(moves, start=1):
            page.click("#forward")
            page.wait_for_selector(f"#m{at}[aria-current]")
            assert status_of(page).startswith(
                f"Move {at} of {len(moves)}. {sample.seats[move.seat]} chose {move.number}"
            )
            assert page.get_attribute(f"#m{at}", "class") == move.verdict
        if moves:
            assert page.locator("#forward[disabled]").count() == 1
    assert page.locator("#undo, #resign, #number").count() == 0
    linked = tab(page.url)
    assert linked.evaluate("history.state.sample") == len(found.samples) - 1


def test_a_stranger_on_a_phone(serve, tab):
    page = tab(serve("--game", "prime-rumble", "--second", "greedy"), 390, 844, has_touch=True, is_mobile=True)
    for tile in page.locator(".tiles .tile").all():
        box = tile.bounding_box()
        assert box["width"] >= 44 and box["height"] >= 44
        assert box["y"] + box["height"] < 844  # all numbers are on the first screen
    play_to_the_end(page, lambda number: page.tap(f"#n{number}"))
    page.tap("#perfect")
    page.wait_for_selector("#perfect[aria-pressed=true]")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert duel_of(page, "prime-rumble").finished


def test_a_game_of_ones_own(serve, tab, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "docs" / "examples"), *sys.path]))
    page = tab(serve("--game", "nim:Nim", "--heaps", "1,2", "--second", "random"))
    play_to_the_end(page, lambda number: page.click(f"#n{number}"))
    assert "wins" in status_of(page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1000])
def test_nobody_stumbles(scheme, width, serve, tab, axe, results):
    """axe-core finds nothing serious: while a game is played, with the truth, after the game, and in a replay."""
    address = serve("--game", "prime-rumble", "--second", "random", "--seed", 3)
    shown = [
        address + "#moves=3,25",
        address + "#moves=3,25&truth=1",
        address + "#moves=2,3,5,7,11,13,17,19,23,29,31,37,41,43,47&at=4",
    ]
    for place in [*shown, serve(results[1]) + "#sample=2&at=1"]:
        page = tab(place, width, scheme=scheme, bypass_csp=True)
        page.wait_for_timeout(200)
        page.evaluate(axe)
        for violation in page.evaluate("axe.run()")["violations"]:
            assert violation["impact"] not in ("serious", "critical"), (
                place,
                violation["id"],
                [node["html"] for node in violation["nodes"]][:3],
            )


def test_what_a_screen_reader_says(serve, tab):
    page = tab(serve("--game", "divider-duel", "--second", "solver"))
    page.click("#n2")
    until(page, "history.state?.moves.length === 2")
    assert page.get_by_role("status").inner_text() == "solver chose 3, and 9 went with it. Player 1, it's your turn."
    assert page.get_by_role("group", name="Numbers").get_by_role("button").count() == 8
    assert page.get_by_role("button", name="3 taken by Player 2, last ply").count() == 1
    assert page.get_by_role("button", name="5 legal now. After 5 can come 7.").count() == 1
    assert page.get_by_role("textbox", name="Enter the number you wish to remove").count() == 1
    assert page.locator("[tabindex='0']").count() == 1
    page.reload()
    page.wait_for_selector(MINE)
    assert page.evaluate("document.activeElement.tagName") == "BODY"


PICTURES = {
    "board.png": (680, 890, "light", "#moves=17,40,3,25&truth=1"),
    "board-phone.png": (390, 844, "dark", "#moves=17,40,3,25,7,2"),
}
"""The pictures of the documentation: the window, the scheme and the position."""


@pytest.mark.parametrize("name", PICTURES)
def test_the_documented_pictures(name, serve, tab):
    """To make them anew: NUMDUEL_WRITE_PICTURES=1 make test-browser."""
    width, height, scheme, link = PICTURES[name]
    page = tab(serve("--game", "prime-rumble", "--second", "random", "--seed", 3) + link, width, height, scheme)
    page.wait_for_selector(MINE)
    path = ROOT / "docs" / "pictures" / name
    picture = page.screenshot()
    if os.environ.get("NUMDUEL_WRITE_PICTURES"):
        path.write_bytes(picture)
    size = picture[16:24]  # of a PNG: its width and height
    assert path.read_bytes()[16:24] == size
