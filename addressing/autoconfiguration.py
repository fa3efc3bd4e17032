"""How servers that start without addresses learn them: the protocol, or why there is none."""

from __future__ import annotations

from typing import Literal, NamedTuple

from addressing.fields import ipv4
from topos.family import Family


class Autoconfiguration(NamedTuple):
    """The protocol that gives servers their addresses or labels."""

    #: AACM gives coordinates, labelling the labels of ``wmgr``; None: servers cannot configure themselves.
    protocol: Literal["AACM", "labelling"] | None
    #: Why there is no protocol: one line for the user.
    reason: str = ""
    #: What AACM distributes: the radix of each dimension of the torus.
    radices: tuple[int, ...] = ()


def aacm(family: Family) -> Autoconfiguration:
    """AACM where the servers form a torus whose coordinates fit into IPv4 addresses (CLOT, section 5)."""
    if not family.torus_radices:
        return Autoconfiguration(
            None, f"servers of {family.name} cannot configure themselves: AACM needs torus, clot or novacube"
        )
    try:
        ipv4.check_radices(family.torus_radices)
    except ipv4.AddressError as error:
        return Autoconfiguration(None, str(error))
    return Autoconfiguration("AACM", radices=family.torus_radices)
