"""What programs in hosts have changed of a running lab, and its repair by `restore` and `restart`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from dcnlab.lab import naming
from dcnlab.lab.contract.machine import LinkStateOfLab
from dcnlab.lab.emulation.running import Running
from dcnlab.lab.emulation.wiring import Wiring
from dcnlab.lab.running.guard import Guard
from dcnlab.lab.running.processes.supervised import Agent, Daemon
from dcnlab.lab.running.processes.supervision import Supervision


class Mending:
    """The repair of links and hosts of one machine."""

    def __init__(
        self, running: Running, link_state: LinkStateOfLab, supervision: Supervision, guard: Guard
    ) -> None:
        self._running, self._link_state, self._supervision = running, link_state, supervision
        self._guard, self._wiring = guard, Wiring(running, guard)

    def extend(self) -> None:
        """The lab has got further links."""
        self._wiring = Wiring(self._running, self._guard)

    def damage(self) -> list[str]:
        """A line for each link and host that is not as the lab made it, with the command that repairs it."""
        fabric, uncut = self._running.fabric, self._uncut(range(len(self._running.fabric.link_ends)))
        name, lines = self._running.config.name, []
        for link, text in self._wiring.broken(uncut).items():
            ends = " ".join(fabric.link_names(link))
            lines.append(f"{text}: `dcnlab restore {name} link {ends}` repairs it")
        for host, text in self._wiring.incomplete(self._running.servers).items():
            if host not in self._silent_hosts():
                lines.append(f"{text}: `dcnlab restart {name} {fabric.name(host)}` repairs it")
        return lines

    def mend_links(self, links: Iterable[int]) -> Callable[[], None]:
        """Make those of the links again that hosts have broken, and have agents open them; what is to be done
        when switches have them again."""
        broken = tuple(self._wiring.broken(links, down=False))
        if not broken:
            return lambda: None
        self._supervision.hasten(self._databases(broken))
        self._wiring.make_again(broken)
        servers = [node for node in self._nodes_at(broken) if self._running.fabric.is_server(node)]
        self._wiring.configure(servers)
        self._restart_agents(servers)
        return lambda: self._finish(broken)

    def mend_host(self, host: int) -> None:
        """Give a plain host its addresses, routes and neighbours again; the agent of a relay does that."""
        self._wiring.configure([host])

    def host_named(self, what: str) -> int | None:
        """The server of that name; None for switches and groups of processes."""
        node = naming.named_node(self._running.fabric, what, self._running.scheme)
        return node if node is not None and self._running.fabric.is_server(node) else None

    def to_mend(self, host: int) -> frozenset[int]:
        """The links of a host that are to be up, and are not as the lab made them."""
        return frozenset(self._wiring.broken(self._uncut(self._running.fabric.links_of(host))))

    def _finish(self, links: Sequence[int]) -> None:
        """Open vSwitch has removed what it found at the ports of links that were made again."""
        running = self._running
        running.impairments.renew(links)
        if running.flooding is not None:
            running.flooding.forget(
                running.fabric.name(node)
                for node in self._nodes_at(links)
                if not running.fabric.is_server(node)
            )
            running.flooding.follow(self._link_state.state().down)

    def _restart_agents(self, servers: Sequence[int]) -> None:
        parts = self._supervision.parts
        agents = [part for part in parts if isinstance(part, Agent) and part.node in servers]
        if agents:
            self._supervision.restart(agents)

    def _databases(self, links: Iterable[int]) -> list[Daemon]:
        """The databases that switches at these links have their ports from."""
        names = {self._running.fabric.name(node) for node in self._nodes_at(links)}
        daemons = (part for part in self._supervision.parts if isinstance(part, Daemon))
        return [part for part in daemons if part.program == "ovsdb-server" and not names.isdisjoint(part.nodes)]

    def _nodes_at(self, links: Iterable[int]) -> list[int]:
        """The nodes of this machine at these links."""
        ends = map(self._running.fabric.link, links)
        nodes = {end.node for link in ends for end in (link.a, link.b) if self._running.here(end.node)}
        return sorted(nodes)

    def _uncut(self, links: Iterable[int]) -> list[int]:
        cut = self._link_state.cut_links
        return [link for link in links if link not in cut]

    def _silent_hosts(self) -> frozenset[int]:
        """The servers whose agents are down: what is missing there comes back with them."""
        return frozenset(self._link_state.silent)
