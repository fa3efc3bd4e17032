"""What the guard does outside the sandbox for its session, when the user asks for it.

The guard is in the machine's network namespace.  The session asks over a socket: one JSON object per packet,
with descriptors beside, and one answer each, which repeats the question's ``serial`` and has the ``error``, if
there is one.

    forward                            a channel to a forwarder that is started again
    listen    port                     a listening socket at the loopback address
    nat                                a device in the sandbox by which packets leave (slirp4netns)
    take      interface, a namespace   move an interface of the machine into a namespace of the lab
    give      interface                give it back
    tunnels   lines of ``ip -batch``   VXLAN devices of this machine in namespaces of the lab
    untunnel  port                     remove those of a part of the lab that has ended
    ended     code                     no request: the session exits with this code, and waits for no answer

Interfaces that the lab has taken are given back when it ends, for any reason.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import select
import socket
import struct
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from dcnlab.lab.emulation.outside import Opened
from dcnlab.lab.options.exposure import LOCAL_ADDRESS
from hostagent.linux.namespaces import CLONE_NEWNET, set_namespace
from hostagent.linux.netlink import Interface, Netlink

#: The device and the network of NAT: its gateway is address 2, its name server address 3.
DEVICE, NETWORK = "tap0", "100.64.0.0/16"
NAT_PROGRAM = "slirp4netns"
_SIOCGIFADDR, _IFF_UP = 0x8915, 0x1
_LONGEST = 1 << 16
_NAT_TIMEOUT = 10.0


class Refusal(Exception):
    """A request that cannot be met; one line for the user."""


@dataclass
class _Taken:
    """An interface of the machine that is in the lab: the namespace's descriptor, and whether it was up."""

    namespace: int
    up: bool


class Broker:
    """Answers the session's requests; ``init`` is the sandbox's first process, ``opened`` what was
    opened before that."""

    def __init__(self, connection: socket.socket, init: int, opened: Opened | None = None) -> None:
        self._connection, self._opened = connection, opened
        self._init = init
        self._home = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        self._taken: dict[str, _Taken] = {}
        #: The exit code of a session that has said that it exits.
        self.ended: int | None = None

    def answer(self) -> bool:
        """Answer one request; False when the session has ended."""
        data, descriptors, _, _ = socket.recv_fds(self._connection, _LONGEST, 1)
        if not data:
            return False
        request = json.loads(data)
        if request["op"] == "ended":
            self.ended = request["code"]
            return True
        serial = request.pop("serial")
        serve: Callable[..., list[int]] = getattr(self, f"_{request.pop('op')}")
        try:
            handed, problem = serve(descriptors, **request), ""
        except (Refusal, OSError) as error:  # the guard goes on: the lab ends with it
            handed, problem = [], str(error)
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        socket.send_fds(self._connection, [json.dumps({"error": problem, "serial": serial}).encode()], handed)
        for descriptor in handed:
            os.close(descriptor)
        return True

    # --- requests ---------------------------------------------------------------

    def _forward(self, _: list[int]) -> list[int]:
        if self._opened is None or not self._opened.remotes:
            raise Refusal("the controller of this lab is not a remote one")
        return [self._opened.renew_forwarder()]

    def _listen(self, _: list[int], port: int) -> list[int]:
        try:
            listener = socket.create_server((LOCAL_ADDRESS, port))
        except OSError as error:
            raise Refusal(f"expose: cannot listen at {LOCAL_ADDRESS}:{port}: {error.strerror}") from None
        return [listener.detach()]

    def _nat(self, _: list[int]) -> list[int]:
        """Start the program that carries packets out, in the lab's process namespace, with which it ends.

        The shell ends at once, so that init reaps the program: the kernel ends a process namespace only when
        all its processes are reaped, and the guard waits for that.
        """
        ready, writes = os.pipe()
        argv = [NAT_PROGRAM, f"--ready-fd={writes}", f"--cidr={NETWORK}", "--disable-host-loopback"]
        argv += ["--netns-type=path", f"/proc/{self._init}/ns/net", DEVICE]
        path = f"{os.environ.get('PATH', '')}:/usr/bin:/usr/local/bin"
        subprocess.run(
            ["sh", "-c", 'exec "$@" >&2 &', "sh", *argv],
            pass_fds=[writes], env={**os.environ, "PATH": path}, check=False,
        )  # fmt: skip
        os.close(writes)
        try:
            readable, _, _ = select.select([ready], [], [], _NAT_TIMEOUT)
            if not readable or not os.read(ready, 1):
                raise Refusal(f"nat: {NAT_PROGRAM} did not start; its message is in the lab's log")
        finally:
            os.close(ready)
        return []

    def _take(self, descriptors: list[int], interface: str) -> list[int]:
        if interface in self._taken:
            raise Refusal(f"{interface} is attached already")
        device = self._find(interface)
        if address := _address(interface):
            raise Refusal(f"{interface} has the address {address}, so this machine uses it: remove that first")
        self._move(interface, self._home, descriptors[0])
        self._taken[interface] = _Taken(os.dup(descriptors[0]), bool(device.flags & _IFF_UP))
        return []

    def _give(self, _: list[int], interface: str) -> list[int]:
        if interface not in self._taken:
            raise Refusal(f"{interface} is not attached")
        self._give_back(interface)
        return []

    def _tunnels(self, _: list[int], lines: list[str], namespaces: list[str]) -> list[int]:
        """``NETNS`` in a line stands for the folder of the lab's namespaces."""
        folder = f"/proc/{self._init}/root/run/netns"
        _number(f"{folder}/{name}" for name in namespaces)
        text = "\n".join(line.replace("NETNS", folder) for line in lines)
        path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
        environment = {**os.environ, "PATH": path}
        done = subprocess.run(
            ["ip", "-batch", "-"], input=text, text=True, capture_output=True, check=False, env=environment
        )
        if done.returncode:
            reason = done.stderr.strip().splitlines()[0] if done.stderr.strip() else f"exit {done.returncode}"
            if "not permitted" in reason:
                reason = "they need root on every machine: run its worker as root"
            raise Refusal(f"links to other machines: {reason}")
        return []

    def _untunnel(self, _: list[int], port: int) -> list[int]:
        """TCP connections that nobody ended keep a dead part's namespaces, and its devices, for two minutes."""
        with Netlink() as kernel:
            for namespace in kernel.namespaces():
                with contextlib.suppress(OSError):  # it vanishes in this moment
                    for index, used in kernel.vxlan_ports(namespace).items():
                        if used == port:
                            kernel.remove(index, namespace)
        return []

    # --- interfaces ---------------------------------------------------------------

    def end(self) -> None:
        """Give all interfaces back; they stay in the lab's namespaces until then, also after its end."""
        for interface in list(self._taken):
            try:
                self._give_back(interface)
            except (OSError, Refusal) as error:
                os.write(2, f"guard: {interface} is not given back: {error}\n".encode())

    def _give_back(self, interface: str) -> None:
        taken = self._taken.pop(interface)
        try:
            self._move(interface, taken.namespace, self._home)
            if taken.up:
                with Netlink() as kernel:
                    kernel.set_up(kernel.interfaces()[interface].index, arp=True)
        finally:
            os.close(taken.namespace)

    def _find(self, interface: str) -> Interface:
        with Netlink() as kernel:
            device = kernel.interfaces().get(interface)
        if device is None:
            raise Refusal(f"there is no interface {interface}: see `ip link`")
        return device

    def _move(self, interface: str, source: int, target: int) -> None:
        """Move an interface between namespaces; this process is in the machine's before and after.

        An ordinary user's guard may leave that namespace, but not enter it again.
        """
        away = source != self._home
        try:
            if away:
                set_namespace(source, CLONE_NEWNET)
            with Netlink() as kernel:
                kernel.move(self._find(interface).index, target)
        except OSError as error:
            raise Refusal(_reason(interface, error)) from None
        finally:
            if away:
                set_namespace(self._home, CLONE_NEWNET)


def _reason(interface: str, error: OSError) -> str:
    """Why an interface cannot be moved."""
    if error.errno == errno.EPERM:
        return f"moving {interface}, an interface of this machine, needs root: launch the lab with sudo"
    if error.errno == errno.EEXIST:
        return f"there is an interface {interface} already where it should go: rename one"
    if error.errno == errno.EINVAL:
        return f"the kernel does not move {interface} between namespaces: use a veth or macvlan device"
    return f"cannot move {interface}: {error.strerror}"


def _number(namespaces: Iterable[str]) -> None:
    """Number network namespaces in this one, so that their devices can be removed when nobody is in them."""
    with Netlink() as kernel:
        for path in namespaces:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                with contextlib.suppress(PermissionError):  # then the devices are refused as well, in one line
                    kernel.number_namespace(descriptor)
            finally:
                os.close(descriptor)


def _address(interface: str) -> str:
    """The first IPv4 address of an interface; empty without one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        try:
            answer = fcntl.ioctl(handle, _SIOCGIFADDR, struct.pack("16s24x", interface.encode()))
        except OSError:
            return ""
    return socket.inet_ntoa(answer[20:24])
