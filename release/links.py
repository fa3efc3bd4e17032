"""A hook of the documentation site: the link to the repository, once ``pyproject.toml`` has its address."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

_PROJECT = Path(__file__).parents[1] / "pyproject.toml"
#: Of addresses that stand for one that is not known yet (RFC 2606).
_EXAMPLES = ("example.org", "example.com", "example.net")


def on_config(config: Any) -> Any:
    """Called by mkdocs before it builds the site."""
    config.repo_url = address(tomllib.loads(_PROJECT.read_text())["project"]["urls"]["Source"])
    return config


def address(source: str) -> str | None:
    """The address of the repository for readers; None while there is none."""
    return None if urlsplit(source).hostname in _EXAMPLES else source.removesuffix(".git")
