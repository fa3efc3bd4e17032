"""What clients see is what the files of tests/snapshots say; a change that is meant changes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import snapshots

_AGAIN = "if the change is meant, write the snapshots again: python -m tests.snapshots"


@pytest.mark.parametrize("name", snapshots.WITHOUT_LAB)
def test_help_and_openapi_are_as_before(name: str) -> None:
    assert snapshots.without_lab(name) == (snapshots.FOLDER / name).read_text(), _AGAIN


@pytest.mark.lab
def test_requests_answers_and_journal_are_as_before(tmp_path: Path) -> None:
    with snapshots.launched() as lab:
        found = snapshots.of_lab(lab, tmp_path)
    for name in snapshots.OF_LAB:
        assert found[name] == (snapshots.FOLDER / name).read_text(), _AGAIN
