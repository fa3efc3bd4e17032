"""Headers as frames, for commands that send them."""

from __future__ import annotations

from addressing.fields.checksum import checksum
from dcnlab.verifier.openflow import fields

#: The time to live of packets whose header does not say.
_TTL = 64


def frame(header: int) -> bytes:
    """A frame with these fields, as far as its kind has them; IPv4 packets have no payload."""
    frame = fields.get(header, "dl_dst").to_bytes(6) + fields.get(header, "dl_src").to_bytes(6)
    if fields.get(header, "vlan_present"):
        tag = fields.get(header, "dl_vlan_pcp") << 13 | fields.get(header, "dl_vlan")
        frame += b"\x81\x00" + tag.to_bytes(2)
    frame += fields.get(header, "dl_type").to_bytes(2)
    if fields.get(header, "dl_type") == fields.IPV4:
        frame += _ipv4(header)
    return frame.ljust(60, b"\0")


def _ipv4(header: int) -> bytes:
    service = fields.get(header, "nw_dscp") << 2 | fields.get(header, "nw_ecn")
    ports = fields.get(header, "tp_src").to_bytes(2) + fields.get(header, "tp_dst").to_bytes(2)
    if fields.get(header, "nw_proto") == fields.ICMP:
        ports = bytes([fields.get(header, "icmp_type"), fields.get(header, "icmp_code"), 0, 0])
    data = ports + bytes(16)
    head = bytes([0x45, service]) + (20 + len(data)).to_bytes(2) + bytes(4)
    head += bytes([fields.get(header, "nw_ttl") or _TTL, fields.get(header, "nw_proto"), 0, 0])
    head += fields.get(header, "nw_src").to_bytes(4) + fields.get(header, "nw_dst").to_bytes(4)
    return head[:10] + checksum(head).to_bytes(2) + head[12:] + data
