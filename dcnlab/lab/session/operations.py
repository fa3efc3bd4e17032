"""The operations of a running lab that clients call over its control socket.

A measurement is one operation, ``measure``, with its name and its arguments; the measurements themselves
are in ``dcnlab.lab.measurement``.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from typing import Any

from addressing.fields import ipv4
from dcnlab.lab import measurement, naming
from dcnlab.lab.autoconfig import configuring
from dcnlab.lab.control import upgrade
from dcnlab.lab.control.rpc import Call, Operation
from dcnlab.lab.coordinator.link_state.causes import Observation
from dcnlab.lab.emulation import netns
from dcnlab.lab.emulation.links import delays
from dcnlab.lab.emulation.running import interface
from dcnlab.lab.errors import UsageError
from dcnlab.lab.inspection import capture, flows, live_path, queues, tables, trace
from dcnlab.lab.instruments import probe_server
from dcnlab.lab.instruments.measurement import Context, Measurement
from dcnlab.lab.instruments.probe_server import LocalMachine
from dcnlab.lab.kv import ring, store
from dcnlab.lab.kv.stores import Stores
from dcnlab.lab.outside import expose, opening
from dcnlab.lab.outside.attachment import Attachments
from dcnlab.lab.program import Program
from dcnlab.lab.running import execution, foreign, impairing, process_health
from dcnlab.lab.running.lab import RunningLab
from dcnlab.lab.running.network import Frame
from dcnlab.lab.running.parts import Part
from dcnlab.lab.services.services import Services
from dcnlab.lab.session import event_stream
from dcnlab.lab.session.recording import recorded
from topos import plugins
from topos.graph import Port
from topos.spec import SpecError, lookup


def table(session: RunningLab) -> dict[str, Operation]:
    """The operations by name; the lab's journal records those that do something."""
    operations = _Operations(session)
    return {name: recorded(name, getattr(operations, f"op_{name}"), session.journal) for name in names()}


def names() -> list[str]:
    """The names of all operations."""
    return [name.removeprefix("op_") for name in dir(_Operations) if name.startswith("op_")]


def requested_measurement(call: Call) -> Measurement[Any]:
    """The measurement ``name`` with ``arguments``; files in ``custom`` may define it.  Raises UsageError."""
    request = call.request
    try:
        plugins.load(request.get("custom", ()))
        kind = lookup(request["name"], measurement.known(), "measurement")
    except SpecError as error:
        raise UsageError(str(error)) from error
    return kind.from_json(request.get("arguments", {}))


class _Operations:
    def __init__(self, session: RunningLab) -> None:
        self._session = session
        self._fabric = session.fabric
        self._attachments = Attachments(session)
        self._stores = Stores(session.endpoint)
        self._ring = ring.Ring(session.fabric, self._stores.connect)
        self._services = Services(session)

    def op_measure(self, call: Call) -> Any:
        """Run the measurement ``name`` with ``arguments``; files in ``custom`` may define it."""
        context = Context(call, [LocalMachine(self._session)])
        return requested_measurement(call).run(self._session, context).to_json()

    def op_probe(self, call: Call) -> Any:
        """Serve a probe of a measurement that another machine makes."""
        request = call.request
        plugins.load(request["custom"])
        kind = probe_server.find(request["module"], request["probe"])
        probe_server.serve(call, kind(self._session, Context(call, listens=False)))
        return {}

    def op_info(self, call: Call) -> Any:
        """Configuration, counts, links that are down, processes of the lab that have ended."""
        session, fabric = self._session, self._fabric
        buffers = session.running.receive_buffers
        return {
            "name": session.config.name,
            "topology": fabric.spec,
            "scheme": session.config.scheme,
            "backend": session.config.backend,
            "datapath": session.running.datapath,
            "fast_path": session.running.fast_path,
            "switch_fast_path": session.switch_fast_path,
            "receive_buffers": buffers.state if buffers is not None else "none",
            "custom": list(session.config.custom),
            "servers": fabric.servers,
            "switches": fabric.switches,
            "links": len(fabric.link_ends),
            "down": sorted(session.link_state.state().down),
            "cut": session.link_state.cut_names(),
            "down_links": session.link_state.still_down(session.link_state.state().down),
            "outside": opening.describe(session),
            "started": session.started,
            "launch": session.running.seconds,
            "ended": process_health.ended(session.running),
            "damage": session.mending.damage(),
            "version": upgrade.version(),
            "replaced": upgrade.was_replaced(),
            "controller": self.op_control(call),
            "restarts": session.supervision.restarts(),
            "options": session.config.to_json(),
        }

    def op_control(self, call: Call) -> Any:
        """Which controller the switches have, and whether they are connected."""
        found = foreign.status(self._session.running).to_json()
        found["notes"] += [line for notice in self._session.notices for line in notice()]
        return found

    def op_nodes(self, call: Call) -> Any:
        """Name, kind, label and address of every node, or of those that ``matching`` names."""
        nodes, scheme = [], self._session.running.scheme
        wanted = call.request.get("matching")
        numbers = naming.nodes_matching(self._fabric, wanted, scheme) if wanted else range(self._fabric.size)
        for node in map(self._fabric.node, numbers):
            address = ipv4.text(scheme.ipv4(node.index)) if node.kind == "server" else None
            nodes.append({"name": node.name, "kind": node.kind, "label": node.label, "ipv4": address})
        return nodes

    def op_down(self, call: Call) -> Any:
        """End the lab."""
        self._services.end()
        self._session.end()
        return {}

    # --- programs -------------------------------------------------------------

    def op_exec(self, call: Call) -> Any:
        """Run a program in a node's namespace on the client's descriptors; its exit code."""
        words = call.request["words"]
        if not words:
            raise UsageError("say what to run")
        version = next((v for v in (4, 6) if f"-{v}" in words), 0)
        addressed = (execution.addressed(self._session, word, version) for word in words[1:])
        return execution.run(self._session, call, [words[0], *addressed])

    def op_service(self, call: Call) -> Any:
        """Start a program that runs until the lab ends; returns when it is ready."""
        request = call.request
        ready, within = request.get("ready", ""), float(request.get("within", 0))
        program = Program.from_json(request["program"])
        return self._services.start(request["name"], request["node"], program, ready, within)

    def op_service_wait(self, call: Call) -> Any:
        """Wait until a service is ready, which for ``exit:0`` is when it has ended."""
        request = call.request
        return self._services.wait(request["name"], request.get("node", ""), float(request["within"]))

    def op_service_stop(self, call: Call) -> Any:
        """End a service."""
        return self._services.stop(call.request["name"], call.request.get("node", ""))

    def op_service_log(self, call: Call) -> Any:
        """What a service has written."""
        return self._services.log(call.request["name"], call.request.get("node", ""))

    def op_services(self, call: Call) -> Any:
        """The services of the lab and their states."""
        return self._services.all()

    def op_capture(self, call: Call) -> Any:
        """Run tcpdump in a node on the client's descriptors, at one port or at all ports."""
        request = call.request
        if request["node"] == capture.CONTROLLER_NAME:
            return self._capture_controller(call)
        node = self._session.node(request["node"])
        namespace = self._session.running.namespace(node)

        def index(interface: str) -> int:
            return netns.inside(namespace, lambda: socket.if_nametoindex(interface))

        options, expression = request.get("options", []), request.get("expression", [])
        if "-w" in options and request.get("port") is None:
            interfaces = self._interfaces(node, namespace)
            words = capture.all_interfaces(namespace, interfaces, expression, request.get("count"))
            return execution.run(self._session, call, words, ours=True)
        options = [*options, *(["-c", str(request["count"])] if request.get("count") else [])]
        words = capture.command(self._fabric, node, request.get("port"), index, options, expression)
        return execution.run(self._session, call, words, ours=True)

    def _interfaces(self, node: int, namespace: str) -> list[str]:
        """The interfaces of a node: all of a server's namespace, which a switch shares with others."""
        if self._fabric.is_server(node):
            names = [name for _, name in netns.inside(namespace, socket.if_nameindex)]
            return [name for name in names if not name.startswith(delays.PREFIX)]
        return [interface(self._fabric, node, port) for port, _ in self._fabric.ports(node)]

    def _capture_controller(self, call: Call) -> Any:
        """The OpenFlow conversation of all switches."""
        request, shards = call.request, self._session.running.shards
        if not shards:
            raise UsageError("this lab has no switches, so nobody talks to a controller")
        options, count = request.get("options", []), request.get("count")
        expression, switch = request.get("expression", []), request.get("switch")
        if switch is None:
            switch = shards[0].bridges[0].name
            words = capture.conversation(shards, options, count, expression)
        elif expression or self._fabric.is_server(self._session.node(switch)):
            raise UsageError("--switch takes the name of a switch, and no filter")
        else:
            switch = self._fabric.name(self._session.node(switch))
            words = capture.snooping(self._session.running.shard(switch), switch, options, count)
        call.request = {**request, "node": switch}
        return execution.run(self._session, call, words, ours=True)

    # --- keys -----------------------------------------------------------------

    def op_kv(self, call: Call) -> Any:
        """put, get, del, where or ls of key-based routing; values travel through the client's descriptor."""
        return ring.serve(self._ring, call, self._session.server, self._fabric.name)

    def op_store(self, call: Call) -> Any:
        """Start the store of a server, for servers of other machines: the address and port where it listens."""
        server = self._session.server(call.request["server"])
        self._stores.start(server)
        return {"address": self._session.address(server), "port": store.PORT}

    # --- links and tables -----------------------------------------------------

    def op_fail(self, call: Call) -> Any:
        """Cut a link or all links of a node; returns when agents and controller have converged."""
        return self._session.change_links(*self._links(call), up=False)

    def op_restore(self, call: Call) -> Any:
        """Undo ``fail``."""
        return self._session.change_links(*self._links(call), up=True)

    def op_change_links(self, call: Call) -> Any:
        """Cut links by their numbers, or bring them ``up``: at their ends on this machine, where several run
        the lab."""
        found = self._session.change_links(tuple(call.request["links"]), up=bool(call.request["up"]))
        return {**found, "observed": self._session.link_state.own().to_json()}

    def op_own_links(self, call: Call) -> Any:
        """What this machine, one of several, observes of links, once that is not what is ``known``, or after a
        ``timeout`` in seconds."""
        known = Observation.from_json(call.request["known"]) if "known" in call.request else None
        return self._session.link_state.own(known, float(call.request.get("timeout", 0))).to_json()

    def op_elsewhere(self, call: Call) -> Any:
        """Take the ``links`` that are down at their ends on other machines, and those to machines that are
        ``unreachable``; returns when the tables follow."""
        self._session.take_elsewhere(call.request["links"], call.request["unreachable"])
        return {}

    def op_isolated(self, call: Call) -> Any:
        """Nobody asks this machine, one of several, so its ``links`` to others are down; none: somebody asks
        again.  Returns when the tables follow."""
        self._session.take_isolation(call.request["links"])
        return {}

    def op_rejoin(self, call: Call) -> Any:
        """Launch the part of a machine again: the coordinator of several machines does it."""
        raise UsageError("this lab runs on one machine")

    def op_impair(self, call: Call) -> Any:
        """Change the delay, loss, rate, ... of links, return them to those of the launch (``clear``), or only
        tell those that links have (without ``kind``)."""
        return impairing.change(self._session, call.request)

    def op_attach(self, call: Call) -> Any:
        """Make an interface of the machine a port of a switch, maybe in the place of a host."""
        request = call.request
        return self._attachments.attach(request["switch"], request["interface"], request.get("host") or "")

    def op_connect(self, call: Call) -> Any:
        """Pass bytes between a port of a server and two descriptors, for another machine: that of what is
        exposed, or of a server at another ``address``."""
        server, port = self._session.server(call.request["server"]), int(call.request["port"])
        address = str(call.request.get("address", ""))
        source, target, *_ = call.descriptors
        call.descriptors.clear()
        call.progress({"connecting": True})  # now the other machine closes its copies of the descriptors
        expose.connect(self._session, server, port, source, target, address)
        return {}

    def op_detach(self, call: Call) -> Any:
        """Give an interface back to the machine."""
        return self._attachments.detach(call.request["interface"], call.request.get("switch", ""))

    def op_reconfigure(self, call: Call) -> Any:
        """Let servers that were launched without addresses configure themselves again, while traffic flows."""
        configuring.check(self._session.config)
        self._session.running.configure(self._session.scheme)
        self._session.report_configuration()
        return self._session.running.aacm

    def op_configure(self, call: Call) -> Any:
        """Take one ``step`` of an autoconfiguration on several machines."""
        return self._session.running.take_step(self._session.scheme, call.request)

    def _links(self, call: Call) -> tuple[tuple[int, ...], int | None]:
        """The links that a request names, and the node where it names them by that."""
        kind, names = call.request["kind"], call.request["names"]
        links = self._session.links_named(kind, names)
        return links, self._session.node(names[0]) if kind == "node" else None

    # --- processes --------------------------------------------------------------

    def op_restart(self, call: Call) -> Any:
        """End processes and start them again, and repair a host; returns when they work."""
        session, begun = self._session, time.monotonic()
        host = session.mending.host_named(call.request["what"])
        if host is not None:
            session.repair_host(host)
        if host is None or not self._fabric.is_end_host(host):
            return self._parts(call, session.supervision.restart)
        ms = round(1000 * (time.monotonic() - begun), 2)
        return {"processes": [{"process": "network", "nodes": [self._fabric.name(host)]}], "ms": ms}

    def op_kill(self, call: Call) -> Any:
        """End processes as if they had crashed."""
        return self._parts(call, self._session.supervision.kill)

    def op_pause(self, call: Call) -> Any:
        """Stop processes until they are restarted."""
        return self._parts(call, self._session.supervision.pause)

    def _parts(self, call: Call, action: Callable[[list[Part]], None]) -> Any:
        found, begun = self._session.parts_named(call.request["what"]), time.monotonic()
        action(found)
        ms = round(1000 * (time.monotonic() - begun), 2)
        return {"processes": [{"process": part.name, "nodes": list(part.nodes)} for part in found], "ms": ms}

    def op_tables(self, call: Call) -> Any:
        """The table of a node as the scheme predicts it; for switches also as Open vSwitch holds it."""
        return tables.compare(self._session, self._session.node(call.request["node"]))

    def op_flows(self, call: Call) -> Any:
        """The entries of a switch with their counters."""
        return flows.flows(self._session, self._session.node(call.request["node"]))

    def op_queues(self, call: Call) -> Any:
        """What waits at the ports that have a queue, and what was dropped there."""
        return queues.queues(self._session)

    def op_explain(self, call: Call) -> Any:
        """The path between two servers in words, with the entry that decides at each node; for switches also
        whether it is installed, and which entry of the scheme it overrides."""
        return live_path.explained(trace.network(self._session), call.request)

    def op_verdict(self, call: Call) -> Any:
        """What a switch does with a ``frame`` that arrives at a ``port`` of it: for paths across machines."""
        request = call.request
        at = Port(self._session.node(request["node"]), int(request["port"]))
        return trace.ask(self._session, at, Frame(**request["frame"])).to_json()

    def op_controller(self, call: Call) -> Any:
        """Counters of the controller: flow messages, packet-ins, ARP replies."""
        controller, tables = self._session.running.controller, self._session.running.choice.tables
        return controller.stats() if controller is not None and tables else {}

    def op_events(self, call: Call) -> Any:
        """What has happened in the lab after event number ``after``; with ``follow`` also what happens."""
        return event_stream.send(self._session.journal, call)
