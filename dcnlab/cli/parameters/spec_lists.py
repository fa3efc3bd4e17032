"""Comma-separated words, topologies and schemes."""

from __future__ import annotations

from topos.spec import lookup, split_spec


def words(text: str) -> tuple[str, ...]:
    """The comma-separated words, without duplicates."""
    return tuple(dict.fromkeys(filter(None, (part.strip() for part in text.split(",")))))


def split_specs(text: str) -> list[str]:
    """Split comma-separated specifications such as ``bcube:4,1,wmgr,ksp:k=8``, without duplicates.

    A part that is a number, sizes or ``key=value`` belongs to the specification before it.
    """
    specs: list[str] = []
    for part in text.split(","):
        if specs and ":" not in part and ("=" in part or part[:1].isdecimal()):
            specs[-1] += f",{part}"
        elif part.strip():
            specs.append(part.strip())
    return list(dict.fromkeys(specs))


def schemes_of(text: str) -> list[str]:
    """The specifications of schemes in ``text``, and ``optimal``; raises SpecError for an unknown scheme."""
    from addressing import registry

    specs = split_specs(text)
    known = dict.fromkeys((*registry.known(), "optimal"))
    for spec in specs:
        registry.check_name(spec)
        lookup(split_spec(spec)[0], known, "scheme")
    return specs
