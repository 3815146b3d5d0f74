"""What a tab shows: the tiles as in the pictures, the books' words, and the truth about every move if asked for."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from agents.advice import tally
from agents.browser.tab import RESIGNED, Board, State, Tab
from agents.browser.truth import MoveTruth, truths
from numduel_env import picture
from numduel_env.agent import SolverAgent
from numduel_env.batch import BoolArray, batch_of_one
from numduel_env.duel import Duel
from numduel_env.evaluation.grading import GradedMove, graded_moves
from numduel_env.evaluation.report import some
from numduel_env.outside import one_line
from numduel_env.solvers import Solver
from numduel_env.text import in_short, listed, player, taken

TEMPLATES = Environment(loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined)

VALUES = {1: "win", 0: "draw", -1: "loss"}

REMARKS = {
    "kept": "Kept: it preserves the value of the position.",
    "blunder": "A blunder.",
    "lost": "Nothing to lose: every move loses.",
    "opening": "The opening, drawn at random.",
}
"""What is said of a move by its verdict."""


@dataclass(frozen=True)
class Tile:
    """A number as it stands; ``takes`` are the numbers that would leave the game with it."""

    number: int
    look: str
    last: bool
    better: bool
    legal: bool = False
    takes: Sequence[int] = ()
    preview: str = ""
    truth: MoveTruth | None = None


@dataclass(frozen=True)
class Reply:
    """The answer to a request: the next state, and what the page shows of it.

    ``thinking`` is the agent whose move the page is to ask for.
    """

    state: State
    board: str
    html: str
    status: str
    refused: bool
    thinking: str | None


def reply(tab: Tab, solver: Solver[Any] | None = None, no_solver: str = "", refusal: str = "") -> Reply:
    """Return what a tab shows; with a ``solver``, with the truth as far as the tab asks for it."""
    duel = tab.shown()
    moves = _moves(tab, solver) if tab.over else ()
    move = moves[len(duel.actions) - 1] if duel.actions and moves else None
    truth, summary = dict[int, MoveTruth](), no_solver
    if tab.state.truth and solver and not duel.finished:
        truth = truths(solver, duel)
        best = SolverAgent(duel.rules, solver).preferred(batch_of_one(duel.position), duel.legal[None])
        summary = _summary(duel, truth, best)
    shown = {"tab": tab, "duel": duel, "tiles": tiles(tab, duel, truth, move), "moves": moves, "truth": summary}
    html = TEMPLATES.get_template("game.html").render(shown, picture=picture, values=VALUES, tally=tally)
    status = _status(tab, duel, move)
    if refusal:
        status = refusal if tab.over else f"{refusal} {_turn(tab)}"
    return Reply(tab.state, tab.board.name, html, status, bool(refusal), tab.thinking)


def page(tab: Tab) -> str:
    """Return the whole page, as it is before its first request."""
    board = tab.board
    title, rules = board.spec.heading(board.rules), board.spec.wording.rules(board.rules).split("\n\n")
    return TEMPLATES.get_template("page.html").render(board=board, title=title, rules=rules, first=reply(tab))


def style(board: Board) -> str:
    """Return the stylesheet: the colours and the layout of the pictures, which change with the game, and the rest."""
    return TEMPLATES.get_template("style.css").render(numbers=board.rules.numbers.tolist(), picture=picture)


def tiles(tab: Tab, duel: Duel[Any], truth: dict[int, MoveTruth], move: GradedMove | None) -> list[Tile]:
    """Return the numbers of a game as they stand after a graded ``move``."""
    rules, wording, shown = duel.rules, tab.board.spec.wording, []
    framed = picture.last_ply(duel)
    for action, (number, look) in enumerate(zip(rules.numbers.tolist(), picture.looks(duel))):
        tile = Tile(number, look, bool(framed[action]), better=move is not None and number in move.better)
        if duel.legal[action]:
            takes = rules.numbers[rules.removed(duel.position, action)].tolist()
            preview = f"{_preview(tab, duel, action, takes)} {_said(truth.get(action))}".strip()
            tile = replace(tile, legal=True, takes=takes, preview=preview, truth=truth.get(action))
        elif not duel.finished:
            tile = replace(tile, preview=wording.refusal(duel, number))
        shown.append(tile)
    return shown


def _preview(tab: Tab, duel: Duel[Any], action: int, takes: list[int]) -> str:
    """Return what a legal action would do."""
    after = copy.deepcopy(duel)
    after.play(action)
    number = after.moves[-1]
    if others := [other for other in takes if other != number]:
        return f"{number} takes {in_short(others)} with it."
    if scores := tab.board.spec.wording.scores(after, tab.names):
        return f"{number} makes it {scores}."
    return f"After {number} can come {in_short(after.legal_numbers)}." if after.legal.any() else f"{number} ends it."


def _said(truth: MoveTruth | None) -> str:
    """Return what perfect play says of a move."""
    if truth is None:
        return ""
    grundy = "" if truth.grundy is None else f", Grundy value {truth.grundy}"
    return f"A {VALUES[truth.value]}{grundy}" + (f", {len(truth.line)} plies to the end." if truth.line else ".")


def _moves(tab: Tab, solver: Solver[Any] | None) -> tuple[GradedMove, ...]:
    """Return the plies of a game that is over, graded if they can be."""
    if tab.sample:
        return tab.sample.moves
    # A person who resigns has not been asked for a move.
    return graded_moves(tab.duel, solver, forfeited=tab.state.forfeit not in ("", RESIGNED))


def _summary(duel: Duel[Any], truth: dict[int, MoveTruth], best: BoolArray) -> str:
    """Return who wins with perfect play, and how; ``best`` are the moves between which it does not matter."""
    move = truth[int(best.argmax())]
    winner = player(duel.seat if move.value > 0 else 1 - duel.seat)
    said = f"With perfect play {winner} wins." if move.value else "With perfect play it is a draw."
    if move.line:
        said += f" Principal line: {listed(duel.rules.numbers[move.line].tolist())} ({len(move.line)} plies)."
    return said


def _status(tab: Tab, duel: Duel[Any], move: GradedMove | None) -> str:
    """Return what has happened, and whose turn it is or how the game has ended."""
    lines, plies, end = [], len(duel.actions), len(tab.duel.actions)
    if tab.over and (tab.sample or tab.state.at is not None):
        lines.append(f"Move {plies} of {end}.")
    if duel.actions:
        others = [number for number in taken(duel) if number != duel.moves[-1]]
        went = f", and {some(others, 4)} went with it" if others else ""
        lines.append(f"{tab.names[1 - duel.seat]} chose {duel.moves[-1]}{went}.")
    if len(lines) > 1 and move and move.verdict in REMARKS:
        lines.append(REMARKS[move.verdict] + (f" Better: {in_short(move.better)}." if move.better else ""))
    if plies == end:
        lines.append(_ending(tab) if tab.over else _turn(tab))
    return " ".join(lines)


def _turn(tab: Tab) -> str:
    return f"{tab.thinking} is thinking …" if tab.thinking else tab.board.spec.wording.turn(tab.duel)


def _ending(tab: Tab) -> str:
    """Return how a game has ended that is over."""
    seat = tab.duel.seat
    if tab.state.forfeit:
        return f"{player(seat)} loses {one_line(tab.state.forfeit, 400)}. {player(1 - seat)} wins!"
    if tab.sample and tab.sample.fault:
        return f"{tab.names[seat]} loses: it {one_line(tab.sample.fault, 400)}."
    return tab.board.spec.wording.ending(tab.duel)
