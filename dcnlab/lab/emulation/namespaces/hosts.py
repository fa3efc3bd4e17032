"""Names in a lab: its own ``/etc/hosts`` with its servers, and its own ``/etc/resolv.conf``.

So ``ping h3`` works in a shell in a server, traceroute shows names, and a name that does not exist fails at
once: the machine's name servers do not answer here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from addressing.fields import ipv4, ipv6
from addressing.scheme import Scheme
from hostagent.linux.mounts import BIND, mount

_FILE = Path("/etc/hosts")
_OURS = Path("/run/hosts")
#: Which of a name's addresses getaddrinfo lists first (RFC 6724).
_PREFERENCE, _OWN_PREFERENCE = Path("/etc/gai.conf"), Path("/run/gai.conf")
_IPV4_FIRST = "precedence ::ffff:0:0/96 100\n"
_RESOLVER = Path("/etc/resolv.conf")
_OWN_RESOLVER = Path("/run/resolv.conf")
#: Nothing listens there, unless the user starts a name server in the host; a refusal comes at once.
_NOBODY = "127.0.0.1"
_FORBIDDEN = re.compile(r"[^A-Za-z0-9.-]+")


def lines(scheme: Scheme) -> Iterable[str]:
    """One line per server and IP version, with the name that a file gives it as an alias."""
    for server in range(scheme.fabric.servers):
        yield from _lines("\t".join(_names(scheme, server)), scheme.ipv4(server), scheme.ip_versions)


def _lines(names: str, ip: int, versions: Iterable[int]) -> Iterable[str]:
    for version in versions:
        yield f"{ipv6.text(ipv6.embed(ip)) if version == 6 else ipv4.text(ip)}\t{names}\n"


def append(name: str, ip: int, versions: Iterable[int]) -> None:
    """Add a host that came later; :func:`remove` removes it again."""
    remove(name)
    with _OURS.open("a") as file:
        file.writelines(_lines(name, ip, versions))


def remove(name: str) -> None:
    """Remove a host; nothing if it has no line."""
    if _OURS.is_file():
        rest = (line for line in _OURS.read_text().splitlines(True) if line.split()[1:] != [name])
        _OURS.write_text("".join(rest))


def _names(scheme: Scheme, server: int) -> Iterable[str]:
    """A server's name, and its label as far as host names can have it: ``Frankfurt-am-Main``."""
    yield (name := scheme.fabric.name(server))
    alias = _FORBIDDEN.sub("-", scheme.fabric.family.label(server)).strip("-.")
    if alias[:1].isalpha() and alias != name and scheme.fabric.family.named:
        yield alias


def install(scheme: Scheme) -> None:
    """Append the servers to the machine's ``/etc/hosts``, in this mount namespace only; nothing if the
    machine has no such file.  Programs that are not told otherwise take the IPv4 address of a name."""
    if _PREFERENCE.is_file():
        _OWN_PREFERENCE.write_text(_IPV4_FIRST)
        mount(str(_OWN_PREFERENCE), str(_PREFERENCE), "", BIND)
    if _FILE.is_file():
        before = _FILE.read_text(errors="replace").rstrip("\n")
        _OURS.write_text(f"{before}\n\n# The servers of this lab\n{''.join(lines(scheme))}")
        mount(str(_OURS), str(_FILE), "", BIND)


def resolve_by(name_server: str = _NOBODY) -> None:
    """Have programs of the lab ask this name server, in this mount namespace only; nothing if the machine
    has no such file."""
    text = f"nameserver {name_server}\n"
    if name_server == _NOBODY:
        text += "options timeout:1 attempts:1\n"
    target = _RESOLVER.resolve()
    if target.exists():
        _OWN_RESOLVER.write_text(text)
        if not target.samefile(_OWN_RESOLVER):  # it is not mounted there yet
            mount(str(_OWN_RESOLVER), str(target), "", BIND)
    elif target.is_relative_to("/run"):  # a link to what another program of the machine writes there
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
