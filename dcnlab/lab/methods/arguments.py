"""The options of ``Lab(...)`` for type checkers and editors.  Written by ``python -m release.interface``."""

from __future__ import annotations

from typing import Literal, TypedDict


class LabArguments(TypedDict, total=False):
    """The options of ``dcnlab up``, as keyword arguments; their defaults are those of ``LabConfig``."""

    #: Agent processes: one per server (host), or one per core (workers).
    agents: Literal["host", "workers"]
    #: Choose among next hops by a hash of the flow, at random per packet, or by path probing per flow.
    load_balance: Literal["flow", "packet", "probe"]
    #: Agents learn of failed links from the lab, or from each other (default with multipath).
    link_state: Literal["lab", "agents"]
    #: Relays with a full buffer drop packets (none), or neighbours hold them back (credits).
    flow_control: Literal["none", "credits"]
    #: Frames per buffer of a relay; 0: unlimited, or 10 with credits.
    buffers: int
    #: Start servers without addresses; they configure themselves.
    autoconfigure: bool
    #: Checksum and segmentation offload on hosts (default: as `dcnlab doctor --calibrate` found).
    offloads: bool
    #: Forward in the kernel what agents have decided (docs/decisions/fast-path.md); auto: where possible.
    fast_path: Literal["off", "on", "auto"]
    #: Further addresses of hosts, such as h3=10.200.0.1,h3=10.200.0.2 (docs/routing.md).
    addresses: str
    #: Seed of the agents' random choices.
    seed: int
    #: Who controls the switches: ours, none, remote:HOST:PORT or ssl:HOST:PORT (several: with commas),
    #: app:FILE.py[,MODULE...] beside ours, or app-only:FILE.py[,MODULE...] (docs/controllers.md).
    controller: str
    #: For ssl: the certificate of the authority that signed the controller's.
    controller_ca: str
    #: For ssl: the switches' certificate.
    controller_cert: str
    #: For ssl: the switches' private key.
    controller_key: str
    #: Loopback port of the applications' REST interface; 0: any free one.
    rest_port: int
    #: Switches flood along a spanning tree only, for controllers that need it.
    no_loops: bool
    #: Library of the OpenFlow controller.
    backend: Literal["os-ken", "ryu"]
    #: Open vSwitch's datapath; auto: the kernel's where there is one.
    datapath: Literal["auto", "kernel", "userspace"]
    #: Forward in the kernel by the entries that userspace switches have installed
    #: (docs/decisions/switch-fast-path.md); auto: where possible.
    switch_fast_path: Literal["off", "on", "auto"]
    #: How nodes follow failures: fast (all at once) or loop-free (by distance; docs/verification.md).
    update_order: Literal["fast", "loop-free"]
    #: Spread flows over this many parallel paths; agents route around failures themselves.
    multipath: int | None
    #: Start processes of the lab again that have ended.
    supervise: bool
    #: Programs in hosts cannot change the machine or other hosts (docs/security.md).
    isolate: bool
    #: Root file systems of hosts, such as h3=DIR, h*=oci:DIR:TAG or h*=podman:NAME (docs/workloads.md).
    image: str
    #: One-way delay of every link, such as 1ms (docs/workloads.md).
    delay: str
    #: Packet loss on every link, such as 0.1%.
    loss: str
    #: Bandwidth of every link, such as 100Mbit.
    rate: str
    #: MTU of links, relays and hosts (docs/workloads.md).
    mtu: int
    #: Impose delay, jitter, loss, rate, mtu and so on where a topology's file states them for a link.
    link_attributes: bool
    #: Run sshd in every host, with a key made for the lab: `dcnlab exec LAB h0 ssh h5`.
    ssh: bool
    #: Hosts reach what this machine reaches, by slirp4netns (docs/outside.md).
    nat: bool
    #: Ports of servers at this machine's loopback address, such as h0:80=8080,h1:22=2222.
    expose: str
    #: Switches send sFlow to a collector in this host, such as h3 or h3:6343 (docs/metrics.md).
    sflow: str
    #: The same by IPFIX, such as h3 or h3:4739.
    ipfix: str
    #: For sflow and ipfix: one of this many packets is sampled.
    sampling: int
    #: Run on the machines of this Dask scheduler, such as tls://10.0.0.1:8786, or on those behind these
    #: sockets, such as unix:/tmp/m0,/tmp/m1 (docs/machines.md).
    machines: str
    #: With machines: a file with the nodes of each.
    placement: str
    #: Swap the cables at two ports, such as h3:2,h7:1: an error for AACM to find.
    miswire: str
