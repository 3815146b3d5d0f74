"""Answers on disk as they come, so that an evaluation that was interrupted goes on without asking for any again.

A journal is a file of JSON lines: first what was asked for, then one line for each time that an agent was asked, one
for each reply in writing, and one for each agent whose exams are done. A line that was cut short by a crash is as if
it had not been written.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

import numpy as np

from numduel_env.evaluation.exploitability import Exam
from numduel_env.storage import BadRecord, Count, from_json
from numduel_env.writing import Exchange, Notes, Settings

LAYOUT = 2
"""Counts the changes of a journal's layout."""


@dataclass(frozen=True)
class Request:
    """What an evaluation was asked to do; only the same request goes on with a journal."""

    game: str
    parameters: str
    agents: tuple[str, ...]
    duels: Count
    openings: Count
    seed: Count
    graded: bool
    exploit: bool
    budget: Count
    version: str
    settings: dict[str, Settings]
    layout: int = LAYOUT


@dataclass(frozen=True)
class Asked:
    """One time that an agent was asked: ``key`` says when, ``faults`` holds kind and reason by place.

    ``stream`` is the state of its random numbers afterwards.
    """

    key: str
    actions: tuple[int, ...]
    faults: dict[str, tuple[str, str]]
    seconds: float
    stream: str


@dataclass(frozen=True)
class Noted:
    """One exchange about the duel at a ``place`` among those that were asked about; ``key`` says when."""

    place: Count
    key: str
    exchange: Exchange


@dataclass(frozen=True)
class Examined:
    """The exams of one agent."""

    agent: str
    exams: tuple[Exam, ...]


Record = Asked | Noted | Examined

BY_FIRST_FIELD: dict[bytes, type[Record]] = {b'{"key"': Asked, b'{"place"': Noted, b'{"agent"': Examined}


class Journal:
    """The answers of an evaluation: those of an earlier session, and the new ones as they are added."""

    def __init__(self, path: str | Path, request: Request) -> None:
        self.path = Path(path)
        self._asked: dict[str, Asked] = {}
        self._written: dict[str, list[Noted]] = {}
        self._exams: dict[str, tuple[Exam, ...]] = {}
        whole = self._read(request) if self.path.exists() else 0
        self._file: IO[bytes] = open(self.path, "r+b" if whole else "wb")  # noqa: SIM115 - open as long as the journal
        self._file.truncate(whole)
        self._file.seek(whole)
        if not whole:
            self._write(request)

    def _read(self, request: Request) -> int:
        """Read what an earlier session has written, and return how many bytes of whole lines there are."""
        lines = self.path.read_bytes().split(b"\n")[:-1]
        if not lines:
            return 0
        try:
            earlier = from_json(lines[0], Request)
            records: list[Record] = [_record(line) for line in lines[1:]]
        except BadRecord as wrong:
            raise BadRecord(f"{self.path} is no journal of an evaluation: {wrong}") from None
        for name, value in asdict(earlier).items():
            if value != (wanted := asdict(request)[name]):
                raise BadRecord(f"{self.path} is of an evaluation with {name} {value}, not {wanted}")
        for record in records:
            if isinstance(record, Asked):
                self._asked[record.key] = record
            elif isinstance(record, Noted):
                self._written.setdefault(record.key, []).append(record)
            else:
                self._exams[record.agent] = record.exams
        return sum(len(line) + 1 for line in lines)

    def _write(self, record: Request | Record) -> None:
        self._file.write(json.dumps(asdict(record)).encode() + b"\n")
        self._file.flush()

    def asked(self, key: str) -> Asked | None:
        """Return what an agent answered when it was asked, if it has been."""
        return self._asked.get(key)

    def written(self, key: str) -> list[Noted]:
        """Return what an agent wrote when it was asked, so far."""
        return self._written.get(key, [])

    def exams(self, agent: str) -> tuple[Exam, ...] | None:
        """Return an agent's exams, if they are done."""
        return self._exams.get(agent)

    def add(self, record: Record) -> None:
        """Write what is new."""
        self._write(record)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _record(line: bytes) -> Record:
    return from_json(line, BY_FIRST_FIELD.get(line.partition(b":")[0], Asked))


class JournalNotes(Notes):
    """The exchanges about the duels that an agent is asked about at once, in a journal where there is one.

    ``noted`` is called with each that is added.
    """

    def __init__(self, journal: Journal | None, key: str, noted: Callable[[Exchange], None]) -> None:
        super().__init__()
        for record in journal.written(key) if journal else ():
            super().add(record.place, record.exchange)
        self._journal, self._key, self._noted = journal, key, noted

    def add(self, place: int, exchange: Exchange) -> None:
        if self._journal:
            self._journal.add(Noted(place, self._key, exchange))
        super().add(place, exchange)
        self._noted(exchange)


def stream_state(generator: np.random.Generator) -> str:
    """Return the state of a PCG64 generator in one word."""
    state = generator.bit_generator.state
    inner = state["state"]
    return ":".join(f"{part:x}" for part in (inner["state"], inner["inc"], state["has_uint32"], state["uinteger"]))


def set_stream(generator: np.random.Generator, state: str) -> None:
    """Put a generator into a state that ``stream_state`` returned; raises a ``ValueError`` for anything else."""
    value, increment, has_uint32, uinteger = (int(part, 16) for part in state.split(":"))
    generator.bit_generator.state = {
        "bit_generator": "PCG64",
        "state": {"state": value, "inc": increment},
        "has_uint32": has_uint32,
        "uinteger": uinteger,
    }
