"""Hypothesis strategies for rules, groups and whole tables."""

from __future__ import annotations

from hypothesis import strategies as st

from addressing.fields import ipv6
from controller import rules
from controller.rules import Bucket, FlowTable, Group, Masked, Match, Output, Rule, SetField, Stamp, ToGroup

macs = st.integers(0, (1 << 48) - 1)
addresses = st.integers(0, (1 << 32) - 1)
ports = st.integers(1, 0xFF00 - 1)
outputs = st.builds(Output, ports | st.just(rules.IN_PORT))
rewrites = st.one_of(
    st.builds(SetField, st.sampled_from(["eth_src", "eth_dst"]), macs),
    st.builds(SetField, st.just("in_port"), st.just(0)),
    st.builds(lambda value: Stamp(value, max(1, value.bit_length())), st.integers(0, 255)),
)


def masked(bits: int) -> st.SearchStrategy[Masked]:
    """A value under a mask: all bits, a prefix, or any."""
    full = (1 << bits) - 1
    prefixes = st.integers(0, bits).map(lambda length: full ^ (full >> length))
    masks = st.one_of(st.just(full), prefixes, st.integers(0, full))
    return st.builds(lambda value, mask: Masked(value & mask, mask), st.integers(0, full), masks)


#: In the labs' prefix: elsewhere Open vSwitch and Python format some addresses differently.
masked_ipv6 = masked(32).map(lambda low: Masked(ipv6.embed(low.value), ipv6.mask(low.mask)))
matches = st.one_of(
    st.builds(Match, st.just(0) | ports, st.just(0), masked(48), masked(48)),
    st.builds(Match, st.just(0) | ports, st.just(rules.IPV4), masked(48), masked(48), masked(32)),
    st.builds(Match, st.just(0) | ports, st.just(rules.IPV6), masked(48), masked(48), ipv6_dst=masked_ipv6),
    st.just(Match(eth_type=rules.ARP)),
    st.just(Match(eth_type=rules.IPV6, icmpv6_type=rules.SOLICITATION)),
)
ways = st.tuples(outputs) | st.tuples(rewrites, outputs) | st.tuples(rewrites, rewrites, outputs) | st.just(())
buckets = st.lists(st.builds(Bucket, st.integers(1, 0xFFFF), ways), min_size=1, max_size=3).map(tuple)
groups = st.lists(st.builds(Group, st.integers(0, 5), buckets), max_size=3, unique_by=lambda group: group.id)


@st.composite
def tables(draw: st.DrawFn) -> FlowTable:
    """A table that a switch accepts: no two equal rules, and no missing groups."""
    drawn = draw(groups)
    jumps = st.sampled_from([(ToGroup(group.id),) for group in drawn]) if drawn else st.nothing()
    to_controller = st.just((Output(rules.CONTROLLER),))
    rule = st.builds(
        Rule,
        st.integers(0, 0xFFFF) | st.just(rules.DEFAULT_PRIORITY) | st.integers(1, 3),
        matches | st.just(Match(1)),
        ways | to_controller | jumps,
        st.sampled_from([rules.TABLE_COOKIE, rules.ARP_COOKIE]),
    )
    flows = draw(st.lists(rule, max_size=6, unique_by=lambda item: item.key))
    return FlowTable(frozenset(flows), frozenset(drawn))
