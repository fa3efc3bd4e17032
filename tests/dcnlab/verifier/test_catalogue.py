"""Every pair of topology and scheme proved on small networks; docs/catalogue.md has the exceptions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from dcnlab.verifier.atoms import TooMany
from dcnlab.verifier.checking import Check
from dcnlab.verifier.offline import Offline, Tables
from dcnlab.verifier.sweep import Failure, Proofs, Question, outcome
from tests.addressing.cases import bound, covering, pairs
from topos.graph import LinkState

_DOCUMENT = Path(__file__).parents[3] / "docs" / "catalogue.md"
_ROW = re.compile(r"^\| `([\w-]+)` \| (.*?) \| (.*?) \| .*\|$", re.MULTILINE)
#: More classes of packets than this are left to `make catalogue`'s machine.
_CLASSES = 600


def exceptions(when: str) -> Iterator[tuple[str, str]]:
    """(scheme, family) of the rows of the catalogue about some circumstances."""
    _, _, section = _DOCUMENT.read_text().partition("## What `dcnlab verify` finds")
    for scheme, families, circumstances in _ROW.findall(section):
        if when in circumstances:
            yield from ((scheme, family) for family in re.findall(r"`(\w+)`", families))


UNKNOWN, ANY = set(exceptions("only the ends")), set(exceptions("--any-packet"))


def key(spec: str, text: str) -> tuple[str, str]:
    return text.partition(":")[0], spec.partition(":")[0]


def test_the_catalogue_has_exceptions() -> None:
    assert ("dfr", "dcell") in UNKNOWN
    assert ("permsort", "pancake") in ANY


@pytest.mark.parametrize(("spec", "text"), covering(pairs()))
def test_packets_of_servers_arrive_and_no_packet_loops(spec: str, text: str) -> None:
    network = Offline(Tables(bound(spec, text)))
    report = Check(network).pairs(network.starts())
    assert report.checked
    assert report.violations == ()
    assert report.unanalysed == 0
    try:
        classes = network.classes(_CLASSES)
    except TooMany:
        return
    if key(spec, text) not in ANY:
        anything = Check(network).any_packet(place for header in classes for place in network.injected(header))
        assert anything.violations == ()


@pytest.mark.parametrize(("spec", "text"), covering(pairs()))
def test_failures_lose_nothing_and_cause_no_loops(spec: str, text: str) -> None:
    scheme = bound(spec, text)
    link = len(scheme.fabric.link_ends) // 2
    failure = Failure("a link", LinkState(frozenset({link})))
    proved = outcome(Proofs(Tables(scheme)), failure, Question(unknown=True), text)
    assert proved.known.violations == ()
    assert proved.unknown is not None
    if key(spec, text) not in UNKNOWN:
        assert proved.unknown.violations == ()


@pytest.mark.parametrize("family", ["dcell:3,1", "ficonn:4,1", "hcn:3,1"])
def test_exceptions_of_the_catalogue_exist(family: str) -> None:
    assert key(family, "dfr") in UNKNOWN
    scheme = bound(family, "dfr")
    whole, every = Proofs(Tables(scheme)), range(len(scheme.fabric.link_ends))
    failures = (Failure(str(link), LinkState(frozenset({link}))) for link in every)
    assert any(not outcome(whole, one, Question(unknown=True)).held for one in failures)


@pytest.mark.parametrize(
    ("spec", "text"), [("pancake:4,hosts=2", "permsort"), ("butterfly:3,hosts=2", "wmgr-cayley:order=search")]
)
def test_loops_of_labels_that_nobody_has_exist(spec: str, text: str) -> None:
    assert key(spec, text) in ANY
    network = Offline(Tables(bound(spec, text)))
    starts = (place for header in network.classes() for place in network.injected(header))
    assert not Check(network).any_packet(starts).held
