"""Hosts that are added to a running lab: at a free port of a switch, with an address of their own.

The numbers of the network's nodes stay, so such a host is none of them: it has a hardware address that is no
label, and an entry beside those of the scheme in every switch (:mod:`controller.beside`).
"""

from __future__ import annotations

import ipaddress
from dataclasses import replace

from addressing.fields import ipv4, ipv6, mac
from controller.beside import LaterHost
from dcnlab.lab.emulation.namespaces import hosts, netns
from dcnlab.lab.emulation.namespaces.netns import VethPair
from dcnlab.lab.emulation.running import later_interface
from dcnlab.lab.errors import UsageError
from dcnlab.lab.running.extending import Extending
from dcnlab.lab.running.local_machine import LocalMachine
from hostagent.linux.netlink import compute_checksums
from topos.family import MAX_NODES

#: The indices of their interfaces begin above those of links.
_FIRST_INDEX = netns.FIRST_INDEX + (1 << 24)
#: The first address that is given to such a host; further addresses begin at 10.200.0.1 (docs/routing.md).
_FIRST = int(ipaddress.IPv4Address("10.201.0.1"))


class LaterHosts:
    """The hosts that were added to a lab on one machine."""

    def __init__(self, lab: LocalMachine) -> None:
        self._lab, self._running, self._added = lab, lab.running, 0

    def add(self, name: str, switch: str, address: str) -> LaterHost:
        """Add a host at a switch; UsageError, in one line, where the lab cannot have it."""
        at = self._checked(name, switch)
        ip, length = self._address(address)
        self._added += 1
        hardware = mac.hardware(MAX_NODES + self._added, 1)
        host = LaterHost(name, hardware, ip, at, self._lab.own(Extending).next_port(at))
        self._make(host, length)
        self._tell((*self._running.beside.hosts, host))
        self._running.introduce_later(host)
        hosts.append(name, ip, self._running.scheme.ip_versions)
        return host

    def remove(self, name: str) -> None:
        """Remove a host: programs that still run in it have no network any more."""
        host = next(host for host in self._running.beside.hosts if host.name == name)
        self._tell(tuple(one for one in self._running.beside.hosts if one is not host))
        switch = self._running.fabric.name(host.switch)
        self._leave(switch)
        self._running.shard(switch).remove_port(switch, self._port(host))
        self._running.host_namespaces.forget(name)
        netns.batch(["ip", "-n", name], [f"link delete {later_interface(name)}"])
        netns.remove(name)
        hosts.remove(name)

    def _checked(self, name: str, switch: str) -> int:
        running, fabric = self._running, self._running.fabric
        if running.part is not None:
            raise UsageError("hosts are added to labs on one machine: give this one its hosts at the launch")
        if fabric.relaying:
            text = "relay packets: a host would need an agent that knows the network"
            raise UsageError(f"the servers of {fabric.spec} {text}; give the lab its hosts at the launch")
        if running.isolation is not None or running.config.image:
            raise UsageError("hosts are added to labs without isolate and image")
        if not switch:
            raise UsageError("say at which switch: `--to s1`")
        at = self._lab.node(switch)
        if fabric.is_server(at):
            raise UsageError(f"{switch} is a server: a host is added at a switch")
        self._lab.own(Extending).check_name(name)
        if name in map(fabric.name, range(fabric.size)):
            raise UsageError(f"there is a {name} already")
        return at

    def _address(self, text: str) -> tuple[int, int]:
        """The address of a host and its prefix length: what the user wants, or a free one."""
        scheme, running = self._running.scheme, self._running
        length = scheme.ipv4_length
        if not text and (running.config.routed or length != 8):
            raise UsageError("say which address it gets, such as `--address 10.1.0.7/24`")
        taken = {host.ip for host in running.beside.hosts}
        taken |= {ip for each in running.further.values() for ip in each}
        if not running.config.routed:
            taken |= {scheme.ipv4(server) for server in range(scheme.fabric.servers)}
        if not text:
            return next(ip for ip in range(_FIRST, _FIRST + len(taken) + 1) if ip not in taken), length
        try:
            wanted = ipaddress.IPv4Interface(text)
        except ValueError:
            raise UsageError(f"{text!r} is no IPv4 address") from None
        if int(wanted.ip) in taken:
            raise UsageError(f"{wanted.ip} belongs to a host already")
        return int(wanted.ip), wanted.network.prefixlen if "/" in text else length

    def _make(self, host: LaterHost, length: int) -> None:
        """The namespace, the link and the addresses of a host."""
        running, switch = self._running, self._running.fabric.name(host.switch)
        shard, device = running.shard(switch), later_interface(host.name)
        netns.create([host.name], settings=[netns.LARGE_SEGMENTS])
        index = _FIRST_INDEX + 2 * self._added
        far = mac.text(mac.hardware(host.switch, host.port))
        netns.create_veth_pairs(
            [
                VethPair(
                    device, host.name, mac.text(host.mac), self._port(host), shard.netns, far,
                    arp=True, mtu=running.config.mtu, index=index,
                )
            ]
        )  # fmt: skip
        if not running.config.offloads:
            netns.inside(host.name, lambda: compute_checksums(device))
        netns.set_address_in(host.name, device, ipv4.text(host.ip), length)
        if 6 in netns.usable_versions(running.scheme.ip_versions):
            wide = ipv6.text(ipv6.embed(host.ip))
            netns.set_address6_in(host.name, device, wide, ipv6.NETWORK.prefixlen)
        netns.await_running([(host.name, device), (shard.netns, self._port(host))])
        self._leave(switch)
        shard.add_port(switch, self._port(host), host.port)
        if running.receive_buffers is not None:
            running.receive_buffers.renew(shard)

    def _leave(self, switch: str) -> None:
        """Have Open vSwitch forward what a switch gets: the fast path knows the ports that it began with."""
        if self._lab.switch_path is not None:
            self._lab.switch_path.leave(switch)

    def _tell(self, later: tuple[LaterHost, ...]) -> None:
        """Have our controller give switches the entries of these hosts."""
        self._running.beside = replace(self._running.beside, hosts=later)
        if self._running.controller is not None and self._running.choice.tables:
            self._running.controller.later_hosts(later)
            self._lab.await_tables()

    def _port(self, host: LaterHost) -> str:
        """The interface of a host's switch."""
        return f"{self._running.fabric.name(host.switch)}-eth{host.port}"
