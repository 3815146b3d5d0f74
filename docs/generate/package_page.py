"""The description of the package, for an index of packages: README without what leads into the checkout.

The build calls this (``tool.hatch.metadata.hooks.custom`` in pyproject.toml). Pictures and pages of the checkout are
not beside a package's page, and the project has no other address for them.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

ELSEWHERE = "https?:|#"
"""How a target begins that a package's page can reach."""


class PackagePage(MetadataHookInterface):
    """Sets the readme of the package."""

    def update(self, metadata: dict[str, Any]) -> None:
        readme = Path(self.root, "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": package_page(readme)}


def package_page(readme: str) -> str:
    """Return a readme without pictures of the checkout, its links into the checkout as plain words."""
    without_pictures = re.sub(rf"!\[[^\]]*\]\((?!{ELSEWHERE})[^)]*\)\s*", "", readme)
    return re.sub(rf"\[([^\]]+)\]\((?!{ELSEWHERE})[^)]*\)", r"\1", without_pictures)
