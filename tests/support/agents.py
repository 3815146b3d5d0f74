"""Scripted agents: each plays by one simple idea, or breaks one rule."""

from __future__ import annotations

import numpy as np


class Lowest:
    """Plays the smallest legal number."""

    def __init__(self, rules=None):
        pass

    def choose(self, position, legal, generator):
        return legal.argmax(-1)


class Largest:
    """Plays the largest legal number."""

    def __init__(self, rules=None):
        pass

    def choose(self, position, legal, generator):
        return legal.shape[-1] - 1 - legal[..., ::-1].argmax(-1)


class Fixed:
    """Plays one number whenever it may, and else the smallest legal one."""

    def __init__(self, rules, number):
        self.action = int(np.flatnonzero(rules.numbers == number)[0])

    def choose(self, position, legal, generator):
        return np.where(legal[..., self.action], self.action, legal.argmax(-1))


class Cheat:
    """Plays an illegal number as soon as there is one."""

    def __init__(self, rules=None):
        pass

    def choose(self, position, legal, generator):
        return legal.argmin(-1)


class Crash:
    """Raises."""

    def __init__(self, rules=None):
        pass

    def choose(self, position, legal, generator):
        raise RuntimeError("out of <ideas> & time")


class Babble:
    """Answers with nonsense."""

    def __init__(self, rules=None):
        pass

    def choose(self, position, legal, generator):
        return "seven"


class Scripted:
    """Answers what a function of (position, legal, generator) says."""

    def __init__(self, answer):
        self.choose = answer


class Editor:
    """Plays the smallest legal number, and writes into everything it is given."""

    def __init__(self, rules=None):
        pass

    def choose(self, position, legal, generator):
        actions = legal.argmax(-1)
        legal[..., :] = False
        for field in position:
            field[...] = 0
        return actions


class MaskEditor:
    """An everyday idiom: plays as if the first legal action were not there, if there is another."""

    def __init__(self, rules=None):
        pass

    def choose(self, position, legal, generator):
        first = legal.argmax(-1)
        legal[np.arange(len(legal)), first] = False
        return np.where(legal.any(-1), legal.argmax(-1), first)


class LastMover:
    """A player, who sees the duel: plays the number that was legal first, and writes into the duel."""

    def __init__(self, rules=None):
        pass

    def move(self, duel, generator):
        action = int(duel.legal.argmax())
        duel.legal[:] = False
        for field in duel.position:
            if isinstance(field, np.ndarray) and field.ndim:
                field[...] = 0
        duel.actions.clear()
        return action


def unmakeable(rules):
    raise RuntimeError("no weights here")


def no_agent(rules):
    return 3
