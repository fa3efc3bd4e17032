"""The operations of a running lab: every file is one, found by its name.

A file has the request, its answer, and what performs it.  Clients import these classes: what only labs need is
imported where it is performed.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from dcnlab.lab.contract.operation import Operation
from dcnlab.lab.errors import UsageError

if TYPE_CHECKING:
    from topos.plugins import Registry


@cache
def known() -> Registry[Operation[Any]]:
    """All operations by name: this program's, those of installed packages, those of ``--custom`` files."""
    from topos.plugins import Registry  # a client that knows its operation imports it

    return Registry(sys.modules[__name__], Operation, "operation", "dcnlab.operations")


def requested(request: Mapping[str, Any]) -> Operation[Any]:
    """The operation that a request asks for; files in ``custom`` may define it.  Raises UsageError."""
    from topos import plugins
    from topos.spec import SpecError

    name = str(request.get("op")).replace("_", "-")
    if known().is_builtin(name):
        return known().own(name).from_json(request)
    try:
        plugins.load(request.get("custom", ()))
        if name not in known():
            raise UsageError(f"a lab has no operation {request.get('op')!r}")
        kind = known()[name]
    except SpecError as error:
        raise UsageError(str(error)) from error
    return kind.from_json(request)
