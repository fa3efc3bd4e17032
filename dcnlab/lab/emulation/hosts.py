"""A lab's own ``/etc/hosts`` with the names of its servers.

So ``ping h3`` works in a shell in a server, and traceroute shows names.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from addressing.fields import ipv4, ipv6
from addressing.scheme import Scheme
from dcnlab.lab.emulation.sandbox import mount

_MS_BIND = 0x1000
_FILE = Path("/etc/hosts")
_OURS = Path("/run/hosts")


def lines(scheme: Scheme) -> Iterable[str]:
    """One line per server and IP version."""
    for server in range(scheme.fabric.servers):
        number = scheme.ipv4(server)
        for version in scheme.ip_versions:
            address = ipv6.text(ipv6.embed(number)) if version == 6 else ipv4.text(number)
            yield f"{address}\t{scheme.fabric.name(server)}\n"


def install(scheme: Scheme) -> None:
    """Append the servers to the machine's ``/etc/hosts``, in this mount namespace only; nothing if the
    machine has no such file."""
    if _FILE.is_file():
        before = _FILE.read_text(errors="replace").rstrip("\n")
        _OURS.write_text(f"{before}\n\n# The servers of this lab\n{''.join(lines(scheme))}")
        mount(str(_OURS), str(_FILE), "", _MS_BIND)
