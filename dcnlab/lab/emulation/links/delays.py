"""Delays, duplicates, wrong bits and packets out of order where the kernel has no netem: by a process.

A classifier where an interface sends redirects packets to a TAP device beside it.  The process
(:mod:`dcnlab.lab.emulation.links.delay_line`) reads them there and writes them back, and a classifier where the
device receives redirects them to the interface, which lets pass what comes from the device.  The session holds
all descriptors: if the process ends, another one goes on with them.

No packet socket sends them: to close one takes the kernel a grace period of RCU, 12 ms, and a lab has thousands
of ends of links.  To close a device takes an expedited one: a fraction of a millisecond, but one device after
the other, and on a busy machine each takes longer (docs/decisions/delay-line.md).
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
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass

from dcnlab.lab.emulation.machine import kernel, programs
from dcnlab.lab.emulation.namespaces import netns
from dcnlab.lab.errors import LabError
from hostagent.linux.netlink import Netlink
from hostagent.linux.traffic_control import without_discipline

#: (namespace, interface)
Nic = tuple[str, str]
#: The first letters of the TAP devices' names.
PREFIX = "dcndelay"
_TUNSETIFF, _TUNSETOFFLOAD, _TUNSETPERSIST = 0x400454CA, 0x400454D0, 0x400454CB
_IFF_TAP, _IFF_NO_PI, _IFF_VNET_HDR = 0x0002, 0x1000, 0x4000
_OFFLOADS = 0x01 | 0x02 | 0x04 | 0x08
_QUEUE = 10_000
#: Seconds before the process is started again.
_PAUSE = 0.05
#: The order of classifiers where an interface sends: packets that have waited pass, others are lost, or wait.
_PASSING, LOSING, _WAITING = 1, 2, 3
#: Classic BPF: every packet matches.
_EVERY = f'bpf bytecode "1,6 0 0 {0xFFFFFFFF}"'


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
    return "" if done.returncode == 0 else "no cls_bpf, cls_u32 or act_mirred"


def _redirection(interface: str, tap: str) -> list[str]:
    """The lines for ``tc`` that lead packets to the TAP device and back, the road back first."""
    return [
        f"qdisc replace dev {tap} clsact",
        f"filter replace dev {tap} ingress pref 1 handle 1 protocol all {_EVERY}"
        f" action mirred egress redirect dev {interface}",
        f"qdisc replace dev {interface} clsact",
        f"filter replace dev {interface} egress pref {_PASSING} handle 800::1 protocol all"
        f" u32 match u32 0 0 indev {tap} flowid 1:1",
        f"filter replace dev {interface} egress pref {_WAITING} handle 1 protocol all {_EVERY}"
        f" action mirred egress redirect dev {tap}",
    ]


@dataclass
class _End:
    """An end of a link: its TAP device, the descriptor of that, and the settings of its packets."""

    number: int
    name: str
    tap: int
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
            new = [nic for nic, settings in ends.items() if settings and nic not in self._ends]
            self._ends |= _open(new, self._opened)
            self._opened += len(new)
            changed = [nic for nic in ends if nic in self._ends]
            for nic in changed:
                lines.setdefault(nic[0], []).extend(self._change(nic, ends[nic], again))
            self._tell(changed, set(new))
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

    def _change(self, nic: Nic, settings: Mapping[str, float], again: bool) -> list[str]:
        """The lines for ``tc``."""
        end = self._ends[nic]
        end.settings = settings
        had, end.redirected = end.redirected and not again, bool(settings)
        if settings and not had:
            return _redirection(nic[1], end.name)
        return [f"filter del dev {nic[1]} egress pref {_WAITING}"] if had and not settings else []

    def _tell(self, changed: Iterable[Nic], new: Set[Nic]) -> None:
        """Tell the process what has changed; one that starts is told everything."""
        if self._channel is not None:
            for nic in changed:
                self._send(self._ends[nic], nic in new)
        elif self._ends:
            self._start()

    def _send(self, end: _End, new: bool) -> None:
        assert self._channel is not None
        data = json.dumps({"end": end.number, "settings": dict(end.settings)}).encode()
        with contextlib.suppress(OSError):  # it has ended: the next one is told everything
            socket.send_fds(self._channel, [data], [end.tap] if new else [])

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


def _open(nics: Iterable[Nic], first: int) -> dict[Nic, _End]:
    """A TAP device beside each interface; their numbers follow ``first``."""
    ends: dict[Nic, _End] = {}

    def make() -> None:
        for number, (namespace, interface) in enumerate(nics, first):
            name = f"{PREFIX}{number}"
            try:
                netns.enter(namespace)
                tap = _tap(name)
            except OSError as error:
                raise LabError(f"delay cannot be imposed at {interface}: {error.strerror}") from error
            ends[namespace, interface] = _End(number, name, tap, {})

    try:
        netns.threaded(make)
    except LabError:
        for end in ends.values():
            fcntl.ioctl(end.tap, _TUNSETPERSIST, 0)
            os.close(end.tap)
        raise
    return ends


def _tap(name: str) -> int:
    """A TAP device in this thread's namespace that is up.

    It is persistent, so that it goes with its namespace: by itself each takes the kernel 15 ms.  The driver's
    own queue holds what nobody has read yet; arrays of a queueing discipline would stay empty, but take memory.
    """
    tap = os.open(kernel.TUN, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        flags = _IFF_TAP | _IFF_NO_PI | _IFF_VNET_HDR
        fcntl.ioctl(tap, _TUNSETIFF, struct.pack("16sH14x", name.encode(), flags))
        fcntl.ioctl(tap, _TUNSETOFFLOAD, _OFFLOADS)
        with Netlink() as netlink:  # by ioctl the kernel lets no user of a namespace set a queue
            index = socket.if_nametoindex(name)
            without_discipline(netlink, index)
            netlink.set_up(index, arp=False, queue=_QUEUE)
        fcntl.ioctl(tap, _TUNSETPERSIST, 1)
    except OSError:
        os.close(tap)
        raise
    return tap
