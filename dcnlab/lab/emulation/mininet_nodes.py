"""The nodes and links of :mod:`dcnlab.lab.emulation.mininet`: Mininet's view of what exists already."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from typing import Any

from mininet.link import Intf
from mininet.log import info
from mininet.node import Host, Node, OVSSwitch

from dcnlab.lab.emulation.images.roots import Root
from dcnlab.lab.emulation.isolation.programs import Isolation
from dcnlab.lab.emulation.namespaces import netns
from dcnlab.lab.emulation.namespaces.host_namespaces import HostNamespaces
from dcnlab.lab.emulation.switches.shards import Shard
from dcnlab.lab.errors import LabError


class Interface(Intf):  # type: ignore[misc]
    """An interface that exists already and is configured."""

    def __init__(self, name: str, node: Node, port: int, mac: str = "", ip: str = "") -> None:
        super().__init__(name, node=node, port=port, mac=mac or None, moveIntfFn=lambda *_: None)
        if ip:
            self.ip, self.prefixLen = ip, "32"

    def config(self, mac: Any = None, ip: Any = None, ifconfig: Any = None, **params: Any) -> dict[str, Any]:
        """As of Mininet's ``TCIntf``: bandwidth, delay, jitter and loss of what the interface sends.

        LabError for an address, which is the lab's, and for what no link of a lab has.
        """
        if not hasattr(self, "link") or self.link is None:
            return {}
        if mac or ip or ifconfig:
            raise LabError("addresses of a lab follow from its scheme: config() cannot set them")
        params.pop("up", None)
        self.link.impose(shape_of(params), self.node)
        return {}

    def isUp(self, setUp: bool = False) -> bool:
        """Whether the interface is up; with ``setUp`` bring it up first, as Mininet does."""
        if setUp:
            netns.set_up_in(self.node.netns, self.name, True)
        return "UP" in self.node.cmd(f"ip -br link show {self.name}").split("<")[-1]


_RUN = 'exec "$@"'
#: Impairs a link: its number, the node that sends (empty: both directions), and values as of ``dcnlab impair``.
Impose = Callable[[int, str, dict[str, str]], object]
#: Mininet's names of what a link imposes, ours, and the unit of a number.
_SHAPES = {"bw": ("rate", "Mbit"), "delay": ("delay", "ms"), "jitter": ("jitter", "ms"), "loss": ("loss", "%")}
#: What Mininet's links have beside that and a lab need not impose: the ends, and how Mininet limits a rate.
_OTHERS = {"node1", "node2", "port1", "port2", "use_htb", "use_tbf", "use_hfsc", "cls"}


def shape_of(params: Mapping[str, Any]) -> dict[str, str]:
    """The impairments among the arguments of Mininet's ``TCLink`` and ``TCIntf``; LabError for others."""
    values = {}
    for name, value in params.items():
        if name in _SHAPES and value is not None and (value or name != "bw"):
            ours, unit = _SHAPES[name]
            has_unit = isinstance(value, str) and not value[-1:].isdigit()
            values[ours] = value if has_unit else f"{value}{unit}"
        elif name not in {*_SHAPES, *_OTHERS} and value not in (None, False):
            raise LabError(f"links of a lab have no {name}: use bw, delay, jitter and loss")
    return values


class LabLink:
    """Mininet's view of a link: two interfaces with references to each other."""

    def __init__(self, a: Interface, b: Interface, number: int, impose: Impose) -> None:
        self.intf1, self.intf2 = a, b
        self.number, self._impose = number, impose
        a.link = b.link = self

    def impose(self, values: dict[str, str], sender: Node | None = None) -> None:
        """Impair the link in both directions, or only what ``sender`` sends, and say so."""
        if values:
            self._impose(self.number, str(sender or ""), values)
            shown = ", ".join(f"{name} {value}" for name, value in values.items())
            where = f"from {sender}" if sender else "in each direction"
            info(f"*** {self.intf1.node}-{self.intf2.node}: {shown}, {where}\n")

    def __str__(self) -> str:
        return f"{self.intf1}<->{self.intf2}"

    def status(self) -> str:
        """Both ends' state, for Mininet's ``links``."""
        return "({} {})".format(*("OK" if end.isUp() else "MISSING" for end in (self.intf1, self.intf2)))

    def stop(self) -> None:
        """Nothing to do: the kernel removes interfaces with the lab's sandbox."""

    delete = stop


class LazyNode:
    """Mixin: a node in an existing namespace; its shell starts with the first command."""

    netns: str
    shell: subprocess.Popen[bytes] | None
    environment: dict[str, str] | None = None
    isolation: Isolation | None = None
    #: A host has namespaces of its own; a switch has none.
    namespaces: HostNamespaces | None = None
    #: The host's own root file system, if it has one.
    root: Root | None = None
    _pid: int | None = None

    @property
    def pid(self) -> int | None:
        """The shell's pid; reading it starts the shell, because users of Mininet expect one."""
        if self._pid is None and getattr(self, "ready", False):
            self.ensure_shell()
        return self._pid

    @pid.setter
    def pid(self, value: int | None) -> None:
        self._pid = value

    def startShell(self, mnopts: str | None = None) -> None:
        """Mininet calls this when it creates a node; the shell starts later."""

    def ensure_shell(self) -> None:
        """Start the shell in the node's namespace if it does not run."""
        if self.shell is None:
            self.inNamespace = False  # the namespace exists: mnexec must not create one
            Node.startShell(self)
            Node.cmd(
                self, "export -n PS1"
            )  # Mininet finds the end of a command by this shell's prompt: children must not have it

    def sendCmd(self, *args: Any, **kwargs: Any) -> None:
        """As Mininet's; starts the shell if needed."""
        self.ensure_shell()
        super().sendCmd(*args, **kwargs)  # type: ignore[misc]

    def cmd(self, *args: Any, **kwargs: Any) -> Any:
        """As Mininet's; starts the shell if needed."""
        self.ensure_shell()
        return super().cmd(*args, **kwargs)  # type: ignore[misc]

    def _popen(self, cmd: list[str], **params: Any) -> subprocess.Popen[bytes]:
        if self.root is not None:
            params.setdefault("env", self.root.environment())
            return self._start_in_image(self.root, cmd, params)
        params.setdefault("env", self.environment)
        if self.isolation is not None:
            return self.isolation.start(self.netns, cmd, [], **params)
        return self._start(cmd, False, params)

    def _start_in_image(self, root: Root, cmd: list[str], params: dict[str, Any]) -> subprocess.Popen[bytes]:
        prefix, argv = _split(root, cmd)
        params.setdefault("env", self.environment)
        if self.isolation is not None:
            return self.isolation.start(self.netns, argv, prefix, str(root.path), cwd=root.folder, **params)
        return self._start([*prefix, *root.command("", argv)], True, params)

    def _start(self, cmd: list[str], image: bool, params: dict[str, Any]) -> subprocess.Popen[bytes]:
        if self.namespaces is None:
            return subprocess.Popen(self.inside(cmd), **params)
        # A program that does not exist ends with 127 and a line, as with Mininet.
        return self.namespaces.start(self.netns, ["sh", "-c", _RUN, "sh", *cmd], image=image, **params)

    def popen(self, *args: Any, **kwargs: Any) -> subprocess.Popen[bytes]:
        """A process in the node's namespace, as Mininet's ``popen``."""
        argv = args[0] if len(args) == 1 else list(args)
        if isinstance(argv, str):
            argv = ["sh", "-c", argv] if kwargs.pop("shell", False) else argv.split()
        kwargs.setdefault("stdout", subprocess.PIPE)
        kwargs.setdefault("stderr", subprocess.PIPE)
        return self._popen(list(argv), **kwargs)

    def inside(self, argv: list[str]) -> list[str]:
        """A command line that runs in the node's namespace."""
        return ["nsenter", f"--net={netns.path(self.netns)}", "--", *argv]

    @classmethod
    def setup(cls) -> None:
        """Nothing to do: `doctor` and the launch check the requirements."""


def _split(root: Root, argv: list[str]) -> tuple[list[str], list[str]]:
    """Part a command line into what runs outside a root and what runs in it.

    Of Mininet's own command for a shell, only the shell runs in the root."""
    at = argv.index("bash") if argv[0] == "mnexec" and "bash" in argv else 0
    if not root.find(argv[at]):
        raise LabError(f"command not found in the image: {argv[at]!r}")
    return argv[:at], argv[at:]


class LabHost(LazyNode, Host):  # type: ignore[misc]
    """A server in its own namespace."""

    def __init__(
        self,
        name: str,
        netns: str,
        namespaces: HostNamespaces,
        isolation: Isolation | None = None,
        root: Root | None = None,
        **params: Any,
    ) -> None:
        self.netns, self.namespaces, self.isolation, self.root = netns, namespaces, isolation, root
        super().__init__(name, **params)
        self.ready = True


class LabSwitch(LazyNode, OVSSwitch):  # type: ignore[misc]
    """A bridge in one of the lab's private Open vSwitches."""

    #: Mininet asks for it when a command at the prompt names a switch.
    controlIntf = None

    def __init__(self, name: str, shard: Shard, dpid: int, **params: Any) -> None:
        self.netns, self.environment, self.shard = shard.netns, shard.environment, shard
        params["inNamespace"] = True
        super().__init__(name, dpid=f"{dpid:016x}", protocols="OpenFlow13", **params)
        self.ready = True

    def start(self, controllers: list[Node]) -> None:
        """Nothing to do: the bridge runs already."""

    def stop(self, deleteIntfs: bool = True) -> None:
        """The bridge ends with the lab's sandbox."""
        self.terminate()

    def connected(self) -> bool:
        """Whether the bridge is connected to the controller."""
        return "true" in self.shard.run("ovs-vsctl", "get", "Controller", self.name, "is_connected")

    def dpctl(self, *args: str) -> str:
        """Run ovs-ofctl on this bridge with OpenFlow 1.3."""
        return self.shard.run("ovs-ofctl", "-O", "OpenFlow13", args[0], self.name, *args[1:])
