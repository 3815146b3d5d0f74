"""What is remembered of a run while it learns: its curve, and its best weights with their grade."""

from __future__ import annotations

from typing import Any

from agents.checkpoint import BadCheckpoint, Tensors
from agents.learned import LearnedAgent
from train.runs.grading import QUICK_DUELS, Grade, Grader, score_against

LARGEST = 2**62
"""No number on a card is beyond this."""


class Record:
    """The curve and the best weights of a run; the ``curve`` and the ``grade`` on its ``card`` are kept up to date.

    ``best`` are the weights with the fewest mistakes by the solver's grade, or without a solver the latest: to train on
    may lose again what was learned.
    """

    def __init__(self, card: dict[str, Any], grader: Grader | None, best: Tensors | None = None) -> None:
        self.card, self.grader, self.best = card, grader, best
        self.grade = Grade(**card["grade"]) if card["grade"] else None

    def add(self, weights: Tensors, agent: LearnedAgent, plies: int, seconds: float) -> dict[str, float]:
        """Grade what has been learned so far, keep the weights if they are the best, and return what to show."""
        against_random = sum(score_against("random", agent, QUICK_DUELS)) / 2
        grade = self.grader.grade(agent, self.grade) if self.grader else None
        if self.best is None or grade is None or self.grade is None or grade.matches(self.grade):
            self.best, self.grade = weights, grade
            self.card["grade"] = grade._asdict() if grade else None
        kept = grade.kept if grade else None
        self.card["curve"].append(
            {"plies": plies, "seconds": round(seconds, 2), "random": against_random, "kept": kept}
        )
        return {"against random": against_random} | ({} if kept is None else {"kept": kept})

    @property
    def perfect(self) -> bool:
        """Whether the best weights play perfectly."""
        return self.grade is not None and self.grade.perfect


def history(before: dict[str, Any] | None) -> dict[str, Any]:
    """Return what a card says of progress, for a new run, or for one that goes on from the card ``before``."""
    if before is None:
        progress = {"plies": 0, "seconds": 0.0, "finished": False}
        return {"progress": progress, "curve": [], "grade": None, "sessions": []}
    return {part: before[part] for part in ("progress", "curve", "grade", "sessions")}


def check_record(card: dict[str, Any], place: Any) -> None:
    """Raise ``BadCheckpoint`` unless what ``history`` takes from a card is what a run writes."""

    def number(value: Any, kinds: Any) -> bool:
        return isinstance(value, kinds) and not isinstance(value, bool) and 0 <= value <= LARGEST

    def share(value: Any) -> bool:
        return number(value, int | float) and value <= 1

    def share_or_none(value: Any) -> bool:
        return value is None or share(value)

    progress, curve, grade = (card.get(part) for part in ("progress", "curve", "grade"))
    fits = {
        "progress": isinstance(progress, dict)
        and number(progress.get("plies"), int)
        and number(progress.get("seconds"), int | float)
        and isinstance(progress.get("finished"), bool),
        "curve": isinstance(curve, list)
        and all(
            isinstance(point, dict)
            and number(point.get("plies"), int)
            and share(point.get("random"))
            and share_or_none(point.get("kept", ""))
            for point in curve
        ),
        "grade": "grade" in card
        and (
            grade is None
            or (
                isinstance(grade, dict)
                and set(grade) == set(Grade._fields)
                and share_or_none(grade["kept"])
                and number(grade["mistakes"], int)
                and (grade["walked"] is None or number(grade["walked"], int))
            )
        ),
        "sessions": isinstance(card.get("sessions"), list),
    }
    for part, whole in fits.items():
        if not whole:
            raise BadCheckpoint(f"the {part} on the card in {place} is damaged: {str(card.get(part))[:80]}")
