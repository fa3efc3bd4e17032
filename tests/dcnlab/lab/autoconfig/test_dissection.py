"""AACM's frames as others read them: scapy's layers, and tshark with the generated dissector."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.l2 import Ether
from scapy.utils import wrpcap

from addressing.fields import ipv4, mac
from dcnlab.lab.autoconfig import dissector
from dcnlab.lab.autoconfig.scapy_layers import AACM, AACMReport
from hostagent.protocols.aacm import frames as aacm_frames
from hostagent.protocols.aacm.frames import Flag, Frame, Report
from hostagent.protocols.aacm.simulation import AacmSimulation, Noise
from tests.capabilities import lacking
from tests.tshark import dissected
from topos import registry
from topos.families.torus import Torus
from topos.graph import Port

KEY = b"a shared key"


def recorded(key: bytes | None) -> list[bytes]:
    """Frames of every kind: two cables are swapped, one server is dead, some frames get lost."""
    torus = registry.parse("torus:3x4")
    assert isinstance(torus, Torus)
    simulation = AacmSimulation(torus, noise=Noise(loss=0.1), key=key)
    frames: list[bytes] = []
    simulation.tap = lambda end, data: frames.append(data)
    simulation.configure()
    simulation.swap(Port(3, 1), Port(7, 3))
    simulation.stop_node(6)
    simulation.configure()
    return frames


FRAMES = recorded(None)[:400] + recorded(KEY)


def decoded(data: bytes) -> Frame:
    frame = aacm_frames.decode(data)
    assert isinstance(frame, Frame)
    return frame


def dotted(address: tuple[int, ...] | None) -> str:
    return "0.0.0.0" if address is None else ipv4.text(ipv4.from_coordinates(address))


def test_all_kinds_are_there() -> None:
    assert {decoded(data).kind for data in FRAMES} == aacm_frames.KINDS


def test_scapy_reads_what_the_codec_writes() -> None:
    for data in FRAMES:
        frame, shown = decoded(data), AACM(data)
        assert (shown.port, shown.epoch, shown.sequence) == (frame.port, frame.epoch, frame.sequence)
        assert (shown.server, shown.address) == (mac.text(frame.server), dotted(frame.address))
        assert (tuple(shown.radices), shown.content) == (frame.sizes, frame.data)
        assert int(shown.flags) == frame.kind | (Flag.ALT if frame.epoch & 1 else 0)
        assert bytes(shown) == data
        if frame.kind & Flag.REPORT and frame.data:
            told, report = AACMReport(frame.data), Report.decode(frame.data)
            assert report is not None
            assert [(s.port, s.far_port, s.address) for s in told.sightings] == [
                (s.port, s.far_port, dotted(s.address)) for s in report.sightings
            ]


@given(st.integers(1, 4), st.integers(0, 2**16 - 1), st.integers(0, 2**16 - 1), st.binary(max_size=40))
def test_the_codec_reads_what_scapy_writes(port: int, epoch: int, sequence: int, content: bytes) -> None:
    flags = Flag.COMBINE | (Flag.ALT if epoch & 1 else 0)
    made = AACM(flags=int(flags), port=port, epoch=epoch, sequence=sequence, radices=[3, 4], content=content)
    frame = aacm_frames.decode(bytes(made))
    assert frame == Frame(Flag.COMBINE, port, epoch, sequence, 0, None, (3, 4), content)


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """A capture of all frames as tshark shows it with the dissector, one tree of fields each."""
    if shutil.which("tshark") is None and not os.environ.get("DCNLAB_REQUIRE_LABS"):
        lacking("tshark is not installed")
    folder: Path = tmp_path_factory.mktemp("capture")
    (folder / "aacm.lua").write_text(dissector.lua())
    ether = Ether(dst="03:00:a8:00:00:00", src="00:00:00:00:01:01", type=aacm_frames.ETHERTYPE)
    wrpcap(str(folder / "all.pcap"), [ether / data for data in FRAMES])
    return [layers["aacm"] for layers in dissected(folder / "aacm.lua", folder / "all.pcap")]


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def test_tshark_names_every_field(shown: list[dict[str, Any]]) -> None:
    assert len(shown) == len(FRAMES)
    for layer, data in zip(shown, FRAMES, strict=True):
        frame = decoded(data)
        assert int(layer["aacm.flags"], 16) == data[0]
        for flag in Flag:
            assert (layer["aacm.flags_tree"][f"aacm.flags.{str(flag.name).lower()}"] == "1") == bool(
                data[0] & flag
            )
        numbers = [int(layer[f"aacm.{name}"]) for name in ("port", "epoch", "sequence", "dimensions")]
        assert numbers == [frame.port, frame.epoch, frame.sequence, len(frame.sizes)]
        assert layer["aacm.server"] == mac.text(frame.server)
        assert layer["aacm.address"] == dotted(frame.address)
        assert tuple(map(int, listed(layer["aacm.radix"]))) == frame.sizes
        assert int(layer["aacm.length"]) == len(frame.data)
        assert int(layer["aacm.checksum"], 16) == int.from_bytes(data[-4:], "big")
        if int(layer["aacm.tag_length"]):
            assert bytes.fromhex(layer["aacm.tag"].replace(":", "")) == data[-20:-4]


def test_tshark_names_what_reports_say(shown: list[dict[str, Any]]) -> None:
    reports = 0
    for layer, data in zip(shown, FRAMES, strict=True):
        report = Report.decode(decoded(data).data)
        if report is None:
            continue
        reports += 1
        tree = layer["aacm.data_tree"]
        assert tree["aacm.report.server"] == mac.text(report.server)
        assert tree["aacm.report.address"] == dotted(report.address)
        assert (int(tree["aacm.report.secondary"]), int(tree["aacm.report.count"])) == (
            report.secondary,
            len(report.sightings),
        )
        for entry, seen in zip(listed(tree["aacm"]), report.sightings, strict=True):
            assert int(entry["aacm.sighting.port"]) == seen.port
            assert entry["aacm.sighting.server"] == mac.text(seen.server)
            assert int(entry["aacm.sighting.far_port"]) == seen.far_port
            assert entry["aacm.sighting.address"] == dotted(seen.address)
    assert reports > 20
