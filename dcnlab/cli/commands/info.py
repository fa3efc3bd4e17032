"""``dcnlab info``: one lab, its configuration and its state."""

from __future__ import annotations

from typing import Any

from dcnlab.cli.app import command
from dcnlab.cli.arguments import LabName
from dcnlab.cli.show import JsonFlag, print_ended, print_json, print_notes, table


@command("dcnlab info LAB", "dcnlab info LAB --json")
def info(lab: LabName, json: JsonFlag = False) -> None:
    """Show a lab's configuration, its controller, failed links and processes that have ended."""
    from dcnlab.lab.client import Lab

    found = Lab.attach(lab).info()
    if json:
        print_json(found)
        return
    table(("item", "value"), list(_rows(found)))
    print_notes(lab, found["controller"]["notes"])
    print_ended(lab, found["ended"])
    print_notes(lab, found["damage"])


def _rows(found: dict[str, Any]) -> list[tuple[str, str]]:
    """The items of a lab and their values as text."""
    controller = found["controller"]
    rows = [(key, _text(value)) for key, value in found.items() if key not in _ELSEWHERE]
    rows.append(("down", "; ".join(map(_down, found["down_links"])) or "none"))
    cut = [
        *(_ends(one) for one in found["down_links"] if one["number"] in found["cut"]["links"]),
        *found["cut"]["nodes"],
    ]
    rows.append(("cut", ", ".join(cut) or "none"))
    rows.append(("controller", controller["controller"]))
    if controller["library"]:
        rows.append(("library", controller["library"]))
    rows.append(("switches connected", f"{controller['connected']} of {controller['switches']}"))
    if controller["rest"]:
        rows.append(("REST of applications", controller["rest"]))
    return rows


#: Items that have rows of their own, or say little to people.
_ELSEWHERE = ("controller", "backend", "ended", "damage", "launch", "started", "down", "down_links", "cut")


def _ends(link: dict[str, Any]) -> str:
    return "-".join(link["link"])


def _down(link: dict[str, Any]) -> str:
    """A link that is down, and why."""
    return f"{_ends(link)} ({', '.join(link['because'])})"


def _text(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(_text, value)) or "none"
    if isinstance(value, dict):
        return ", ".join(f"{key} {_text(item)}" for key, item in value.items()) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
