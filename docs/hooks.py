"""What MkDocs calls while it builds the site: the files of the checkout's root become pages of their own."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

PAGES = {"README.md": "index.md", "CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}
"""The page that each of these files becomes."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the files of the root, with their links as the site needs them."""
    root = Path(config.docs_dir).parent
    for name, page in PAGES.items():
        text = re.sub(r"(\]\(|src=\")docs/", r"\1", (root / name).read_text(encoding="utf-8"))
        files.append(File.generated(config, page, content=_to_pages(text, "")))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Turn links to the files of the root into links to their pages."""
    return _to_pages(markdown, "../")


def _to_pages(text: str, folder: str) -> str:
    for name, page in PAGES.items():
        text = text.replace(f"]({folder}{name}", f"]({page}")
    return text
