"""Agents that do what no agent should, named as module:attribute; what they play otherwise is the smallest number."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from tests.support.agents import Lowest


class Sometimes(Lowest):
    """Misbehaves where the smallest number of the game is gone."""

    def choose(self, position, legal, generator):
        if not legal[:, 0].all():
            self.misbehave()
        return super().choose(position, legal, generator)


class Slow(Sometimes):
    def misbehave(self):
        time.sleep(0.1)


class Exits(Sometimes):
    def misbehave(self):
        sys.exit(0)


class EndsItsProcess(Sometimes):
    def misbehave(self):
        os._exit(0)


class ClosesFiles(Sometimes):
    def misbehave(self):
        os.closerange(0, 256)


class RaisesGroup(Sometimes):
    def misbehave(self):
        raise BaseExceptionGroup("all at once", [GeneratorExit(), SystemExit()])


class RaisesCancelled(Sometimes):
    def misbehave(self):
        raise asyncio.CancelledError


class UnspeakableError(Exception):
    def __str__(self):
        raise SystemExit("even its text raises")


class RaisesUnspeakable(Sometimes):
    def misbehave(self):
        raise UnspeakableError


class Nameless(type):
    @property
    def __name__(cls):
        raise SystemExit("even the name of its type raises")


class NamelessError(Exception, metaclass=Nameless):
    pass


class RaisesNameless(Sometimes):
    def misbehave(self):
        raise NamelessError


class NoArray:
    def __array__(self, *args, **options):
        raise SystemExit("no array")

    def __repr__(self):
        raise SystemExit("cannot be shown")


class AnswersUnspeakably(Lowest):
    def choose(self, position, legal, generator):
        return super().choose(position, legal, generator) if legal[:, 0].all() else NoArray()


class Interrupts(Sometimes):
    def misbehave(self):
        raise KeyboardInterrupt


class Escapes(Sometimes):
    def misbehave(self):
        raise RuntimeError("\x1b[2J\x07 cleared\u202e\r\n")


class Unique(Sometimes):
    """Raises another text each time."""

    count = 0

    def misbehave(self):
        Unique.count += 1
        raise RuntimeError(f"error number {self.count}")


class Hangs(Sometimes):
    def misbehave(self):
        time.sleep(3600)


class Prints(Lowest):
    """Prints wherever it can, which is no offence."""

    def choose(self, position, legal, generator):
        print("{", flush=True)
        print("}", file=sys.stderr, flush=True)
        os.write(1, b"raw bytes")
        return super().choose(position, legal, generator)


class WritesRules(Lowest):
    """Writes into every array of the rules, which is no offence where it has its own."""

    def __init__(self, rules):
        super().__init__(rules)
        for value in vars(rules).values():
            if isinstance(value, np.ndarray):
                value.setflags(write=True)
                value[...] = 0


class WritesDuel:
    """A player that plays the smallest number, and writes into all that a duel leads to."""

    def __init__(self, rules=None):
        pass

    def move(self, duel, generator):
        action = int(duel.legal.argmax())
        state = duel.state
        for value in [*vars(duel.rules).values(), *duel.position, duel.legal, state.legal, *state.position]:
            if isinstance(value, np.ndarray) and value.ndim:
                value.setflags(write=True)
                value[...] = 0
        vars(duel.rules.remembered).clear()
        duel.actions.clear()
        return action


class StartsAnother(Sometimes):
    """Starts a process of its own, whose id it writes into the file ``$NUMDUEL_TEST_PID``, and hangs."""

    def misbehave(self):
        another = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
        Path(os.environ["NUMDUEL_TEST_PID"]).write_text(f"{os.getpid()} {another.pid} ")
        time.sleep(3600)


def exits_when_made(rules):
    sys.exit(3)


def ends_its_process_when_made(rules):
    os._exit(3)


FAULTS = {
    Exits: "raised SystemExit: 0",
    EndsItsProcess: "ended its process instead of answering",
    ClosesFiles: "ended its process instead of answering",
    RaisesGroup: "raised BaseExceptionGroup: all at once (2 sub-exceptions)",
    RaisesCancelled: "raised CancelledError",
    RaisesUnspeakable: "raised UnspeakableError: (its text cannot be read)",
    RaisesNameless: "raised NamelessError",
    AnswersUnspeakably: "answered with something that cannot be shown, which is no array",
    Interrupts: "raised KeyboardInterrupt",
    Escapes: r"raised RuntimeError: \x1b[2J\x07 cleared\u202e",
}

IN_PROCESS = [kind for kind in FAULTS if kind not in (EndsItsProcess, ClosesFiles, Interrupts)]
"""Those that harm nobody in the same process, either."""
