"""Objects of other people's modules, named as ``module:attribute``: games and agents on a command line."""

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
        raise ValueError(f"{reference} cannot be imported: {type(wrong).__name__}: {wrong}{way_out}") from wrong
