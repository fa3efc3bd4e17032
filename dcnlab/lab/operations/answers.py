"""The results of a lab's operations, for Python.

Each is a frozen dataclass, and at the same time the JSON object that the command prints with ``--json``:
``change.detection_ms`` and ``change["detection_ms"]`` are the same.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self, get_type_hints

from dcnlab.lab.instruments.plain import decode

if TYPE_CHECKING:
    from dcnlab.lab.options.config import LabConfig

#: Names that a line of text lists before it says how many more there are.
_SHOWN = 4


@dataclass(frozen=True, eq=False)
class Answer(dict[str, Any]):
    """Base of all results: the fields are those of the JSON object, which the result is as well."""

    def __post_init__(self) -> None:
        self.update({one.name: getattr(self, one.name) for one in dataclasses.fields(self)})

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """From the JSON object of a lab's answer; keys that the class does not know are kept, without field."""
        hints = _hints(cls)
        made = cls(**{name: decode(hints[name], item) for name, item in value.items() if name in hints})
        made.clear()
        made.update(value)
        return made

    def to_json(self) -> dict[str, Any]:
        """As a JSON object."""
        return dict(self)


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


@functools.cache
def _hints(kind: type[Answer]) -> dict[str, Any]:
    known = {one.name for one in dataclasses.fields(kind)}
    return {name: hint for name, hint in get_type_hints(kind).items() if name in known}


# --- the lab ------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ControllerState(Answer):
    """The controller of a lab: ``connected`` of its ``switches`` have a connection to it.

    ``controller`` is the option; ``library`` is os-ken or ryu, empty where the controller is another program;
    ``by_hand`` has the targets of switches that somebody has given another controller; ``rest`` is the address
    of the applications' REST interface; ``notes`` are lines about what is wrong.
    """

    controller: str
    library: str
    switches: int
    connected: int
    by_hand: dict[str, list[str]]
    rest: str
    notes: list[str]


@dataclass(frozen=True, eq=False)
class AttachedInterface(Answer):
    """An interface of the machine at a port of a switch; ``host`` is the server whose place it has, with the
    addresses that belong there (all empty at a free port)."""

    interface: str
    switch: str
    port: int
    host: str
    ipv4: str
    mac: str


@dataclass(frozen=True, eq=False)
class Openings(Answer):
    """How a lab reaches the outside: whether its hosts do (``nat``), exposed ports such as ``h0:80=8080``, and
    attached interfaces."""

    nat: bool
    expose: list[str]
    attached: list[AttachedInterface]


@dataclass(frozen=True, eq=False)
class MachineInfo(Answer):
    """A machine of a lab on several, and its part: counts, the names of ``nodes`` with ranges such as h0-h3;
    ``lost`` when it does not answer any more, ``silent`` while it does not answer.  The launch of its part took
    ``launch_s`` seconds.  ``rest`` is the address there of the REST interface of its applications."""

    machine: str
    address: str
    servers: int
    switches: int
    links_to_others: int
    nodes: list[str]
    lost: bool
    silent: bool = False
    launch_s: float = 0.0
    rest: str = ""


@dataclass(frozen=True, eq=False)
class Rejoined(Answer):
    """The ``machines`` whose parts were launched again: the seconds of the ``launch`` by stage, and of all
    until tables and agents everywhere followed."""

    machines: list[str]
    launch: dict[str, float]
    seconds: float


@dataclass(frozen=True, eq=False)
class Cuts(Answer):
    """What the user has cut: the numbers of ``links`` that were cut by themselves, and the names of ``nodes``
    that were cut with all their links."""

    links: list[int] = field(default_factory=list)
    nodes: list[str] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class LabInfo(Answer):
    """What a lab is and how it is.

    ``servers``, ``switches`` and ``links`` are counts, ``down`` the numbers of links that are down for any
    reason (``down_links``: with their ends and the reasons),
    ``cut`` what the user has cut, ``started`` the time of the launch in seconds since 1970, ``launch``
    its seconds by stage, ``ended`` a line for each process that has ended, ``damage`` one for each link and
    host that a program in a host has changed, ``restarts`` how often each process
    was started again, ``options`` the configuration as a JSON object (:attr:`config`: with its types).
    ``version`` is that of the program which launched it, ``replaced`` says that another one is installed since.
    A lab on several ``machines`` also has the ``mtu`` of its links and the number of ``links_cut``, which join
    machines.
    """

    name: str
    topology: str
    scheme: str
    backend: str
    datapath: str
    fast_path: str
    switch_fast_path: str
    receive_buffers: str
    custom: list[str]
    servers: int
    switches: int
    links: int
    down: list[int]
    outside: Openings
    started: float
    launch: dict[str, float]
    ended: list[str]
    controller: ControllerState
    restarts: dict[str, int]
    options: dict[str, Any]
    machines: list[MachineInfo] | None = None
    mtu: int = 1500
    links_cut: int = 0
    cut: Cuts = field(default_factory=Cuts)
    down_links: list[DownLink] = field(default_factory=list)
    damage: list[str] = field(default_factory=list)
    version: str = ""
    replaced: bool = False

    @functools.cached_property
    def config(self) -> LabConfig:
        """The topology, the scheme and the options of the lab."""
        from dcnlab.lab.options.config import LabConfig  # a seventh of a second, which few need

        return LabConfig.from_json(self["options"])


@dataclass(frozen=True, eq=False)
class NodeInfo(Answer):
    """A node: its name, ``server`` or ``switch``, its label in the topology, and a server's address."""

    name: str
    kind: str
    label: str
    ipv4: str | None


# --- links --------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class DownLink(Answer):
    """A link that is down: its ends (and which it is of several), its number, and why, one line a cause."""

    link: list[str]
    number: int
    because: list[str]


@dataclass(frozen=True, eq=False)
class LinkChange(Answer):
    """Links that have failed or were restored.

    ``detection_ms`` is the time until an agent or the controller had noticed, in milliseconds (None where
    nothing changed); ``converged_ms`` until all tables and agents agreed; ``tables_ms`` the part of it in which
    ``flow_mods`` flow messages went to ``switches`` switches.  ``silent`` agents do not answer.  ``repair``
    tells how schemes that repair their tables have done it; None for others.  ``still_down`` are those of the
    links that were restored and are down nevertheless: their node is cut too, for example.
    """

    links: list[int]
    up: bool
    silent: list[str]
    detection_ms: float | None
    converged_ms: float
    flow_mods: int
    switches: int
    tables_ms: float
    repair: dict[str, Any] | None = None
    still_down: list[DownLink] = field(default_factory=list)

    def notes(self) -> list[str]:
        """What keeps links down, one line for each cause but the agents in ``silent``."""
        named = {f"the agent of {server} does not answer" for server in self.silent}
        by_cause: dict[str, list[str]] = {}
        for one in self.still_down:
            for cause in (cause for cause in one.because if cause not in named):
                by_cause.setdefault(cause, []).append("-".join(one.link))
        return [
            f"{_some(links)} {'stay' if len(links) > 1 else 'stays'} down: {cause}"
            for cause, links in by_cause.items()
        ]


@dataclass(frozen=True, eq=False)
class Queue(Answer):
    """A port with a queue: the packets and bytes that wait now, and the packets dropped since the launch."""

    node: str
    port: int
    to: str
    packets: int
    bytes: int
    dropped: int


# --- tables and paths -----------------------------------------------------------


@dataclass(frozen=True, eq=False)
class TableComparison(Answer):
    """The entries of a node as the scheme predicts them and as Open vSwitch holds them, and whether they are
    equal; ``installed`` and ``equal`` are None for servers.

    ``by_kernel``: with the switch fast path, the packets that the kernel has forwarded by each installed entry.
    """

    node: str
    predicted: list[str]
    installed: list[str] | None
    equal: bool | None
    by_kernel: list[int] | None = None


@dataclass(frozen=True, eq=False)
class FlowEntry(Answer):
    """An entry of a switch, of any controller, with its counters; ``duration`` is in seconds."""

    table: int
    priority: int
    match: str
    actions: str
    cookie: str
    options: str
    packets: int
    bytes: int
    duration: float


@dataclass(frozen=True, eq=False)
class FlowEntries(Answer):
    """The entries of a switch; ``at`` is when they were read, in seconds of the monotonic clock."""

    switch: str
    at: float
    flows: list[FlowEntry]


@dataclass(frozen=True, eq=False)
class PathBranch(Answer):
    """One of several next hops at a node, and its probability."""

    port: int
    to: str
    weight: float


@dataclass(frozen=True, eq=False)
class PathStep(Answer):
    """A node on a packet's path: why it does what it does, the ``entry`` that decides, the ``branches`` where
    several next hops have weights, whether a switch has the entry ``installed`` (None at servers), and which
    entry of the scheme that one ``overrides``."""

    node: str
    reason: str
    delivered: bool
    entry: str
    branches: list[PathBranch]
    installed: bool | None
    overrides: str


# --- processes ------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class NamedProcess(Answer):
    """A process of a lab, and the nodes for which it works (none: for all)."""

    process: str
    nodes: list[str]


@dataclass(frozen=True, eq=False)
class ProcessChange(Answer):
    """Processes that were restarted, killed or paused, and the milliseconds until that was done."""

    processes: list[NamedProcess]
    ms: float


@dataclass(frozen=True, eq=False)
class ControllerCounters(Answer):
    """Counters of this project's controller since it began.

    ``switches`` have their tables; ``prepared`` are switches whose tables are ready to be sent; ``unanswered``
    ARP requests were for addresses that no server has, ``ignored`` packets were no requests.
    """

    switches: int
    prepared: int
    flow_mods: int
    packet_ins: int
    arp_replies: int
    unanswered: int
    ignored: int


@dataclass(frozen=True, eq=False)
class Configured(Answer):
    """Servers that have configured themselves: by which ``protocol``, in how many milliseconds, with how many
    ``frames`` of each kind; ``servers`` has the milliseconds of each server, by name."""

    protocol: str
    ms: float
    frames: dict[str, int]
    servers: dict[str, float]


@dataclass(frozen=True, eq=False)
class Captured(Answer):
    """Packets in a file: the node (or ``controller``), the port (None: all), the file and its size in bytes."""

    node: str
    port: int | None
    file: str
    bytes: int


# --- keys -----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Replica(Answer):
    """A replica server of a key: whether it answers, and the bytes of its copy (None without the newest)."""

    server: str
    answers: bool
    bytes: int | None


@dataclass(frozen=True, eq=False)
class StoredKey(Answer):
    """A key: the bytes of its value, and the servers that have the newest copy."""

    key: str
    bytes: int
    servers: list[str] = field(default_factory=list)
