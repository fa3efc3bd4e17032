"""A program that tries to get out of an isolated host.  Prints what it achieved as JSON: tests expect nothing.

It runs as ``python3 -c``, with the standard library only: nothing of this repository is seen there.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)
NEWNS, NEWUSER, NEWPID, NEWNET, NEWUTS = 0x20000, 0x10000000, 0x20000000, 0x40000000, 0x04000000
PTRACE_ATTACH, PTRACE_SEIZE = 16, 0x4206
BPF, REBOOT, INIT_MODULE = 321, 169, 175  # numbers on x86_64; elsewhere Python's libc has no names for them


def call(name: str, *arguments: object) -> None:
    """A function of the C library; OSError when it fails."""
    if getattr(LIBC, name)(*arguments) < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def write(path: str, text: str = "") -> None:
    with open(path, "a") as file:
        file.write(text)


def set_same(path: str) -> None:
    """Write to a setting what it is: it would succeed without harm."""
    Path(path).write_text(Path(path).read_text())


def enter(path: str, kind: int) -> None:
    call("setns", os.open(path, os.O_RDONLY), kind)


def remount() -> None:
    call("mount", b"none", b"/", b"", 0x1000 | 0x20, b"")


def make_device() -> None:
    os.mknod("/tmp/disk", 0o060666, os.makedev(254, 0))


def load_program() -> None:
    """A classifier of two instructions that lets all packets pass."""
    code = ctypes.create_string_buffer(
        struct.pack("<BBhi", 0xB7, 0, 0, 0) + struct.pack("<BBhi", 0x95, 0, 0, 0)
    )
    text = ctypes.create_string_buffer(b"GPL")
    request = struct.pack("<IIQQ", 3, 2, ctypes.addressof(code), ctypes.addressof(text)) + bytes(104)
    call("syscall", BPF, 5, request, len(request))


def attach_to(pid: int) -> None:
    call("ptrace", PTRACE_SEIZE, pid, 0, 0)


def other_host(number: int) -> None:
    """Ask the kernel for the interfaces of the namespace that it knows by ``number`` here: a neighbour's."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as kernel:
        body = bytes(16) + struct.pack("=HHi", 8, 46, number)
        kernel.send(struct.pack("=IHHII", 16 + len(body), 18, 0x301, 1, 0) + body)
        answer = kernel.recv(1 << 16)
        kind, code = struct.unpack_from("=H", answer, 4)[0], struct.unpack_from("=i", answer, 16)[0]
        if kind == 2 and code:
            raise OSError(-code, os.strerror(-code))
        if kind == 3:
            raise OSError(0, "nothing")


def send_at(interface: str) -> None:
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as handle:
        handle.bind((interface, 0))


def connect(path: str) -> None:
    with socket.socket(socket.AF_UNIX) as handle:
        handle.connect(path)


def foreign_interfaces() -> None:
    own = ("lo", "dcn0", sys.argv[1])
    if all(name.startswith(own) for _, name in socket.if_nameindex()) and all(
        name.startswith(own) for name in os.listdir("/sys/class/net")
    ):
        raise OSError("only its own")


def foreign_programs() -> None:
    pids = {pid for pid in os.listdir("/proc") if pid.isdigit()} - {str(os.getpid())}
    words = [Path("/proc", pid, "cmdline").read_bytes() for pid in pids]
    if not any(b"hostagent" in one or b"dcnlab" in one or b"7200" in one for one in words):
        raise OSError("only its own")


def kill_all() -> None:
    """Succeeds where there is something to kill: the test looks whether it was in another host."""
    os.kill(-1, signal.SIGKILL)
    raise OSError("looked at by the test")


def kill_first() -> None:
    os.kill(1, signal.SIGKILL)
    time.sleep(0)
    raise OSError("looked at by the test")


def more_rights() -> None:
    status = dict(line.split(":\t", 1) for line in Path("/proc/self/status").read_text().splitlines())
    if not int(status["CapBnd"], 16) & (1 << 21 | 1 << 19 | 1 << 27) and status["NoNewPrivs"] == "1":
        raise OSError("none")


def attempts() -> dict[str, Callable[[], object]]:
    tries: dict[str, Callable[[], object]] = {
        "remount /": remount,
        "mount": lambda: call("mount", b"tmpfs", b"/mnt", b"tmpfs", 0, b""),
        "umount": lambda: call("umount2", b"/tmp", 2),
        "chroot out": lambda: os.listdir("/proc/1/root/"),
        "its own first process": lambda: attach_to(1),
        "a device": make_device,
        "a new user namespace": lambda: call("unshare", NEWUSER),
        "a new mount namespace": lambda: call("unshare", NEWNS),
        "a host name": lambda: call("sethostname", b"escaped", 7),
        "the clock": lambda: time.clock_settime(time.CLOCK_REALTIME, time.time()),
        "a BPF program": load_program,
        "reboot": lambda: call("syscall", REBOOT, 0xFEE1DEAD, 672274793, 0, 0),
        "a module": lambda: call("syscall", INIT_MODULE, b"", 0, b""),
        "files of root": lambda: os.listdir("/lost+found"),
        "passwords": lambda: Path("/etc/shadow").read_bytes(),
        "foreign interfaces": foreign_interfaces,
        "foreign programs": foreign_programs,
        "kill all": kill_all,
        "kill the first": kill_first,
        "rights": more_rights,
        "the control socket": lambda: connect(sys.argv[2]),
        "a packet at another host": lambda: send_at("h1-eth1"),
    }
    for name in ("mnt", "user", "net", "pid", "uts", "ipc"):
        tries[f"enter {name}"] = lambda name=name: enter(f"/proc/1/ns/{name}", 0)  # type: ignore[misc]
    for path in ("/etc/passwd", "/usr/escaped", "/escaped", "/var/lib/escaped", "/etc/hosts"):
        tries[f"write {path}"] = lambda path=path: write(path)  # type: ignore[misc]
    for path in ("kernel/core_pattern", "vm/swappiness", "fs/file-max", "kernel/hostname"):
        tries[f"set {path}"] = lambda path=path: set_same(f"/proc/sys/{path}")  # type: ignore[misc]
    tries["set sysrq"] = lambda: write("/proc/sysrq-trigger", "\n")
    for path in ("mem", "kmsg", "vda", "sda", "kvm", "fuse", "loop-control", "mapper/control"):
        tries[f"open {path}"] = lambda path=path: os.close(os.open(f"/dev/{path}", os.O_RDONLY))  # type: ignore[misc]
    for number in range(4):
        tries[f"namespace {number}"] = lambda number=number: other_host(number)  # type: ignore[misc]
    return tries


def main() -> None:
    achieved = []
    for name, attempt in attempts().items():
        try:
            attempt()
        except OSError:
            continue
        achieved.append(name)
    print(json.dumps(achieved))


if __name__ == "__main__":
    main()
