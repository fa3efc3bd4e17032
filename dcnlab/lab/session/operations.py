"""What can be asked of a running lab over its control socket."""

from __future__ import annotations

import itertools
import re
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial
from typing import Any

import psutil

from addressing.fields import ipv4
from addressing.scheme import path
from dcnlab.lab.emulation import netns
from dcnlab.lab.errors import LabError, UsageError
from dcnlab.lab.inspection import capture, explain, tables
from dcnlab.lab.instruments import echo as ping
from dcnlab.lab.instruments import mptcp, overload
from dcnlab.lab.instruments.counters import LinkCounters
from dcnlab.lab.instruments.packet_stream import PacketStream
from dcnlab.lab.kv import bulk, ring
from dcnlab.lab.measurement import labels, next_hops
from dcnlab.lab.replication import plan, runner
from dcnlab.lab.rpc import Call, Operation
from dcnlab.lab.running import execution, process_health
from dcnlab.lab.running.endpoint import Endpoint
from dcnlab.lab.running.lab import RunningLab
from dcnlab.lab.running.process_guard import terminate_with_client

_HOP = re.compile(r"^\s*\d+\s+(\S+)", re.MULTILINE)


def table(session: RunningLab) -> dict[str, Operation]:
    """The operations by name."""
    operations = _Operations(session)
    return {
        name.removeprefix("op_"): getattr(operations, name)
        for name in dir(operations)
        if name.startswith("op_")
    }


def _terminate_with_client(call: Call) -> Callable[[subprocess.Popen[str]], None]:
    """What lets processes end when whoever asked goes away."""
    return lambda process: terminate_with_client(call.channel.socket, process)


class _Operations:
    def __init__(self, session: RunningLab) -> None:
        self._session = session
        self._fabric = session.fabric
        self._inside = partial(execution.inside, session)
        self._counters = LinkCounters(session.running)
        self._ring = ring.Ring(session.fabric, session.endpoint)
        self._numbers = itertools.count()
        self._probes: dict[int, PacketStream] = {}

    def op_info(self, call: Call) -> Any:
        session, fabric = self._session, self._fabric
        return {
            "name": session.config.name,
            "topology": fabric.spec,
            "scheme": session.config.scheme,
            "backend": session.config.backend,
            "datapath": session.running.datapath,
            "fast_path": session.running.fast_path,
            "custom": list(session.config.custom),
            "servers": fabric.servers,
            "switches": fabric.switches,
            "links": len(fabric.link_ends),
            "down": sorted(session.link_state.state().down),
            "started": session.started,
            "launch": session.running.seconds,
            "ended": process_health.ended(session.running),
        }

    def op_nodes(self, call: Call) -> Any:
        found = []
        for node in self._fabric.nodes():
            address = (
                ipv4.text(self._session.running.scheme.ipv4(node.index)) if node.kind == "server" else None
            )
            found.append({"name": node.name, "kind": node.kind, "label": node.label, "ipv4": address})
        return found

    def op_down(self, call: Call) -> Any:
        self._session.stop.set()
        return {}

    # --- programs -------------------------------------------------------------

    def op_exec(self, call: Call) -> Any:
        """Run a program in a node's namespace on the caller's descriptors; its exit code."""
        words = call.request["words"]
        if not words:
            raise UsageError("say what to run")
        version = next((v for v in (4, 6) if f"-{v}" in words), 0)
        addressed = (execution.addressed(self._session, word, version) for word in words[1:])
        return execution.run(self._session, call, [words[0], *addressed])

    def op_capture(self, call: Call) -> Any:
        """Run tcpdump in a node on the caller's descriptors, at one port or at all of the node's."""
        request = call.request
        node = self._session.node(request["node"])
        namespace = self._session.running.namespace(node)

        def index(interface: str) -> int:
            return netns.inside(namespace, lambda: socket.if_nametoindex(interface))

        options, expression = request.get("options", []), request.get("expression", [])
        words = capture.command(self._fabric, node, request.get("port"), index, options, expression)
        return execution.run(self._session, call, words)

    # --- measurements ---------------------------------------------------------

    def op_ping(self, call: Call) -> Any:
        """Echo requests between pairs: ``all`` ordered pairs, ``pairs`` (h0-h1, h2-h3, ...), or a list."""
        wanted = call.request.get("pairs", "all")
        pairs = list(self._pairs(wanted, int(call.request.get("version", 0))))
        step = max(1, len(pairs) // 50)

        def progress(done: int) -> None:
            if done % step == 0:
                call.progress({"done": done, "of": len(pairs)})

        report = ping.ping_pairs(
            pairs,
            progress=progress,
            size=int(call.request.get("size", 56)),
            timeout=float(call.request.get("timeout", ping.PING_TIMEOUT)),
        )
        return report.summary()

    def _pairs(self, wanted: str | list[list[str]], version: int = 0) -> Iterator[tuple[Endpoint, Endpoint]]:
        session, servers = self._session, range(self._fabric.servers)

        def end(server: int) -> Endpoint:
            return session.endpoint(server, version)

        if isinstance(wanted, list):
            for a, b in wanted:
                yield end(session.server(a)), end(session.server(b))
        elif wanted == "all":
            ends = [end(server) for server in servers]
            yield from ((a, b) for a in ends for b in ends if a is not b)
        elif wanted == "pairs":
            for first in range(0, len(servers) - 1, 2):
                left, right = end(first), end(first + 1)
                yield left, right
                yield right, left
        else:
            raise UsageError(f"pairs are `all`, `pairs` or a list, not {wanted!r}")

    def _two_endpoints(self, call: Call) -> tuple[Endpoint, Endpoint]:
        """The two servers, different ones, that a call names ``a`` and ``b``."""
        source, target = self._session.two_servers(call.request["a"], call.request["b"])
        return self._session.endpoint(source), self._session.endpoint(target)

    def op_iperf(self, call: Call) -> Any:
        """iperf3 between two servers."""
        request = call.request
        client, server = self._two_endpoints(call)
        options = ["-P", str(request.get("parallel", 1))]
        if request.get("udp"):
            options += ["-u", "-b", str(request.get("rate", "100M"))]
        prefix = [self._inside(end.name, []) for end in (client, server)]
        seconds, port = float(request.get("seconds", 2)), int(request.get("port", ping.IPERF_PORT))
        return ping.iperf(
            prefix[0], prefix[1], server.address, seconds, options, port, _terminate_with_client(call)
        )

    def op_mptcp(self, call: Call) -> Any:
        """One TCP connection and one of Multipath TCP between two servers, each for some seconds."""
        request, session = call.request, self._session
        a, b = session.two_servers(request["a"], request["b"])
        netns.inside(session.endpoint(a).netns, mptcp.check)
        path_count = mptcp.path_count(session.scheme, a, b, session.link_state.state())
        ends = [session.endpoint(server) for server in (a, b)]
        found: dict[str, Any] = {"paths": path_count}
        with mptcp.further_addresses((a, b), ends, path_count):
            for name, subflows in (("tcp", 0), ("mptcp", path_count)):
                call.progress({"measuring": name})
                found[name] = mptcp.measure(
                    (a, b),
                    ends,
                    subflows,
                    float(request["seconds"]),
                    self._inside,
                    _terminate_with_client(call),
                )
        found["ratio"] = round(found["mptcp"]["mbps"] / found["tcp"]["mbps"], 3)
        return found

    def op_traceroute(self, call: Call) -> Any:
        """The servers that the real traceroute shows between two; its probes are echo requests,
        which are all one flow, and whose answers no kernel limits."""
        session = self._session
        source, target = self._two_endpoints(call)
        words = ["traceroute", "-I", "-n", "-q", "1", "-w", "2", "-m", "64", *call.request.get("options", [])]
        done = subprocess.run(
            self._inside(source.name, [*words, target.address]), capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise LabError(f"traceroute: {done.stderr.strip()}")
        names = {
            session.endpoint(server).address: self._fabric.name(server)
            for server in range(self._fabric.servers)
        }
        hops = _HOP.findall(done.stdout.split("\n", 1)[1])
        return {"hops": [names.get(hop, hop) for hop in hops]}

    def op_stream_start(self, call: Call) -> Any:
        """Begin a stream of numbered packets between two servers."""
        source, target = self._two_endpoints(call)
        stream = PacketStream(source, target, float(call.request.get("interval", 0.001)))
        try:
            stream.wait_flowing()
        except LabError:
            stream.stop()
            raise
        number = next(self._numbers)
        self._probes[number] = stream
        return {"stream": number}

    def op_stream_stop(self, call: Call) -> Any:
        """End a stream: what was lost, and for how long."""
        number = int(call.request["stream"])
        stream = self._probes.pop(number, None)
        if stream is None:
            raise UsageError(f"there is no stream number {number}: it was never begun, or has been stopped")
        return stream.stop()

    def op_replicate(self, call: Call) -> Any:
        """Data of one server to several others, along a complete graph and by a pipeline."""
        session, size = self._session, int(call.request["size"])
        servers = [session.server(name) for name in call.request["servers"]]
        runner.check(servers, size, psutil.virtual_memory().available)
        ends = {server: session.endpoint(server) for server in servers}
        state, (source, *replicas) = session.link_state.state(), servers
        found: dict[str, Any] = {"size": size}
        for name, routes, change_links in (
            (
                "complete graph",
                runner.by_complete_graph(session.scheme, source, replicas, state),
                plan.complete_graph,
            ),
            ("pipeline", runner.by_scheme(session.scheme, servers, state), plan.pipeline),
        ):
            call.progress({"replicating": name})
            with session.pinned(routes.pinned):
                parts = change_links(source, replicas, size)
                found[name] = runner.replicate(
                    parts, routes, ends, self._inside, 600.0, _terminate_with_client(call)
                )
        found["ratio"] = round(found["pipeline"]["seconds"] / found["complete graph"]["seconds"], 3)
        return found

    # --- keys -----------------------------------------------------------------

    def op_kv(self, call: Call) -> Any:
        """put, get, del, where or ls of key-based routing; values go by the caller's descriptor."""
        request, session = call.request, self._session
        words = {"origin": session.server(request["origin"]), "key": bytes.fromhex(request["key"])}
        if request["verb"] == "put":
            words |= {"replicas": request["replicas"], "value": bulk.read(call.descriptors[0])}
        found = ring.answer(self._ring, request["verb"], words, self._fabric.name)
        if "value" in found:
            bulk.write(call.descriptors[0], found["value"])
            found["value"] = len(found["value"])
        return found

    def op_overload(self, call: Call) -> Any:
        """More packets than the network takes, by ``pattern``; what became of them, and where."""
        return overload.measure(self._session, call.request, call.progress)

    def op_next_hops(self, call: Call) -> Any:
        """How often packets between two servers really take each next hop, beside the rule."""
        request = call.request
        return next_hops.measure(self._session, request["a"], request["b"], int(request["packets"]))

    # --- links, tables, ways --------------------------------------------------

    def op_fail(self, call: Call) -> Any:
        """Cut a link or all links of a node; answered when everybody has converged."""
        return self._session.change_links(self._links(call), up=False)

    def op_restore(self, call: Call) -> Any:
        """Undo ``fail``."""
        return self._session.change_links(self._links(call), up=True)

    def op_reconfigure(self, call: Call) -> Any:
        """Let servers that began without addresses find their coordinates anew, while traffic flows."""
        if not self._session.config.autoconfigure:
            raise UsageError("the servers of this lab were given their addresses: start one --autoconfigure")
        self._session.running.configure(self._session.scheme)
        return self._session.running.aacm

    def op_label(self, call: Call) -> Any:
        """The labels that servers have learned, held against the scheme's on the links that are up."""
        return labels.report(self._session)

    def _links(self, call: Call) -> tuple[int, ...]:
        return self._session.links_named(call.request["kind"], call.request["names"])

    def op_tables(self, call: Call) -> Any:
        """A switch's table as predicted and as Open vSwitch has it; a server's as its rule says."""
        return tables.compare(self._session, self._session.node(call.request["node"]))

    def op_path(self, call: Call) -> Any:
        """The way that the scheme takes between two servers as links are known now."""
        session = self._session
        a, b = (session.server(call.request[key]) for key in ("a", "b"))
        found = path(session.scheme, a, b, session.link_state.state())
        if found is None:
            raise LabError(f"no way from {call.request['a']} to {call.request['b']} as links are now")
        return {"path": [self._fabric.name(node) for node in found]}

    def op_explain(self, call: Call) -> Any:
        """:meth:`op_path` in words, with the entry that decides at each node, and for switches
        whether it is installed."""
        session = self._session
        a, b = (session.server(call.request[key]) for key in ("a", "b"))
        found = []
        for step in explain.steps(session.scheme, a, b, session.link_state.state()):
            switch = not self._fabric.is_server(self._fabric.index(step.node))
            installed = step.entry in tables.installed(session, step.node) if switch else None
            found.append({**asdict(step), "installed": installed})
        return found

    def op_counters(self, call: Call) -> Any:
        """Per link the bytes that have gone from its end a to b and back; ``at`` in seconds, for rates."""
        return {"at": time.monotonic(), "links": self._counters.read()}

    def op_stats(self, call: Call) -> Any:
        """Counters of the agents, by server."""
        if self._session.running.agents is None:
            return {}
        counters = self._session.running.agents.stats()
        return {self._fabric.name(int(node)): values for node, values in counters.items()}

    def op_controller(self, call: Call) -> Any:
        """Counters of the controller: flow messages, packet-ins, ARP replies."""
        controller = self._session.running.controller
        return controller.stats() if controller is not None else {}

    def op_events(self, call: Call) -> Any:
        """Changes of link state in the order in which they were noticed."""
        session = self._session
        return [
            {"link": self._ends(change.link), "up": change.up, "reporter": change.reporter, "at": change.at}
            for change in session.link_state.changes
        ]

    def _ends(self, number: int) -> list[str]:
        link = self._fabric.link(number)
        return [self._fabric.name(link.a.node), self._fabric.name(link.b.node)]
