"""Features of this kernel; most are found by using them."""

from __future__ import annotations

import functools
import os
import subprocess
from pathlib import Path

from dcnlab.lab.emulation.machine import programs

#: The device with which servers relay packets.
TUN = Path("/dev/net/tun")
#: The largest buffers of sockets, in bytes, where nobody has changed them.
_SOCKET_BUFFER = 212992
#: Numbers of capabilities(7), and what root of a container is refused without them.
_NETWORK = {12: "network interfaces", 13: "packet sockets"}


@functools.cache
def has_qdisc(*argv: str) -> bool:
    """Whether a queueing discipline can be set; tried in a network namespace of its own."""
    program = programs.find("tc")  # on Debian it is not on the path of ordinary users
    if program is None:
        return False
    alone = ["unshare", "--net", *(["--map-root-user"] if os.geteuid() != 0 else [])]
    command = [*alone, program, "qdisc", "add", "dev", "lo", "root", *argv]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def largest_socket_buffer(name: str = "rmem") -> int:
    """The largest receive (``rmem``) or send buffer (``wmem``) of an ordinary user's socket, in bytes."""
    try:
        return int(Path(f"/proc/sys/net/core/{name}_max").read_text())
    except OSError:  # a container with a network of its own does not show it
        return _SOCKET_BUFFER


def refused_to_root() -> str | None:
    """What root of a container without NET_ADMIN or NET_RAW may not use.  Others have all capabilities in
    their labs."""
    if os.geteuid():
        return None
    lines = Path("/proc/self/status").read_text().splitlines()
    effective = next(line.split()[1] for line in lines if line.startswith("CapEff:"))
    return next((what for number, what in _NETWORK.items() if not int(effective, 16) >> number & 1), None)


def tun_problem() -> tuple[str, str] | None:
    """What is wrong with the device that relaying servers need, and what to do; None if nothing is."""
    if not TUN.exists():
        return "missing", f"servers cannot relay packets: modprobe tun (of a container: --device={TUN})"
    if not os.access(TUN, os.R_OK | os.W_OK):
        return "no permission", f"run as root, or chmod 666 {TUN}"
    return None
