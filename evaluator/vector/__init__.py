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

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from typing import cast

import numpy as np
from numpy.typing import NDArray

from addressing.rule import RuleScheme
from addressing.scheme import Scheme
from evaluator.mend import mended
from evaluator.pairs import Pairs
from topos.graph import IntArray, LinkState

Rule = Callable[[IntArray], IntArray]
Ways = Callable[[IntArray, IntArray], IntArray]
Shares = Callable[[IntArray], NDArray[np.float64]]
Lengths = Callable[[IntArray, IntArray, IntArray], IntArray]
Loads = Callable[[Pairs], NDArray[np.float64]]


def rule_of(scheme: Scheme, links: LinkState) -> Rule | None:
    """The next hops of ``scheme`` where nodes know ``links`` to be down; None if it has none."""
    rule = cast(Rule | None, _bound(scheme, links, "rule"))
    if rule is None or not isinstance(scheme, RuleScheme):
        return rule
    if type(scheme).steps is not RuleScheme.steps:  # over several links: the module sees to detours
        return rule
    if links.down - scheme.known.down:  # nodes protect against what the control plane does not know
        return None
    return mended(scheme, rule) if scheme.known and not scheme.heals else rule


def ways_of(scheme: Scheme, links: LinkState) -> Ways | None:
    """The routes of ``scheme`` where nodes know ``links`` to be down; None if it has none."""
    return cast(Ways | None, _bound(scheme, links, "ways"))


def lengths_of(scheme: Scheme) -> Lengths | None:
    """The hops of ``scheme`` while everything is up; None if it has no such form."""
    bind = _function(scheme, "lengths")
    return None if bind is None or scheme.known else cast(Lengths | None, bind(scheme))


def loads_of(scheme: Scheme, down: LinkState) -> Loads | None:
    """The loads by ``scheme`` while links are ``down``; None if it has no such form, or does not know."""
    bind = _function(scheme, "loads")
    return None if bind is None or down.down - scheme.known.down else cast(Loads | None, bind(scheme))


def shares_of(scheme: Scheme, links: LinkState) -> Shares | None:
    """The weights of ``scheme`` where nodes know ``links`` to be down; None if it has none."""
    return cast(Shares | None, _bound(scheme, links, "shares"))


def _bound(scheme: Scheme, links: LinkState, function: str) -> object:
    bind = _function(scheme, function)
    return None if bind is None else bind(scheme, links)


def _function(scheme: Scheme, name: str) -> Callable[..., object] | None:
    module = f"{__name__}.{scheme.name.replace('-', '_')}"
    if importlib.util.find_spec(module) is None:
        return None
    return cast(Callable[..., object] | None, getattr(importlib.import_module(module), name, None))
