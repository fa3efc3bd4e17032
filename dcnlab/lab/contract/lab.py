"""A lab, its controller and its openings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dcnlab.lab.contract.answer import ABSENT, Answer
from dcnlab.lab.contract.links import Cuts, DownLink


@dataclass(frozen=True, eq=False)
class ControllerRole(Answer):
    """A controller of switches: how many switches are connected with it, and with how many it has which role
    (``master``, ``slave`` or ``other``, as Open vSwitch calls them)."""

    controller: str
    connected: int
    roles: dict[str, int]


@dataclass(frozen=True, eq=False)
class ControllerState(Answer):
    """The controller of a lab: ``connected`` of its ``switches`` have a connection to it.

    ``controller`` is the option; ``library`` is os-ken or ryu, empty where the controller is another program;
    ``by_hand`` has the targets of switches that somebody has given another controller; ``rest`` is the address
    of the applications' REST interface; ``notes`` are lines about what is wrong.  ``controllers`` has each
    of them; a switch is ``connected`` if it is with one.
    """

    controller: str
    library: str
    switches: int
    connected: int
    by_hand: dict[str, list[str]]
    rest: str
    notes: list[str]
    controllers: list[ControllerRole]


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
class MachineFacts(Answer):
    """What a machine tells of itself: lines and fields of :class:`LabInfo` that are of one machine."""

    datapath: str
    fast_path: str
    switch_fast_path: str
    receive_buffers: str
    attached: list[AttachedInterface]
    ended: list[str]
    damage: list[str]
    controller: ControllerState
    restarts: dict[str, int]


@dataclass(frozen=True, eq=False)
class Rejoined(Answer):
    """The ``machines`` whose parts were launched again: the seconds of the ``launch`` by stage, and of all
    until tables and agents everywhere followed."""

    machines: list[str]
    launch: dict[str, float]
    seconds: float


@dataclass(frozen=True, eq=False, kw_only=True)
class LabInfo(Answer):
    """What a lab is and how it is.

    ``servers``, ``switches`` and ``links`` are counts, ``down`` the numbers of links that are down for any
    reason (``down_links``: with their ends and the reasons),
    ``cut`` what the user has cut, ``removed`` what was removed, ``added`` the hosts that came since the launch,
    ``started`` the time of the launch in seconds since 1970, ``launch``
    its seconds by stage, ``ended`` a line for each process that has ended, ``damage`` one for each link and
    host that a program in a host has changed, ``restarts`` how often each process
    was started again, ``options`` the configuration as a JSON object (``Lab.config``: with its types),
    ``chosen`` the names of those that differ from their defaults.
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
    cut: Cuts = field(default_factory=Cuts)
    removed: Cuts = field(default_factory=Cuts)
    added: list[str] = field(default_factory=list)
    down_links: list[DownLink] = field(default_factory=list)
    outside: Openings
    started: float
    launch: dict[str, float]
    ended: list[str]
    damage: list[str] = field(default_factory=list)
    version: str = ""
    replaced: bool = False
    controller: ControllerState
    restarts: dict[str, int]
    options: dict[str, Any]
    chosen: list[str] = field(default_factory=list)
    mtu: int = field(default=1500, metadata=ABSENT)
    links_cut: int = field(default=0, metadata=ABSENT)
    machines: list[MachineInfo] | None = field(default=None, metadata=ABSENT)


@dataclass(frozen=True, eq=False)
class NodeInfo(Answer):
    """A node: its name, ``server`` or ``switch``, its label in the topology, and a server's address."""

    name: str
    kind: str
    label: str
    ipv4: str | None


@dataclass(frozen=True, eq=False)
class Configured(Answer):
    """Servers that have configured themselves: by which ``protocol``, in how many milliseconds, with how many
    ``frames`` of each kind; ``servers`` has the milliseconds of each server, by name."""

    protocol: str
    ms: float
    frames: dict[str, int]
    servers: dict[str, float]


@dataclass(frozen=True, eq=False)
class Events(Answer):
    """The number of the newest event, and how many the journal has dropped."""

    last: int
    dropped: int
