"""Delays, duplicates, wrong bits and packets out of order where the kernel has no netem: by a process.

A classifier where an interface sends redirects packets to a TAP device beside it; the process
(:mod:`dcnlab.lab.emulation.links.delay_line`) reads them there and sends them by the interface, with a mark
that the classifier lets pass.  The session holds all descriptors: if the process ends, another one goes on
with them.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import json
import os
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dcnlab.lab.emulation.machine import kernel, programs
from dcnlab.lab.emulation.namespaces import netns
from dcnlab.lab.errors import LabError

#: (namespace, interface)
Nic = tuple[str, str]
#: The mark of packets that have waited, and the first letters of the TAP devices' names.
MARK = 0xDE1A
PREFIX = "dcndelay"
_TUNSETIFF, _TUNSETOFFLOAD, _TUNSETPERSIST = 0x400454CA, 0x400454D0, 0x400454CB
_IFF_TAP, _IFF_NO_PI, _IFF_VNET_HDR = 0x0002, 0x1000, 0x4000
_OFFLOADS = 0x01 | 0x02 | 0x04 | 0x08
_SOL_PACKET, _PACKET_VNET_HDR = 263, 15
_SO_SNDBUFFORCE, _BUFFER = 32, 8 << 20
_QUEUE = 10_000
#: Seconds before the process is started again.
_PAUSE = 0.05
#: Classic BPF: packets with the mark do not match, all others do.
_PREFERENCE = 2
_LOAD_MARK = 0xFFFFF000 + 20
_BYTECODE = f"4,32 0 0 {_LOAD_MARK},21 0 1 {MARK},6 0 0 0,6 0 0 {0xFFFFFFFF}"


@functools.cache
def problem() -> str:
    """Why this machine cannot do it; empty where it can."""
    if reason := kernel.tun_problem():
        return f"{kernel.TUN}: {reason[0]}"
    tc = programs.find("tc")
    if tc is None:
        return "tc is not installed"
    alone = ["unshare", "--net", *(["--map-root-user"] if os.geteuid() != 0 else [])]
    lines = "\n".join(_redirection("lo", "lo"))
    done = subprocess.run([*alone, tc, "-batch", "-"], input=lines, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else "no cls_bpf or act_mirred"


def _redirection(interface: str, tap: str) -> list[str]:
    return [
        f"qdisc replace dev {interface} clsact",
        f"filter replace dev {interface} egress pref {_PREFERENCE} handle 1 protocol all"
        f' bpf bytecode "{_BYTECODE}" action mirred egress redirect dev {tap}',
    ]


@dataclass
class _End:
    """An end of a link: its TAP device, the descriptors of both, and the settings of its packets."""

    number: int
    name: str
    tap: int
    out: socket.socket
    settings: Mapping[str, float]
    redirected: bool = False


class Delays:
    """The ends of a lab's links whose packets a process holds back; the caller changes one thing at a time."""

    def __init__(self) -> None:
        self._ends: dict[Nic, _End] = {}
        self._opened = 0
        self._channel: socket.socket | None = None
        self._lock = threading.Lock()

    def set(self, ends: Mapping[Nic, Mapping[str, float]], *, again: bool = False) -> None:
        """Hold packets back at the ends of links as their settings say (:class:`delay_line.Settings`).

        Without settings they pass at once.  ``again``: the interfaces have lost their classifiers.
        """
        lines: dict[str, list[str]] = {}
        with self._lock:
            for nic, settings in ends.items():
                if nic in self._ends or settings:
                    lines.setdefault(nic[0], []).extend(self._change(nic, settings, again))
        for namespace, some in lines.items():
            if some:
                netns.batch(["tc", "-n", namespace], some)

    def forget(self, ends: Iterable[Nic]) -> None:
        """The interfaces of these ends were made again: what is open leads to the former ones."""
        with self._lock:
            for nic in ends:
                if (end := self._ends.pop(nic, None)) is not None:
                    fcntl.ioctl(end.tap, _TUNSETPERSIST, 0)
                    os.close(end.tap)
                    end.out.close()

    def _change(self, nic: Nic, settings: Mapping[str, float], again: bool) -> list[str]:
        """Tell the process; the lines for ``tc``."""
        new = nic not in self._ends
        if new:
            self._ends[nic] = _open(nic, self._opened)
            self._opened += 1
        end = self._ends[nic]
        end.settings = settings
        self._tell(end, new)
        had, end.redirected = end.redirected and not again, bool(settings)
        if settings and not had:
            return _redirection(nic[1], end.name)
        return [f"filter del dev {nic[1]} egress pref {_PREFERENCE}"] if had and not settings else []

    def _tell(self, end: _End, new: bool) -> None:
        if self._channel is None:
            self._start()
        else:
            self._send(end, new)

    def _send(self, end: _End, new: bool) -> None:
        assert self._channel is not None
        data = json.dumps({"end": end.number, "settings": dict(end.settings)}).encode()
        with contextlib.suppress(OSError):  # it has ended: the next one is told everything
            socket.send_fds(self._channel, [data], [end.tap, end.out.fileno()] if new else [])

    def _start(self) -> None:
        """Start the process and tell it everything."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, "-P", "-m", "dcnlab.lab.emulation.links.delay_line", str(theirs.fileno())]
        with theirs:
            process = subprocess.Popen(command, pass_fds=(theirs.fileno(),), stdin=subprocess.DEVNULL)
        self._channel = ours
        threading.Thread(target=self._watch, args=(process, ours), name="delay line", daemon=True).start()
        for end in self._ends.values():
            self._send(end, True)

    def _watch(self, process: subprocess.Popen[bytes], channel: socket.socket) -> None:
        """Start the process again when it has ended."""
        process.wait()
        time.sleep(_PAUSE)
        with self._lock:
            channel.close()
            self._start()


def _open(nic: Nic, number: int) -> _End:
    """A TAP device beside an interface, and a socket that sends by the interface."""
    namespace, interface = nic
    name = f"{PREFIX}{number}"

    def make() -> tuple[int, socket.socket]:
        tap = os.open(kernel.TUN, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
        fcntl.ioctl(
            tap, _TUNSETIFF, struct.pack("16sH14x", name.encode(), _IFF_TAP | _IFF_NO_PI | _IFF_VNET_HDR)
        )
        fcntl.ioctl(tap, _TUNSETOFFLOAD, _OFFLOADS)
        fcntl.ioctl(tap, _TUNSETPERSIST, 1)  # it goes with its namespace: by itself each takes the kernel 15 ms
        out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK, 0)
        out.setsockopt(_SOL_PACKET, _PACKET_VNET_HDR, 1)
        out.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, MARK)
        with contextlib.suppress(OSError):
            out.setsockopt(socket.SOL_SOCKET, _SO_SNDBUFFORCE, _BUFFER)
        out.bind((interface, 0))
        return tap, out

    try:
        tap, out = netns.inside(namespace, make)
    except OSError as error:
        raise LabError(f"delay cannot be imposed at {interface}: {error.strerror}") from error
    netns.batch(["ip", "-n", namespace], [f"link set {name} up arp off txqueuelen {_QUEUE}"])
    return _End(number, name, tap, out, {})
