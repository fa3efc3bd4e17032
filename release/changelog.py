"""The changelog's section of a release: what stood under ``Unreleased``."""

from __future__ import annotations

_UNRELEASED = "## Unreleased\n"


def entries(text: str) -> str:
    """What stands under ``Unreleased``; ValueError if that is nothing."""
    _, heading, rest = text.partition(_UNRELEASED)
    if not heading:
        raise ValueError("CHANGELOG.md has no section `## Unreleased`")
    body = rest.partition("\n## ")[0].strip()
    if not body:
        raise ValueError("CHANGELOG.md: nothing stands under `## Unreleased`")
    return body


def with_release(text: str, version: str, day: str) -> str:
    """The changelog in which those entries belong to ``version``, released on ``day`` (YYYY-MM-DD)."""
    if f"\n## {version} " in text:
        raise ValueError(f"CHANGELOG.md already has a section for {version}")
    entries(text)
    before, _, rest = text.partition(_UNRELEASED)
    return f"{before}{_UNRELEASED}\n## {version} - {day}\n{rest}"
