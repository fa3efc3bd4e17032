"""The text of ``ovs-ofctl -O OpenFlow13 dump-flows`` and ``dump-groups`` compared with rules and groups.

A switch holds what was predicted when two sets are equal.  Lines that the controller cannot have installed (for
example entries added by hand) are compared as text.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass

from controller import rules
from controller.openflow import ofctl
from controller.rules import (
    Action,
    Actions,
    FlowTable,
    Masked,
    Match,
    Output,
    Rule,
    SetField,
    Stamp,
    ToGroup,
)

#: Counters and times in a dump, which are no part of a rule.
_STATISTICS = re.compile(r"(?:duration|table|n_packets|n_bytes|idle_age|hard_age)=[^, ]*,? *")
_ETH_TYPES = {"ip": rules.IPV4, "arp": rules.ARP, "ipv6": rules.IPV6, "icmp6": rules.IPV6}


class DumpError(ValueError):
    """A line that is not a rule of the controller; the text shows the line."""


def normal_lines(text: str) -> tuple[str, ...]:
    """The lines of a dump without headings and statistics, as ``FlowTable.lines`` has them."""
    lines = (_STATISTICS.sub("", line.strip()) for line in text.splitlines())
    return tuple(line for line in lines if line.startswith(("cookie=", "group_id=")))


@dataclass(frozen=True, slots=True)
class Difference:
    """Lines that a switch should hold and does not, and those that it should not hold and does."""

    missing: tuple[str, ...]
    unexpected: tuple[str, ...]

    def __bool__(self) -> bool:
        """True when there is any difference."""
        return bool(self.missing or self.unexpected)


def compare(predicted: FlowTable, flows: str, groups: str = "") -> Difference:
    """Compare a prediction with both dumps of a switch, entry by entry."""
    expected, installed = predicted.lines(), (*normal_lines(flows), *normal_lines(groups))
    return Difference(
        tuple(line for line in expected if line not in set(installed)),
        tuple(line for line in installed if line not in set(expected)),
    )


# --- reading ------------------------------------------------------------------


def parse_rule(line: str) -> Rule:
    """The rule in a line of ``dump-flows`` without statistics."""
    try:
        stated = ofctl.entry(line)
        if stated is None or stated.options or stated.statistics.keys() != {"cookie"}:
            raise DumpError(f"not a rule of the controller: {line}")
        cookie = int(stated.statistics["cookie"], 16)
        return Rule(stated.priority, _match(stated.match), parse_actions(stated.actions), cookie)
    except (ValueError, KeyError) as error:
        raise DumpError(f"not a rule of the controller: {line} ({error})") from error


def parse_actions(text: str) -> Actions:
    """Actions from text such as ``set_field:...->eth_dst,output:1``; none for ``drop``."""
    return () if text == "drop" else tuple(map(_action, text.split(",")))


def _action(text: str) -> Action:
    if text == "IN_PORT":
        return Output(rules.IN_PORT)
    kind, _, value = text.partition(":")
    match kind:
        case "CONTROLLER":
            return Output(rules.CONTROLLER)
        case "output":
            return Output(int(value))
        case "group":
            return ToGroup(int(value))
        case "set_field":
            value, _, name = value.partition("->")
            return _set_field(name, value)
        case "load":
            value, _, bits = value.partition("->NXM_OF_ETH_DST[0")
            return Stamp(int(value, 16), 1 + int(bits[2:-1] or 0))
    raise DumpError(f"unknown action {text}")


def _set_field(name: str, value: str) -> SetField:
    match name:
        case "in_port":
            return SetField("in_port", int(value))
        case "eth_src" | "eth_dst":
            return SetField(name, _mac(value))
        case "ip_dst":
            return SetField("ip_dst", int(ipaddress.IPv4Address(value)))
    raise DumpError(f"unknown field {name}")


def _match(parts: Iterable[str]) -> Match:
    eth_type = in_port = icmpv6_type = 0
    addresses = dict.fromkeys(("dl_src", "dl_dst", "nw_dst", "ipv6_dst"), rules.ANY)
    for name, _, value in (part.partition("=") for part in parts):
        match name:
            case "ip" | "arp" | "ipv6" | "icmp6":
                eth_type = _ETH_TYPES[name]
            case "in_port":
                in_port = int(value)
            case "icmp_type":
                icmpv6_type = int(value)
            case "ipv6_dst":
                addresses[name] = _masked_ipv6(value)
            case "nw_dst":
                addresses[name] = _masked_ipv4(value)
            case "dl_src" | "dl_dst":
                addresses[name] = _masked_mac(value)
            case _:
                raise DumpError(f"unknown field {name}")
    return Match(
        in_port,
        eth_type,
        addresses["dl_src"],
        addresses["dl_dst"],
        addresses["nw_dst"],
        addresses["ipv6_dst"],
        icmpv6_type,
    )


def _masked_ipv6(text: str) -> Masked:
    address, _, mask = text.partition("/")
    length = None if ":" in mask else int(mask or 128)
    bits = int(ipaddress.IPv6Address(mask)) if length is None else ((1 << length) - 1) << (128 - length)
    return Masked(int(ipaddress.IPv6Address(address)), bits)


def _masked_ipv4(text: str) -> Masked:
    address, _, mask = text.partition("/")
    network = ipaddress.IPv4Network(f"0.0.0.0/{mask or 32}") if "." not in mask else None
    bits = int(network.netmask) if network else int(ipaddress.IPv4Address(mask))
    return Masked(int(ipaddress.IPv4Address(address)), bits)


def _masked_mac(text: str) -> Masked:
    address, _, mask = text.partition("/")
    return Masked(_mac(address), _mac(mask or "ff:ff:ff:ff:ff:ff"))


def _mac(text: str) -> int:
    return int.from_bytes(bytes.fromhex(text.replace(":", "")), "big")
