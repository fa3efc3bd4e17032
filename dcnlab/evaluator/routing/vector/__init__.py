"""Schemes as arrays: the slot that every node uses towards every destination.

A scheme may have a module here, found by its name (``-`` written ``_``), with one of three
functions.  Where the next hop is certain and depends on the destination alone,

    rule(scheme, links) -> Rule        Rule: destinations -> slots[len(destinations), nodes]

says in one array operation or kernel what ``choices`` says header by header:
``slots[i, v]`` is the slot (see :class:`topos.graph.Slots`) that v sends packets for
``destinations[i]`` out of, ``NONE`` where it drops them.  What stands at the destination
itself, and at plain hosts, does not matter; nor does it matter whether a slot whose link
is down is named, where the alternative is a drop.  For a RuleScheme it is the rule
alone that is stated; detours round known failures are added here, unless the rule heals
itself.  Where the source decides,

    ways(scheme, links) -> Ways        Ways: sources, destinations -> slots[pairs, longest]

gives the slots that each pair's packets cross, in order, then ``NONE``.  Where choices are
weighted, depend on the destination alone and lead in no circle,

    shares(scheme, links) -> Shares    Shares: destinations -> shares[len(destinations), slots]

gives the probability with which the owner of each slot sends by it.  Each returns None
where it does not apply.

Beside ``ways``, where every link is up and nothing but the number of hops is wanted,

    lengths(scheme) -> Lengths         Lengths: sources, destinations, cost -> hops[destinations, sources]

counts them without listing the slots; ``cost[v]`` is how many hops an arrival at v counts.

Beside ``shares``, where every link that is down is known to be, and nothing but loads is wanted,

    loads(scheme) -> Loads             Loads: pairs -> packets[slots]

sums what each slot carries when every pair sends a packet, without the shares of each.
Tests hold every module against the generic evaluation of the scheme itself.
"""
