"""Answers on disk as they come, so that an evaluation that was interrupted goes on without asking for any again.

A journal is a file of JSON lines: first what was asked for, then one line for each time that an agent was asked, and
one for each agent whose exams are done. A line that was cut short by a crash is as if it had not been written.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

import numpy as np

from numduel_env.evaluation.exploitability import Exam
from numduel_env.storage import BadRecord, Count, from_json

LAYOUT = 1
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
class Examined:
    """The exams of one agent."""

    agent: str
    exams: tuple[Exam, ...]


class Journal:
    """The answers of an evaluation: those of an earlier session, and the new ones as they are added."""

    def __init__(self, path: str | Path, request: Request) -> None:
        self.path = Path(path)
        self._asked: dict[str, Asked] = {}
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
            records: list[Asked | Examined] = [_record(line) for line in lines[1:]]
        except BadRecord as wrong:
            raise BadRecord(f"{self.path} is no journal of an evaluation: {wrong}") from None
        for name, value in asdict(earlier).items():
            if value != (wanted := asdict(request)[name]):
                raise BadRecord(f"{self.path} is of an evaluation with {name} {value}, not {wanted}")
        for record in records:
            if isinstance(record, Asked):
                self._asked[record.key] = record
            else:
                self._exams[record.agent] = record.exams
        return sum(len(line) + 1 for line in lines)

    def _write(self, record: Request | Asked | Examined) -> None:
        self._file.write(json.dumps(asdict(record)).encode() + b"\n")
        self._file.flush()

    def asked(self, key: str) -> Asked | None:
        """Return what an agent answered when it was asked, if it has been."""
        return self._asked.get(key)

    def exams(self, agent: str) -> tuple[Exam, ...] | None:
        """Return an agent's exams, if they are done."""
        return self._exams.get(agent)

    def add(self, record: Asked | Examined) -> None:
        """Write what is new."""
        self._write(record)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _record(line: bytes) -> Asked | Examined:
    return from_json(line, Examined) if line.startswith(b'{"agent"') else from_json(line, Asked)


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
