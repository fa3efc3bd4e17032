"""Names for topologies and schemes in figures, instead of their specifications."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from dcnlab.evaluator.reporting.charts import Chart, Panels
from dcnlab.evaluator.seeds import network_of
from topos.spec import SpecError

#: A space at which no line ends.
NO_BREAK = "\xa0"


def relabelled(drawn: Chart | Panels, labels: Mapping[str, str]) -> Chart | Panels:
    """The figure with names for specifications; the caption says what they stand for.

    No line ends within a name.
    """
    if not labels:
        return drawn
    labels = {spec: name.replace(" ", NO_BREAK) for spec, name in labels.items()}
    specs = "|".join(re.escape(spec) for spec in sorted(labels, key=len, reverse=True))
    pattern = re.compile(rf"(?<![\w:.,=-])(?:{specs})(?![\w:=-]|,\S)")

    def named(text: str) -> str:
        return pattern.sub(lambda match: labels[match[0]], text)

    said = "; ".join(f"{name}: {spec}" for spec, name in labels.items())
    caption = "; ".join(filter(None, (drawn.caption.removesuffix("."), said)))
    if isinstance(drawn, Chart):
        return replace(_named(drawn, named), caption=caption)
    charts = tuple(_named(chart, named) for chart in drawn.charts)
    return replace(drawn, title=named(drawn.title), charts=charts, caption=caption)


def _named(chart: Chart, named: Callable[[str], str]) -> Chart:
    """The chart with other names in its title, its legend and its categories."""
    series = (
        replace(one, label=named(one.label), group=named(one.group), style=named(one.style))
        for one in chart.series
    )
    names, groups, styles = (tuple(map(named, some)) for some in (chart.names, chart.groups, chart.styles))
    title = named(chart.title)
    return replace(chart, title=title, series=tuple(series), names=names, groups=groups, styles=styles)


def read(pairs: Sequence[str], topologies: Sequence[str], schemes: Sequence[str]) -> dict[str, str]:
    """The names by specification, from texts such as ``fattree:4=Fat tree``.

    A family, or a scheme without its parameters, is the only one of that name.  Specifications and names may
    contain ``=``.  Raises SpecError with one line.
    """
    specs = {one: str(network_of(one, 1)["topology"]) for one in topologies} | {one: one for one in schemes}
    names: dict[str, str] = {}
    for pair in pairs:
        at = [one.start() for one in re.finditer("=", pair)]
        found = [(where, known) for where in at if (known := _known(pair[:where], specs))]
        if not found:
            example = next(iter(specs), "fattree:4")
            raise SpecError(f"--label {pair}: write a topology or a scheme and its name, such as {example}=A")
        where, known = found[-1]
        names[specs[known]] = pair[where + 1 :]
    return names


def _known(text: str, specs: Mapping[str, str]) -> str | None:
    """The specification that a text means: itself, or the only one of that family or scheme."""
    of_name = [one for one in specs if one.split(":")[0] == text]
    if text in specs:
        return text
    return of_name[0] if len(of_name) == 1 else None
