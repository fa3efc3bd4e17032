"""The interactive prompt: Mininet's verbs, and ours."""

from __future__ import annotations

import json
import os
import shlex
import signal
import sys
from collections.abc import Sequence
from typing import Any

from mininet.cli import CLI
from mininet.log import lg, output, setLogLevel

from dcnlab.lab.errors import LabError
from dcnlab.lab.kv import bulk
from dcnlab.lab.rpc import Call
from dcnlab.lab.running import process_health
from dcnlab.lab.running.lab import RunningLab
from dcnlab.lab.session import operations, terminal
from dcnlab.lab.session.display import display_error
from hostagent.channel import Channel

#: What Mininet's names for terminals stand for.
_PROGRAMS = {"xterm": "xterm", "gterm": "gnome-terminal"}


class Prompt(CLI):  # type: ignore[misc]
    """Mininet's CLI over a lab; errors are one line and never end it."""

    prompt = "dcnlab> " if sys.stdin.isatty() else ""

    def __init__(self, session: RunningLab) -> None:
        self._session = session
        self._operations = operations.table(session)
        super().__init__(session.net)

    def _ask(self, op: str, descriptors: Sequence[int] = (), **words: Any) -> Any:
        """Do what the control socket would; None after an error was shown."""
        import socket

        near, far = socket.socketpair()
        with near, far:
            try:
                return self._operations[op](Call({"op": op, **words}, list(descriptors), Channel(far)))
            except LabError as error:
                output(f"{error}\n")
        return None

    def onecmd(self, line: str) -> bool:
        """One line; Mininet's own exceptions become one line too."""
        try:
            return bool(super().onecmd(line))
        except LabError as error:
            output(f"{error}\n")
            return False

    def waitForNode(self, node: Any) -> None:
        """Until a node's command has ended; at a terminal it has one of the same size."""
        if not terminal.is_foreground_terminal():
            super().waitForNode(node)
            return
        terminal.relay_shell(node.master, node.slave, lambda: node.waiting, node.monitor)

    def do_pingall(self, line: str) -> None:
        """Ping between all servers."""
        self._show_ping("all")

    def do_pingpair(self, line: str) -> None:
        """Ping between neighbours: h0 and h1, h2 and h3, ..."""
        self._show_ping("pairs")

    def _show_ping(self, pairs: str) -> None:
        found = self._ask("ping", pairs=pairs)
        if found:
            lost = found["sent"] - found["received"]
            share = 100 * lost / found["sent"] if found["sent"] else 0
            rtt = found["rtt_ms"]
            times = f", RTT p50 {rtt['p50']} ms, p99 {rtt['p99']} ms" if found["received"] else ""
            output(f"*** Results: {share:.0f}% dropped ({found['received']}/{found['sent']} received){times}\n")
            if lost:
                output("".join(f"*** {line}\n" for line in process_health.ended(self._session.running)))

    def do_iperf(self, line: str) -> None:
        """iperf A B: TCP throughput between two servers (iperf3)."""
        self._throughput(line, udp=False)

    def do_iperfudp(self, line: str) -> None:
        """iperfudp A B: UDP throughput between two servers at 100 Mb/s (iperf3)."""
        self._throughput(line, udp=True)

    def _throughput(self, line: str, udp: bool) -> None:
        names = line.split() or [self.mn.hosts[0].name, self.mn.hosts[-1].name]
        if len(names) != 2:
            output("usage: iperf A B\n")
            return
        found = self._ask("iperf", a=names[0], b=names[1], udp=udp)
        if found:
            output(f"*** {found['mbps']} Mb/s from {names[0]} to {names[1]}\n")

    def do_tables(self, line: str) -> None:
        """tables NODE: the node's entries, and whether the switch holds just those."""
        found = self._ask("tables", node=line.strip())
        if found:
            output("\n".join(found["predicted"]) + "\n")
            if found["installed"] is not None:
                verdict = "as predicted" if found["equal"] else "NOT as predicted"
                output(f"*** {len(found['installed'])} entries installed, {verdict}\n")

    def do_path(self, line: str) -> None:
        """path A B: the way that the scheme takes."""
        names = line.split()
        if len(names) != 2:
            output("usage: path A B\n")
            return
        found = self._ask("path", a=names[0], b=names[1])
        if found:
            output(" ".join(found["path"]) + "\n")

    def do_fail(self, line: str) -> None:
        """fail link A B | fail node A: cut it."""
        self._cut("fail", line)

    def do_restore(self, line: str) -> None:
        """restore link A B | restore node A: put it back."""
        self._cut("restore", line)

    def _cut(self, op: str, line: str) -> None:
        kind, *names = line.split() or [""]
        found = self._ask(op, kind=kind, names=names)
        if found:
            noticed = found["detection_ms"]
            when = "as it was" if noticed is None else f"noticed after {noticed} ms"
            output(f"*** {when}, converged after {found['converged_ms']} ms\n")

    def do_kv(self, line: str) -> None:
        """kv put KEY VALUE [COPIES] | get KEY | del KEY | where KEY | ls: keys by their hashes."""
        verb, key, value, copies, *more = [*shlex.split(line), *[""] * 4]
        if any(more) or verb not in ("put", "get", "del", "where", "ls") or not (copies or "1").isdecimal():
            output("usage: kv put KEY VALUE [COPIES] | get KEY | del KEY | where KEY | ls\n")
            return
        descriptor = bulk.memory_file(value.encode())
        try:
            words = {"verb": verb, "key": key.encode().hex(), "origin": self.mn.hosts[0].name}
            found = self._ask("kv", [descriptor], **words, replicas=int(copies or 1))
            if verb == "get" and found is not None:
                found = bulk.read(descriptor).decode(errors="replace") if found else f"there is no {key}"
        finally:
            os.close(descriptor)
        if found is not None:
            output(f"{found if isinstance(found, str) else json.dumps(found)}\n")

    def do_xterm(self, line: str, term: str = "xterm") -> None:
        """xterm NODE...: a terminal window in each of them."""
        names = line.split()
        trouble = display_error(_PROGRAMS[term], os.environ.get("DISPLAY", "")) if names else ""
        if trouble:
            output(f"{trouble}\n")
        else:
            super().do_xterm(line, term)

    def do_stats(self, line: str) -> None:
        """stats [SERVER]: the agents' counters."""
        for name, counters in (self._ask("stats") or {}).items():
            if not line.strip() or line.strip() == name:
                shown = "  ".join(f"{key} {value}" for key, value in counters.items())
                output(f"{name}: {shown}\n")


def run(session: RunningLab) -> None:
    """Prompt until the user leaves; a pipe on standard input is read to its end."""
    setLogLevel("info" if sys.stdin.isatty() else "output")
    lg.handlers[0].setStream(sys.stdout)
    os.environ.setdefault("HOME", "/root")
    signal.signal(signal.SIGINT, signal.default_int_handler)  # Ctrl-C ends a command, not the prompt
    Prompt(session)
