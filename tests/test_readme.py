"""The README says what the registries say."""

from __future__ import annotations

from pathlib import Path

from dcnlab.cli import catalogue

README = Path(__file__).parent.parent / "README.md"


def test_the_table_of_families_and_schemes_is_current() -> None:
    text = README.read_text()
    assert catalogue.rewrite(text) == text, "run: python -m dcnlab.cli.catalogue README.md"
