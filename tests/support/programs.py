"""Running the programs of a checkout in this process, as ``python FILE ARGUMENTS`` would."""

from __future__ import annotations

import contextlib
import io
import runpy
import sys
from typing import NamedTuple
from unittest import mock

from tests.support import ROOT


class Ran(NamedTuple):
    """How a program ended, and what it printed."""

    code: int
    out: str
    err: str


def run_program(path: str, *arguments: object, typed: str = "") -> Ran:
    """Run the program at ``path``, seen from the root, with ``typed`` on its standard input.

    An exception that would end the program with a traceback is raised here as well.
    """
    out, err = io.StringIO(), io.StringIO()
    argv = [str(ROOT / path), *map(str, arguments)]
    code: object = 0
    with (
        mock.patch.object(sys, "argv", argv),
        mock.patch.object(sys, "path", [*sys.path]),
        mock.patch.object(sys, "stdin", io.StringIO(typed)),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            runpy.run_path(argv[0], run_name="__main__")
        except SystemExit as left:
            code = left.code
    return Ran(code if isinstance(code, int) else int(code is not None), out.getvalue(), err.getvalue())
