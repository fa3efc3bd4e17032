"""Checksums, ICMP errors and flow hashes, compared with scapy and the definitions."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet import ICMP, IP, TCP, UDP, IPerror
from scapy.packet import Raw
from scapy.utils import checksum as scapy_checksum
from scipy import stats

from addressing.fields.checksum import checksum
from addressing.fields.ipv4 import text
from hostagent.forwarding import icmp, packet
from tests.hostagent.frames import from_host, from_nic, parsed, with_fresh_checksums

OWN = bytes([10, 0, 0, 9])


@given(st.binary(max_size=600))
def test_checksum_equals_that_of_scapy(data: bytes) -> None:
    assert checksum(data) == scapy_checksum(data)


@given(st.integers(2, 255), st.integers(0, 0xFFFF), st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1))
def test_decremented_checksum_is_the_recomputed_one(ttl: int, ident: int, source: int, target: int) -> None:
    def header(value: int) -> IP:
        return IP(bytes(IP(ttl=value, id=ident, src=text(source), dst=text(target))))

    assert packet.ttl_decremented_checksum(header(ttl).chksum) == header(ttl - 1).chksum


@given(st.binary(max_size=1400), st.integers(1, 255), st.sampled_from([6, 17, 47]))
def test_icmp_errors_equal_those_of_scapy(data: bytes, ttl: int, protocol: int) -> None:
    original = bytes(IP(src="10.0.0.1", dst="10.0.0.2", ttl=ttl, proto=protocol) / Raw(data))
    for code in (icmp.TIME_EXCEEDED, icmp.HOST_UNREACHABLE):
        error = icmp.error(code, OWN, original)
        assert error is not None
        assert len(error) <= 576
        assert error == with_fresh_checksums(error)
        shown = parsed(error)
        assert (shown.src, shown.dst, shown.proto) == ("10.0.0.9", "10.0.0.1", 1)
        assert (shown[ICMP].type, shown[ICMP].code) == code
        assert isinstance(shown[ICMP].payload, IPerror)
        assert error[28:] == original[: 576 - 28]


@pytest.mark.parametrize(
    "forbidden",
    [
        IP(src="10.0.0.1", dst="10.0.0.2") / ICMP(type=11) / Raw(bytes(28)),
        IP(src="10.0.0.1", dst="10.0.0.2") / ICMP(type=3, code=1) / Raw(bytes(28)),
        IP(src="10.0.0.1", dst="10.0.0.2", proto=1),
        IP(src="10.0.0.1", dst="10.0.0.2", frag=3) / Raw(bytes(28)),
        IP(src="10.0.0.1", dst="224.0.0.5") / UDP(),
        IP(src="10.0.0.1", dst="255.255.255.255") / UDP(),
        IP(src="0.0.0.0", dst="10.0.0.2") / UDP(),
        IP(src="225.0.0.1", dst="10.0.0.2") / UDP(),
    ],
    ids=lambda value: value.summary(),
)
def test_no_icmp_error_where_rfc_1122_forbids_it(forbidden: IP) -> None:
    assert icmp.error(icmp.TIME_EXCEEDED, OWN, bytes(forbidden)) is None


def test_pings_and_coordinate_addresses_are_answered() -> None:
    ping = bytes(IP(src="0.0.0.34", dst="0.0.0.98", ttl=1) / ICMP())
    error = icmp.error(icmp.TIME_EXCEEDED, OWN, ping)
    assert error is not None
    assert parsed(error).dst == "0.0.0.34"


@given(st.integers(0, 1), st.sampled_from([0, 1, 4, 3]), st.integers(0, 1500), st.integers(0, 0x7FFF))
def test_offload_headers_shift_by_the_ethernet_header_and_back(
    flags: int, kind: int, size: int, start: int
) -> None:
    at_host = struct.pack("=BBHHHH", flags, kind, start + 20, size, start, 16)
    slot, _ = from_host(bytes(40), at_host)
    packet.to_nic(slot)
    header = struct.unpack("=BBHHHH", slot[: packet.VNET_SIZE])
    assert header[4] == (start + 14 if flags & 1 else start)
    assert header[2] == (start + 34 if kind else start + 20)
    assert (header[0], header[1], header[3], header[5]) == (flags, kind, size, 16)
    back, _ = from_nic(bytes(54), bytes(slot[: packet.VNET_SIZE]))
    packet.to_host(back)
    assert back[packet.HOST_OFFSET : packet.IP_OFFSET] == at_host


def point(data: bytes, salt: int = 0) -> float:
    slot, end = from_host(data)
    return packet.flow_hash(slot, end, salt)


def flow(**fields: int) -> bytes:
    header = IP(src="10.0.0.1", dst="10.0.0.2", ttl=fields.pop("ttl", 64), frag=fields.pop("frag", 0))
    return bytes(header / TCP(sport=fields.get("sport", 1), dport=fields.get("dport", 2)) / Raw(b"data"))


def test_a_flow_is_its_addresses_protocol_and_ports() -> None:
    assert point(flow()) == point(flow(ttl=3))
    assert point(flow()) != point(flow(sport=7))
    assert point(flow()) != point(flow(dport=7))
    assert point(flow(frag=2, sport=7)) == point(flow(frag=2, sport=9))


def test_flow_points_are_uniform_and_independent_between_nodes() -> None:
    whole, at = flow(), 20  # the source port follows the IPv4 header
    flows = [whole[:at] + port.to_bytes(2, "big") + whole[at + 2 :] for port in range(1024, 5024)]
    assert parsed(flows[0])[TCP].sport == 1024
    here = [point(data, salt=3) for data in flows]
    there = [point(data, salt=4) for data in flows]
    assert stats.kstest(here, "uniform").pvalue > 1e-4
    assert abs(stats.spearmanr(here, there).statistic) < 0.06
