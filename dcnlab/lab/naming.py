"""Nodes, servers and links by name; UsageError, in one line, for names of none.

A node is named ``h3`` or ``s0``, or by its coordinates as the family prints them.  A server can also
be named by its IPv4 address.
"""

from __future__ import annotations

import fnmatch
import ipaddress
import re
from collections.abc import Iterable, Sequence

from addressing.fields import ipv4
from addressing.scheme import Scheme
from dcnlab.lab.errors import UsageError
from topos.fabric import Fabric

#: Processes of a lab that are not those of one node.
PROCESSES = ("controller", "agents", "ovsdb")
_NEEDED = {"controller": "switches", "agents": "servers that relay", "ovsdb": "switches"}
_PATTERN = re.compile(r"[*?[]")
#: Commas between names, and not those in coordinates.
_COMMA = re.compile(r",(?![^(]*\))")
#: A port of a node: names with colons of their own are found as nodes first.
_PORT = re.compile(r".+:\d{1,5}")
_NUMBER = re.compile(r"[\d.,:/+-]+")
_DOTTED = re.compile(r"\d+(\.\d+){3}")


def node(fabric: Fabric, name: str, scheme: Scheme | None = None) -> int:
    """The node of that name; ``scheme`` gives servers their addresses."""
    if _DOTTED.fullmatch(name):
        return _holder(fabric, name, scheme)
    try:
        return fabric.index(name)
    except KeyError as error:
        raise UsageError(str(error.args[0])) from error


def in_command(fabric: Fabric, word: str) -> int | None:
    """The server that an argument of a command names, else None.

    Numbers name no server, even where coordinates look like them: the 3 in ``ping -c 3`` stays a 3.
    """
    if _NUMBER.fullmatch(word):
        return None
    try:
        node = fabric.index(word)
    except KeyError:
        return None
    return node if fabric.is_server(node) else None


def server(fabric: Fabric, name: str, scheme: Scheme | None = None) -> int:
    """The server of that name."""
    number = node(fabric, name, scheme)
    if not fabric.is_server(number):
        raise UsageError(f"{name} is a switch: name a server")
    return number


def two_servers(fabric: Fabric, a: str, b: str, scheme: Scheme | None = None) -> tuple[int, int]:
    """Two different servers by name."""
    source, target = server(fabric, a, scheme), server(fabric, b, scheme)
    if source == target:
        raise UsageError("name two different servers")
    return source, target


def links(fabric: Fabric, kind: str, names: Sequence[str], scheme: Scheme | None = None) -> tuple[int, ...]:
    """The link numbers of ``link A B`` (all where links are parallel), ``link A B 2`` (the second of them),
    ``link A:3`` (at port 3 of A), or ``node A``."""
    if kind == "node" and len(names) == 1:
        return fabric.links_of(node(fabric, names[0], scheme))
    if kind == "link" and len(names) == 1 and is_port(names[0]):
        return (_link_at(fabric, names[0], scheme),)
    if kind == "link" and len(names) in (2, 3):
        a, b = (node(fabric, name, scheme) for name in names[:2])
        between = fabric.links_between(a, b)
        if not between:
            raise UsageError(f"there is no link between {names[0]} and {names[1]}")
        return between if len(names) == 2 else (_one_of(between, names),)
    raise UsageError("name a link by its two nodes (`link A B`), by a port (`link A:1`), or a node (`node A`)")


def nodes_matching(fabric: Fabric, names: str, scheme: Scheme | None = None) -> tuple[int, ...]:
    """The nodes that ``h*`` or ``h0,h[2-4],(1,1)`` name, in the order of the network; UsageError for what names
    none."""
    try:
        return (node(fabric, names, scheme),)
    except UsageError:
        if not _PATTERN.search(names) and not _COMMA.search(names):
            raise
    numbers: set[int] = set()
    for one in _COMMA.split(names):
        matching = _matching(fabric, one, scheme)
        if not matching:
            raise UsageError(f"no node matches {one}")
        numbers |= matching
    return tuple(sorted(numbers))


def is_port(name: str) -> bool:
    """Whether a name is that of a port, such as ``s0:3``."""
    return _PORT.fullmatch(name) is not None


def _link_at(fabric: Fabric, name: str, scheme: Scheme | None) -> int:
    at, _, port = name.rpartition(":")
    number = node(fabric, at, scheme)
    ports = [port for port, _ in fabric.ports(number)]
    if int(port) not in ports:
        raise UsageError(f"{at} has no port {port}: it has {', '.join(map(str, ports))}")
    return fabric.link_at(number, int(port))


def _one_of(links: tuple[int, ...], names: Sequence[str]) -> int:
    if not names[2].isdecimal() or not 1 <= int(names[2]) <= len(links):
        number = f"{len(links)} links" if len(links) > 1 else "one link"
        raise UsageError(f"there is no link {names[2]} between {names[0]} and {names[1]}: they have {number}")
    return links[int(names[2]) - 1]


def links_matching(
    fabric: Fabric, kind: str, names: Sequence[str], scheme: Scheme | None = None
) -> tuple[int, ...]:
    """As :func:`links`; the names may be patterns such as ``s*``, and the kind may be ``all``."""
    if kind == "all" and not names:
        return tuple(range(len(fabric.link_ends)))
    if kind == "link" and len(names) == 2 and any(_PATTERN.search(name) for name in names):
        a, b = (_matching(fabric, name, scheme) for name in names)
        ends = ((link.index, link.a.node, link.b.node) for link in fabric.links())
        if numbers := tuple(n for n, x, y in ends if (x in a and y in b) or (x in b and y in a)):
            return numbers
        raise UsageError(f"there is no link between {names[0]} and {names[1]}")
    if kind == "all":
        raise UsageError("all links take no names: write `all`, or a link by its two nodes (`link A B`)")
    return links(fabric, kind, names, scheme)


def directions(fabric: Fabric, links: Iterable[int], sender: str = "") -> list[tuple[int, int]]:
    """Return both directions of links, each as a link and the node that sends.

    With ``sender``, a name or a pattern, it is only those in which such a node sends; UsageError if there is
    none."""
    senders = _matching(fabric, sender, None) if sender else None
    ends = ((link, node) for link in links for node in fabric.link_ends[link, [0, 2]].tolist())
    wanted = [(link, node) for link, node in ends if senders is None or node in senders]
    if sender and not wanted:
        raise UsageError(f"{sender} is at neither end: name a node of the link that sends")
    return wanted


def _matching(fabric: Fabric, pattern: str, scheme: Scheme | None) -> frozenset[int]:
    """The nodes whose names match a pattern; the node of a plain name."""
    if not _PATTERN.search(pattern):
        return frozenset((node(fabric, pattern, scheme),))
    return frozenset(n for n in range(fabric.size) if fnmatch.fnmatchcase(fabric.name(n), pattern))


def _holder(fabric: Fabric, text: str, scheme: Scheme | None) -> int:
    """The server with an IPv4 address: as the scheme assigns it, or on a torus by CLOT's coordinates."""
    try:
        address = int(ipaddress.IPv4Address(text))
    except ValueError as error:
        raise UsageError(f"{text} is not an IPv4 address: {error}") from error
    address_of = ipv4.host_address if scheme is None else scheme.ipv4
    radices = fabric.family.torus_radices
    if scheme is not None or not radices:
        for number in range(fabric.servers):
            if address_of(number) == address:
                return number
    if not radices:
        raise UsageError(f"no server of {fabric.family.title} has the address {text}")
    return _at(fabric, text, address)


def _at(fabric: Fabric, text: str, address: int) -> int:
    """The server of a torus whose coordinates CLOT writes as ``address``."""
    try:
        coordinates = ipv4.to_coordinates(address)
    except ipv4.AddressError as error:
        raise UsageError(str(error)) from error
    label = f"({','.join(map(str, coordinates))})"
    try:
        return fabric.index(label)
    except KeyError:
        raise UsageError(f"{text} stands for {label}, which is not in {fabric.family.title}") from None


def named_node(fabric: Fabric, what: str, scheme: Scheme | None = None) -> int | None:
    """The node that is to be restarted, plain hosts included; otherwise as :func:`process`."""
    return process(fabric, what, scheme) if what in PROCESSES else node(fabric, what, scheme)


def process(fabric: Fabric, what: str, scheme: Scheme | None = None) -> int | None:
    """The node whose process is meant: a server's agent or a switch's ovs-vswitchd.

    None for ``controller``, ``agents`` and ``ovsdb``; UsageError for what the network does not have.
    """
    if what in PROCESSES:
        if not (fabric.relaying if what == "agents" else fabric.switches):
            raise UsageError(f"{fabric.family.title} has no {what}: it has no {_NEEDED[what]}")
        return None
    number = node(fabric, what, scheme)
    if fabric.is_server(number) and not fabric.relaying:
        raise UsageError(f"{what} has no agent: it relays nothing")
    return number
