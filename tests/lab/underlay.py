"""Machines for tests: network namespaces with an address of their own, joined by a bridge in another one."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest

from tests.capabilities import lacking


@dataclass(frozen=True)
class Machine:
    """A network namespace with one interface, ``up0``, and the process that keeps it; the ``bridge`` that joins
    the machines has the other end, ``plug``."""

    address: str
    holder: int
    bridge: int
    plug: str

    def connect(self, joined: bool) -> None:
        """Join the machine with the others, or part it from them, as a broken cable does."""
        _inside(self.bridge, f"ip link set {self.plug} {'up' if joined else 'down'}")

    def command(self, words: Sequence[str]) -> list[str]:
        """The command line that runs a program on this machine."""
        return ["nsenter", f"--net=/proc/{self.holder}/ns/net", "--", *words]

    def python(self, code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run Python here and wait for it."""
        words = self.command([sys.executable, "-c", code, *arguments])
        return subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)

    def links(self) -> str:
        """The interfaces of the machine."""
        return subprocess.run(
            self.command(["ip", "-br", "link"]), capture_output=True, text=True, check=True
        ).stdout


@contextlib.contextmanager
def underlay(count: int, mtu: int = 1500) -> Iterator[list[Machine]]:
    """So many machines, 10.99.0.1 and on, that reach each other; root's namespaces, nothing of this machine."""
    if os.geteuid():
        lacking("links between machines need root")
    with contextlib.ExitStack() as stack:
        bridge, *holders = (stack.enter_context(_namespace()) for _ in range(count + 1))
        try:
            _inside(bridge, "ip link add probe type vxlan id 1 dstport 4789", "ip link del probe")
        except subprocess.CalledProcessError:
            lacking("this kernel has no VXLAN")
        _inside(bridge, "ip link add br0 type bridge", "ip link set br0 up")
        machines = []
        for number, holder in enumerate(holders):
            address = f"10.99.0.{number + 1}"
            far = f"m{number} mtu {mtu} netns {bridge}"
            _run(f"ip link add up0 mtu {mtu} netns {holder} type veth peer name {far}")
            _inside(bridge, f"ip link set m{number} master br0 up")
            _inside(holder, f"ip addr add {address}/24 dev up0", "ip link set up0 up", "ip link set lo up")
            machines.append(Machine(address, holder, bridge, f"m{number}"))
        yield machines


@contextlib.contextmanager
def _namespace() -> Iterator[int]:
    """A process in a network namespace of its own, which ends with it."""
    words = ["unshare", "--net", "sh", "-c", "echo ready; exec sleep infinity"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as holder:
        try:
            assert holder.stdout is not None
            if holder.stdout.readline() != "ready\n":
                pytest.fail("no network namespace")
            yield holder.pid
        finally:
            holder.kill()


def _inside(holder: int, *commands: str) -> None:
    for command in commands:
        _run(f"nsenter --net=/proc/{holder}/ns/net {command}")


def _run(command: str) -> None:
    subprocess.run(command.split(), check=True, capture_output=True, text=True)
