"""An interface of the machine as a port of a switch.

It gets a free port, or with ``host`` the port of a plain host, whose place the machine behind it takes: the
tables then hold for it.  Where servers relay, a place would need an agent, so only a free port is given.
"""

from __future__ import annotations

import os

from addressing.fields import ipv4, mac
from dcnlab.lab.contract.lab import AttachedInterface
from dcnlab.lab.emulation.namespaces import netns
from dcnlab.lab.emulation.running import interface
from dcnlab.lab.errors import LabError, UsageError
from dcnlab.lab.running.local_machine import LocalMachine
from hostagent.linux.netlink import Netlink


class Attachments:
    """The attached interfaces of a lab."""

    def __init__(self, session: LocalMachine) -> None:
        self._session, self._guard = session, session.guard

    def attach(self, switch: str, interface: str, host: str = "") -> AttachedInterface:
        """Make an interface of the machine a port; UsageError with one line if that is impossible."""
        with self._guard.attaching:
            wanted = self._place(switch, interface, host)
            shard = self._session.running.shard(wanted.switch)
            namespace = os.open(netns.path(shard.netns), os.O_RDONLY | os.O_CLOEXEC)
            try:
                self._guard.ask("take", [namespace], interface=interface)
            finally:
                os.close(namespace)
            try:
                netns.set_up_in(shard.netns, interface, True)
                if wanted.host:
                    self._remove(wanted, self._own(wanted))
                self._add(wanted, interface)
            except LabError:
                self._guard.ask("give", interface=interface)
                raise
            self._guard.attached[interface] = wanted
        return wanted

    def detach(self, interface: str, switch: str = "") -> AttachedInterface:
        """Give an interface back to the machine, if it is attached to ``switch`` (empty: to any); a host whose
        place it had gets that again."""
        where = switch and self._session.fabric.name(self._session.node(switch))
        with self._guard.attaching:
            if interface not in self._guard.attached:
                raise UsageError(f"{interface} is not attached to a switch of this lab")
            attached = self._guard.attached[interface]
            if where and attached.switch != where:
                raise UsageError(f"{interface} is attached to {attached.switch}, not to {where}")
            self._remove(attached, interface)
            if attached.host:
                self._add(attached, self._own(attached))
            self._guard.ask("give", interface=interface)
            del self._guard.attached[interface]
        return attached

    def _remove(self, place: AttachedInterface, interface: str) -> None:
        """Remove the port of an interface; its link is down then."""
        if self._session.switch_path is not None:  # which knows the interfaces that the switch began with
            self._session.switch_path.leave(place.switch)
        self._session.running.shard(place.switch).remove_port(place.switch, interface)
        self._await(place, up=False)

    def _add(self, place: AttachedInterface, interface: str) -> None:
        """Add an interface at its port; its link is up then, if the interface has a carrier."""
        if self._session.switch_path is not None:
            self._session.switch_path.leave(place.switch)
        shard = self._session.running.shard(place.switch)
        shard.add_port(place.switch, interface, place.port)
        if netns.inside(shard.netns, lambda: _carrier(interface)):
            self._await(place, up=True)

    def _await(self, place: AttachedInterface, up: bool) -> None:
        """Wait until the lab has converged on the link at a place; a free port has none."""
        if place.host and self._session.running.controller is not None:
            link = self._session.fabric.link_at(self._session.fabric.index(place.switch), place.port)
            self._session.link_state.wait_for(frozenset({link}), up)

    def _own(self, place: AttachedInterface) -> str:
        """The interface of the fabric's link at a port."""
        fabric = self._session.fabric
        return interface(fabric, fabric.index(place.switch), place.port)

    def _taken(self) -> set[tuple[str, int]]:
        """The (switch, port) pairs of attached interfaces."""
        return {(each.switch, each.port) for each in self._guard.attached.values()}

    def _place(self, switch: str, interface: str, host: str) -> AttachedInterface:
        """Where an interface goes."""
        session, fabric = self._session, self._session.fabric
        node = session.node(switch)
        if fabric.is_server(node):
            raise UsageError(f"{switch} is a server: interfaces are attached to switches")
        if not host:
            used = {port for port, _ in fabric.ports(node)}
            used |= {port for name, port in self._taken() if name == fabric.name(node)}
            used |= session.running.beside.at(node).keys()
            return AttachedInterface(interface, fabric.name(node), max(used, default=0) + 1, "", "", "")
        server = session.server(host)
        if fabric.relaying:
            raise UsageError(f"the servers of {fabric.spec} relay packets, so no machine can take a place")
        port = next((port for port, end in fabric.ports(node) if end.node == server), None)
        if port is None:
            raise UsageError(f"{host} is not at {switch}: name a host of that switch")
        if (fabric.name(node), port) in self._taken():
            raise UsageError(f"the place of {host} is taken already")
        own = next(number for number, _ in fabric.ports(server))
        scheme = session.running.scheme
        return AttachedInterface(
            interface, fabric.name(node), port, fabric.name(server),
            f"{ipv4.text(scheme.ipv4(server))}/{scheme.ipv4_length}", mac.text(mac.hardware(server, own)),
        )  # fmt: skip


def _carrier(interface: str) -> bool:
    """Whether an interface of this thread's namespace is up and has a carrier."""
    with Netlink() as kernel:
        return kernel.interfaces()[interface].up
