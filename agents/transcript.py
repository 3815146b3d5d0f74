"""Transcripts of what was said to language models, and what they replied."""

from __future__ import annotations

import json
import threading
from pathlib import Path

from numduel_env.agent import Unavailable


class Transcript:
    """A file of JSON lines, one for each exchange, appended as it happens."""

    def __init__(self, path: str | None) -> None:
        self.path = path
        self._lock = threading.Lock()
        if path is not None:
            self._check(Path(path))

    def _check(self, path: Path) -> None:
        """Refuse what is no transcript, and drop a line that was cut short."""
        try:
            with open(path, "a+b") as file:
                file.seek(0)
                content = file.read()
                first = content.partition(b"\n")[0]
                if content and not first.startswith(b'{"agent": '):
                    raise ValueError(f"{path} is there already, and is no transcript")
                file.truncate(content.rfind(b"\n") + 1)
        except OSError as wrong:
            raise ValueError(f"{path}: no transcript can be written there ({wrong.strerror})") from None

    def add(self, exchange: dict[str, object]) -> None:
        """Write an exchange; raises ``Unavailable`` if that is not possible."""
        if self.path is None:
            return
        try:
            with self._lock, open(self.path, "ab") as file:
                file.write(json.dumps(exchange).encode() + b"\n")
        except OSError as wrong:
            raise Unavailable(f"the transcript {self.path} cannot be written: {wrong.strerror}") from None
