"""What comes from outside: objects of other people's modules, named ``module:attribute``, and texts to be shown."""

from __future__ import annotations

import importlib
import re
from typing import Any


def is_reference(name: object) -> bool:
    """Return whether a name has the form ``module:attribute``."""
    return isinstance(name, str) and re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*", name) is not None


def load(reference: str) -> Any:
    """Import ``module:attribute`` and return it, or raise a ``ValueError`` that says in one line why it cannot be.

    Importing runs the module: never call this with a name from a file or a request.
    """
    module, _, attribute = reference.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except KeyboardInterrupt:
        raise
    except BaseException as wrong:  # a module may do anything while it is imported, sys.exit included
        way_out = ""
        if isinstance(wrong, ModuleNotFoundError) and wrong.name and module.startswith(wrong.name):
            way_out = " (a module beside you is found with PYTHONPATH=.)"
        raise ValueError(f"{reference} cannot be imported: {described(wrong)}{way_out}") from wrong


def one_line(text: str, most: int = 160) -> str:
    """Return a text in one line of at most ``most`` characters, harmless on a terminal.

    Whatever is not printable, such as the codes that move a cursor or turn the direction of writing, is spelled out.
    """
    line = " ".join(text.split())
    return spelled_out(line if len(line) <= most else line[: most - 1] + "…")


def spelled_out(text: str) -> str:
    """Return a text in which whatever is not printable is spelled out, but for the ends of lines."""
    return "".join(
        sign if sign.isprintable() or sign == "\n" else sign.encode("unicode_escape").decode() for sign in text
    )


def kind_of(wrong: BaseException) -> str:
    """Return the name of an exception's type, even if the type is of a kind that hides it."""
    name: str = type.__dict__["__name__"].__get__(type(wrong))
    return one_line(name)


def described(wrong: BaseException) -> str:
    """Return the type of an exception and its text in one line, even if making the text fails."""
    name = kind_of(wrong)
    try:
        text = str(wrong)
    except KeyboardInterrupt:
        raise
    except BaseException:
        text = "(its text cannot be read)"
    return one_line(f"{name}: {text}" if text else name)
