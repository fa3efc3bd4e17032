"""Distributed labelling: the labels that nodes learn are those of the scheme, after any events."""

from __future__ import annotations

import itertools
import os

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from addressing import registry
from addressing.schemes.wmgr import Wmgr
from hostagent.control.authentication import Rejection, authenticate
from hostagent.protocols.labelling.frames import ETHERTYPE, NO_ROOT, Advertisement, Frame, Label, decode, encode
from hostagent.protocols.labelling.labeller import Labeller, LabellingTiming
from hostagent.protocols.labelling.network import LabellingNetwork
from hostagent.virtual import Noise
from tests.addressing.cases import failures, pieces
from tests.topos.graphs import built, graph
from topos import registry as families
from topos.graph import LinkState

KEY = b"key of the tests"


def scheme_of(network: LabellingNetwork) -> Wmgr:
    scheme = registry.bind(f"wmgr:root={network.root}", network.fabric).with_failures(network.links)
    assert isinstance(scheme, Wmgr)
    return scheme


def undelivered(network: LabellingNetwork) -> list[tuple[int, int]]:
    piece = pieces(network.fabric, network.links)
    nodes = range(0, network.fabric.size, max(1, network.fabric.size // 20))
    pairs = [(a, b) for a, b in itertools.product(nodes, nodes) if piece[a] == piece[b]]
    return [pair for pair in pairs if not network.arrives(*pair)]


ROOTS = (0, 5)
#: Every family with one of the roots; with both where DCNLAB_CATALOGUE says `all`.
ROOTED = [
    (name, root)
    for number, name in enumerate(families.known())
    for at, root in enumerate(ROOTS)
    if number % len(ROOTS) == at or os.environ.get("DCNLAB_CATALOGUE") == "all"
]


@pytest.mark.parametrize(("name", "root"), ROOTED)
def test_labels_are_the_schemes_before_and_after_failures(name: str, root: int) -> None:
    """On every family; also with failed links that split it, and after they are restored."""
    fabric = built(families.known()[name].example)
    network = LabellingNetwork(fabric, min(root, fabric.size - 1), key=KEY)
    first = network.start()
    assert first.changed == fabric.size
    assert network.differing(scheme_of(network).embedding) == []
    down = failures(fabric, 3, 0.3, True).down
    network.change(down, up=False)
    assert network.differing(scheme_of(network).embedding) == []
    assert undelivered(network) == []
    network.change(down, up=True)
    assert network.differing(scheme_of(network).embedding) == []
    assert undelivered(network) == []


def test_every_link_carries_advertisements_and_the_time_is_that_of_the_waves() -> None:
    """The farthest node has its label after the path vector has come down, its parent has learned of it, and
    labels have come down: at most one and a half round trips more than the depth."""
    network = LabellingNetwork(built("bcube:4,1"))
    outcome = network.start()
    depth = max(map(len, scheme_of(network).embedding.words))
    assert outcome.seconds <= (2 * depth + 3) * 15e-6
    assert outcome.frames["sent advertisement"] >= 2 * len(network.fabric.link_ends)
    assert outcome.frames["retransmitted"] == 0


@pytest.mark.parametrize("spec", ["bcube:3,1", "torus:4x4", "fattree:4"])
def test_lost_duplicated_and_late_frames(spec: str) -> None:
    for seed in range(3):
        noise = Noise(loss=0.2, duplicate=0.2, jitter=50e-6)
        timing = LabellingTiming(5e-4, 60, 0.2)
        network = LabellingNetwork(built(spec), seed=seed, noise=noise, key=KEY, timing=timing)
        network.start()
        assert network.differing(scheme_of(network).embedding) == []
        network.change([2, 7], up=False)
        assert network.differing(scheme_of(network).embedding) == []
        assert undelivered(network) == []


@pytest.mark.parametrize("answers_later", [False, True])
def test_a_port_that_does_not_answer_counts_as_down(answers_later: bool) -> None:
    """A carrier, but no answer: given up after some attempts, used again when the other end answers."""
    network = LabellingNetwork(built("bcube:3,1"))
    link = network.fabric.link(4)
    network.cut(link.a)
    network.start()
    network.links = LinkState(frozenset({4}))
    assert network.differing(scheme_of(network).embedding) == []
    assert undelivered(network) == []
    if answers_later:
        network.connect(link.a, link.b)
        network.machines[link.a.node].start(network.now)
        network.flush(link.a.node)
        while network.busy:
            network.step()
        # A node that has given up a port sends nothing there until the other end does.
        network.machines[link.b.node].handle_link_change(link.b.number, True, network.now)
        network.flush(link.b.node)
        while network.busy:
            network.step()
        network.links = LinkState()
        assert network.differing(scheme_of(network).embedding) == []


def test_a_failed_root_is_replaced_by_the_lowest_number() -> None:
    network = LabellingNetwork(built("torus:4x4"), root=6)
    network.start()
    network.change(network.fabric.links_of(6), up=False)
    assert network.machines[0].label == Label()
    assert {machine.root for node, machine in network.machines.items() if node != 6} == {1}
    assert network.differing(scheme_of(network).embedding) == []


class History(RuleBasedStateMachine):
    """Links of a small BCube fail and are restored at random, with noise."""

    def __init__(self) -> None:
        super().__init__()
        timing = LabellingTiming(interval=5e-4, attempts=60, timeout=0.2)
        noise = Noise(0.1, 0.1, 30e-6)
        self.network = LabellingNetwork(built("bcube:2,2"), noise=noise, key=KEY, timing=timing)
        self.network.start()

    @rule(number=st.integers(0, 23))
    def cut(self, number: int) -> None:
        if number not in self.network.links.down:
            self.network.change([number], up=False)

    @precondition(lambda self: self.network.links.down)
    @rule(data=st.data())
    def restore(self, data: st.DataObject) -> None:
        number = data.draw(st.sampled_from(sorted(self.network.links.down)))
        self.network.change([number], up=True)

    @invariant()
    def labels_are_those_of_what_is_up(self) -> None:
        assert self.network.differing(scheme_of(self.network).embedding) == []


History.TestCase.settings = settings(max_examples=10, stateful_step_count=8, deadline=None)
test_any_history = History.TestCase


# --- frames --------------------------------------------------------------------------------

words = st.lists(st.integers(0, 0xFFFF), max_size=6).map(tuple)


@st.composite
def advertisements(draw: st.DrawFn) -> Advertisement:
    path_vector, parent = draw(words), draw(st.booleans())
    root = draw(st.integers(0, NO_ROOT - 1))
    if draw(st.booleans()):
        return Advertisement(root, path_vector, parent)
    length = draw(st.integers(0, 60))
    label = Label(tuple(range(len(path_vector))), draw(st.integers(0, (1 << length) - 1)), length)
    width = draw(st.integers(0, 16))
    return Advertisement(root, path_vector, parent, label, draw(st.integers(0, (1 << width) - 1)), width)


CONTENTS = st.one_of(st.none(), st.just(Advertisement()), advertisements())
FRAMES = st.builds(
    Frame, st.integers(1, 255), st.integers(0, 2**32 - 1), *[st.integers(0, 0xFFFF)] * 2, CONTENTS
)


@given(FRAMES, st.sampled_from([None, KEY]))
def test_frames_are_decoded_as_they_were(frame: Frame, key: bytes | None) -> None:
    data = encode(frame, key)
    assert decode(data + bytes(40), key) == frame
    for cut in range(len(data)):
        assert isinstance(decode(data[:cut], key), Rejection)


@given(st.binary(max_size=90), st.booleans())
def test_any_bytes_are_a_frame_or_rejected(body: bytes, authenticated: bool) -> None:
    """Bytes with a correct checksum reach the checks behind it; nothing is accepted without the key."""
    data = authenticate(body, ETHERTYPE) if authenticated else body
    decoded = decode(data)
    assert isinstance(decoded, Rejection) or decode(encode(decoded)) == decoded
    labeller = Labeller(1, [1, 2], KEY)
    labeller.receive_frame(data, 1, 0.0)
    assert labeller.epoch == 0
    assert labeller.frames_to_send() == []


@given(st.integers(0, 200), st.integers(1, 255))
def test_a_forged_frame_changes_nothing(place: int, change: int) -> None:
    """One byte of a good frame changed, or the wrong key: it is counted and dropped."""
    good = encode(Frame(1, 7, 1, 0, Advertisement(0, (), False, Label())), KEY)
    forged = bytearray(good)
    forged[place % len(good)] ^= change
    for data in (bytes(forged), encode(Frame(1, 7, 1, 0, Advertisement(0)), b"other")):
        labeller = Labeller(3, [1], KEY)
        labeller.receive_frame(data, 1, 0.0)
        assert labeller.epoch == 0
        assert sum(labeller.counts.values()) == 1


def test_the_trees_are_breadth_first() -> None:
    """Depths by networkx: no label is longer than the distance from the root."""
    network = LabellingNetwork(built("jellyfish:4,8,3"), root=2)
    network.start()
    distance = nx.single_source_shortest_path_length(graph(network.fabric), 2)
    depths = {node: len(machine.label.word) for node, machine in network.machines.items() if machine.label}
    assert depths == distance
