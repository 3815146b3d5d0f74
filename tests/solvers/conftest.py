"""What several tests of the solvers share."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of the test's own, which does not exist yet."""
    place = tmp_path / "cache"
    monkeypatch.setenv("NUMDUEL_CACHE", str(place))
    return place
