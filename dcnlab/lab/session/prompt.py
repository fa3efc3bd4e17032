"""The interactive prompt: Mininet's commands, and those of dcnlab about the lab."""

from __future__ import annotations

import os
import readline
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

from mininet.cli import CLI
from mininet.log import lg, output, setLogLevel

from dcnlab.lab.control import rpc
from dcnlab.lab.control.rpc import Answering
from dcnlab.lab.errors import LabError
from dcnlab.lab.instruments.measurement import Measurement, R
from dcnlab.lab.measurement.iperf import Iperf
from dcnlab.lab.measurement.path import PathTaken
from dcnlab.lab.measurement.ping import Ping
from dcnlab.lab.measurement.stats import Stats
from dcnlab.lab.session import terminal
from dcnlab.lab.session.commands import Commands
from dcnlab.lab.session.display import display_error, rights_error

#: The programs behind Mininet's names of terminals.
_PROGRAMS = {"xterm": "xterm", "gterm": "gnome-terminal"}


class Prompt(CLI):  # type: ignore[misc]
    """Mininet's CLI for a lab; an error is one line and does not end it."""

    prompt = "dcnlab> " if sys.stdin.isatty() else ""

    def __init__(self, answer: Answering, net: Any, commands: Commands) -> None:
        """``answer`` answers requests, ``net`` is the network for Mininet, ``commands`` are about the lab."""
        self._answer, self._commands = answer, commands
        super().__init__(net)

    def _ask(self, op: str, descriptors: Sequence[int] = (), **arguments: Any) -> Any:
        """Run an operation of the control socket; None after an error was printed."""
        with rpc.without_client({"op": op, **arguments}, descriptors) as call:
            try:
                return self._answer(call)
            except LabError as error:
                output(f"{error}\n")
        return None

    def _measure(self, wanted: Measurement[R]) -> R | None:
        """Run a measurement; None after an error was shown."""
        answer = self._ask("measure", name=wanted.name, arguments=wanted.to_json())
        return None if answer is None else wanted.result().from_json(answer)

    def onecmd(self, line: str) -> bool:
        """Run one command; an error is printed as one line."""
        try:
            return bool(super().onecmd(line))
        except LabError as error:
            output(f"{error}\n")
            return False

    def preloop(self) -> None:
        """Begin with the controller, unless it is ours and all is well."""
        super().preloop()
        readline.set_completer_delims(" \t\n")  # names may have others, such as s0:3
        self._said: list[str] = []
        state = self._ask("control")
        if state and state["controller"] != "ours":
            self.do_controller("")
        self._say_notes()

    def postcmd(self, stop: bool, line: str) -> bool:
        """After each command, say what has happened to the controller meanwhile."""
        if not stop:
            self._say_notes()
        return bool(super().postcmd(stop, line))

    def _say_notes(self) -> None:
        notes = (self._ask("control") or {}).get("notes", [])
        output("".join(f"*** {line}\n" for line in notes if line not in self._said))
        if self._said and not notes:
            output("*** all switches are connected to the controller again\n")
        self._said = notes

    def do_controller(self, line: str) -> None:
        """controller: which controller the switches have, and how many are connected."""
        state = self._ask("control")
        if state:
            rest = f", REST at {state['rest']}" if state["rest"] else ""
            connected = f"{state['connected']} of {state['switches']} switches connected"
            output(f"*** controller {state['controller']}: {connected}{rest}\n")

    def default(self, line: str) -> None:
        """NODE COMMAND: run a command in a node, with addresses in the place of servers' names; else a command
        of dcnlab about this lab."""
        name, _, command = line.strip().partition(" ")
        if name not in self.mn:
            self._run_command(line)
        elif not command.strip():
            output(f"*** Please enter a command for node: {name} <cmd>\n")
        else:
            self.run_in(name, self._addressed(command.strip()))

    def _run_command(self, line: str) -> None:
        try:
            argv = shlex.split(line)
        except ValueError as error:
            output(f"*** {error}: {line}\n")
            return
        sys.stdout.flush()
        self._commands.run(argv)

    def do_down(self, line: str) -> str:
        """down: end the lab, as `exit` does."""
        return str(self.do_exit(line))

    def do_help(self, line: str) -> None:
        """help [COMMAND]: the commands, or what one does."""
        name = line.strip()
        if name in self._commands.summaries() and not hasattr(self, f"do_{name}"):
            self._commands.run([name, "--help"])
            return
        super().do_help(line)
        if not name:
            shown = sorted(self._commands.summaries())
            self.print_topics("Commands of dcnlab about this lab (help COMMAND):", shown, 15, 80)

    def completenames(self, text: str, *ignored: Any) -> list[str]:
        """The first words that begin so: commands and nodes."""
        names = {*super().completenames(text, *ignored), *self._commands.summaries(), *self.mn}
        return sorted(name for name in names if name.startswith(text))

    def completedefault(self, text: str, *_: Any) -> list[str]:
        """The nodes that begin so."""
        return sorted(name for name in self.mn if name.startswith(text))

    def _addressed(self, command: str) -> str:
        words = command.split(" ")
        if not any(word in self.mn for word in words):
            return command
        addresses = {node["name"]: node["ipv4"] for node in self._ask("nodes") or ()}
        return " ".join(addresses.get(word) or word for word in words)

    def run_in(self, name: str, command: str) -> None:
        """Run a command in the shell of a node.

        What the prompt itself reads from a file or a pipe is not the command's: its input is empty then, as
        that of a command in the background always is.
        """
        node, own = self.mn[name], self.isatty() or command.endswith("&")
        node.sendCmd(command if own else f"eval {shlex.quote(command)} </dev/null")
        self.waitForNode(node)

    def do_sh(self, line: str) -> None:
        """sh COMMAND: run a command outside the nodes."""
        subprocess.call(line, shell=True, stdin=None if self.isatty() else subprocess.DEVNULL)

    def waitForNode(self, node: Any) -> None:
        """Wait until a node's command has ended; at a terminal, relay it."""
        if terminal.is_foreground_terminal():
            terminal.relay_shell(node.master, node.slave, lambda: node.waiting, node.monitor)
        elif self.isatty():
            super().waitForNode(node)
        else:
            _show_until_ended(node)

    def do_pingall(self, line: str) -> None:
        """Ping between all servers."""
        self._show_ping("all")

    def do_pingpair(self, line: str) -> None:
        """Ping between h0 and h1, h2 and h3, ..."""
        self._show_ping("pairs")

    def _show_ping(self, pairs: str) -> None:
        result = self._measure(Ping(pairs=pairs))
        if result:
            share = 100 * len(result.lost) / result.sent if result.sent else 0
            rtt = result.rtt_ms
            times = f", RTT p50 {rtt.p50} ms, p99 {rtt.p99} ms" if result.received else ""
            output(f"*** Results: {share:.0f}% dropped ({result.received}/{result.sent} received){times}\n")
            if result.lost:
                output("".join(f"*** {line}\n" for line in (self._ask("info") or {}).get("ended", [])))

    def do_iperf(self, line: str) -> None:
        """iperf A B: TCP throughput between two servers (iperf3); with options as `dcnlab iperf`."""
        if " -" in f" {line}":
            self._run_command(f"iperf {line}")
        else:
            self._throughput(line)

    def do_iperfudp(self, line: str) -> None:
        """iperfudp A B: UDP throughput between two servers at 100 Mb/s (iperf3)."""
        self._throughput(line, udp="100M")

    def _throughput(self, line: str, udp: str = "") -> None:
        names = line.split() or [self.mn.hosts[0].name, self.mn.hosts[-1].name]
        if len(names) != 2:
            output("usage: iperf A B\n")
            return
        result = self._measure(Iperf(names[0], names[1], seconds=2, udp=udp))
        if result:
            output(f"*** {result.mbps} Mb/s from {names[0]} to {names[1]}\n")

    def do_path(self, line: str) -> None:
        """path A B: the path of the scheme."""
        names = line.split()
        if len(names) != 2:
            output("usage: path A B\n")
            return
        result = self._measure(PathTaken(names[0], names[1]))
        if result:
            output(" ".join(result.path) + "\n")

    def do_xterm(self, line: str, term: str = "xterm") -> None:
        """xterm NODE...: open a terminal window in each node."""
        names = line.split()
        info = self._ask("info") if names else None
        if names and info is None:
            return
        if info is not None and info["options"]["isolate"]:
            error = f"{term} needs the display, which isolated hosts do not have: use `dcnlab exec`"
        elif names:
            program = _PROGRAMS[term]
            error = display_error(program, os.environ.get("DISPLAY", "")) or rights_error(program, names[0])
        else:
            error = ""
        if error:
            output(f"{error}\n")
        else:
            super().do_xterm(line, term)

    def do_stats(self, line: str) -> None:
        """stats [NODE]: counters of the agents and of the switches' ports; with options as `dcnlab stats`."""
        if " -" in f" {line}":
            self._run_command(f"stats {line}")
            return
        result = self._measure(Stats())
        if result is None:
            return
        counted = [(name, name, counters) for name, counters in result.servers.items()]
        counted += [(port.switch, f"{port.switch}:{port.port}", port.counts) for port in result.ports]
        for node, name, counters in counted:
            if not line.strip() or line.strip() == node:
                shown = "  ".join(f"{key} {value}" for key, value in counters.items())
                output(f"{name}: {shown}\n")


def _show_until_ended(node: Any) -> None:
    """Show what a node's command writes; Ctrl-C interrupts the command."""
    while node.waiting:
        try:
            output(node.monitor())
        except KeyboardInterrupt:
            node.sendInt()


def run(make: Callable[[], Prompt]) -> None:
    """Prompt until the user exits; standard input may be a pipe."""
    setLogLevel("info" if sys.stdin.isatty() else "output")
    lg.handlers[0].setStream(sys.stdout)
    os.environ.setdefault("HOME", "/root")
    signal.signal(signal.SIGINT, signal.default_int_handler)  # Ctrl-C ends a command, not the prompt
    make()
