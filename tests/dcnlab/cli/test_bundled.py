"""The example scenarios are found by name in any folder; a user's own file of that name comes first."""

from __future__ import annotations

from pathlib import Path

import pytest

from dcnlab.lab.errors import UsageError
from dcnlab.lab.scenario import bundled, reading

EXAMPLES = Path(__file__).parents[3] / "examples"


def test_all_examples_are_known_and_can_be_read() -> None:
    assert set(bundled.examples().values()) == set(EXAMPLES.glob("*.yaml"))
    for path in bundled.examples().values():
        assert reading.read(path).expect


@pytest.mark.parametrize("name", ["clot-cut", "clot-cut.yaml", "examples/clot-cut.yaml"])
def test_names_of_examples_mean_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    if name != "clot-cut.yaml":
        assert bundled.find(Path(name)) == EXAMPLES / "clot-cut.yaml"
    own = tmp_path / name
    own.parent.mkdir(exist_ok=True)
    own.touch()
    assert bundled.find(Path(name)) == Path(name)


def test_a_word_that_is_neither_is_refused_with_the_examples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=r"cut is neither a file nor an example; the examples are bcube-cut, "):
        bundled.find(Path("cut"))
    assert bundled.find(Path("missing/clot-cut.yaml")) == Path("missing/clot-cut.yaml")
