"""Addresses and forwarding of labs without a scheme, whose nodes run FRRouting, BIRD or the like.

What a program in a host may have removed is set again by the same lines: they replace what is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from addressing.fields import ipv4, ipv6
from addressing.unrouted import Unrouted
from dcnlab.lab.emulation.namespaces import netns
from dcnlab.lab.emulation.running import Running, interface
from topos.graph import Port

_SYS = Path("/proc/sys/net")
_V6 = ipv6.NETWORK.prefixlen
#: Settings of routers: both versions forward; IPv6 addresses stay when links fail, as those of IPv4 do;
#: packets may come from where none would be sent to; flows are spread over equal paths by their ports.
_ROUTER = {
    "ipv4/ip_forward": "1", "ipv6/conf/all/forwarding": "1", "ipv6/conf/all/keep_addr_on_down": "1",
    "ipv4/conf/all/rp_filter": "0", "ipv4/conf/default/rp_filter": "0",
    "ipv4/fib_multipath_hash_policy": "1", "ipv6/fib_multipath_hash_policy": "1",
}  # fmt: skip


def configure(running: Running, nodes: Iterable[int]) -> None:
    """Give these nodes of this machine their addresses, forwarding and default routes."""
    scheme = running.scheme
    assert isinstance(scheme, Unrouted)
    for node in nodes:
        name = running.fabric.name(node)
        names = [interface(running.fabric, node, port) for port, _ in running.fabric.ports(node)]
        netns.inside(
            name, partial(_settings, ["lo", *names], _ROUTER if node in scheme.plan.fabric.routers else {})
        )
        netns.batch(["ip", "-n", name], [*_lines(running, scheme, node)])


def _settings(interfaces: Iterable[str], router: dict[str, str]) -> None:
    """The settings of the calling thread's namespace; those of IPv6 only where the kernel has it."""
    every = {f"ipv6/conf/{name}/{key}": value for name in interfaces for key, value in _INTERFACE.items()}
    for key, value in {**router, **every}.items():
        if (_SYS / key).exists():
            (_SYS / key).write_text(value)


#: Addresses are usable at once.  Link-local ones come by themselves: routing protocols need them.
_INTERFACE = {"accept_dad": "0", "accept_ra": "0", "disable_ipv6": "0"}


def _lines(running: Running, scheme: Unrouted, node: int) -> Iterator[str]:
    plan, fabric = scheme.plan, running.fabric
    if node in plan.fabric.routers:
        yield from _address("lo", plan.loopback(node), 32)
    for number, _ in fabric.ports(node):
        yield from _address(interface(fabric, node, number), *plan.by_port[Port(node, number)])
    if (gateway := plan.gateway(node)) is not None:
        yield f"route replace default via {ipv4.text(gateway)}"
        yield f"route replace ::/0 via {ipv6.text(ipv6.embed(gateway))}"


def _address(device: str, address: int, length: int) -> Iterator[str]:
    yield f"address replace {ipv4.text(address)}/{length} dev {device}"
    yield f"address replace {ipv6.text(ipv6.embed(address))}/{_V6 + length} dev {device} nodad"
