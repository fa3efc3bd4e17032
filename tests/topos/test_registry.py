"""Specifications are read, refused in one line, and printed; broken files name the line."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.topos.graphs import refusal
from topos.family import Family
from topos.plugins import Registry
from topos.registry import known, parse
from topos.spec import SpecError, usage


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bcub:4,1", "unknown topology 'bcub': did you mean bcube"),
        ("qqqq", "unknown topology 'qqqq': known: bcube, borel"),
        ("bcube", "bcube needs n, k: write bcube:n,k,parts=..."),
        ("bcube:4", "bcube needs k: write bcube:n,k,parts=..."),
        ("bcube:4,x", "bcube: k must be a whole number, not 'x'"),
        ("bcube:4,1,2,3", "too many parameters: write bcube:n,k,parts=..."),
        ("bcube:4,1,size=3", "bcube has no parameter 'size': write bcube:n,k,parts=..."),
        ("bcube:4,1,n=3", "bcube: n is given twice"),
        ("bcube:1,1", "bcube: n must be at least 2, not 1"),
        ("bcube:2,17", "bcube: k must be at most 16, not 17"),
        ("torus:4x", "torus: sizes must be sizes such as 4x4, not '4x'"),
        ("smallworld:4x4,q=high", "smallworld: q must be a number, not 'high'"),
        ("torus:100000x100000", "torus:100000x100000 has more than 268435456 nodes: more than can be numbered"),
        ("jellyfish:4,8,3,seed=-1", "jellyfish: seed must be at least 0, not -1"),
    ],
)
def test_refusals(text: str, message: str) -> None:
    with pytest.raises(SpecError) as caught:
        parse(text)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


@given(
    name=st.sampled_from(sorted(known())), arguments=st.text(alphabet="0123456789x,=.-nkqhosts ", max_size=14)
)
def test_nothing_else_is_raised(name: str, arguments: str) -> None:
    message = refusal(f"{name}:{arguments}")
    if message is None:
        family = parse(f"{name}:{arguments}")
        assert parse(family.spec) == family
    else:
        assert "\n" not in message


@pytest.mark.parametrize(
    ("given_as", "canonical"),
    [
        ("bcube:n=4,k=1", "bcube:4,1"),
        ("bcube: 4 , 1 ", "bcube:4,1"),
        ("bcube:k=1,4", "bcube:4,1"),
        ("smallworld:4x4,2x2,q=1.6", "smallworld:4x4,clusters=2x2"),
        ("smallworld:4x4,torus=no,repeats=true", "smallworld:4x4,torus=no,repeats=yes"),
        ("hypercube:hosts=2,s=3", "hypercube:3,hosts=2"),
    ],
)
def test_canonical_forms(given_as: str, canonical: str) -> None:
    assert parse(given_as).spec == canonical


def test_usage_shows_what_is_needed_and_what_is_optional() -> None:
    assert usage(known()["bcube"], "bcube") == "bcube:n,k,parts=..."
    assert usage(known()["hypercube"], "hypercube") == "hypercube:s,hosts=..."
    assert usage(known()["fattree"], "fattree") == "fattree:r"


def test_the_contract_of_names() -> None:
    """DESIGN 7: scripts rely on these."""
    promised = (
        "bcube dcell hdcube mdcube dcube hcn ficonn clot torus novacube smallworld fattree jellyfish xpander"
        " slimfly dragonfly random hypercube bubblesort star transposition pancake butterfly borel file"
    )
    assert set(promised.split()) <= set(known())


_HEAD = "from topos.family import Family\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            _HEAD + "x = nothing\n",
            "mine cannot be loaded: {file}, line 2: NameError: name 'nothing' is not defined",
        ),
        (_HEAD + "\ndef (\n", "mine cannot be loaded: {file}, line 3: SyntaxError: invalid syntax"),
        (_HEAD, "{file} defines no topology named 'mine'"),
        (
            _HEAD + "class Mine(Family):\n    name = 'mine'\n    def counts(self):\n        return 1, 0\n",
            "{file}, line 2: Mine: does not define centric, example, link_ends, source, as every Family must",
        ),
    ],
    ids=["name", "syntax", "empty", "abstract"],
)
def test_errors_in_a_new_file_are_one_line_with_file_and_line(
    text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "myfamilies"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "mine.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "myfamilies", raising=False)
    monkeypatch.delitem(sys.modules, "myfamilies.mine", raising=False)
    registry: Registry[Family] = Registry(importlib.import_module("myfamilies"), Family, "topology", "none")
    with pytest.raises(SpecError) as caught:
        registry["mine"]
    assert str(caught.value) == message.format(file=folder / "mine.py")
