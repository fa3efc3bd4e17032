"""Mininet objects for a network that exists already.

``LabNet`` is a :class:`mininet.net.Mininet`: ``net.get``, ``node.cmd``, the CLI and user scripts
work.  Unlike Mininet's, nodes have no process: a shell starts in a node's namespace with its first
command, and links exist before Mininet registers them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mininet.net import Mininet
from mininet.util import waitListening

from addressing.fields import ipv4, mac
from addressing.scheme import Scheme
from addressing.unrouted import Unrouted
from dcnlab.lab.emulation.mininet_nodes import Impose, Interface, LabHost, LabLink, LabSwitch
from dcnlab.lab.emulation.running import Running, dpid, interface, later_interface
from dcnlab.lab.errors import LabError
from topos.graph import Port

#: Asks the lab for ``add`` or ``remove``, with the words of these commands.
Change = Callable[..., Any]


class LabNet(Mininet):  # type: ignore[misc]
    """A Mininet whose links fail and are restored through the lab."""

    def __init__(
        self, running: Running, set_link: Callable[[str, str, bool], None], impose: Impose, change: Change
    ) -> None:
        self._running, self._set_link, self._impose, self._change = running, set_link, impose, change
        #: Whether the lab's nodes and links are all here: further ones come to the running lab.
        self.complete = False
        self._new: dict[str, str] = {}
        self._removed: dict[frozenset[str], LabLink] = {}
        Mininet.inited = True  # or Mininet would change system limits
        super().__init__(topo=None, build=False, controller=None, autoSetMacs=False)
        self.built = True
        #: The topology that a script was given as a whole; it cannot add to it then.
        self.given = ""

    def start(self) -> None:
        """Nothing to do: the network runs."""

    def stop(self) -> None:
        """End the programs of all nodes; the network ends with the lab."""
        self.stopXterms()
        for node in self.values():
            if node.shell is not None:
                node.terminate()
                node._pid = None

    def waitConnected(self, timeout: float | None = None, delay: float = 0.5) -> bool:
        """Nothing to wait for: tables are installed before a lab is ready."""
        return True

    def iperf(self, hosts: Any = None, l4Type: str = "TCP", *rest: Any, **words: Any) -> Any:
        """Measure as Mininet's does, without waiting forever for TCP: iperf 2.1.8 reports no line for the
        connection by which Mininet learns that the server listens."""
        if l4Type != "TCP":
            return super().iperf(hosts, l4Type, *rest, **words)
        client, server = hosts or (self.hosts[0], self.hosts[-1])
        port, seconds = words.get("port", 5001), words.get("seconds", 5)
        server.sendCmd(f"iperf -p {port} -s")
        waitListening(client, server.IP(), port)
        sent = client.cmd(f"iperf -p {port} -t {seconds} -c {server.IP()}")
        server.sendInt()
        return [self._parseIperf(text) for text in (server.waitOutput(), sent)]

    def addHost(self, name: str, cls: Any = None, **params: Any) -> Any:
        """As Mininet's; one for a running lab comes to it with its link."""
        if not self.complete:
            return super().addHost(name, cls=cls, **params)
        host = LabHost(name, name, self.hosts[0].namespaces)
        self._new[name], self.nameToNode[name] = params.get("ip") or "", host
        self.hosts.append(host)
        return host

    def addSwitch(self, name: str, cls: Any = None, **params: Any) -> Any:
        """As Mininet's; a running lab gets the switch."""
        if not self.complete:
            return super().addSwitch(name, cls=cls, **params)
        self._change("add", "switch", name)
        return self.register_switch(name)

    def addLink(self, node1: Any, node2: Any, *ports: Any, **params: Any) -> Any:
        """As Mininet's; a running lab gets the link, and with it a new host.  LabError where it cannot."""
        if not self.complete:
            return super().addLink(node1, node2, *ports, **params)
        a, b = map(str, (node1, node2))
        host, other = (a, b) if a in self._new else (b, a)
        if host in self._new:
            added = self._change("add", "host", host, to=other, address=self._new.pop(host))
            return Interface(later_interface(host), self[host], 1, ip=added.address)
        self._change("add", "link", a, b)
        if (link := self._removed.pop(frozenset((a, b)), None)) is not None:
            self.links.append(link)
        else:
            fabric = self._running.fabric
            self.register_link(fabric.links_between(fabric.index(a), fabric.index(b))[0])
        return self.links[-1]

    def addController(self, name: Any = "c0", controller: Any = None, **params: Any) -> Any:
        """As Mininet's; refused once a script was given the network."""
        self._refuse(f"controller {name}")
        return super().addController(name, controller, **params)

    def delLink(self, link: Any) -> None:
        """Remove a link, which only :meth:`addLink` brings back; LabError for one of several parallel links."""
        a, b = link.intf1.node.name, link.intf2.node.name
        if len(self.linksBetween(self[a], self[b])) > 1:
            raise LabError(f"{a} and {b} have parallel links, which a script can only fail together")
        self._change("remove", "link", a, b)
        self.links.remove(link)
        self._removed[frozenset((a, b))] = link

    def delNode(self, node: Any, nodes: Any = None) -> None:
        """Refused: a lab keeps its nodes."""
        raise LabError(f"a script cannot remove {node} from a lab: fail its links with configLinkStatus")

    def _refuse(self, what: str) -> None:
        if self.given:
            raise LabError(f"the network is {self.given}, to which a script cannot add {what}")

    def configLinkStatus(self, src: str, dst: str, status: str) -> None:
        """Do what ``link A B up|down`` at the prompt asks for."""
        self._set_link(src, dst, status == "up")

    def register_switch(self, name: str) -> LabSwitch:
        """Add a switch of the lab to Mininet's nodes."""
        number, shard = self._running.fabric.index(name), self._running.shard(name)
        switch = LabSwitch(name, shard=shard, dpid=dpid(self._running.fabric, number))
        self.nameToNode[name] = switch
        self.switches.append(switch)
        return switch

    def register_link(self, number: int) -> None:
        """Add a link of the lab to Mininet's list."""
        fabric, link = self._running.fabric, self._running.fabric.link(number)
        ends = []
        for end in (link.a, link.b):
            address = _address(self._running.scheme, end)
            name = interface(fabric, end.node, end.number)
            hardware = mac.text(mac.hardware(end.node, end.number))
            ends.append(Interface(name, self[fabric.name(end.node)], end.number, hardware, address))
        self.links.append(LabLink(ends[0], ends[1], number, self._impose))


def _address(scheme: Scheme, end: Port) -> str:
    """The IPv4 address of an interface; empty where it has none."""
    if isinstance(scheme, Unrouted) and end in scheme.plan.by_port:
        return ipv4.text(scheme.plan.by_port[end][0])
    return ipv4.text(scheme.ipv4(end.node)) if scheme.fabric.is_end_host(end.node) else ""


def objects(
    running: Running, set_link: Callable[[str, str, bool], None], impose: Impose, change: Change
) -> LabNet:
    """The lab as Mininet objects: hosts, switches and links, which fail and are impaired through the lab."""
    fabric, scheme = running.fabric, running.scheme
    net = LabNet(running, set_link, impose, change)
    nodes = {}
    for node in range(fabric.size):
        name = fabric.name(node)
        if fabric.is_server(node):
            nodes[node] = net.addHost(
                name,
                cls=LabHost,
                netns=name,
                ip=None,
                namespaces=running.host_namespaces,
                isolation=running.isolation,
                root=running.root(name),
            )
        else:
            nodes[node] = net.register_switch(name)
    for node in range(fabric.servers):
        if fabric.relaying:
            Interface("dcn0", nodes[node], 0, ip=ipv4.text(scheme.ipv4(node)))
    for number in range(len(fabric.link_ends)):
        net.register_link(number)
    net.complete = True
    return net
