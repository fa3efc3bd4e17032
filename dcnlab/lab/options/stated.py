"""The options of a lab, each stated once: a field of :class:`StatedOptions` with a help text and bounds.

The command line (:mod:`dcnlab.cli.parameters.lab_options`), scenario files (:mod:`dcnlab.lab.scenario.model`),
``Lab(...)`` and the agents' processes read them from here, so a new option is one line.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Literal

from addressing import unrouted
from dcnlab.lab.contract.launch import OutsideWanted
from dcnlab.lab.errors import OptionError
from dcnlab.lab.options.collectors import PORTS, Collector
from dcnlab.lab.options.controller_choice import ControllerChoice
from dcnlab.lab.options.link_shape import Shape, of_attributes, queue_of
from dcnlab.lab.options.mtu import MAX_MTU, MIN_MTU, MTU
from hostagent.options import FastPathMode, Options
from topos.fabric import Fabric
from topos.family import param

#: Frames per buffer with credits, unless ``buffers`` says otherwise (CLOT's evaluation).
DEFAULT_BUFFERS = 10

Backend = Literal["os-ken", "ryu"]
Datapath = Literal["auto", "kernel", "userspace"]
UpdateOrder = Literal["fast", "loop-free"]


@dataclass(frozen=True)
class StatedOptions(Options):
    """The options of a lab, and what follows from them alone."""

    name: str = ""
    _: KW_ONLY
    controller: str = param(
        "Who controls the switches: ours, none, remote:HOST:PORT or ssl:HOST:PORT (several: with commas),"
        " app:FILE.py[,MODULE...] beside ours, or app-only:FILE.py[,MODULE...] (docs/controllers.md).",
        default="ours",
    )  # fmt: skip
    controller_ca: str = param(
        "For ssl: the certificate of the authority that signed the controller's.", default=""
    )
    controller_cert: str = param("For ssl: the switches' certificate.", default="")
    controller_key: str = param("For ssl: the switches' private key.", default="")
    rest_port: int = param(
        "Loopback port of the applications' REST interface; 0: any free one.", low=0, high=65535, default=0
    )
    no_loops: bool = param(
        "Switches flood along a spanning tree only, for controllers that need it.", default=False
    )
    backend: Backend = param("Library of the OpenFlow controller.", default="os-ken")
    datapath: Datapath = param(
        "Open vSwitch's datapath; auto: the kernel's where there is one.", default="auto"
    )
    switch_fast_path: FastPathMode = param(
        "Forward in the kernel by the entries that userspace switches have installed"
        " (docs/decisions/switch-fast-path.md); auto: where possible.",
        default="auto",
    )
    update_order: UpdateOrder = param(
        "How nodes follow failures: fast (all at once) or loop-free (in turns; docs/verification.md).",
        default="fast",
    )
    multipath: int | None = param(
        "Spread flows over this many parallel paths; agents route around failures themselves.",
        low=1, default=None,
    )  # fmt: skip
    supervise: bool = param("Start processes of the lab again that have ended.", default=True)
    isolate: bool = param(
        "Programs in hosts cannot change the machine or other hosts (docs/security.md).", default=False
    )
    image: str = param(
        "Root file systems of hosts, such as h3=DIR, h*=oci:DIR:TAG or h*=podman:NAME (docs/workloads.md).",
        default="",
    )
    delay: str = param("One-way delay of every link, such as 1ms (docs/workloads.md).", default="")
    loss: str = param("Packet loss on every link, such as 0.1%.", default="")
    rate: str = param("Bandwidth of every link, such as 100Mbit.", default="")
    mtu: int = param(
        "MTU of links, relays and hosts (docs/workloads.md).", low=MIN_MTU, high=MAX_MTU, default=MTU
    )
    link_attributes: bool = param(
        "Impose delay, jitter, loss, rate, mtu and so on where a topology's file states them for a link.",
        default=True,
    )
    ssh: bool = param(
        "Run sshd in every host, with a key made for the lab: `dcnlab exec LAB h0 ssh h5`.", default=False
    )
    nat: bool = param("Hosts reach what this machine reaches, by slirp4netns (docs/outside.md).", default=False)
    expose: str = param(
        "Ports of servers at this machine's loopback address, such as h0:80=8080,h1:22=2222.", default=""
    )
    sflow: str = param(
        "Switches send sFlow to a collector in this host, such as h3 or h3:6343 (docs/metrics.md).", default=""
    )
    ipfix: str = param("The same by IPFIX, such as h3 or h3:4739.", default="")
    sampling: int = param(
        "For sflow and ipfix: one of this many packets is sampled.", low=1, high=1 << 20, default=64
    )
    machines: str = param(
        "Run on the machines of this Dask scheduler, such as tls://10.0.0.1:8786, or on those behind these"
        " sockets, such as unix:/tmp/m0,/tmp/m1 (docs/machines.md).",
        default="",
    )
    placement: str = param("With machines: a file with the nodes of each.", default="")
    miswire: str = param(
        "Swap the cables at two ports, such as h3:2,h7:1: an error for AACM to find.", default=""
    )

    @property
    def routed(self) -> bool:
        """Whether programs in the nodes route: there is no scheme."""
        return unrouted.is_named(self.scheme)

    @property
    def floods_along_tree(self) -> bool:
        """Whether switches flood along a spanning tree."""
        return self.no_loops or (self.routed and self.choice().kind == "none")

    @property
    def shape(self) -> Shape:
        """Delay, loss and rate of links, and the frames that wait for one; OptionError for wrong values."""
        stated = {name: getattr(self, name) for name in ("delay", "loss", "rate")}
        return Shape(queue=self._waiting_frames()).changed(stated)

    def _waiting_frames(self) -> int:
        """Frames that wait for a link, in all channels of a relay; 0 where buffers are unlimited."""
        if not self.frames:
            return 0
        from hostagent.flowcontrol import virtual_channels

        try:
            return virtual_channels.count(self.virtual_channels) * self.frames
        except virtual_channels.FlowControlError as error:
            raise OptionError("virtual_channels", str(error)) from error

    def shapes(self, fabric: Fabric) -> dict[int, Shape]:
        """The links to which the topology's file gives another shape; OptionError for wrong values."""
        by_link = {}
        for number in range(len(fabric.link_ends)) if self.link_attributes else ():
            attributes = fabric.attributes(number)
            if of_attributes(attributes) or "queue" in attributes:
                link = fabric.link(number)
                ends = "-".join(fabric.name(end.node) for end in (link.a, link.b))
                try:
                    changed = self.shape.changed(of_attributes(attributes))
                    by_link[number] = replace(changed, queue=queue_of(attributes) or changed.queue)
                except OptionError as error:
                    raise OptionError("topology", f"link {ends} of {fabric.spec}: {error}") from None
        return by_link

    def mtus(self, fabric: Fabric) -> dict[int, int]:
        """The MTU of each link for which the topology's file states one; OptionError for wrong values."""
        mtus = {}
        for number in range(len(fabric.link_ends)) if self.link_attributes else ():
            stated = fabric.attributes(number).get("mtu")
            if stated is None:
                continue
            text = str(stated).strip()
            if not text.isdecimal() or not MIN_MTU <= int(text) <= MAX_MTU:
                ends = "-".join(fabric.link_names(number))
                what = f"mtu must be a number of bytes from {MIN_MTU} to {MAX_MTU}, not {stated!r}"
                raise OptionError("topology", f"link {ends} of {fabric.spec}: {what}")
            mtus[number] = int(text)
        return mtus

    @property
    def frames(self) -> int:
        """Frames per buffer of a relay; 0 where buffers are unlimited."""
        return self.buffers or (DEFAULT_BUFFERS if self.flow_control == "credits" else 0)

    def choice(self) -> ControllerChoice:
        """The option ``controller``, taken apart; OptionError if it cannot be.

        Ours has no tables to install where there is no scheme: nobody controls the switches then."""
        return ControllerChoice.parse("none" if self.routed and self.controller == "ours" else self.controller)

    def collectors(self) -> tuple[Collector, ...]:
        """The collectors to which switches send what they see; OptionError for what names none."""
        named = (Collector.parse(protocol, getattr(self, protocol)) for protocol in PORTS)
        return tuple(filter(None, named))

    def outside(self) -> OutsideWanted:
        """What the guard opens outside the sandbox (:mod:`dcnlab.lab.emulation.outside`)."""
        choice = self.choice()
        files = ("key", "cert", "ca") if choice.tls else ()
        return OutsideWanted(
            tuple(choice.remotes) if choice.kind == "remote" else (),
            {name: getattr(self, f"controller_{name}") for name in files},
            self.rest_port if choice.kind == "app" else None,
        )
