"""What switches see, sent by sFlow or IPFIX to collectors in hosts.

Open vSwitch samples packets and sends datagrams itself.  They do not travel in the emulated network: a veth
pair leads from the network namespace of each shard to the collector's host, for nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator

from dcnlab.lab.emulation import netns
from dcnlab.lab.emulation.switches.openvswitch import Shard
from dcnlab.lab.options.collectors import Collector

#: Of its addresses a /30 is used for each shard and host; no topology uses it.
_NETWORK, _FIRST, _PER_HOST = "169.254", 64, 32
#: Seconds between counters of ports, and seconds that IPFIX gathers packets of a flow.
_POLLING, _GATHERING = 1, 1
#: Bytes of a packet that sFlow sends.
_HEADER = 128


def connect(shards: tuple[Shard, ...], number: int, host: str, address: str) -> None:
    """Lead from each shard to a collector's host, the ``number``-th one.

    Datagrams to the host's IPv4 ``address`` come by this link; it is empty where the host has none.
    """
    for shard in shards:
        near, far = _near(number), shard.netns
        ours, theirs = addresses(number, shard.index)
        netns.batch(
            ["ip"], [f"link add name {near} netns {shard.netns} up type veth peer name {far} netns {host}"]
        )
        netns.batch(["ip", "-n", host], [f"link set {far} up", f"address add {theirs}/30 dev {far}"])
        lines = [f"address add {ours}/30 dev {near}"]
        if address:
            lines.append(f"route add {address}/32 dev {near} src {ours}")
        netns.batch(["ip", "-n", shard.netns], lines)


def start(shards: tuple[Shard, ...], collector: Collector, number: int, address: str, sampling: int) -> None:
    """Have all switches send to a collector in the ``number``-th host: one of ``sampling`` packets."""
    for shard in shards:
        target = f"{address or addresses(number, shard.index)[1]}:{collector.port}"
        shard.run("ovs-vsctl", *_words(shard, collector, _near(number), target, sampling))


def addresses(number: int, shard: int) -> tuple[str, str]:
    """The addresses of the veth pair between a shard and the ``number``-th host: the shard's, the host's."""
    block = number * _PER_HOST + shard
    first, base = _FIRST + block // 64, 4 * (block % 64)
    return f"{_NETWORK}.{first}.{base + 1}", f"{_NETWORK}.{first}.{base + 2}"


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
