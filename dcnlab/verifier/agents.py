"""What the agents of relaying servers tell apart of frames, and what they write into them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from addressing.fields import mac
from addressing.header import Forward, Pattern
from addressing.scheme import Scheme
from dcnlab.verifier.atoms import Predicate, Preimage
from dcnlab.verifier.openflow import fields
from hostagent.forwarding.framing import Framing
from topos.graph import ALL_UP

#: From the bits wanted and compared in an address that is written, and the address that is written where
#: nothing is kept, to those wanted and compared before; None where no packet comes out so.
_Kept = Callable[[int, int, int], Predicate | None]


@dataclass(frozen=True)
class Agents:
    """The agents of a scheme, which read and write labels and tags as ``framing`` says."""

    scheme: Scheme
    framing: Framing

    def told(self) -> Iterator[Predicate]:
        """What agents tell apart of frames."""
        yield fields.both(fields.field("dl_type", fields.IPV4), fields.field("vlan_present", 0))
        yield fields.field("dl_dst", mac.FIXED, mac.FIXED_MASK)
        for server in range(self.scheme.fabric.servers):
            for pattern, _ in self.scheme.forwarding_classes(server):
                yield self._matched(pattern)

    def _matched(self, pattern: Pattern) -> Predicate:
        bits, tag_bits = self.scheme.label_bits, self.scheme.tag_bits
        if self.framing.by_address:
            pattern_bits = fields.field("nw_dst", pattern.label, pattern.mask)
        else:
            pattern_bits = fields.field("dl_dst", mac.align(pattern.label, bits), mac.align(pattern.mask, bits))
        if not tag_bits:
            return pattern_bits
        return fields.both(
            pattern_bits,
            fields.field("dl_src", mac.align(pattern.tag, tag_bits), mac.align(pattern.tag_mask, tag_bits)),
        )

    def changes(self) -> dict[object, Preimage]:
        """What agents write into frames, as preimages."""
        preimages: dict[object, Preimage] = {}
        for server in range(self.scheme.fabric.servers):
            for _, header in self.scheme.forwarding_classes(server):
                for action, _ in self.scheme.next_hops(server, header, ALL_UP):
                    if isinstance(action, Forward):
                        key = (
                            action.label,
                            action.tag,
                            action.pop,
                            None if self.framing.tagged else (server, action.port),
                        )
                        preimages[key] = self._preimage(server, action)
        return preimages

    def _preimage(self, server: int, action: Forward) -> Preimage:
        """What must hold of a frame before an agent forwards it, for a predicate to hold afterwards: the agent
        writes both addresses from the header that it has read."""
        label, tag = self._kept(action)
        source = mac.hardware(server, action.port)

        def preimage(predicate: Predicate) -> Predicate | None:
            value, mask = predicate
            rest = ~(fields.MASK["dl_dst"] | fields.MASK["dl_src"])
            before: Predicate = value & rest, mask & rest
            for name, kept, written in (("dl_dst", label, self._destination(action)), ("dl_src", tag, source)):
                wanted, compared = (part >> fields.PLACE[name] & (1 << 48) - 1 for part in predicate)
                left = kept(wanted, compared, written)
                if left is None:
                    return None
                before = fields.both(before, fields.field(name, *left))
            return before

        return preimage

    def _destination(self, action: Forward) -> int:
        """The destination address that an agent writes, with the label's bits zero where it is kept."""
        return int.from_bytes(self.framing.destination(action.label or 0))

    def _kept(self, action: Forward) -> tuple[_Kept, _Kept]:
        """How the bits of both addresses come about: from the label that was read, and from the tag."""
        bits = 0 if self.framing.by_address or action.label is not None else self.scheme.label_bits
        tag_bits = self.scheme.tag_bits
        fresh = mac.encode(action.tag or 0, tag_bits) if tag_bits else 0

        def label(wanted: int, compared: int, written: int) -> Predicate | None:
            own = mac.align((1 << bits) - 1, bits) if bits else 0
            return None if (wanted ^ written) & compared & ~own else (wanted & own, compared & own)

        def tag(wanted: int, compared: int, source: int) -> Predicate | None:
            if not tag_bits:
                return None if (wanted ^ source) & compared else (0, 0)
            own = mac.align((1 << tag_bits) - 1, tag_bits) if action.tag is None else 0
            if (wanted ^ fresh) & compared & ~own:
                return None
            value, mask = (mac.decode(part & own, tag_bits) for part in (wanted, compared))
            if value & mask & (1 << action.pop) - 1:
                return None
            return mac.align(value >> action.pop, tag_bits), mac.align(mask >> action.pop, tag_bits)

        return label, tag
