"""The address of the Dask scheduler whose workers are the machines of a lab."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from dcnlab.lab.errors import OptionError


def check(address: str) -> None:
    """OptionError unless others cannot use the scheduler: it has TLS, or listens on loopback."""
    parts = urlsplit(address)
    try:
        complete = bool(parts.hostname and parts.port)
    except ValueError:
        complete = False
    if parts.scheme not in ("tls", "tcp") or not complete:
        raise OptionError(
            "machines",
            f"machines: not {address!r}, but a Dask scheduler's address, such as tls://10.0.0.1:8786",
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
