"""What switches of one machine see, sent to a collector in a host on another machine.

A namespace of this machine takes the datagrams of all shards and forwards them over a VXLAN device, which ends
in the collector's host.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

from dcnlab.lab.emulation import tunnels
from dcnlab.lab.emulation.namespaces import netns
from dcnlab.lab.emulation.switches import export
from dcnlab.lab.emulation.switches.shards import Shard
from dcnlab.lab.options.local_part import LocalPart
from topos.fabric import Fabric

_FORWARDING = Path("/proc/sys/net/ipv4/ip_forward")
_OUTWARD = "outward"


def send(
    shards: tuple[Shard, ...], number: int, server: int, address: str,
    fabric: Fabric, part: LocalPart, guard: tunnels.Guard,
) -> str:  # fmt: skip
    """Lead from each shard to the ``number``-th host with collectors, on another machine; the address to send
    to: its IPv4 ``address``, or where that is empty that of its end of the tunnel."""
    forwarder = f"collector{number}"
    ours, theirs = export.addresses(number, export.TUNNEL, part.number)
    target = address or theirs
    netns.create([forwarder])
    netns.inside(forwarder, partial(_FORWARDING.write_text, "1"))
    remote = part.machines[part.collectors[server]]
    _make_device(fabric, part, number, part.number, (forwarder, _OUTWARD), remote, guard)
    lines = [f"address add {ours}/30 dev {_OUTWARD}"]
    if address:
        lines.append(f"route add {address}/32 via {theirs} dev {_OUTWARD}")
    netns.batch(["ip", "-n", forwarder], lines)
    export.connect(shards, number, forwarder, target, part.number)
    return target


def receive(number: int, host: str, fabric: Fabric, part: LocalPart, guard: tunnels.Guard) -> None:
    """Let the switches of all other machines reach the ``number``-th host with collectors."""
    for machine, remote in enumerate(part.machines):
        if machine == part.number:
            continue
        name = f"machine{machine}"
        _make_device(fabric, part, number, machine, (host, name), remote, guard)
        _, theirs = export.addresses(number, export.TUNNEL, machine)
        lines = [
            f"address add {theirs}/30 dev {name}",
            f"route add {export.network(number, machine)} dev {name}",
        ]
        netns.batch(["ip", "-n", host], lines)


def _make_device(
    fabric: Fabric, part: LocalPart, number: int, sender: int, place: tuple[str, str],
    remote: str, guard: tunnels.Guard,
) -> None:  # fmt: skip
    """An end of the tunnel between a machine that sends and the ``number``-th host."""
    namespace, name = place
    link = len(fabric.link_ends) + 2 * sender + number
    mac = f"02:00:{sender:02x}:{number:02x}:00:{int(sender == part.number):02x}"
    tunnel = tunnels.Tunnel(link, name, namespace, mac, tunnels.index(fabric, link), part.mtu, arp=True)
    tunnels.create(replace(part, peers={link: remote}), [tunnel], guard)
