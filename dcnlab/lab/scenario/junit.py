"""The outcome of a scenario as JUnit XML, which continuous integration reads: one test case per expectation."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING
from xml.etree import ElementTree as XML

if TYPE_CHECKING:
    from dcnlab.lab.scenario.runner import ScenarioResult

#: What XML cannot hold is shown as this.
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def suite(name: str, outcome: ScenarioResult, seconds: float) -> str:
    """The document for a scenario that ran for ``seconds``.

    Cases are its expectations, and the measurements that ended with an error; their figures are in
    ``system-out``.
    """
    broken = [(name, str(answer["error"])) for name, answer in outcome.results.items() if "error" in answer]
    root = _suite(name, len(outcome.verdicts) + len(broken) or 1, seconds)
    for result, error in broken:
        XML.SubElement(_case(root, name, result), "error", message=_text(error))
    for verdict in outcome.verdicts:
        case = _case(root, name, str(verdict.expectation))
        if not verdict.held:
            XML.SubElement(case, "failure", message=_text(f"found {verdict.value}"))
    if not len(root):
        _case(root, name, "runs")
    XML.SubElement(root, "system-out").text = _text(json.dumps(outcome.to_json(), indent=2))
    failures = sum(not verdict.held for verdict in outcome.verdicts)
    return _document(root, failures, len(broken))


def launch_error(name: str, error: str, seconds: float) -> str:
    """The document for a scenario that could not run: one test case with the error."""
    root = _suite(name, 1, seconds)
    XML.SubElement(_case(root, name, "runs"), "error", message=_text(error))
    return _document(root, 0, 1)


def _suite(name: str, cases: int, seconds: float) -> XML.Element:
    return XML.Element("testsuite", name=_text(name), tests=str(cases), time=f"{seconds:.3f}")


def _case(root: XML.Element, scenario: str, name: str) -> XML.Element:
    return XML.SubElement(root, "testcase", classname=_text(scenario), name=_text(name))


def _document(root: XML.Element, failures: int, errors: int) -> str:
    root.set("failures", str(failures))
    root.set("errors", str(errors))
    root.set("skipped", "0")
    suites = XML.Element("testsuites")
    suites.append(root)
    XML.indent(suites)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + XML.tostring(suites, encoding="unicode") + "\n"


def _text(value: str) -> str:
    return "".join(one if _allowed(ord(one)) else _REPLACEMENT for one in value)


def _allowed(code: int) -> bool:
    ranges: Iterable[tuple[int, int]] = ((0x20, 0xD7FF), (0xE000, 0xFFFD), (0x10000, 0x10FFFF))
    return code in (0x9, 0xA, 0xD) or any(low <= code <= high for low, high in ranges)
