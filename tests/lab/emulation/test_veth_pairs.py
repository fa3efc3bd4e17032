"""Links between namespaces: veth pairs as labs create them."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
from collections.abc import Iterator

import pytest

from addressing.fields import mac
from dcnlab.lab.emulation.namespaces import netns

pytestmark = [
    pytest.mark.lab,
    pytest.mark.xdist_group("outside"),
    pytest.mark.skipif(os.geteuid() != 0, reason="makes network namespaces outside a sandbox"),
]

#: More at once than the kernel starts in one go (MAX_DO_DEV_N of net/core/link_watch.c).
MANY = 150
_numbers = itertools.count()


@pytest.fixture
def namespaces() -> Iterator[tuple[str, str]]:
    """Two new namespaces."""
    number = next(_numbers)
    names = tuple(f"dcnt{os.getpid()}c{number}{end}" for end in "ab")
    netns.create(names)
    yield names[0], names[1]
    for name in names:
        subprocess.run(["ip", "netns", "delete", name], check=True)


@pytest.mark.parametrize("turn", range(8))  # it goes wrong while the namespaces of the turn before vanish
def test_all_links_carry_packets_once_running(namespaces: tuple[str, str], turn: int) -> None:
    a, b = namespaces
    netns.create_veth_pairs(
        netns.VethPair(
            f"a{i}", a, mac.text(mac.hardware(1, i)), f"b{i}", b, mac.text(mac.hardware(2, i)), False
        )
        for i in range(MANY)
    )
    netns.await_running((name, f"{end}{i}") for name, end in ((a, "a"), (b, "b")) for i in range(MANY))
    for name in namespaces:
        shown = subprocess.run(["ip", "-json", "-n", name, "link"], capture_output=True, check=True).stdout
        states = {link["ifname"]: link["operstate"] for link in json.loads(shown)}
        assert [card for card, state in states.items() if state != "UP" and card != "lo"] == []
        assert len(states) == MANY + 1


def test_an_end_without_a_link_is_not_waited_for(namespaces: tuple[str, str]) -> None:
    a, b = namespaces
    netns.create_veth_pairs([netns.VethPair("a", a, "02:00:00:00:00:01", "b", b, "02:00:00:00:00:02", False)])
    netns.set_up_in(b, "b", False)
    netns.await_running([(a, "a"), (b, "b")])
    shown = subprocess.run(["ip", "-json", "-n", a, "link", "show", "a"], capture_output=True, check=True)
    assert "NO-CARRIER" in json.loads(shown.stdout)[0]["flags"]
