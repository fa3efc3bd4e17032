"""``dcnlab schema``: the form of scenario files, for editors."""

from __future__ import annotations

from dcnlab.cli.app import command
from dcnlab.cli.show import JsonFlag, print_json


@command("dcnlab schema > scenario.schema.json", custom=True)
def schema(json: JsonFlag = True) -> None:
    """Print the JSON Schema of scenario files, with which editors complete and check them."""
    from dcnlab.lab.scenario.schema import scenario_schema

    print_json(scenario_schema())
