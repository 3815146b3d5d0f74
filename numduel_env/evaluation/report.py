"""The results of an evaluation as one HTML page: charts drawn here as SVG, nothing fetched from anywhere."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

PALETTE = ("#0072b2", "#d55e00", "#009e73", "#a4518a", "#b8860b", "#3a3a3a", "#56b4e9", "#7a5230")
"""Colours that people with any colour vision tell apart (after Okabe and Ito)."""

WIN, EVEN, LOSS = (0x2B, 0x7B, 0xBA), (0xF7, 0xF5, 0xF0), (0xD9, 0x6C, 0x3C)

MOST_BINS = 16
"""More places than this are put together, so that each has moves enough to mean something."""

STYLE = """
body { font: 15px/1.5 system-ui, "Segoe UI", "Helvetica Neue", Arial, sans-serif; color: #222; background: #fdfdfb;
  max-width: 960px; margin: 32px auto; padding: 0 20px; }
h1 { font-size: 26px; margin: 0 0 4px; } h2 { font-size: 18px; margin: 36px 0 6px; }
p { margin: 4px 0 10px; } .quiet { color: #666; font-size: 13.5px; } code { font-size: 13px; overflow-wrap: anywhere; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
.wide { overflow-x: auto; }
.agents th, .agents td { padding: 5px 9px; text-align: right; border-bottom: 1px solid #e4e2dc; white-space: nowrap; }
.agents th { font-weight: 600; font-size: 13px; color: #555; vertical-align: bottom; }
.agents th:first-child, .agents td:first-child { text-align: left; }
.agents small { color: #777; }
.agents td:first-child { white-space: normal; overflow-wrap: anywhere; min-width: 84px; }
.agents td.note { white-space: normal; text-align: left; }
svg { display: block; max-width: 100%; height: auto; }
svg text { font: 13px system-ui, "Segoe UI", Arial, sans-serif; fill: #333; }
svg .quiet { fill: #777; font-size: 12px; }
.duel { border: 1px solid #e4e2dc; border-radius: 8px; padding: 12px 16px; margin: 12px 0; background: #fff; }
.duel h3 { font-size: 15px; margin: 0 0 8px; } .duel td, .duel th { padding: 3px 1px; text-align: center; }
.duel th { text-align: left; font-weight: 500; padding-right: 14px; white-space: nowrap; }
.duel ul { margin: 8px 0 0; padding-left: 20px; font-size: 13.5px; }
.ply td { color: #999; font-size: 11px; }
.move { display: inline-block; min-width: 22px; padding: 1px 3px; border-radius: 5px; border: 1px solid transparent; }
.kept { background: #d7efe3; color: #0b5137; } .blunder { background: #f9d5c6; color: #8a2506; font-weight: 700; }
.lost, .ungraded { background: #eeece6; color: #555; } .opening { border: 1px dashed #aaa; color: #777; }
"""


def report_page(results: dict[str, Any]) -> str:
    """Return the page for results as docs/results.md describes them."""
    game, agents = results["game"], results["agents"]
    parameters = ", ".join(f"{name} {value}" for name, value in game["parameters"].items())
    openings = f"openings of 0 to {results['openings']} random plies, each played twice with the seats swapped"
    parts = [
        f"<h1>{escape(game['title'])}</h1>",
        f'<p class="quiet">{escape(game["name"])} ({escape(parameters)}) · {results["duels_per_pair"]:,} duels a pair, '
        f"{openings} · seed {results['seed']} · numduel_env {escape(results['versions']['numduel_env'])}</p>",
        "<h2>Agents</h2>",
        agent_table(results),
        "<h2>Score of the row against the column</h2>",
        heat_map([agent["name"] for agent in agents], results["matrix"]),
        "<h2>Score by seat</h2>",
        '<p class="quiet">Bars are 95% intervals (Wilson; a draw is half a win).</p>',
        seat_chart(agents),
        "<h2>Kept</h2>",
        _kept(results),
        exploit_table(results["exploit"]),
        "<h2>Sample duels</h2>",
        '<p class="quiet"><span class="move opening">opening</span> drawn at random · '
        '<span class="move kept">kept</span> keeps the value · <span class="move blunder">blunder</span> throws it away'
        ' · <span class="move lost">lost</span> nothing left to lose</p>'
        if results["graded"]
        else "",
        *(sample_card(sample) for sample in results["samples"]),
        f'<p class="quiet">Made by <code>{escape(shlex.join(results["command"]))}</code></p>',
    ]
    title = f"{escape(game['name'])}: {escape(', '.join(agent['name'] for agent in agents))}"
    return (
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>{title}</title>\n'
        f"<style>{STYLE}</style>\n<body>\n{chr(10).join(filter(None, parts))}\n</body>\n</html>\n"
    )


def agent_table(results: dict[str, Any]) -> str:
    """Return the table of agents, and below it why duels were lost without a move."""
    agents = results["agents"]
    head = ["agent", "score", "first seat", "second seat", "kept", "blunders<br>a duel", "mean<br>length", "ms a move"]
    head += ["illegal<br>moves", "Elo"]
    rows = []
    for agent in agents:
        seats = [
            f"{_percent(seat['score'])} <small>[{', '.join(map(_percent, seat['interval']))}]</small>"
            for seat in agent["seats"]
        ]
        graded = ["–", "–"]
        if agent["kept"] is not None:
            graded = [f"{100 * agent['kept']:.2f}", f"{agent['blunders_per_duel']:.2f}"]
        rating = "–" if agent["rating"] is None else f"{agent['rating']:+.0f}"
        cells = [f"<b>{escape(agent['name'])}</b>", _percent(agent["score"]), *seats, *graded]
        cells += [f"{agent['mean_length']:.1f}", f"{agent['ms_per_move']:.3f}", str(agent["illegal_moves"]), rating]
        rows.append(cells)
    reasons = [
        f"<li>{escape(agent['name'])} lost {count:,} duel(s): it {escape(reason)}</li>"
        for agent in agents
        for reason, count in agent["reasons"].items()
    ]
    listed = f"<ul>{''.join(reasons)}</ul>" if reasons else ""
    note = "Scores and kept in percent, with 95% intervals." + (
        " Elo: Bradley-Terry, mean 0." if len(agents) > 2 else ""
    )
    return f'<div class="wide">{_table(head, rows)}</div><p class="quiet">{note}</p>{listed}'


def heat_map(names: Sequence[str], matrix: Sequence[Sequence[float | None]]) -> str:
    """Return the scores as coloured squares, the loser's colour orange and the winner's blue."""
    size, high = min(110, 700 // len(names)), 46
    margin = _label_width(names)
    drawn = []
    for row, (name, scores) in enumerate(zip(names, matrix)):
        top = 26 + row * high
        drawn.append(_text(margin - 10, top + high / 2 + 5, name, "end"))
        for column, score in enumerate(scores):
            left = margin + column * size
            fill = "#eceae4" if score is None else _mixed(score)
            drawn.append(f'<rect x="{left}" y="{top}" width="{size - 3}" height="{high - 3}" rx="4" fill="{fill}"/>')
            if score is not None:
                white = ' style="fill:#fff"' if abs(score - 0.5) > 0.4 else ""
                drawn.append(_text(left + size / 2 - 1, top + high / 2 + 4, _percent(score), "middle", white))
    for column, name in enumerate(names):
        drawn.append(_text(margin + column * size + size / 2, 16, _shortened(name, size // 8), "middle"))
    return _svg(margin + size * len(names), 30 + high * len(names), drawn)


def seat_chart(agents: Sequence[dict[str, Any]]) -> str:
    """Return each agent's score from either seat, with its interval."""
    margin, width, high = _label_width([agent["name"] for agent in agents]) + 60, 560, 52
    bottom = high * len(agents) + 6
    drawn = []
    for percent in range(0, 101, 25):
        x = margin + width * percent / 100
        drawn.append(
            f'<line x1="{x}" x2="{x}" y1="0" y2="{bottom}" stroke="{"#bbb" if percent == 50 else "#e8e6e0"}"/>'
        )
        drawn.append(_text(x, bottom + 16, f"{percent}%", "middle", ' class="quiet"'))
    for row, agent in enumerate(agents):
        drawn.append(_text(0, row * high + 32, agent["name"]))
        for place, (word, seat) in enumerate(zip(("first", "second"), agent["seats"])):
            y = row * high + 16 + 20 * place
            low, top, middle = (margin + width * share for share in (*seat["interval"], seat["score"]))
            colour = PALETTE[place]
            drawn += [
                _text(margin - 12, y + 4, word, "end", ' class="quiet"'),
                f'<line x1="{low:.1f}" x2="{top:.1f}" y1="{y}" y2="{y}" stroke="{colour}" stroke-width="7" '
                'stroke-opacity=".3" stroke-linecap="round"/>',
                f'<circle cx="{middle:.1f}" cy="{y}" r="4.5" fill="{colour}"/>',
                _text(margin + width + 16, y + 4, _percent(seat["score"]), "start", ' class="quiet"'),
            ]
    return _svg(margin + width + 60, bottom + 24, drawn)


def _kept(results: dict[str, Any]) -> str:
    if not results["graded"]:
        return f"<p>Moves are not graded: {escape(results['grading'])}.</p>"
    agents = results["agents"]
    counts = {place for agent in agents for place, _, _ in agent["kept_by_numbers_left"]}
    # Where no number ever leaves the game, only time tells early moves from late ones.
    if len(counts) > 1:
        axis, key, falling = (
            "numbers left before the move (the duel goes from left to right)",
            "kept_by_numbers_left",
            True,
        )
    else:
        axis, key, falling = "plies played before the move", "kept_by_ply", False
    what = "Share of moves, over positions that are not lost for the mover, that keep the solver's value"
    return f'<p class="quiet">{what}, by {axis}.</p>' + kept_chart(agents, key, axis.partition(" (")[0], falling)


def kept_chart(agents: Sequence[dict[str, Any]], key: str, axis: str, falling: bool) -> str:
    """Return one line for each agent: the share kept over the places of ``key``, from high to low if ``falling``."""
    places = [place for agent in agents for place, _, _ in agent[key]]
    if not places:
        return "<p>No move was graded.</p>"
    low, high = min(places), max(places)
    step = -(-(high - low + 1) // MOST_BINS)
    left, width, height = 48, 640, 260
    span = max((high - low) // step, 1)

    def across(bin_: int) -> float:
        return float(left + width * (span - bin_ if falling else bin_) / span)

    drawn = []
    for percent in range(0, 101, 25):
        y = 10 + height * (1 - percent / 100)
        drawn.append(f'<line x1="{left}" x2="{left + width}" y1="{y}" y2="{y}" stroke="#e8e6e0"/>')
        drawn.append(_text(left - 10, y + 4, f"{percent}%", "end", ' class="quiet"'))
    for bin_ in range((high - low) // step + 1):
        first, last = low + bin_ * step, min(low + bin_ * step + step - 1, high)
        label = str(first) if first == last else f"{first}–{last}"
        drawn.append(_text(across(bin_), height + 28, label, "middle", ' class="quiet"'))
    drawn.append(_text(left + width / 2, height + 48, axis, "middle", ' class="quiet"'))
    for number, agent in enumerate(agents):
        colour, dash = PALETTE[number % len(PALETTE)], ("", "7 4", "2 4")[number % 3]
        sums: dict[int, list[int]] = {}
        for place, kept, graded in agent[key]:
            told = sums.setdefault((place - low) // step, [0, 0])
            told[0] += kept
            told[1] += graded
        points = [(across(bin_), 10 + height * (1 - kept / graded)) for bin_, (kept, graded) in sorted(sums.items())]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        stroke = f'fill="none" stroke="{colour}" stroke-width="2.2" stroke-dasharray="{dash}"'
        drawn.append(f'<polyline points="{line}" {stroke}/>')
        drawn += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in points]
        y = 22 + 22 * number
        drawn.append(f'<polyline points="{left + width + 24},{y - 4} {left + width + 54},{y - 4}" {stroke}/>')
        drawn.append(_text(left + width + 62, y, _shortened(agent["name"], 24)))
    return _svg(left + width + 240, max(height + 58, 30 + 22 * len(agents)), drawn)


def exploit_table(exploits: Sequence[dict[str, Any]]) -> str:
    """Return what the walks against every opponent line found."""
    if not exploits:
        return ""
    rows = []
    for grades in exploits:
        counts = [f"{grades[name]:,}" for name in ("positions", "won", "thrown", "drawn", "spoiled")]
        notes = [grades["refusal"], "" if grades["exact"] else "throws dice: one draw of its choices"]
        note = f'<td class="note"><small>{escape("; ".join(filter(None, notes)))}</small></td>'
        rows.append([f"<b>{escape(grades['spec'])}</b>", escape(grades["where"]), *counts, note])
    head = ["agent", "where", "positions", "won", "thrown", "drawn", "spoiled", ""]
    what = "Every opponent line is walked from the first position: how many won positions the agent throws away"
    what += " and how many drawn ones it spoils."
    return f'<h2>Exploitability</h2><p class="quiet">{what}</p><div class="wide">{_table(head, rows)}</div>'


def sample_card(sample: dict[str, Any]) -> str:
    """Return one duel, a row for each seat and a column for each ply, and the better moves below."""
    moves = sample["moves"]
    first, second = (escape(name) for name in sample["seats"])
    ending = "drawn" if sample["winner"] is None else f"{escape(sample['winner'])} wins"
    rows = ['<tr class="ply"><td></td>' + "".join(f"<td>{ply}</td>" for ply in range(1, len(moves) + 1)) + "</tr>"]
    for seat, name in enumerate((first, second)):
        cells = []
        for move in moves:
            number = "✗" if move["number"] is None else move["number"]
            mark = f'<span class="move {move["verdict"]}" title="{move["verdict"]}">{number}</span>'
            cells.append(f"<td>{mark if move['seat'] == seat else ''}</td>")
        rows.append(f"<tr><th>{name}</th>{''.join(cells)}</tr>")
    remarks = [
        f"<li>Ply {ply}: {'no move' if move['number'] is None else move['number']} is a blunder; "
        f"better {_listed(move['better'])}</li>"
        for ply, move in enumerate(moves, start=1)
        if move["better"]
    ]
    if sample["fault"]:
        remarks.append(f"<li>Lost by a fault: the agent {escape(sample['fault'])}</li>")
    listed = f"<ul>{''.join(remarks)}</ul>" if remarks else ""
    return (
        f'<div class="duel"><h3>{first} (first seat) against {second}: {ending}</h3>'
        f'<div class="wide"><table>{"".join(rows)}</table></div>{listed}</div>'
    )


def _listed(numbers: Sequence[int], most: int = 12) -> str:
    shown = ", ".join(map(str, numbers[:most]))
    return shown if len(numbers) <= most else f"{shown} and {len(numbers) - most} more"


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = ["".join(f"<th>{cell}</th>" for cell in head)]
    lines += ["".join(cell if cell.startswith("<td") else f"<td>{cell}</td>" for cell in row) for row in rows]
    return f'<table class="agents">{"".join(f"<tr>{line}</tr>" for line in lines)}</table>'


def _svg(width: float, height: float, drawn: Iterable[str]) -> str:
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    return f'<svg {size} role="img">{"".join(drawn)}</svg>'


def _text(x: float, y: float, words: str, anchor: str = "start", more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{escape(words)}</text>'


def _label_width(names: Iterable[str]) -> int:
    return 20 + 8 * max(len(name) for name in names)


def _shortened(name: str, most: int) -> str:
    """Return a name cut in front: the end of ``module:attribute`` tells agents apart."""
    return name if len(name) <= most else "…" + name[len(name) - most + 1 :]


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def _mixed(score: float) -> str:
    """Return the colour between the loser's, white and the winner's."""
    end, weight = (WIN, 2 * score - 1) if score > 0.5 else (LOSS, 1 - 2 * score)
    return "#" + "".join(f"{round(a + (b - a) * weight):02x}" for a, b in zip(EVEN, end))
