"""Steps as a scenario file, which ``dcnlab run`` follows."""

from __future__ import annotations

import io
from collections.abc import Sequence

from ruamel.yaml import YAML

from dcnlab.lab.chaos.plan import Step
from dcnlab.lab.chaos.run import LabSpec
from dcnlab.lab.contract.values import JsonObject
from topos import plugins


def scenario(spec: LabSpec, steps: Sequence[Step], title: str) -> JsonObject:
    """The keys of a scenario: each step at a full second, and half a second later the check.

    The check of a step begins when its events have ended, and the next step when the check has.
    """
    events, checks = [], []
    for number, step in enumerate(steps, 1):
        events += [fault.event(number, f"step-{number}-{place}") for place, fault in enumerate(step, 1)]
        check = {"invariants": None, "at": f"{number + 0.5:g}s", "name": f"check-{number}"}
        checks.append({**check, "within": f"{spec.within:g}s"})
    document: JsonObject = {"title": title, "topology": spec.topology, "scheme": spec.scheme}
    if files := plugins.loaded():
        document["custom"] = list(files)
    if spec.options:
        document["options"] = dict(spec.options)
    expect = [f"{check['name']}.violations == 0" for check in checks]
    return {**document, "traffic": checks, "events": events, "expect": expect}


def text(values: JsonObject) -> str:
    """A scenario as a YAML file."""
    yaml, out = YAML(), io.StringIO()
    yaml.width = 110
    yaml.indent(mapping=2, sequence=4, offset=2)
    yaml.dump(values, out)
    return out.getvalue()
