"""The registries as rows: what `dcnlab list` and docs/catalogue.md show."""

from __future__ import annotations

import dataclasses
import re
import sys
from pathlib import Path
from typing import Any

from addressing import registry as schemes_registry
from dcnlab.lab.errors import UsageError
from topos import registry, spec
from topos.fabric import Fabric
from topos.family import format_value
from topos.spec import SpecError


def fabric_of(text: str) -> Fabric:
    """The network that a specification names; UsageError with one line."""
    try:
        return registry.fabric(text)
    except SpecError as error:
        raise UsageError(str(error)) from error


def topologies() -> list[dict[str, Any]]:
    """Per family: its form, the nodes that forward, an example with its size, the schemes for it."""
    rows = []
    for name, family in registry.known().items():
        example = registry.parse(family.example)
        servers, switches = example.counts()
        rows.append(
            {
                "name": name,
                "usage": spec.usage(family, name),
                "centric": family.centric,
                "example": family.example,
                "servers": servers,
                "switches": switches,
                "schemes": schemes_registry.compatible_schemes(example),
                "source": family.source,
            }
        )
    return rows


def schemes() -> list[dict[str, Any]]:
    """Per scheme: its form, a summary of the rule, and its source."""
    return [
        {
            "name": name,
            "usage": spec.usage(scheme, name),
            "summary": scheme.summary,
            "source": scheme.source,
        }
        for name, scheme in schemes_registry.known().items()
    ]


def entry(name: str) -> dict[str, Any]:
    """The row of a topology or scheme, with its parameters; UsageError for an unknown name."""
    families, known = registry.known(), schemes_registry.known()
    try:
        owner = spec.lookup(name, {**families, **known}, "topology or scheme")
    except SpecError as error:
        raise UsageError(str(error)) from error
    rows = topologies() if name in families else schemes()
    row = next(row for row in rows if row["name"] == name)
    return {**row, "parameters": [_parameter(field) for field in spec.parameters(owner)]}


def _parameter(field: dataclasses.Field[Any]) -> dict[str, Any]:
    """The meaning, the values and the default of a parameter."""
    metadata = field.metadata
    low, high, choices = metadata.get("low"), metadata.get("high"), metadata.get("choices")
    limits = [f"{word} {limit}" for word, limit in (("from", low), ("to", high)) if limit is not None]
    given = field.default is not dataclasses.MISSING
    return {
        "name": field.name,
        "meaning": metadata.get("doc", ""),
        "values": ", ".join(choices) if choices else " ".join(limits),
        "default": format_value(field.default) if given and field.default is not None else None,
        "required": not given,
    }


def markdown() -> str:
    """Both tables as Markdown."""
    lines = [
        "| example | topology | forwards | servers | switches | schemes |",
        "|---|---|---|---|---|---|",
    ]
    for t in topologies():
        fits = " ".join(f"`{name}`" for name in t["schemes"])
        drawn = f"![{t['example']}](images/families/{t['name']}.svg) `{t['example']}`"
        row = (drawn, f"`{t['usage']}`", t["centric"], t["servers"], t["switches"], fits)
        lines.append("| " + " | ".join(map(str, row)) + " |")
    lines += ["", "| scheme | rule | source |", "|---|---|---|"]
    lines += [f"| `{s['usage']}` | {s['summary']} | {s['source']} |" for s in schemes()]
    return "\n".join(lines)


def thumbnail(name: str) -> str:
    """The example of a family as a small SVG without text, in one line."""
    from dcnlab.lab.drawing.figure import Figure, Look
    from dcnlab.lab.drawing.svg import written

    fabric = fabric_of(registry.known()[name].example)
    drawn = written(Figure(fabric, look=Look(_THUMBNAIL, caption=False, names=False)))
    return re.sub(r"\s*\n\s*", "", drawn) + "\n"


def rewrite(text: str) -> str:
    """A document with the tables between its ``catalogue`` marks."""
    return _MARKS.sub(lambda match: f"{match[1]}\n{markdown()}\n{match[3]}", text)


_MARKS = re.compile(r"(<!-- catalogue:.*?-->)(.*?)(<!-- /catalogue -->)", re.DOTALL)

#: Inches.
_THUMBNAIL = 1.6

if __name__ == "__main__":
    for page in map(Path, sys.argv[1:]):
        page.write_text(rewrite(page.read_text()))
        pictures = page.parent / "images" / "families"
        pictures.mkdir(exist_ok=True)
        for name in registry.known():
            (pictures / f"{name}.svg").write_text(thumbnail(name))
