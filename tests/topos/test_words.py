"""Numbers with their nouns."""

from __future__ import annotations

from topos.words import counted


def test_the_noun_agrees_with_its_number() -> None:
    assert [counted(n, "link") for n in (0, 1, 2)] == ["0 links", "1 link", "2 links"]
    assert [counted(n, "switch") for n in (1, 2)] == ["1 switch", "2 switches"]
    assert counted(12345, "pair", ",") == "12,345 pairs"
