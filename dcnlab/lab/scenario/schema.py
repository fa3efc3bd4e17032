"""The form of scenario files as a JSON Schema (draft 2020-12), from the models."""

from __future__ import annotations

from dcnlab.lab.contract.values import JsonObject
from dcnlab.lab.scenario.model import Scenario


def scenario_schema() -> JsonObject:
    """What ``dcnlab schema`` prints; it has the kinds of traffic that are registered now."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **Scenario.model_json_schema(),
        "title": "A scenario of dcnlab",
    }
