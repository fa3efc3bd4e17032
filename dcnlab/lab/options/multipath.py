"""The option ``multipath``: flows are spread over K parallel paths of the scheme."""

from __future__ import annotations

from dataclasses import fields

from addressing import registry as schemes
from addressing.scheme import Scheme
from addressing.source import SourceRouted
from dcnlab.lab.errors import OptionError
from topos.spec import split_spec

#: The parallel paths to this many servers are counted.
_SAMPLE = 64


def with_paths(scheme: str, count: int) -> str:
    """The specification of a scheme that spreads flows over ``count`` parallel paths; OptionError for
    schemes without parallel paths."""
    name, arguments = split_spec(scheme)
    wanted = {"multipath", "paths"}
    able = [key for key, cls in schemes.known().items() if wanted <= {f.name for f in fields(cls)}]
    if name not in able:
        raise OptionError(
            "multipath", f"multipath needs a scheme with parallel paths ({', '.join(able)}), not {name}"
        )
    kept = [part for part in arguments.split(",") if part and part.partition("=")[0] not in wanted]
    return f"{name}:" + ",".join([*kept, "multipath=yes", f"paths={count}"])


def shortage(scheme: Scheme, wanted: int) -> str:
    """One line where there are fewer parallel paths than ``wanted`` from the first server to a sample of
    the others; empty where there are enough."""
    assert isinstance(scheme, SourceRouted)
    fabric = scheme.fabric
    others = range(1, fabric.servers, -(-fabric.servers // _SAMPLE))
    most = 0
    for other in others:
        most = max(most, len(scheme.usable(0, other)))
        if most >= wanted:
            return ""
    ends = f"{fabric.name(0)} and {len(others)} other servers"
    return f"flows use {most} parallel paths, not {wanted}: there are no more between {ends}"
