"""The configuration of a lab: its options, each stated once, and every check that needs no machine.

An option is a field of :class:`LabConfig` with a help text and bounds.  The command line
(:mod:`dcnlab.cli.lab_options`), scenario files (:mod:`dcnlab.lab.scenario.model`), ``Lab(...)`` and the
agents' processes read them from here, so a new option is one line.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, fields, replace
from typing import Any, Literal, Self, get_type_hints

from addressing import registry as schemes
from addressing.fields.ipv4 import AddressError
from addressing.scheme import LabelTooWide, Scheme
from addressing.source import SourceRouted
from dcnlab.lab import naming
from dcnlab.lab.errors import OptionError, UsageError
from dcnlab.lab.options import exposure, images, multipath, scheduler_address, values
from dcnlab.lab.options.collectors import PORTS, Collector
from dcnlab.lab.options.controller_choice import ControllerChoice
from dcnlab.lab.options.link_shape import Shape, of_attributes
from dcnlab.lab.options.miswiring import swapped_ports
from hostagent.options import FastPathMode, Options
from topos import plugins
from topos import registry as topologies
from topos.fabric import Fabric
from topos.family import Family, ParameterError, check_range, param
from topos.spec import SpecError

#: Frames per buffer with credits, unless ``buffers`` says otherwise (CLOT's evaluation).
DEFAULT_BUFFERS = 10

Backend = Literal["os-ken", "ryu"]
Datapath = Literal["auto", "kernel", "userspace"]
UpdateOrder = Literal["fast", "loop-free"]


@dataclass(frozen=True)
class LabConfig(Options):
    """A lab: topology, scheme, name and options; :meth:`of` makes one from what a user wrote."""

    name: str = ""
    _: KW_ONLY
    controller: str = param(
        "Who controls the switches: ours, none, remote:HOST:PORT, ssl:HOST:PORT, app:FILE.py[,MODULE...] "
        "beside ours, or app-only:FILE.py[,MODULE...] (docs/controllers.md).",
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
        "How switches take new tables: fast (all at once) or loop-free (by distance; docs/verification.md).",
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
    link_attributes: bool = param(
        "Impose delay, jitter, loss, rate and so on where a topology's file states them for a link.",
        default=True,
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
        "Run on the machines of this Dask scheduler, such as tls://10.0.0.1:8786 (docs/machines.md).",
        default="",
    )
    placement: str = param("With machines: a file with the nodes of each.", default="")
    miswire: str = param(
        "Swap the cables at two ports, such as h3:2,h7:1: an error for AACM to find.", default=""
    )

    @classmethod
    def of(cls, topology: str, scheme: str, name: str = "", **options: Any) -> LabConfig:
        """The configuration that a user asks for; OptionError for unknown options and wrong values."""
        known = lab_options()
        for key, value in (("topology", topology), ("scheme", scheme), ("name", name)):
            if not isinstance(value, str):
                raise OptionError(key, f"{key} must be text, not {value!r}")
        for key, value in options.items():
            if key not in known:
                raise OptionError(key, f"there is no option {key}: {values.hint(key, known)}")
            if not values.accepts(option_types()[key], value):
                raise OptionError(key, f"{key} must be {values.describe(option_types()[key])}, not {value!r}")
        config = cls(topology, scheme, name, **options)
        for key in options:
            try:
                check_range("lab", (known[key],), config)
            except ParameterError as error:
                raise OptionError(key, str(error)) from error
        if config.multipath:
            source = options.get("link_state", "agents")
            scheme = multipath.with_paths(scheme, config.multipath)
            return replace(config, scheme=scheme, link_state=source)
        return config

    @property
    def shape(self) -> Shape:
        """Delay, loss and rate of links, and the frames that wait for one; OptionError for wrong values."""
        stated = {name: getattr(self, name) for name in ("delay", "loss", "rate")}
        return Shape(queue=self._waiting_frames()).changed(stated)

    def _waiting_frames(self) -> int:
        """Frames that wait for a link, in all channels of a relay; 0 where buffers are unlimited."""
        if not self.frames:
            return 0
        from hostagent.flowcontrol.credit_state import CHANNELS

        return CHANNELS * self.frames

    def shapes(self, fabric: Fabric) -> dict[int, Shape]:
        """The links to which the topology's file gives another shape; OptionError for wrong values."""
        found = {}
        for number in range(len(fabric.link_ends)) if self.link_attributes else ():
            if given := of_attributes(fabric.attributes(number)):
                link = fabric.link(number)
                ends = "-".join(fabric.name(end.node) for end in (link.a, link.b))
                try:
                    found[number] = self.shape.changed(given)
                except OptionError as error:
                    raise OptionError("topology", f"link {ends} of {fabric.spec}: {error}") from None
        return found

    @property
    def frames(self) -> int:
        """Frames per buffer of a relay; 0 where buffers are unlimited."""
        return self.buffers or (DEFAULT_BUFFERS if self.flow_control == "credits" else 0)

    def agent_options(self) -> Options:
        """What the agents' parent is started with."""
        shared = {f.name: getattr(self, f.name) for f in fields(Options)}
        return Options(**{**shared, "buffers": self.frames})

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """From a JSON object; unknown keys are ignored.  Loads the files that it names as ``custom``."""
        plugins.load(value.get("custom", ()))
        return super().from_json(value)

    def check_words(self) -> None:
        """OptionError, in one line, for a topology, a scheme or values of links that cannot be, before a
        network is built: that takes long, and memory, for large ones."""
        try:
            named = topologies.parse(self.topology)
        except SpecError as error:
            raise OptionError("topology", str(error)) from error
        try:
            schemes.check(self.scheme, named)
        except SpecError as error:
            raise OptionError("scheme", str(error)) from error
        self.shape.check()

    def validate(self) -> Scheme:
        """The bound scheme; OptionError, in one line, for everything that no machine could run.

        What depends on this machine is checked by :mod:`dcnlab.lab.emulation.requirements`.
        """
        try:
            fabric = topologies.fabric(self.topology)
        except SpecError as error:
            raise OptionError("topology", str(error)) from error
        try:
            scheme = schemes.bind(self.scheme, fabric)
        except SpecError as error:
            raise OptionError("scheme", str(error)) from error
        for check in _CHECKS:
            check(self, scheme)
        _try_own(scheme)
        self.shapes(scheme.fabric)
        return scheme

    def note(self) -> str:
        """One line about a lab that is less than what was asked for; empty otherwise."""
        lines = (
            [self.choice().nobodys_job(topologies.fabric(self.topology).relaying)]
            if self.controller != "ours"
            else []
        )
        if self.multipath:
            lines.append(multipath.shortage(resolve(self.topology, self.scheme)[1], self.multipath))
        return "; ".join(filter(None, lines))

    def choice(self) -> ControllerChoice:
        """The option ``controller``, taken apart; OptionError if it cannot be."""
        return ControllerChoice.parse(self.controller)

    def collectors(self) -> tuple[Collector, ...]:
        """The collectors to which switches send what they see; OptionError for what names none."""
        named = (Collector.parse(protocol, getattr(self, protocol)) for protocol in PORTS)
        return tuple(filter(None, named))

    def outside(self) -> dict[str, Any]:
        """What the guard opens outside the sandbox (:mod:`dcnlab.lab.emulation.outside`)."""
        choice = self.choice()
        wanted: dict[str, Any] = {}
        if choice.kind == "remote":
            wanted["remote"] = (choice.host, choice.port)
        if choice.tls:
            wanted["tls"] = {name: getattr(self, f"controller_{name}") for name in ("key", "cert", "ca")}
        if choice.kind == "app":
            wanted["rest"] = self.rest_port
        return wanted


# --- options as the command line and scenario files need them -------------------------


@functools.cache
def lab_options() -> Mapping[str, dataclasses.Field[Any]]:
    """The options of a lab by name: fields whose metadata hold ``doc``, ``low`` and ``high``."""
    return {f.name: f for f in fields(LabConfig) if "doc" in f.metadata}


@functools.cache
def option_types() -> Mapping[str, Any]:
    """The type of each option: str, int, bool, a Literal, or one of them or None."""
    hints = get_type_hints(LabConfig)
    return {name: hints[name] for name in lab_options()}


def _try_own(scheme: Scheme) -> None:
    """OptionError, with file and line, for a scheme of the user's that fails, or whose packets go nowhere."""
    if schemes.known().is_builtin(scheme.name):
        return
    from addressing import trial

    try:
        schemes.known().check(type(scheme), trial.problem(scheme), "rule", "next_hops", "transit_next_hops")
    except SpecError as error:
        raise OptionError("scheme", str(error)) from error
    except Exception as error:
        raise OptionError("scheme", plugins.described(error)) from error


# --- checks -----------------------------------------------------------------------------


def _check_packets(config: LabConfig, scheme: Scheme) -> None:
    """Labels and addresses fit into packets."""
    try:
        scheme.check_width()
        for node in range(scheme.fabric.servers):
            scheme.ipv4(node)
    except (LabelTooWide, AddressError) as error:
        raise OptionError("scheme", str(error)) from error


def _check_autoconfiguration(config: LabConfig, scheme: Scheme) -> None:
    """Servers without addresses can get them; AACM runs where links are swapped, at ports that exist."""
    if config.autoconfigure and not scheme.autoconfiguration().protocol:
        raise OptionError("autoconfigure", scheme.autoconfiguration().reason)
    if config.miswire and not config.autoconfigure:
        raise OptionError("miswire", "miswire needs autoconfigure: only AACM finds swapped cables")
    if config.miswire and scheme.autoconfiguration().protocol != "AACM":
        raise OptionError(
            "miswire", f"miswire needs AACM, and servers under {scheme.name} learn labels instead"
        )
    swapped_ports(scheme.fabric, config.miswire)


def _check_link_state(config: LabConfig, scheme: Scheme) -> None:
    """Agents that exchange link state exist."""
    if config.link_state == "agents" and not scheme.fabric.relaying:
        raise OptionError(
            "link_state", f"the servers of {scheme.fabric.spec} relay nothing, so no agents exchange link state"
        )


def _check_load_balance(config: LabConfig, scheme: Scheme) -> None:
    """There are parallel paths to probe."""
    if config.load_balance == "probe" and not (isinstance(scheme, SourceRouted) and scheme.max_paths != 1):
        raise OptionError(
            "load_balance",
            f"{scheme.name} has no parallel paths to probe: use scheme brp with multipath 2, for one",
        )


def _check_buffers(config: LabConfig, scheme: Scheme) -> None:
    """Relays can have these buffers and this flow control."""
    if not config.frames:
        return
    from hostagent.flowcontrol import relay  # few labs have buffers

    credits = config.flow_control == "credits"
    if not credits and not config.rate:
        raise OptionError("buffers", "buffers fill up where links have a bandwidth: set rate, such as 4Mbit")
    try:
        relay.check(scheme, config.frames, credits)
    except relay.FlowControlError as error:
        raise OptionError("flow_control" if credits else "buffers", str(error)) from error


def _check_fast_path(config: LabConfig, scheme: Scheme) -> None:
    """Agents forward, and packets need not wait in them."""
    if config.fast_path != "on":
        return
    if not scheme.fabric.relaying:
        raise OptionError("fast_path", f"the servers of {scheme.fabric.spec} relay nothing: no agent forwards")
    if config.frames:
        raise OptionError("fast_path", "packets wait in the agents' buffers: set fast_path auto or off")


def _check_controller(config: LabConfig, scheme: Scheme) -> None:
    """There are switches to control, the applications can be read, and TLS has what it needs."""
    choice = config.choice()
    if choice.kind != "ours" and not scheme.fabric.switches:
        raise OptionError("controller", f"{scheme.fabric.spec} has no switches for a controller")
    for name in ("controller_ca", "controller_cert", "controller_key"):
        if choice.tls and not getattr(config, name):
            raise OptionError(name, f"{choice.text} needs {name}: a file in PEM format")
        if getattr(config, name) and not choice.tls:
            raise OptionError(name, f"{name} is for controller ssl:HOST:PORT")
    if config.rest_port and choice.kind != "app":
        raise OptionError("rest_port", "rest_port is for controller app:... and app-only:...")
    if config.no_loops and choice.kind == "ours":
        raise OptionError("no_loops", "no_loops is for other controllers: ours floods nothing")
    choice.library(config.backend)


def _check_outside(config: LabConfig, scheme: Scheme) -> None:
    """Exposed ports are of servers; NAT does not depend on addresses that change."""
    for exposed in exposure.parse(config.expose):
        _check_server("expose", exposed.server, scheme)
    if config.nat and config.autoconfigure:
        raise OptionError(
            "nat", "nat needs servers that have their addresses from the start: not autoconfigure"
        )


def _check_server(option: str, server: str, scheme: Scheme) -> None:
    try:
        naming.server(scheme.fabric, server, scheme)
    except UsageError as error:
        raise OptionError(option, f"{option}: {error}") from error


def _check_image(config: LabConfig, scheme: Scheme) -> None:
    """Images are of servers, whose programs can be given a root."""
    images.check(config.image, map(scheme.fabric.name, range(scheme.fabric.servers)))


def _check_collectors(config: LabConfig, scheme: Scheme) -> None:
    """Collectors are in servers, and switches see all packets."""
    for collector in config.collectors():
        option = collector.protocol
        if not scheme.fabric.switches:
            raise OptionError(option, f"{scheme.fabric.spec} has no switches, which could send {option}")
        _check_server(option, collector.server, scheme)
        if config.switch_fast_path == "on":
            text = f"{option} does not see what the kernel forwards for switches: leave out switch_fast_path"
            raise OptionError(option, text)


def _check_update_order(config: LabConfig, scheme: Scheme) -> None:
    """One controller, ours, orders all changes."""
    if config.update_order == "fast":
        return
    if scheme.fabric.relaying:
        text = f"servers relay in {scheme.fabric.spec}, and agents change at once"
    elif config.machines:
        text = "each machine of a lab has a controller of its own"
    elif not config.choice().tables:
        text = "another controller fills the tables"
    else:
        return
    raise OptionError("update_order", f"update_order loop-free orders switches only: {text}; leave it out")


def _check_machines(config: LabConfig, scheme: Scheme) -> None:
    """Others cannot use the scheduler, and every part can be what the whole lab is to be."""
    if not config.machines:
        if config.placement:
            raise OptionError("placement", "placement needs machines: the address of a Dask scheduler")
        return
    scheduler_address.check(config.machines)
    choice = config.choice()
    there = scheduler_address.beside(config.machines)
    if choice.kind == "remote" and scheduler_address.is_loopback(choice.host) and not there:
        text = "the switches of every machine connect to it: use an address that all machines reach"
        raise OptionError("controller", f"controller {choice.text}: {text}")
    if config.rest_port:
        raise OptionError("rest_port", "rest_port needs a lab on one machine, without machines")


_CHECKS = (
    _check_machines,
    _check_controller,
    _check_packets,
    _check_autoconfiguration,
    _check_link_state,
    _check_load_balance,
    _check_buffers,
    _check_fast_path,
    _check_outside,
    _check_image,
    _check_collectors,
    _check_update_order,
)


# --- specifications ---------------------------------------------------------------------


def family(topology: str) -> Family:
    """The family instance that a specification names, not built yet; UsageError with one line."""
    try:
        return topologies.parse(topology)
    except SpecError as error:
        raise UsageError(str(error)) from error


def resolve(topology: str, scheme: str) -> tuple[Fabric, Scheme]:
    """The fabric and the scheme that two specifications name; UsageError with one line."""
    try:
        fabric = topologies.fabric(topology)
        return fabric, schemes.bind(scheme, fabric)
    except SpecError as error:
        raise UsageError(str(error)) from error
