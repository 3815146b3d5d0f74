"""Perfect play for every game."""

from __future__ import annotations
