"""Whoever can send a frame on a cable of a lab can not poison its routes: forged link state and probes."""

from __future__ import annotations

import sys

import pytest

from dcnlab.lab.client import Lab
from hostagent.control.one_hop import one_hop_neighbours
from hostagent.forwarding import packet
from hostagent.forwarding.decisions import NextHop
from hostagent.protocols import link_state, probing
from hostagent.protocols.link_state import ACKNOWLEDGE, ADVERTISE, LinkStateAdvertisement, Message
from hostagent.protocols.probing import ARRIVED, PROBE, Probe
from tests.hostagent.frames import agent, scheme
from tests.ovs import poll

pytestmark = pytest.mark.lab
TOPOLOGY, SCHEME = "bcube:2,1", "brp:multipath=yes,paths=2"
#: Sends frames, given in hexadecimal, by an interface.
SEND = """
import socket, sys
card = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
card.bind((sys.argv[1], 0))
for frame in sys.argv[2:]:
    card.send(bytes.fromhex(frame))
"""


def frame(towards: NextHop, ethertype: int, payload: bytes) -> str:
    """What a neighbour's agent would send."""
    return (packet.ETHERNET.pack(towards.addresses, ethertype) + payload).hex()


def test_forged_statements_and_probes_are_counted_and_change_nothing() -> None:
    towards = one_hop_neighbours(agent(scheme(TOPOLOGY, SCHEME), 1))[0]
    said = LinkStateAdvertisement(3, 99, frozenset({1, 2}))
    lies = [
        Message(kind, 1, said).encode(key) for kind in (ADVERTISE, ACKNOWLEDGE) for key in (None, b"guessed")
    ]
    answers = [Probe(kind, 1, (3, 1, 0), 2, 2).encode(b"guessed") for kind in (PROBE, ARRIVED)]
    frames = [frame(towards, link_state.ETHERTYPE, lie) for lie in lies]
    frames += [frame(towards, probing.ETHERTYPE, answer) for answer in answers]
    with Lab(TOPOLOGY, SCHEME, link_state="agents", load_balance="probe") as lab:

        def count(what: str) -> int:
            return int(lab.stats().servers["h0"].get(what, 0))

        lab.run("h1", [sys.executable, "-c", SEND, f"h1-eth{towards.port}", *frames])
        poll(lambda: count("link state rejected: not authentic") == len(lies), 60)
        poll(lambda: count("probes rejected: not authentic") == len(answers), 60)
        assert count("links known down") == count("links suspected") == 0
        assert lab.pingall().lost == []
        lab.fail("h3", "s1")  # what h3 itself says is believed, with its first number, 98 below the forged
        poll(lambda: count("links known down") == 1, 60)
        assert lab.ping("h0", "h3").held
        assert count("link state rejected: not authentic") == len(lies)


def test_frames_that_no_switch_has_an_entry_for_are_counted_and_dropped() -> None:
    """To a group, with an EtherType and a label that nobody knows, and one that is too short for IP."""
    source = "020000000001"
    forged = [f"ffffffffffff{source}88b5" + "00" * 46, f"ffffffffffff{source}0800" + "45" + "00" * 3]
    with Lab("jellyfish:3,4,2", "shortest") as lab:

        def unmatched() -> dict[str, int]:
            return {one.switch: one.unmatched for one in lab.stats().switches}

        before = unmatched()
        lab.run("h1", [sys.executable, "-c", SEND, "h1-eth1", *forged * 100])
        poll(lambda: unmatched()["s1"] >= before["s1"] + 200, 60)
        assert lab.pingall().lost == []
        grown = {name: count - before[name] for name, count in unmatched().items()}
        assert grown.keys() == {"s0", "s1", "s2", "s3"}
        assert all(grown[name] < 100 for name in ("s0", "s2", "s3"))  # a few of hosts' kernels, none of s1
