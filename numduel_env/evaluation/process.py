"""Agents that are not ours, each in a process of its own: whatever one does there costs its own duels alone.

It may exit, print, close every file, or hang: the process is ended, the position it was asked about is lost for it, and
another process takes its place. Questions go to the process as pickles; its answers come back as JSON, since it may
write anything.
"""

from __future__ import annotations

import json
import logging
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import IO, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from numduel_env.agent import (
    AGENTS,
    Agent,
    AgentLike,
    BadAnswer,
    HistoryAgent,
    ask_in,
    checked_answer,
    make_agent,
    raised,
)
from numduel_env.batch import BoolArray
from numduel_env.duel import Duel
from numduel_env.evaluation.journal import set_stream, stream_state
from numduel_env.outside import described, is_reference, one_line
from numduel_env.rules import Rules

SECONDS_TO_START = 60.0
"""A process may take this long to import and make its agent."""

PATIENCE = 10.0
"""Seconds without an answer after which a line names the agent; the next lines come after twice as long each."""

MOST_TIMEOUTS = 3
"""An agent that has hung this often in a row is not asked any more."""

MOST_PROCESSES = 100
"""Nor is one that has ended this many processes."""

LONGEST = 1 << 26
"""No frame is longer, in bytes."""

CHILD = "from numduel_env.evaluation.process import answer_questions; answer_questions()"


def make_apart(agent: AgentLike, rules: Rules[Any], move_seconds: float | None = None) -> Agent:
    """Return what ``make_agent`` does, but an agent named ``module:attribute`` in a process of its own."""
    if not isinstance(agent, str) or not is_reference(agent) or agent.partition(":")[0] in AGENTS:
        return make_agent(agent, rules)
    return ProcessAgent(agent, rules, move_seconds)


Message = dict[str, Any]
"""What a process says, as JSON has it."""


class ProcessAgent(HistoryAgent):
    """The agent of a name, in a process of its own.

    With ``move_seconds`` it is asked about one position at a time, and loses those that it takes longer for. The
    process knows the baselines, names ``module:attribute``, and what ``prepare``, called there first, registers.
    """

    def __init__(
        self,
        name: str,
        rules: Rules[Any],
        move_seconds: float | None = None,
        prepare: Callable[[], object] | None = None,
    ) -> None:
        self.name, self.rules, self.move_seconds = name, rules, move_seconds
        self._introduction = pickle.dumps((sys.path, prepare, name, rules))
        self._timeouts, self._processes = 0, 0
        self._process: subprocess.Popen[bytes] | None = None
        features = self._started()
        self.wants_history = features.get("history") is True
        # An attribute only where the agent has it: its absence means something.
        if features.get("preferred") is True:
            self.preferred = self._preferred

    def choose(self, position: Any, legal: BoolArray, generator: np.random.Generator) -> NDArray[Any]:
        if self.move_seconds is None:
            return self._answer("choose", (position, legal), generator, len(legal))
        rows = [self._row("choose", position, legal, row, generator) for row in range(len(legal))]
        return np.concatenate(rows) if rows else np.zeros(0, np.int64)

    def _row(
        self, method: str, position: Any, legal: BoolArray, row: int, generator: np.random.Generator
    ) -> NDArray[Any]:
        one = slice(row, row + 1)
        return self._answer(method, (position._make(field[one] for field in position), legal[one]), generator, 1)

    def choose_in(self, duels: list[Duel[Any]], generator: np.random.Generator) -> NDArray[Any]:
        answers = [self._answer("choose_in", ([duel.actions],), generator, 1) for duel in duels]
        return np.concatenate(answers) if answers else np.zeros(0, np.int64)

    def _preferred(self, position: Any, legal: BoolArray) -> BoolArray:
        answer = self._asked("preferred", (position, legal), None)["preferred"]
        return np.array(answer, bool)

    def _answer(
        self, method: str, arguments: tuple[Any, ...], generator: np.random.Generator, count: int
    ) -> NDArray[Any]:
        answer = self._asked(method, arguments, stream_state(generator))
        with suppress(KeyError, ValueError, AttributeError):
            set_stream(generator, answer["stream"])
        if "fault" in answer:
            kind, reason = answer["fault"]
            raise BadAnswer(one_line(str(reason)), one_line(str(kind)))
        return checked_answer(answer["actions"], count)

    def _asked(self, method: str, arguments: tuple[Any, ...], stream: str | None) -> Message:
        """Return the process's answer, or raise ``BadAnswer`` if it gives none."""
        if self._timeouts >= MOST_TIMEOUTS:
            raise BadAnswer(f"has hung {MOST_TIMEOUTS} times in a row, and is not asked any more", "has hung")
        if self._process is None and self._processes >= MOST_PROCESSES:
            reason = f"has ended {MOST_PROCESSES} processes, and is not asked any more"
            raise BadAnswer(reason, "has ended its processes")
        if self._process is None:
            self._started()
        self._send(pickle.dumps((method, arguments, stream)))
        return self._received(self.move_seconds)

    def _started(self) -> Message:
        """Start a process and return what its agent can do; raises a ``ValueError`` if it cannot be made."""
        self._processes += 1
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        self._process = subprocess.Popen(
            [sys.executable, "-c", CHILD],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            # Ctrl-C is meant for this process; and what the agent has started itself is to end with it.
            start_new_session=True,
        )
        self._frames: queue.Queue[bytes | None] = queue.Queue()
        reader = threading.Thread(target=_read_frames, args=(self._process.stdout, self._frames), daemon=True)
        reader.start()
        # When it is closed, or forgotten, or the program ends.
        self._end = weakref.finalize(self, _ended, self._process, reader)
        self._send(self._introduction)
        try:
            features = self._received(SECONDS_TO_START)
        except BadAnswer as wrong:
            raise ValueError(f"the agent {self.name} could not be made: it {wrong.reason}") from None
        if "error" in features:
            self.close()
            raise ValueError(one_line(str(features["error"]), 400))
        return features

    def _send(self, message: bytes) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        # A process that has ended is noticed when its answer is awaited.
        with suppress(OSError):
            _write_frame(self._process.stdin, message)

    def _received(self, seconds: float | None) -> Message:
        try:
            frame = self._frames.get(timeout=seconds) if seconds is not None else self._awaited()
        except queue.Empty:
            self.close()
            self._timeouts += 1
            raise BadAnswer(f"did not answer within {seconds:g} s", "did not answer in time") from None
        self._timeouts = 0
        try:
            answer = json.loads(frame or b"")
            assert isinstance(answer, dict)
        except (ValueError, AssertionError, RecursionError):
            self.close()
            raise BadAnswer("ended its process instead of answering", "ended its process") from None
        return answer

    def _awaited(self) -> bytes | None:
        """Return the next frame, however long that takes; log a warning from time to time meanwhile."""
        waited, patience = 0.0, PATIENCE
        while True:
            try:
                return self._frames.get(timeout=patience)
            except queue.Empty:
                waited += patience
                patience = waited
                logging.getLogger("numduel_env").warning(
                    "%s has not answered for %g s; move_seconds (--move-seconds) limits the time for a move.",
                    self.name,
                    waited,
                )

    def close(self) -> None:
        """End the process."""
        self._process = None
        self._end()


def _ended(process: subprocess.Popen[bytes], reader: threading.Thread) -> None:
    """End a process, and all that it has started where the system knows sessions, and close its streams."""
    with suppress(OSError, AttributeError):
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()
    # A stream cannot be closed while it is read.
    reader.join(1)
    for stream in (process.stdin, process.stdout):
        with suppress(OSError, AttributeError):
            stream.close()  # type: ignore[union-attr]


def _write_frame(stream: IO[bytes], message: bytes) -> None:
    stream.write(len(message).to_bytes(8, "little") + message)
    stream.flush()


def _read_frame(stream: IO[bytes]) -> bytes | None:
    """Return the next frame, None at the end of the stream or where there is none."""
    length = int.from_bytes(stream.read(8), "little")
    if not 0 < length <= LONGEST:
        return None
    message = stream.read(length)
    return message if len(message) == length else None


def _read_frames(
    stream: IO[bytes], frames: queue.Queue[bytes | None], at_end: Callable[[int], object] = lambda code: None
) -> None:
    """Put frames into a queue until the stream ends, and then None; at last, call ``at_end`` with an exit code."""
    frame: bytes | None = b""
    while frame is not None:
        try:
            frame = _read_frame(stream)
        except (OSError, ValueError):
            frame = None
        frames.put(frame)
    at_end(0)


def answer_questions() -> NoReturn:
    """Be the process: make the agent and answer questions about it until nobody asks any more."""
    questions, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    # What the agent reads and prints goes nowhere.
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(nowhere, 1)

    def answer(content: Message) -> None:
        _write_frame(answers, json.dumps(content).encode())

    introduction = _read_frame(questions)
    if introduction is None:
        os._exit(1)
    try:
        sys.path[:], prepare, name, rules = pickle.loads(introduction)
        if prepare is not None:
            prepare()
        agent = make_agent(name, rules)
    except BaseException as wrong:
        answer({"error": str(wrong) if isinstance(wrong, ValueError) else described(wrong)})
        os._exit(1)
    # An agent that hangs is not left behind when whoever asks it is killed.
    asked: queue.Queue[bytes | None] = queue.Queue()
    threading.Thread(target=_read_frames, args=(questions, asked, os._exit), daemon=True).start()
    answer({"history": isinstance(agent, HistoryAgent), "preferred": callable(getattr(agent, "preferred", None))})
    while (question := asked.get()) is not None:
        answer(_answered(agent, rules, *pickle.loads(question)))
    os._exit(0)


def _answered(agent: Agent, rules: Rules[Any], method: str, arguments: Any, stream: str | None) -> Message:
    """Return the answer to one question as JSON has it."""
    generator = np.random.default_rng(0)
    if stream is not None:
        set_stream(generator, stream)
    answer: Message = {}
    try:
        if method == "preferred":
            answer["preferred"] = np.asarray(agent.preferred(*arguments)).astype(bool).tolist()  # type: ignore[attr-defined]
        elif method == "choose_in":
            duels = [Duel(rules, actions) for actions in arguments[0]]
            assert isinstance(agent, HistoryAgent)
            answer["actions"] = ask_in(agent, duels, generator).tolist()
        else:
            position, legal = arguments
            answer["actions"] = checked_answer(agent.choose(position, legal, generator), len(legal)).tolist()
    except BaseException as wrong:  # whatever it raises is its own fault
        bad = wrong if isinstance(wrong, BadAnswer) else raised(wrong)
        answer["fault"] = [bad.kind, bad.reason]
    with suppress(Exception):
        answer["stream"] = stream_state(generator)
    return answer
