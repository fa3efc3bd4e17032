"""What tshark makes of captures: OpenFlow of the switches, control frames of all protocols, labels."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.l2 import Ether
from scapy.utils import wrpcap

from addressing import registry as schemes
from addressing.fields import mac
from dcnlab.lab.client import Lab
from dcnlab.lab.inspection import wireshark
from dcnlab.lab.inspection.wireshark import Bits, Number, Numbers
from hostagent import registry
from hostagent.protocols import link_state, probing
from hostagent.protocols.labelling import frames as labelling
from tests.capabilities import lacking
from tests.ovs import poll
from tests.tshark import NOBODY, dissected, open_folder
from topos import registry as topologies

KEY = b"a shared key"
ADVERTISEMENT = link_state.LinkStateAdvertisement(3, 7, frozenset({1, 2}))
MESSAGES: dict[str, bytes] = {
    "link-state": link_state.Message(1, 3, ADVERTISEMENT).encode(KEY),
    "probing": probing.Probe(1, 99, (0, 3, 15), 1).encode(),
}


@pytest.fixture(scope="module", autouse=True)
def tshark() -> None:
    if shutil.which("tshark") is None and not os.environ.get("DCNLAB_REQUIRE_LABS"):
        lacking("tshark is not installed")


def test_the_layouts_are_those_of_the_codecs() -> None:
    for name, codec in (("link-state", link_state._CODEC), ("probing", probing._CODEC)):
        *numbers, items = wireshark.LAYOUTS[name]
        assert [part.size for part in numbers if isinstance(part, Number)] == sizes(codec.fields)
        assert isinstance(items, Numbers)
        assert (items.count_size, items.size) == (1, codec.item.size)
    *numbers, vector, word, prefix = wireshark.LAYOUTS["labelling"]
    fixed = [part.size for part in numbers if isinstance(part, Number)]
    assert fixed == sizes(labelling._HEAD) + sizes(labelling._TREE)
    for part in (vector, word):
        assert isinstance(part, Numbers)
        assert (part.count_size, part.size) == (labelling._COUNT.size, 2)
    assert isinstance(prefix, Bits)


def sizes(fields: struct.Struct) -> list[int]:
    return [struct.calcsize(kind) for kind in fields.format.lstrip(">")]


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lua") / "dcnlab.lua"
    path.write_text(wireshark.lua("bcube:4,1", "brp"))
    return path


def test_every_control_ethertype_is_dissected(script: Path, tmp_path: Path) -> None:
    names = sorted(registry.known())
    payload = b"\1\2\3\4"
    frames = [
        Ether(dst="02:00:00:00:00:01", type=registry.find(name).ethertype) / MESSAGES.get(name, payload * 20)
        for name in names
    ]
    wrpcap(str(tmp_path / "all.pcap"), frames)
    shown = dissected(script, tmp_path / "all.pcap")
    for name, layers in zip(names, shown, strict=True):
        assert ("aacm" if name == "aacm" else f"dcn_{name.replace('-', '')}") in layers, name
        assert "dcnlabel" in layers
    state = shown[names.index("link-state")]["dcn_linkstate"]
    assert (state["dcn_linkstate.origin"], state["dcn_linkstate.number"]) == ("3", "7")
    assert state["dcn_linkstate.port"] == ["1", "2"]
    assert bytes.fromhex(state["dcn_linkstate.tag"].replace(":", "")) == MESSAGES["link-state"][-20:-4]
    probe = shown[names.index("probing")]["dcn_probing"]
    assert (probe["dcn_probing.serial"], probe["dcn_probing.server"]) == ("99", ["0", "3", "15"])


def test_labels_and_tags_are_shown_with_names(script: Path, tmp_path: Path) -> None:
    scheme = schemes.bind("brp", topologies.fabric("bcube:4,1"))
    label, bits = scheme.label(7), scheme.label_bits
    frames = [
        Ether(dst=mac.text(mac.encode(label, bits)), src=mac.text(mac.encode(1, scheme.tag_bits)), type=0x800),
        Ether(dst=mac.text(mac.hardware(3, 1)), src=mac.text(mac.hardware(4, 1)), type=0x800),
    ]
    wrpcap(str(tmp_path / "labels.pcap"), [bytes(frame) + bytes(46) for frame in frames], linktype=1)
    labelled, plain = dissected(script, tmp_path / "labels.pcap")
    assert labelled["dcnlabel"]["dcnlabel.destination"] == f"{label:0{bits}b}"
    assert labelled["dcnlabel"]["dcnlabel.destination.node"] == "h7"
    assert labelled["dcnlabel"]["dcnlabel.tag"] == f"{1:0{scheme.tag_bits}b}"
    assert "dcnlabel" not in plain


# --- in a real lab ------------------------------------------------------------


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    # Enough ports for two shards, so two namespaces whose captures are merged.
    with Lab("bcube:7,1", "brp") as running:
        yield running


class capturing:
    """`dcnlab capture` with its standard output in a file, once tcpdump listens."""

    def __init__(self, lab: Lab, file: Path, *words: str) -> None:
        self._command = [sys.executable, "-m", "dcnlab.cli", "capture", lab.config.name, *words]
        self._file = file

    def __enter__(self) -> subprocess.Popen[str]:
        with self._file.open("wb") as output:
            self._running = subprocess.Popen(self._command, stdout=output, stderr=subprocess.PIPE, text=True)
        assert self._running.stderr is not None
        for line in self._running.stderr:
            if "listening on" in line:
                return self._running
        raise AssertionError(f"tcpdump did not listen: exit code {self._running.wait()}")

    def __exit__(self, *_: object) -> None:
        if self._running.poll() is None:
            self._running.terminate()
            self._running.wait()


def reported(capture: Path, switch: str) -> bool:
    """Whether a switch has reported one of its ports.

    A busy switch reports nothing of a link that is back before it has looked, so tests wait for this first.
    """
    return f"{switch}-eth".encode() in capture.read_bytes()


@pytest.mark.lab
def test_the_conversation_with_the_controller_is_openflow_1_3(lab: Lab, script: Path, tmp_path: Path) -> None:
    file = tmp_path / "openflow.pcap"
    with capturing(lab, file, "controller", "-w", "-"):
        for host, switch in (("h0", "s0"), ("h48", "s13")):  # in different namespaces
            lab.fail(host, switch)
            poll(lambda: reported(file, switch), 10)  # noqa: B023
            lab.restore(host, switch)
    shown = dissected(script, file, "-Y", "openflow_v4")
    assert shown
    types = {str(layer["openflow_v4.type"]) for layers in shown for layer in listed(layers["openflow_v4"])}
    assert "12" in types  # PORT_STATUS


@pytest.mark.lab
def test_one_switch_is_heard_alone(lab: Lab, script: Path, tmp_path: Path) -> None:
    two, whole = tmp_path / "two.pcap", tmp_path / "all.pcap"
    words = ("controller", "--switch", "s13", "-w", "-")
    with capturing(lab, two, *words, "--count", "2") as counted, capturing(lab, whole, *words):
        lab.fail("h0", "s0")  # not to be seen
        lab.restore("h0", "s0")
        lab.fail("h48", "s13")
        poll(lambda: reported(whole, "s13"), 10)
        lab.restore("h48", "s13")
        assert counted.wait(timeout=240) == 0
    assert len(dissected(script, two, "-Y", "openflow_v4")) == 2
    shown = dissected(script, whole, "-Y", "openflow_v4")
    assert "12" in {str(layers["openflow_v4"]["openflow_v4.type"]) for layers in shown}  # PORT_STATUS
    assert "s13-eth" in json.dumps(shown)
    assert "s0-eth" not in json.dumps(shown)


@pytest.mark.lab
def test_the_conversation_is_shown_as_text(lab: Lab, tmp_path: Path) -> None:
    file = tmp_path / "openflow.txt"
    with capturing(lab, file, "controller"):
        lab.fail("h0", "s0")
        poll(lambda: "version 1.3, type PORT_STATUS" in file.read_text(), 10)
        lab.restore("h0", "s0")


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


@pytest.mark.lab
def test_wireshark_gets_packets_with_their_labels(lab: Lab) -> None:
    """The program behind the name `wireshark` is tshark, which reads the same pipe with the same dissector.

    Who used sudo is the user of Wireshark, since it takes no dissector as root."""
    tshark = shutil.which("tshark")
    route = lab.route("h0", "h48")
    port = "1" if int(route[1][1:]) < 7 else "2"
    command = [
        sys.executable, "-m", "dcnlab.cli", "capture", lab.config.name, "h0", "--port", port, "--wireshark",
        "--count", "4", "icmp",
    ]  # fmt: skip
    environment = {**os.environ, "SUDO_UID": str(NOBODY), "SUDO_GID": str(NOBODY)}
    with open_folder() as programs:
        stand_in, out = programs / "wireshark", programs / "out.json"
        stand_in.write_text(f'#!/bin/sh\n[ "$1" = -k ] && shift\nexec {tshark} -T json "$@" > {out}\n')
        stand_in.chmod(0o755)
        environment["PATH"] = f"{programs}:{os.environ['PATH']}"
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as running:
            assert running.stderr is not None
            next(line for line in running.stderr if "listening on" in line)
            lab.run("h0", ["ping", "-c4", "-i0.05", "h48"])
            running.communicate(timeout=240)
        layers = [packet["_source"]["layers"] for packet in json.loads(out.read_text())]
        assert os.geteuid() or out.stat().st_uid == NOBODY
    # By this scheme the destination is the next server, and the tag has the rest of the path.
    assert {layer["dcnlabel"]["dcnlabel.destination.node"] for layer in layers} == {route[2]}


@pytest.mark.lab
def test_a_capture_of_all_interfaces_has_labels_and_names_each(lab: Lab, script: Path, tmp_path: Path) -> None:
    switch = lab.route("h0", "h48")[1]
    ports = {f"{switch}-eth{port}" for port in range(1, 8)}
    for node, count, own in (("h0", 4, {"h0-eth1", "h0-eth2", "dcn0"}), (switch, 2, ports)):
        file = tmp_path / f"{node}.pcapng"
        with capturing(lab, file, node, "-w", "-", "--count", str(count), "icmp") as running:
            lab.run("h0", ["ping", "-c2", "-i0.05", "h48"])
            assert running.wait(timeout=240) == 0
        shown = dissected(script, file)
        names = [layers["frame"]["frame.interface_id_tree"]["frame.interface_name"] for layers in shown]
        assert len(names) == count
        assert len(set(names)) > 1
        assert set(names) <= own
        # dcn0, the agent's device, has IP packets without Ethernet addresses.
        assert ["dcnlabel" in layers for layers in shown] == [name != "dcn0" for name in names]


@pytest.mark.lab
def test_a_filter_need_not_suit_every_interface(lab: Lab, tmp_path: Path) -> None:
    words = ["h0", "-w", "-", "--count", "1", "ether[12:2] == 0x0800"]
    with capturing(lab, tmp_path / "h0.pcapng", *words) as running:
        lab.run("h0", ["ping", "-c2", "-i0.05", "h48"])
        assert running.wait(timeout=240) == 0
    command = [sys.executable, "-m", "dcnlab.cli", "capture", lab.config.name, "h0", "-w", "-", "no filter"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("syntax error")) == (1, 1)


@pytest.mark.lab
def test_a_missing_wireshark_is_one_line(lab: Lab) -> None:
    command = [sys.executable, "-m", "dcnlab.cli", "capture", lab.config.name, "h0", "--wireshark"]
    environment = {**os.environ, "PATH": "/nonexistent"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "wireshark" in done.stderr


@pytest.mark.lab
def test_flows_have_live_counters(lab: Lab) -> None:
    switch = lab.route("h0", "h1")[1]
    command = [sys.executable, "-m", "dcnlab.cli", "flows", lab.config.name, switch]
    assert len(lab.flows(switch)["flows"]) == len(lab.tables(switch)["installed"])
    with subprocess.Popen([*command, "--follow", "--json"], stdout=subprocess.PIPE, text=True) as following:
        assert following.stdout is not None
        json.loads(following.stdout.readline())
        lab.run("h0", ["ping", "-c50", "-i0.01", "h1"])
        for line in following.stdout:  # until the counters have moved
            if any(entry["packets_per_s"] > 0 for entry in json.loads(line)["flows"]):
                break
        following.terminate()
    entries = json.loads(subprocess.run([*command, "--json"], capture_output=True, check=True).stdout)["flows"]
    assert sum(entry["packets"] for entry in entries) >= 50
    ofctl, rule = ["ovs-ofctl", "-O", "OpenFlow13"], "cookie=0x77,priority=9,udp,actions=drop"
    lab.run(switch, [*ofctl, "add-flow", switch, rule])
    try:
        foreign = next(entry for entry in lab.flows(switch)["flows"] if entry["cookie"] == "0x77")
        assert (foreign["priority"], foreign["match"], foreign["actions"]) == (9, "udp", "drop")
    finally:
        lab.run(switch, [*ofctl, "del-flows", switch, "cookie=0x77/-1"])
    done = subprocess.run([*command[:-1], "h0"], capture_output=True, text=True, check=False)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "h0 is a server" in done.stderr
