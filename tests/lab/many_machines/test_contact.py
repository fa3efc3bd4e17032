"""A part of a lab without contact to its coordinator takes its links to other machines for down."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from dcnlab.lab.client import Lab
from dcnlab.lab.machines import contact
from tests.lab.cluster import until

pytestmark = pytest.mark.lab
_PEERS = frozenset({0, 3})


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab("torus:2x2", "wmgr") as one:
        yield one


@pytest.fixture
def watch(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Iterator[contact.Contact]:
    """The contact of a part, which takes links for down after 0.2 seconds."""
    monkeypatch.setattr(contact, "SILENCE", 0.2)
    monkeypatch.setattr(contact, "_LOOK", 0.01)
    one = contact.Contact(lab.path, _PEERS)
    yield one
    one.end()


def test_links_are_down_while_nobody_asks(lab: Lab, watch: contact.Contact) -> None:
    watch.begin(lab.guard_pid)
    watch.note({"op": "own_links"})
    until(lambda: set(lab.info()["down"]) == _PEERS)

    def asked() -> bool:
        watch.note()
        return not lab.info()["down"]

    until(asked)


def test_a_lost_part_does_not_speak_for_its_successor(lab: Lab, watch: contact.Contact) -> None:
    """One that was launched again listens at the same path."""
    watch.begin(os.getpid())
    watch.note({"op": "own_links"})
    until(lambda: watch.ended)
    assert not lab.info()["down"]
