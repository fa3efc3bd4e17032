"""What switches see, sent by sFlow or IPFIX to collectors in hosts.

Open vSwitch samples packets and sends datagrams itself.  They do not travel in the emulated network: a veth
pair leads from the network namespace of each shard to the collector's host, for nothing else.  To a host on
another machine :mod:`export_away` leads.
"""

from __future__ import annotations

from collections.abc import Iterator

from dcnlab.lab.emulation.namespaces import netns
from dcnlab.lab.emulation.switches.shards import Shard
from dcnlab.lab.options.collectors import Collector

#: Of its addresses a /30 is used for each shard and host, and a /24 for each machine and host, of which there
#: are two; no topology uses it.
_NETWORK, _FIRST, _HOSTS = "169.254", 64, 2
#: The number of a tunnel to the host, after those of shards.
TUNNEL = 63
#: Seconds between counters of ports, and seconds that IPFIX gathers packets of a flow.
_POLLING, _GATHERING = 1, 1
#: Bytes of a packet that sFlow sends.
_HEADER = 128


def connect(
    shards: tuple[Shard, ...], number: int, namespace: str, address: str = "", machine: int = 0
) -> None:
    """Lead from each shard of a machine to the namespace of the ``number``-th host with collectors, or to one
    that forwards to it.

    Datagrams to ``address`` go this way too: the host's IPv4 address, or that of its end of a tunnel.
    """
    for shard in shards:
        near, far = _near(number), shard.netns
        ours, theirs = addresses(number, shard.index, machine)
        netns.batch(
            ["ip"], [f"link add name {near} netns {far} up type veth peer name {far} netns {namespace}"]
        )
        netns.batch(["ip", "-n", namespace], [f"link set {far} up", f"address add {theirs}/30 dev {far}"])
        lines = [f"address add {ours}/30 dev {near}"]
        if address:
            lines.append(f"route add {address}/32 via {theirs} dev {near} src {ours}")
        netns.batch(["ip", "-n", shard.netns], lines)


def start(
    shards: tuple[Shard, ...], collector: Collector, number: int, address: str, sampling: int, machine: int = 0
) -> None:
    """Have all switches send to a collector in the ``number``-th host: one of ``sampling`` packets."""
    for shard in shards:
        target = f"{address or addresses(number, shard.index, machine)[1]}:{collector.port}"
        shard.run("ovs-vsctl", *_words(shard, collector, _near(number), target, sampling))


def addresses(number: int, place: int, machine: int = 0) -> tuple[str, str]:
    """The addresses of the veth pair between a shard and the ``number``-th host, or with :data:`TUNNEL` of the
    tunnel between a machine and that host: the machine's, the host's."""
    first = f"{_NETWORK}.{_FIRST + machine * _HOSTS + number}"
    return f"{first}.{4 * place + 1}", f"{first}.{4 * place + 2}"


def network(number: int, machine: int) -> str:
    """The network of the senders of a machine to the ``number``-th host."""
    return f"{_NETWORK}.{_FIRST + machine * _HOSTS + number}.0/24"


def _near(number: int) -> str:
    """The interface of a shard that leads to a host."""
    return f"collector{number}"


def _words(shard: Shard, collector: Collector, agent: str, address: str, sampling: int) -> Iterator[str]:
    """Arguments of ovs-vsctl, which gives each bridge a record of its own."""
    target = f'targets="{address}"'
    for bridge in shard.bridges:
        yield from ("--", f"--id=@{bridge.name}", "create", collector.protocol, target, f"sampling={sampling}")
        if collector.protocol == "sflow":
            yield from (f"agent={agent}", f"header={_HEADER}", f"polling={_POLLING}")
        else:
            yield from (f"obs_domain_id={bridge.dpid}", f"obs_point_id={bridge.dpid}")
            yield f"cache_active_timeout={_GATHERING}"
        yield from ("--", "set", "Bridge", bridge.name, f"{collector.protocol}=@{bridge.name}")
