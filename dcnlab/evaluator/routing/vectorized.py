"""Finds the vectorised form of a scheme in :mod:`dcnlab.evaluator.routing.vector` by the scheme's name."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from typing import NamedTuple, cast

from addressing.rule import RuleScheme
from addressing.scheme import Scheme
from dcnlab.evaluator.routing import vector
from dcnlab.evaluator.routing.forms import (
    Crossings,
    Joint,
    Lengths,
    Loads,
    PairLengths,
    Rule,
    Shares,
    SourceRoutes,
    Spread,
    Tables,
)
from dcnlab.evaluator.routing.repair import repaired
from topos.families.torus import Torus
from topos.graph import LinkState

#: The most pairs that are searched one by one: some minutes.
MOST_SEARCHES = 250_000


class Forms(NamedTuple):
    """The forms in which a scheme gives its paths: at most one is set, none if it has none."""

    rule: Rule | None = None
    source_routes: SourceRoutes | None = None
    shares: Shares | None = None


def forms_of(scheme: Scheme, known_down: LinkState, *, few_pairs: bool = False) -> Forms:
    """The form of ``scheme`` while its nodes know the links ``known_down`` to be down; for ``few_pairs``
    source routes rather than the next hops of all nodes, where the scheme has both, and no form where the
    scheme itself takes few steps."""
    source_routes = source_routes_of(scheme, known_down) if few_pairs else None
    if source_routes is not None:
        return Forms(source_routes=source_routes)
    if few_pairs and _states(scheme, "few_steps"):
        return Forms()
    rule = rule_of(scheme, known_down)
    if rule is not None:
        return Forms(rule=rule)
    source_routes = source_routes_of(scheme, known_down)
    if source_routes is not None:
        return Forms(source_routes=source_routes)
    return Forms(shares=shares_of(scheme, known_down))


def rule_of(scheme: Scheme, known_down: LinkState) -> Rule | None:
    """The next hops of ``scheme`` while ``known_down`` is known to be down; None without such a form."""
    rule = cast(Rule | None, _bound(scheme, known_down, "rule"))
    if rule is None or not isinstance(scheme, RuleScheme):
        return rule
    if type(scheme).steps is not RuleScheme.steps:  # steps over several links: the module adds backup paths
        return rule
    if known_down.down - scheme.known.down:  # nodes react to failures that the control plane does not know
        return None
    return repaired(scheme, rule) if scheme.known and not scheme.self_healing else rule


def source_routes_of(scheme: Scheme, known_down: LinkState) -> SourceRoutes | None:
    """The source routes of ``scheme`` while ``known_down`` is known to be down; None without such a form."""
    return cast(SourceRoutes | None, _bound(scheme, known_down, "source_routes"))


def lengths_of(scheme: Scheme) -> Lengths | None:
    """The path lengths of ``scheme`` without failures; None without such a form."""
    bind = _function(scheme, "lengths")
    return None if bind is None or scheme.known else cast(Lengths | None, bind(scheme))


def pair_lengths_of(scheme: Scheme) -> PairLengths | None:
    """The path lengths of single pairs of ``scheme`` without failures; None without such a form."""
    bind = _function(scheme, "pair_lengths")
    return None if bind is None or scheme.known else cast(PairLengths | None, bind(scheme))


def spread_of(scheme: Scheme) -> Spread | None:
    """The distribution of path lengths of ``scheme`` without failures; None without such a form."""
    bind = _function(scheme, "spread")
    return None if bind is None or scheme.known else cast(Spread | None, bind(scheme))


def joint_of(scheme: Scheme) -> Joint | None:
    """The pairs by path length and distance of ``scheme`` without failures; None without such a form."""
    bind = _function(scheme, "joint")
    return None if bind is None or scheme.known else cast(Joint | None, bind(scheme))


def always_shortest(scheme: Scheme) -> bool:
    """True where all packets of ``scheme`` take shortest paths, counted in links, while every node knows
    all failures."""
    return _states(scheme, "always_shortest")


def symmetric(scheme: Scheme) -> bool:
    """True where, without failures, all servers see paths of the same lengths from all others."""
    family = scheme.fabric.family
    return _states(scheme, "symmetric") and (not isinstance(family, Torus) or family.shifts)


def searches_of(scheme: Scheme) -> int:
    """The searches that all pairs of vertices, and so the tables, of ``scheme`` need one by one; 0 for most."""
    count = _function(scheme, "searches")
    return 0 if count is None else cast(int, count(scheme))


def loads_of(scheme: Scheme, down: LinkState) -> Loads | None:
    """The link loads of ``scheme`` while links are ``down``; None without such a form, or if the control
    plane does not know all of ``down``."""
    bind = _function(scheme, "loads")
    return None if bind is None or down.down - scheme.known.down else cast(Loads | None, bind(scheme))


def shares_of(scheme: Scheme, known_down: LinkState) -> Shares | None:
    """The shares of ``scheme`` while ``known_down`` is known to be down; None without such a form."""
    return cast(Shares | None, _bound(scheme, known_down, "shares"))


def crossings_of(scheme: Scheme, known_down: LinkState) -> Crossings | None:
    """The links that packets of ``scheme`` cross where their paths follow from no other form: where nodes read
    more than the destination.  None without such a form."""
    return cast(Crossings | None, _bound(scheme, known_down, "crossings"))


def tables_of(scheme: Scheme) -> Tables | None:
    """The table sizes of ``scheme`` under the failures that its control plane knows; None without such a
    form."""
    bind = _function(scheme, "table_counts")
    return None if bind is None else cast(Tables | None, bind(scheme))


def _states(scheme: Scheme, fact: str) -> bool:
    holds = _function(scheme, fact)
    return holds is not None and bool(holds(scheme))


def _bound(scheme: Scheme, known_down: LinkState, function: str) -> object:
    bind = _function(scheme, function)
    return None if bind is None else bind(scheme, known_down)


def _function(scheme: Scheme, name: str) -> Callable[..., object] | None:
    module = f"{vector.__name__}.{scheme.name.replace('-', '_')}"
    if importlib.util.find_spec(module) is None:
        return None
    return cast(Callable[..., object] | None, getattr(importlib.import_module(module), name, None))
