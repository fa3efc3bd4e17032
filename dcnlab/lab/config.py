"""What a lab is asked to be: one value, as JSON between the processes."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any

from addressing import registry as schemes
from addressing.fields.ipv4 import AddressError
from addressing.scheme import LabelTooWide, Scheme
from addressing.source import SourceRouted
from dcnlab.lab.errors import UsageError
from dcnlab.lab.link_shape import Shape
from hostagent.flowcontrol import relay
from hostagent.options import FlowControl, LinkStateSource, LoadBalance, Mode
from topos import plugins
from topos import registry as topologies
from topos.fabric import Fabric
from topos.family import Family
from topos.spec import SpecError, split_spec

#: Frames per buffer where credits are asked for and nothing else is said (CLOT's evaluation).
DEFAULT_BUFFERS = 10
#: To so many servers the parallel ways are counted.
_SAMPLE = 64


@dataclass(frozen=True)
class LabConfig:
    """A lab in words: topology and scheme as specifications, and how to run them."""

    topology: str
    scheme: str
    name: str = ""
    #: The controller's library: ``os-ken`` or ``ryu``.
    backend: str = "os-ken"
    #: ``auto``, ``kernel`` or ``userspace``.
    datapath: str = "auto"
    #: How agents choose among several next hops: per ``flow`` or per ``packet``.
    load_balance: LoadBalance = "flow"
    #: Agents: ``host`` (a process each) or ``workers`` (one per core for all).
    agents: Mode = "host"
    #: Who tells agents of failures: the ``lab``, or the ``agents`` each other and nobody else.
    link_state: LinkStateSource = "lab"
    #: What every link does to packets: ``1ms``, ``0.1%``, ``100Mbit``; nothing when empty.
    delay: str = ""
    loss: str = ""
    rate: str = ""
    #: Frames per buffer of the relays (0: as much as kernels keep, or 10 with credits), and whether
    #: they drop what finds a buffer full or send only with credits.
    buffers: int = 0
    flow_control: FlowControl = "none"
    #: Whether hosts leave checksums and the cutting of super-packets to whoever comes later; without,
    #: Open vSwitch's userspace datapath needs no segmentation offload (see ``dcnlab doctor --probe``).
    offloads: bool = True
    #: Servers start without addresses and configure themselves (AACM); two of their ports,
    #: ``h3:2,h7:1``, whose cables are swapped.
    autoconfigure: bool = False
    miswire: str = ""
    #: Files of the user's own that define topologies and schemes: those that this process has loaded.
    custom: tuple[str, ...] = field(default_factory=plugins.loaded)

    @property
    def shape(self) -> Shape:
        """Delay, loss and rate together, and how much waits for a link."""
        return Shape(self.delay, self.loss, self.rate, relay.CHANNELS * self.frames)

    @property
    def frames(self) -> int:
        """Frames per buffer of a relay; 0 where buffers are not limited."""
        return self.buffers or (DEFAULT_BUFFERS if self.flow_control == "credits" else 0)

    def to_json(self) -> dict[str, Any]:
        """As a JSON object."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> LabConfig:
        """From a JSON object; unknown keys are ignored.  Loads the files that it names as ``custom``."""
        custom = tuple(value.get("custom", ()))
        plugins.load(custom)
        value = {**value, "custom": custom}
        return cls(**{f.name: value[f.name] for f in fields(cls) if f.name in value})


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


def multipath(scheme: str, ways: int) -> str:
    """The specification of a scheme that spreads flows over so many parallel ways; UsageError for
    schemes that have none."""
    name, arguments = split_spec(scheme)
    able = [
        name for name, cls in schemes.known().items() if {f.name for f in fields(cls)} >= {"multipath", "paths"}
    ]
    if name not in able:
        raise UsageError(f"--multipath needs a scheme with parallel ways ({', '.join(able)}), not {name}")
    kept = [
        part for part in arguments.split(",") if part and part.partition("=")[0] not in ("multipath", "paths")
    ]
    return f"{name}:" + ",".join([*kept, "multipath=yes", f"paths={ways}"])


def fewer_paths_note(topology: str, scheme: str, wanted: int) -> str:
    """One line about how many parallel ways there are when they are fewer than wanted, as seen from
    the first server to a sample of the others; empty when they are not."""
    fabric, bound = resolve(topology, scheme)
    assert isinstance(bound, SourceRouted)
    others = range(1, fabric.servers, -(-fabric.servers // _SAMPLE))
    most = 0
    for other in others:
        most = max(most, len(bound.usable(0, other)))
        if most >= wanted:
            return ""
    ends = f"{fabric.name(0)} and {len(others)} other servers"
    return f"flows are spread over {most}, not {wanted} ways: between {ends} no more are parallel"


def check_load_balance(scheme: Scheme, load_balance: LoadBalance) -> None:
    """UsageError when there are no parallel ways to probe."""
    if load_balance == "probe" and not (isinstance(scheme, SourceRouted) and scheme.max_paths != 1):
        raise UsageError(
            f"{scheme.name} has no parallel ways to probe: say --scheme brp --multipath 2, for one"
        )


def check_link_state(fabric: Fabric, link_state: LinkStateSource) -> None:
    """UsageError when nobody would learn of failures."""
    if link_state == "agents" and not fabric.relaying:
        raise UsageError(f"the servers of {fabric.spec} relay nothing, so no agents keep its link state")


def check_buffers(scheme: Scheme, config: LabConfig) -> None:
    """UsageError when relays cannot have the buffers and the flow control that are asked for."""
    if not config.frames:
        return
    credits = config.flow_control == "credits"
    if not credits and not config.rate:
        raise UsageError("buffers fill up where links have a bandwidth: say --rate, such as 4Mbit, as well")
    try:
        relay.check(scheme, config.frames, credits)
    except relay.FlowControlError as error:
        raise UsageError(str(error)) from error


def check_emulable(scheme: Scheme) -> None:
    """UsageError when labels or addresses of the scheme do not fit into real packets."""
    try:
        scheme.check_width()
        for node in range(scheme.fabric.servers):
            scheme.ipv4(node)
    except (LabelTooWide, AddressError) as error:
        raise UsageError(str(error)) from error
