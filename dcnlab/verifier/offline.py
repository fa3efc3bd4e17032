"""A scheme's compiled tables and its rule as the steps of packets, without a lab.

Switches do what their compiled tables say, with OpenFlow's rule that no packet leaves by its arrival port
unless the entry allows it.  Relaying servers do what the scheme's rule says; besides the failures that
the control plane knows they know of their own links.  Labels may be as wide as they like.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

from addressing.header import Action, Deliver, Drop, Forward, Header, NextHops, Pattern
from addressing.scheme import Decided, Scheme
from addressing.table import MISS, Entry, Table, compile_table, recompiled
from dcnlab.verifier.atoms import Predicate, Preimage, closed, representatives, shifted, written
from dcnlab.verifier.search import Ending, Kind, Step
from topos.graph import ALL_UP, LinkState

#: A source and a destination.
Pair = tuple[int, int]
#: A node, and the header of a packet as it arrives there; its ``in_port`` is 0 at the source.
Place = tuple[int, Header]


class Lookup:
    """A table by hash: per mask a dictionary, the longest masks first."""

    def __init__(self, table: Table) -> None:
        self.table, self.entries = table, table.entries

    @cached_property
    def _groups(self) -> list[tuple[int, int, bool, int, dict[tuple[int, int, int], Entry]]]:
        groups: dict[tuple[int, int, bool], dict[tuple[int, int, int], Entry]] = {}
        for entry in self.entries:
            at = entry.pattern
            group = groups.setdefault((at.mask, at.tag_mask, at.in_port > 0), {})
            group.setdefault((at.label, at.tag, at.in_port), entry)
        ranked = sorted(groups.items(), key=lambda item: -next(iter(item[1].values())).priority)
        return [(*masks, next(iter(group.values())).priority, group) for masks, group in ranked]

    def find(self, header: Header) -> Iterator[Entry]:
        """The entries of the highest priority that match; OpenFlow does not say which of several decides."""
        best = -1
        for mask, tag_mask, by_port, priority, group in self._groups:
            if priority < best:
                return
            key = header.label & mask, header.tag & tag_mask, header.in_port if by_port else 0
            if (entry := group.get(key)) is not None:
                best = priority
                yield entry


class Tables:
    """The compiled tables of a scheme's switches, each compiled when it is first asked for.

    ``before`` has tables that may still hold: those of the same scheme with other failures known."""

    def __init__(self, scheme: Scheme, before: Tables | None = None) -> None:
        self.scheme, self._before = scheme, before
        #: Switches whose tables may differ from those before.
        self.needed: frozenset[int]
        self._lookups: dict[int, Lookup] = {}
        fabric = scheme.fabric
        self.switches = range(fabric.servers, fabric.size)
        scheme.prepare_tables(self.switches)
        if before is None:
            needed = tuple(self.switches)
        else:
            needed = tuple(v for v in self.switches if not scheme.stays(v, before.scheme))
        self.needed = frozenset(needed)

    def __getitem__(self, switch: int) -> Lookup:
        lookup = self._lookups.get(switch)
        if lookup is None:
            if self._before is not None and switch not in self.needed:
                lookup = self._before[switch]
            else:
                lookup = Lookup(self._compiled(switch))
            self._lookups[switch] = lookup
        return lookup

    def decided(self, switch: int) -> Decided | None:
        """What the table of a switch states, where the scheme knows it at once and it is not compiled yet."""
        known = switch in self._lookups or type(self.scheme).may_return is not Scheme.may_return
        return None if known or self._before is not None else self.scheme.decided_of(switch)

    def _compiled(self, switch: int) -> Table:
        if self._before is None:
            return compile_table(self.scheme, switch, self.scheme.known)
        return recompiled(self.scheme, self._before[switch].table, self._before.scheme)

    def changed(self) -> int:
        """How many entries are added, removed or have other actions than ``before``, over all switches."""
        if self._before is None:
            return 0
        return sum(_difference(self._before[v].entries, self[v].entries) for v in self.needed)


class UsualEntries(dict[int, tuple[Entry, ...]]):
    """The entries of nodes, those of servers for packets of the usual classes; each is asked for once."""

    def __init__(self, whole: Tables) -> None:
        super().__init__()
        self._whole = whole

    def __missing__(self, node: int) -> tuple[Entry, ...]:
        if node in self._whole.switches:
            self[node] = entries = self._whole[node].entries
        else:
            scheme = self._whole.scheme
            self[node] = entries = compile_table(scheme, node, scheme.known, usual=True).entries
        return entries


def _difference(before: Sequence[Entry], after: Sequence[Entry]) -> int:
    """How many entries of one table are not in the other, or do something else there."""
    if [entry.pattern for entry in before] == [entry.pattern for entry in after]:
        both = zip(before, after, strict=True)
        return sum(a is not b and a.next_hops != b.next_hops for a, b in both)
    same = frozenset(map(id, before)).intersection(map(id, after))
    old, new = (
        {entry.pattern: entry.next_hops for entry in entries if id(entry) not in same}
        for entries in (before, after)
    )
    return sum(old.get(pattern) != new.get(pattern) for pattern in old.keys() | new.keys())


class Offline:
    """The steps of packets under a scheme while ``links`` are down, known to the control plane or not."""

    def __init__(self, tables: Tables, links: LinkState = ALL_UP, text: str = "") -> None:
        """``text`` is the scheme's specification, for commands."""
        self.tables, self.scheme, self.links = tables, tables.scheme, links
        self.text = text or self.scheme.name
        self.fabric = self.scheme.fabric
        self._own = {node: self.own_links(node) for link in links.down for node in self._ends(link)}

    def knowing_more(self) -> Iterator[int]:
        """The relaying servers that know of own links that are down, and the control plane does not."""
        if self.fabric.relaying:
            for node, links in self._own.items():
                if self.fabric.is_server(node) and links.down - self.scheme.known.down:
                    yield node

    def own_links(self, node: int) -> LinkState:
        """The links of a node that are down."""
        return LinkState(self.links.down.intersection(self.fabric.links_of(node)))

    def _ends(self, link: int) -> tuple[int, int]:
        ends = self.fabric.link_ends[link]
        return int(ends[0]), int(ends[2])

    def headers(self, source: int, destination: int) -> Iterator[Header]:
        """What a source writes into packets for a destination."""
        links = self._own.get(source, ALL_UP)
        return (header for header, _ in self.scheme.headers(source, destination, links))

    def starts(self) -> dict[Pair, list[Place]]:
        """The packets of every pair as their sources make them."""
        ends = self.scheme.endpoints()
        return {
            (source, destination): [(source, header) for header in self.headers(source, destination)]
            for source in ends
            for destination in ends
            if source != destination
        }

    def decisions(self, node: int, header: Header) -> tuple[tuple[NextHops, bool], ...]:
        """What a node does, and whether the packet may leave by its arrival port; several decisions where
        entries of one priority disagree."""
        if self.fabric.is_server(node):
            return ((self.scheme.act(node, header, self._own.get(node, ALL_UP)), True),)
        entries = list(self.tables[node].find(header))
        both = zip(entries, self.may_return(node, entries), strict=True)
        return tuple(dict.fromkeys((entry.next_hops, back) for entry, back in both)) or ((MISS, True),)

    def may_return(self, node: int, entries: Sequence[Entry]) -> list[bool]:
        """Whether packets that entries match may leave by their arrival port; from servers always."""
        if self.fabric.is_server(node):
            return [True] * len(entries)
        patterns = [entry.pattern for entry in entries]
        return [one.in_port > 0 or self.scheme.may_return(node, one) for one in patterns]

    def step(self, place: Place) -> Step[Place]:
        """What can happen to a packet at a place."""
        node, header = place
        if header.in_port and self.fabric.is_end_host(node):
            return ((Ending(Kind.arrives, node),),)
        decisions = self.decisions(node, header)
        return tuple(
            (self._after(node, header, action, back),) for hops, back in decisions for action, _ in hops
        )

    def _after(self, node: int, header: Header, action: Action, may_return: bool) -> Place | Ending:
        if isinstance(action, Deliver):
            return Ending(Kind.arrives, node)
        if isinstance(action, Drop):
            return Ending(Kind.lost, node, action.reason)
        end = self.fabric.peer(node, action.port)
        if end is None or self.fabric.link_at(node, action.port) in self.links.down:
            return Ending(Kind.lost, node, f"port {action.port} is down")
        if action.port == header.in_port and not may_return:
            return Ending(Kind.lost, node, "a switch sends no packet back by its arrival port")
        return end.node, action.arrival(header, self.scheme.tag_bits, end.number)

    # --- in words ---------------------------------------------------------------

    def node(self, place: Place) -> int:
        """Where the packet is."""
        return place[0]

    def packet(self, place: Place) -> str:
        """Label and tag, in bits."""
        header = place[1]
        tag = f" route={header.tag:0{self.scheme.tag_bits}b}" if self.scheme.tag_bits else ""
        return f"label={header.label:0{self.scheme.label_bits}b}{tag}"

    def entry(self, place: Place) -> str:
        """The entry of a switch, or the rule's decision."""
        node, header = place
        if self.fabric.is_end_host(node):
            return ""
        done = " or ".join(", ".join(map(_words, hops)) for hops, _ in self.decisions(node, header))
        if self.fabric.is_server(node):
            return f"rule -> {done}"
        entry = next(self.tables[node].find(header), None)
        return f"{done}" if entry is None else f"priority={entry.priority + 1} -> {done}"

    def command(self, places: Sequence[Place], pair: Pair | None) -> str:
        """`dcnlab path` shows what the rule does while all links are up; with failures a lab sends the packet,
        which no command can while the control plane does not know of them: it learns in milliseconds."""
        if pair is None or self.links.down - self.scheme.known.down:
            return ""
        spec, scheme = self.fabric.spec, self.text
        a, b = map(self.fabric.name, pair)
        if not self.links:
            return f"dcnlab path {spec} --scheme {scheme} {a} {b}"
        ends = (" ".join(map(self.fabric.name, self._ends(link))) for link in sorted(self.links.down))
        cuts = "".join(f"dcnlab fail lab {both}; " for both in ends)
        return f"dcnlab up {spec} --scheme {scheme} -d --name lab; {cuts}dcnlab trace lab {a} {b}"

    # --- any packet -------------------------------------------------------------

    def classes(self, most: int = 1 << 18) -> list[Header]:
        """A header of each class that tables and rules tell apart, now and after they have rewritten it.

        TooMany with more than ``most`` of them."""
        bits = self.scheme.tag_bits
        predicates, changes = dict[Predicate, None](), dict[tuple[int, int, int], Preimage]()
        for pattern, hops in self._patterns():
            predicates[_join(pattern, bits)] = None
            for action, _ in hops:
                if isinstance(action, Forward):
                    changes |= _changes(action, self.scheme)
        width = self.scheme.label_bits + bits
        numbers = representatives(closed(predicates, changes.values()), width, most=most)
        return [Header(number >> bits, number & ((1 << bits) - 1)) for number in numbers]

    def _patterns(self) -> Iterator[tuple[Pattern, NextHops]]:
        for node in range(self.fabric.size):
            if self.fabric.is_server(node):
                links = self._own.get(node, ALL_UP)
                for pattern, header in (
                    () if self.fabric.is_end_host(node) else self.scheme.forwarding_classes(node)
                ):
                    yield pattern, self.scheme.next_hops(node, header, links)
            else:
                for entry in self.tables[node].entries:
                    yield entry.pattern, entry.next_hops

    def injected(self, header: Header) -> Iterator[Place]:
        """Where a packet with this header arrives when a server sends it by any of its ports."""
        for server in range(self.fabric.servers):
            for port, end in self.fabric.ports(server):
                if self.fabric.link_at(server, port) not in self.links.down:
                    yield end.node, replace(header, in_port=end.number)


def _words(hop: tuple[Action, float]) -> str:
    action, weight = hop
    share = "" if weight == 1 else f" ({weight:.4g})"
    match action:
        case Forward(port=port):
            return f"port {port}{share}"
        case Deliver():
            return f"deliver{share}"
    return f"drop ({action.reason}){share}"


def _join(pattern: Pattern, bits: int) -> Predicate:
    return pattern.label << bits | pattern.tag, pattern.mask << bits | pattern.tag_mask


def _changes(action: Forward, scheme: Scheme) -> dict[tuple[int, int, int], Preimage]:
    """What an action does to label and tag, as preimages of predicates."""
    bits = scheme.tag_bits
    label, tag = (1 << scheme.label_bits) - 1 << bits, (1 << bits) - 1
    preimages: dict[tuple[int, int, int], Preimage] = {}
    if action.label is not None:
        preimages[action.label << bits, label, 0] = written(action.label << bits, label)
    if action.tag is not None:
        preimages[action.tag, tag, 0] = written(action.tag, tag)
    if action.pop:
        preimages[0, 0, action.pop] = shifted(action.pop, bits)
    return preimages
