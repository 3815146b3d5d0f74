"""Where a network learns."""

from __future__ import annotations

import torch


def refuse_device(name: str) -> None:
    """Raise a ``ValueError`` if torch has no such device here."""
    try:
        torch.zeros(1, device=name).cpu()
    except (RuntimeError, AssertionError, TypeError, ImportError) as wrong:
        raise ValueError(f"--device {name} cannot be used: {str(wrong).splitlines()[0]}") from None
