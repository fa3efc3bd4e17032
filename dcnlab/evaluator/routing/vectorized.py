"""Finds a scheme's vectorised form in :mod:`dcnlab.evaluator.routing.vector`, by its name."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from typing import cast

from addressing.rule import RuleScheme
from addressing.scheme import Scheme
from dcnlab.evaluator.routing import vector
from dcnlab.evaluator.routing.forms import Lengths, Loads, Rule, Shares, SourceRoutes
from dcnlab.evaluator.routing.repair import repaired
from topos.graph import LinkState


def rule_of(scheme: Scheme, links: LinkState) -> Rule | None:
    """The next hops of ``scheme`` where nodes know ``links`` to be down; None if it has none."""
    rule = cast(Rule | None, _bound(scheme, links, "rule"))
    if rule is None or not isinstance(scheme, RuleScheme):
        return rule
    if type(scheme).steps is not RuleScheme.steps:  # over several links: the module sees to detours
        return rule
    if links.down - scheme.known.down:  # nodes protect against what the control plane does not know
        return None
    return repaired(scheme, rule) if scheme.known and not scheme.self_healing else rule


def source_routes_of(scheme: Scheme, links: LinkState) -> SourceRoutes | None:
    """The routes of ``scheme`` where nodes know ``links`` to be down; None if it has none."""
    return cast(SourceRoutes | None, _bound(scheme, links, "source_routes"))


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
    module = f"{vector.__name__}.{scheme.name.replace('-', '_')}"
    if importlib.util.find_spec(module) is None:
        return None
    return cast(Callable[..., object] | None, getattr(importlib.import_module(module), name, None))
