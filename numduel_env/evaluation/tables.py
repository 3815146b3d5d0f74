"""Results as text for a terminal."""

from __future__ import annotations

from numduel_env.evaluation.exploitability import Exam
from numduel_env.evaluation.results import Results, Score
from numduel_env.outside import one_line
from numduel_env.writing import Settings


def tables(results: Results) -> str:
    """Return the results as text for a terminal."""
    agents = results.agents
    names = [one_line(agent.name) for agent in agents]
    lines = [
        f"{one_line(str(results.game), 400)}, {results.duels_per_pair:,} duels a pair, "
        f"openings of 0 to {results.openings} random plies, seed {results.seed}",
        "",
        "Score of the row against the column, %:",
    ]
    cells = [["" if score is None else f"{100 * score:.1f}" for score in row] for row in results.matrix]
    lines += _columns([["", *names], *([name, *row] for name, row in zip(names, cells))])
    lines += ["", *_columns(_agent_rows(results))]
    lines += _writing_lines(results)
    if not results.graded:
        lines += ["", f"No kept column: grading was {one_line(results.grading, 400)}."]
    for agent in agents:
        lines += [
            f"{one_line(agent.name)} lost {count:,} duel(s): it {one_line(reason, 400)}"
            for reason, count in agent.reasons.items()
        ]
    if results.exploits:
        lines += ["", "Won positions thrown and drawn ones spoiled (in the seats: against every opponent line):"]
    for exploit in results.exploits:
        lines += [f"  {one_line(exploit.name)}, {exam_line(exam)}" for exam in exploit.exams]
    return "\n".join(lines)


def _agent_rows(results: Results) -> list[list[str]]:
    graded, rated = results.graded, len(results.agents) > 2
    head = [
        "",
        "score %",
        "first seat % [95%]",
        "second seat % [95%]",
        *(["kept %", "blunders/duel"] if graded else []),
    ]
    rows = [[*head, "length", "ms/move", "illegal", *(["Elo"] if rated else [])]]
    for agent in results.agents:
        row = [one_line(agent.name), f"{100 * agent.total.score:.1f}", *map(_with_interval, agent.seats)]
        if graded:
            kept = "-" if agent.kept is None else f"{100 * agent.kept:.2f}"
            row += [kept, f"{agent.blunders_per_duel:.2f}"]
        row += [f"{agent.mean_length:.1f}", f"{agent.ms_per_move:.3f}", str(agent.faults)]
        rows.append(row if agent.rating is None else [*row, f"{agent.rating:+.0f}"])
    return rows


def _writing_lines(results: Results) -> list[str]:
    """Return what was written, and how those who wrote it were set."""
    written = [(agent, agent.written) for agent in results.agents if agent.written]
    if not written:
        return []
    kinds = sorted({kind for _, one in written for kind in (*one.refused, *one.faults)})
    head = [
        "",
        "kept %",
        "replies",
        *(f"{one_line(kind)} (lost)" for kind in kinds),
        "tokens in",
        "tokens out",
        "s/reply",
    ]
    rows = [head]
    for agent, one in written:
        kept = "-" if agent.kept is None else f"{100 * agent.kept:.2f}"
        refused = [f"{one.refused.get(kind, 0):,} ({one.faults.get(kind, 0):,})" for kind in kinds]
        tokens = ["-" if count is None else f"{count:,}" for count in (one.prompt_tokens, one.completion_tokens)]
        seconds = f"{one.seconds / max(one.replies, 1):.2f}"
        rows.append([one_line(agent.name), kept, f"{one.replies:,}", *refused, *tokens, seconds])
    lines = [
        "",
        "In writing: replies, those of them that were refused, and the duels that these lost:",
        *_columns(rows),
    ]
    return lines + [f"{one_line(agent.name)} was set to {settings_line(one.settings)}" for agent, one in written]


def settings_line(settings: Settings) -> str:
    """Return settings in one line."""
    return ", ".join(f"{one_line(name)}={one_line(repr(value))}" for name, value in settings.items())


def _with_interval(score: Score) -> str:
    low, high = score.interval
    return f"{100 * score.score:.1f} [{100 * low:.1f}, {100 * high:.1f}]"


def exam_line(exam: Exam) -> str:
    """Return one exam as a line."""
    how = {"random positions": "drawn at random instead", "all positions": "in all"}.get(exam.where, "walked")
    said = f"{one_line(exam.where)}: {exam.grade} ({exam.positions:,} positions {how})"
    if exam.refusal:
        said += f": {one_line(exam.refusal, 400)}"
    return said if exam.exact else f"{said}; it plays at random: this is one sample of its choices, not a proof"


def _columns(rows: list[list[str]]) -> list[str]:
    """Return rows of cells as lines, the first column to the left and the others to the right."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    return [
        "  ".join(cell.rjust(width) if at else cell.ljust(width) for at, (cell, width) in enumerate(zip(row, widths)))
        for row in rows
    ]
