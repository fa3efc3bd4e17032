"""Where the machines of a lab are: a Dask scheduler's address, or the Unix sockets of servers."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from dcnlab.lab.errors import OptionError

#: What the sockets of servers begin with.
UNIX = "unix:"


def sockets(address: str) -> list[str]:
    """The paths of ``unix:PATH,PATH...``."""
    return address.removeprefix(UNIX).split(",")


def check(address: str) -> None:
    """Raise OptionError if others can use the machines.

    They cannot if these are behind Unix sockets, or the scheduler has TLS or listens on loopback."""
    if address.startswith(UNIX):
        paths = sockets(address)
        if len(set(paths)) < len(paths) or not all(path.startswith("/") for path in paths):
            raise OptionError(
                "machines",
                f"machines: not {address!r}, but a path from / on for each: unix:/run/m0,/run/m1",
            )
        return
    parts = urlsplit(address)
    try:
        complete = bool(parts.hostname and parts.port)
    except ValueError:
        complete = False
    if parts.scheme not in ("tls", "tcp") or not complete:
        raise OptionError(
            "machines",
            f"machines: not {address!r}, but a Dask scheduler's address, such as tls://10.0.0.1:8786,"
            " or sockets of `dcnlab machines serve`, such as unix:/run/m0,/run/m1",
        )
    if parts.scheme == "tcp" and not is_loopback(parts.hostname or ""):
        raise OptionError(
            "machines",
            f"machines: {address} has no TLS, so everybody who reaches it could run programs there: use tls://,"
            " with the certificates of `dcnlab machines init`",
        )


def beside(address: str) -> bool:
    """Whether the scheduler, and so its workers, are on this machine only."""
    return is_loopback(urlsplit(address).hostname or "")


def is_loopback(host: str) -> bool:
    """Whether a host name or an address is that of the machine itself."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
