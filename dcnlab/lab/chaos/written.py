"""Steps as a scenario file, which ``dcnlab run`` follows."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from ruamel.yaml import YAML

from dcnlab.lab.chaos.plan import Step
from dcnlab.lab.chaos.run import LabSpec
from topos import plugins


def scenario(spec: LabSpec, steps: Sequence[Step], title: str) -> dict[str, Any]:
    """The keys of a scenario: each step at a full second, and half a second later the check.

    The check of a step begins when its events have ended, and the next step when the check has.
    """
    events, checks = [], []
    for number, step in enumerate(steps, 1):
        events += [fault.event(number, f"step-{number}-{place}") for place, fault in enumerate(step, 1)]
        check = {"invariants": None, "at": f"{number + 0.5:g}s", "name": f"check-{number}"}
        checks.append({**check, "within": f"{spec.within:g}s"})
    found: dict[str, Any] = {"title": title, "topology": spec.topology, "scheme": spec.scheme}
    if files := plugins.loaded():
        found["custom"] = list(files)
    if spec.options:
        found["options"] = dict(spec.options)
    expect = [f"{check['name']}.violations == 0" for check in checks]
    return {**found, "traffic": checks, "events": events, "expect": expect}


def text(values: dict[str, Any]) -> str:
    """A scenario as a YAML file."""
    yaml, out = YAML(), io.StringIO()
    yaml.width = 110
    yaml.indent(mapping=2, sequence=4, offset=2)
    yaml.dump(values, out)
    return out.getvalue()
