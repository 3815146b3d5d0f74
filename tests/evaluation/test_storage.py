"""Records are written whole, and what is read is checked."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from numduel_env.storage import BadRecord, Count, from_json, to_json


@dataclass(frozen=True)
class Inner:
    size: Count = 2


@dataclass(frozen=True)
class Outer:
    name: str
    number: Count = 1
    parts: tuple[Inner, ...] = field(default_factory=lambda: (Inner(), Inner(3)))


def test_fields_left_out_are_written_with_their_defaults():
    record = from_json(b'{"name": "a", "parts": [{}, {"size": 5}]}', Outer)
    assert record == Outer("a", 1, (Inner(2), Inner(5)))
    assert b"".join(to_json(record).split()) == b'{"name":"a","number":1,"parts":[{"size":2},{"size":5}]}'
    assert from_json(to_json(record), Outer) == record


@pytest.mark.parametrize("content", ["", "{", "[]", '{"name": 1}', '{"name": "a", "number": -1}', "[" * 100_000])
def test_what_does_not_fit_is_refused(content):
    with pytest.raises(BadRecord):
        from_json(content, Outer)
