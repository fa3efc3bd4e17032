"""The Scheme base class: a routing rule stated once, and the walk that follows it.

A scheme is a frozen dataclass bound to a fabric; its further fields are its parameters
(``ksp:k=8``).  It states

    label(v)                       the label of node v, a number of ``label_bits`` bits
    headers(source, destination)   what the source writes into a packet: one header, or
                                   several with weights (multipath)
    next_hops(at, header, links)   what node ``at`` does with the packet, given the links
                                   that it knows to be down: actions with weights
    forwarding_classes(at)         sets of headers over which ``next_hops`` is constant,
                                   each with a representative: the compact table

and nothing about tables, sockets or simulations.  ``with_failures(links)`` is the scheme once
the control plane knows of failures; labels may differ from before.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

from addressing.autoconfiguration import Autoconfiguration, aacm
from addressing.fields import ipv4
from addressing.header import (
    DELIVER,
    TAG_BITS,
    Action,
    Deliver,
    Drop,
    Field,
    Forward,
    Header,
    NextHops,
    Pattern,
    drop,
    exact,
    only,
)
from topos.fabric import Fabric
from topos.family import Family, check_range
from topos.graph import ALL_UP, LinkState

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ForwardingClass = tuple[Pattern, Header]


class ChangedClasses(NamedTuple):
    """What differs between two tables of a node: patterns that are gone, and classes that are new or whose next
    hops may be others."""

    gone: Collection[Pattern]
    fresh: Sequence[ForwardingClass]


class Decided(NamedTuple):
    """What a node does with packets, in columns: ``hops[which[i]]`` with those for ``labels[i]`` that arrive by
    port ``in_ports[i]``; 0 stands for the ports that no other row of the label has."""

    labels: NDArray[np.int64]
    in_ports: NDArray[np.int64]
    which: NDArray[np.int64]
    hops: Sequence[NextHops]


class Redecided(NamedTuple):
    """What relaying servers do with packets for those labels of which they may do something else than before,
    in columns: all rows of such a label at ``nodes[i]``, each as in :class:`Decided`."""

    nodes: NDArray[np.int64]
    labels: NDArray[np.int64]
    in_ports: NDArray[np.int64]
    which: NDArray[np.int64]
    hops: Sequence[NextHops]


class LabelTooWide(ValueError):
    """The labels need more bits than the header field has; the text is one line for the user."""


#: What a scheme states of next hops and classes.
_RULES = "next_hops", "transit_next_hops", "class_next_hops", "forwarding_classes", "rule", "towards"


@dataclass(frozen=True)
class Scheme(ABC):
    """Base of all schemes, bound to ``fabric``; ``known``: the failures that the control plane knows."""

    #: The name in a specification, before the colon.
    name: ClassVar[str]
    #: One line for `dcnlab list`.
    summary: ClassVar[str]
    #: The paper and section that define the rule.
    source: ClassVar[str]
    #: The header field that carries the label.
    label_field: ClassVar[Field] = Field.ETH_DST
    #: True when servers evaluate the rule itself and hold no table.  Table sizes then count switches only.
    computed: ClassVar[bool] = False
    #: True when a packet may leave a switch by the port on which it arrived, for example where two
    #: phases of a route meet.  Switches drop such packets unless their entries allow it (``may_return``).
    hairpin: ClassVar[bool] = False
    #: True where sources write whole paths: after links fail, known or not, a source writes other headers only
    #: into packets that would cross one, and a node does something else only with packets that would leave by
    #: one.
    crossing_only: ClassVar[bool] = False

    fabric: Fabric
    known: LinkState = field(default=ALL_UP, kw_only=True)

    def __post_init__(self) -> None:
        check_range(self.name, fields(self), self)

    # --- what a scheme states -------------------------------------------------

    @classmethod
    @abstractmethod
    def incompatibility(cls, family: Family) -> str | None:
        """None when the scheme runs on that family, else the reason it does not (half a sentence)."""

    @property
    @abstractmethod
    def label_bits(self) -> int:
        """The width of every label."""

    @property
    def ordered_by_distance(self) -> bool:
        """Whether no packet loops while nodes follow a failure or a restoration in the order of their distance
        (:mod:`topos.stages`); tests prove it on small networks."""
        return False

    @property
    def tag_bits(self) -> int:
        """The width of the tag, the scheme's own state in a packet; 0 for none."""
        return 0

    @abstractmethod
    def label(self, node: int) -> int:
        """The label of an endpoint: ``label_bits`` bits, unique."""

    @abstractmethod
    def next_hops(self, at: int, header: Header, links: LinkState = ALL_UP) -> NextHops:
        """What ``at`` does with a packet, given the ``links`` that it knows to be down itself."""

    @abstractmethod
    def forwarding_classes(self, at: int) -> Iterable[ForwardingClass]:
        """(pattern, representative header) pairs: the representative of the most specific pattern that
        matches a header has the same ``next_hops`` as that header."""

    def headers(
        self, source: int, destination: int, links: LinkState = ALL_UP
    ) -> tuple[tuple[Header, float], ...]:
        """What ``source`` writes into packets for ``destination``, with weights; empty when the
        source knows no path."""
        return ((Header(self.label(destination)), 1.0),)

    def headers_to(self, destination: int) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        """Labels and tags by endpoint: what each writes into packets for ``destination`` that knows of no
        failure by itself, where it writes one header; None where a scheme does not know them at once."""
        return None

    def headers_between(
        self, sources: NDArray[np.int64], destinations: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        """As :meth:`headers_to` for pairs, with a negative tag where a pair must be asked for; None where a
        scheme knows none at once."""
        return None

    def ipv4(self, node: int) -> int:
        """The IPv4 address of a server, as a number."""
        return ipv4.host_address(node)

    @property
    def ipv4_length(self) -> int:
        """The length of the IPv4 prefix that all servers share; addresses outside are not the lab's."""
        return 8

    @property
    def ip_versions(self) -> tuple[int, ...]:
        """The IP versions that hosts use, and that switches match where labels are in IP addresses.

        A label in the MAC address carries both, and so does a network without switches.  An IPv6 address
        contains the host's IPv4 address (:mod:`addressing.fields.ipv6`)."""
        return (4, 6) if self.label_field is Field.ETH_DST or not self.fabric.switches else (4,)

    def endpoints(self) -> range:
        """The nodes that packets can be sent between: the servers, unless a scheme labels all nodes."""
        return range(self.fabric.servers)

    def with_failures(self, links: LinkState) -> Scheme:
        """This scheme once the control plane knows that ``links`` are down."""
        return replace(self, known=links)

    def prepare_tables(self, nodes: Sequence[int]) -> None:  # noqa: B027 (most schemes prepare nothing)
        """Called before the tables of ``nodes`` are compiled: compute at once what they have in common."""

    def usual_classes(self, at: int) -> Iterable[ForwardingClass]:
        """The forwarding classes without those of packets that only servers send which know more failures than
        the control plane: they can be many.  No packet of another class matches one of these."""
        return self.forwarding_classes(at)

    def decided(self, at: int) -> Decided | None:
        """What the table of a relaying server states, where a scheme knows it at once."""
        return None

    def redecided(self, before: Scheme) -> Redecided | None:
        """How :meth:`decided` differs, at all nodes, from that under ``before``: the same scheme, with other
        failures known; None where a scheme does not know it at once."""
        return None

    def keeps_table(self, at: int, before: Scheme) -> bool:
        """True when the table of ``at`` is certainly the one that it had under ``before``: the same scheme,
        with other failures known.  Compiling it then changes nothing."""
        return False

    def changed_classes(self, at: int, before: Scheme) -> ChangedClasses | None:
        """How the forwarding classes of ``at`` differ from those under ``before``, the same scheme with other
        failures known; None where it is not known."""
        return None

    def stays(self, at: int, before: Scheme) -> bool:
        """:meth:`keeps_table`; False where a scheme made from another one states classes or next hops that the
        other's comparison does not know."""
        sound = holds(type(self), "keeps_table", "next_hops", "forwarding_classes", "towards")
        return sound and self.keeps_table(at, before)

    def differing_classes(self, at: int, before: Scheme) -> ChangedClasses | None:
        """:meth:`changed_classes`; None where a scheme made from another one states classes or next hops that
        the other's comparison does not know."""
        sound = holds(type(self), "changed_classes", "next_hops", "forwarding_classes", "towards")
        return self.changed_classes(at, before) if sound else None

    def next_hops_of(
        self, at: int, classes: Sequence[ForwardingClass], links: LinkState = ALL_UP
    ) -> list[NextHops]:
        """:meth:`class_next_hops`, or one by one, likewise."""
        if holds(type(self), "class_next_hops", "next_hops", "towards", "rule"):
            return self.class_next_hops(at, classes, links)
        return Scheme.class_next_hops(self, at, classes, links)

    def decided_of(self, at: int) -> Decided | None:
        """:meth:`decided`, likewise."""
        return self.decided(at) if holds(type(self), "decided", *_RULES) else None

    def redecided_of(self, before: Scheme) -> Redecided | None:
        """:meth:`redecided`, likewise."""
        return self.redecided(before) if holds(type(self), "redecided", "decided", *_RULES) else None

    def may_return(self, at: int, pattern: Pattern) -> bool:
        """Whether packets that the entry with ``pattern`` matches may leave switch ``at`` by their arrival
        port."""
        return self.hairpin

    def in_flooding_scope(self, at: int, origin: int) -> bool:
        """Whether server ``at`` keeps the link state that server ``origin`` floods, where servers
        distribute link state themselves."""
        return True

    @property
    def floods_everywhere(self) -> bool:
        """Whether all servers keep the same link state where they flood it.  Then they compute labels and
        tables from it."""
        return type(self).in_flooding_scope is Scheme.in_flooding_scope

    def autoconfiguration(self) -> Autoconfiguration:
        """How servers that start without addresses learn them: AACM on a torus, unless the scheme's
        labels need a protocol of their own."""
        return aacm(self.fabric.family)

    def repair_report(self) -> dict[str, Any]:
        """How the control plane has repaired the failures that it knows, as JSON for display."""
        return {}

    def hop_bound(self) -> int:
        """An upper bound on the hops of any packet; a longer walk is reported as a loop."""
        return 4 * self.fabric.size

    def class_next_hops(
        self, at: int, classes: Sequence[ForwardingClass], links: LinkState = ALL_UP
    ) -> list[NextHops]:
        """The ``next_hops`` of the representatives of a node's forwarding classes; a scheme may know them at
        once."""
        return [self.next_hops(at, header, links) for _, header in classes]

    # --- what follows from it -------------------------------------------------

    def all_failures(self, links: LinkState) -> LinkState:
        """The failures that the node (``links``) or the control plane knows."""
        if not self.known or not links:
            return self.known or links
        return self.known.fail(links.down)

    def act(self, at: int, header: Header, links: LinkState = ALL_UP) -> NextHops:
        """``next_hops`` for any node.  Plain hosts run no rule: they send everything out of their
        first port that is up."""
        if self.fabric.is_end_host(at):
            if header.label == self.label(at):
                return ((Deliver(), 1.0),)
            if header.in_port:
                return drop("arrived at a host that is not its destination")
            port = next((p for p, _ in self.fabric.ports(at, links)), None)
            return drop("the host's link is down") if port is None else only(Forward(port))
        return self.next_hops(at, header, links)

    def check_width(self) -> None:
        """Raise LabelTooWide unless labels and tags fit the fields that carry them."""
        for bits, room, what in (
            (self.label_bits, self.label_field.bits, f"labels need {{}} bits, {self.label_field.key} carries"),
            (self.tag_bits, TAG_BITS, "source routes need {} bits, eth_src carries"),
        ):
            if bits > room:
                raise LabelTooWide(
                    f"{self.name} on {self.fabric.spec}: {what.format(bits)} {room};"
                    " it can be evaluated offline only"
                )


@cache
def holds(scheme: type[Scheme], shortcut: str, *rules: str) -> bool:
    """Whether a method that answers at once what others state stands for those of ``scheme``: not where a class
    made from that of the method states one of these ``rules`` again.  An abstract rule does not count."""
    order = scheme.__mro__
    stated = next(one for one in order if shortcut in vars(one))
    restated = {name for one in order[: order.index(stated)] for name in rules if name in vars(one)}
    return not any(hasattr(stated, name) and not _is_abstract(stated, name) for name in restated)


def _is_abstract(scheme: type, name: str) -> bool:
    return getattr(getattr(scheme, name), "__isabstractmethod__", False)


@dataclass(frozen=True)
class NumberedScheme(Scheme):
    """Base of schemes whose label is the server's number."""

    @cached_property
    def label_bits(self) -> int:
        return max(1, (self.fabric.servers - 1).bit_length())

    def label(self, node: int) -> int:
        return node

    def hop_bound(self) -> int:
        return self.fabric.size

    def next_hops(self, at: int, header: Header, links: LinkState = ALL_UP) -> NextHops:
        if header.label >= self.fabric.servers:
            return drop("no server has this label")
        return DELIVER if header.label == at else self.towards(at, header.label, links)

    @abstractmethod
    def towards(self, at: int, server: int, links: LinkState) -> NextHops:
        """The next hops at a node of packets to another one, a server."""

    def forwarding_classes(self, at: int) -> Iterable[ForwardingClass]:
        for server in range(self.fabric.servers):
            yield exact(server, self.label_bits), Header(server)


@dataclass(frozen=True, slots=True)
class Hop:
    """One step of a walk: the node, the header there, the action taken and its weight."""

    node: int
    header: Header
    action: Action
    weight: float


def walk(
    scheme: Scheme,
    source: int,
    destination: int,
    links: LinkState = ALL_UP,
    rng: random.Random | None = None,
    heaviest: bool = False,
) -> Iterator[Hop]:
    """Follow one packet; the last hop's action is how it ended (Deliver or Drop).

    Among several next hops ``rng`` draws one by weight.  Without it the first is taken, or with
    ``heaviest`` the one with the largest weight.
    A packet is lost on a link that is down, known or not, and after ``hop_bound`` hops.
    """
    headers = scheme.headers(source, destination, links)
    if not headers:
        yield Hop(source, Header(0), Drop("the source knows of no path"), 1.0)
        return
    header, _ = pick(headers, rng, heaviest)
    at, fabric = source, scheme.fabric
    for _ in range(scheme.hop_bound() + 1):
        action, weight = pick(scheme.act(at, header, links), rng, heaviest)
        yield Hop(at, header, action, weight)
        if not isinstance(action, Forward):
            return
        end = fabric.peer(at, action.port)
        if end is None or fabric.link_at(at, action.port) in links.down:
            yield Hop(at, header, Drop(f"port {action.port} is down"), 1.0)
            return
        header = action.arrival(header, scheme.tag_bits, end.number)
        at = end.node
    yield Hop(at, header, Drop("loop"), 1.0)


def path(scheme: Scheme, source: int, destination: int, links: LinkState = ALL_UP) -> tuple[int, ...] | None:
    """The nodes of the walk that always takes the first next hop; None when it is not delivered."""
    hops = list(walk(scheme, source, destination, links))
    if not isinstance(hops[-1].action, Deliver) or hops[-1].node != destination:
        return None
    return tuple(hop.node for hop in hops)


T = TypeVar("T")


def pick(
    options: tuple[tuple[T, float], ...], rng: random.Random | None, heaviest: bool = False
) -> tuple[T, float]:
    """One of the weighted options: drawn by weight; without ``rng`` the first, or the first of the heaviest."""
    if rng is None and heaviest:
        return max(options, key=lambda option: option[1])
    if rng is None or len(options) == 1:
        return options[0]
    point = rng.random()
    for option in options:
        point -= option[1]
        if point < 0:
            return option
    return options[-1]
