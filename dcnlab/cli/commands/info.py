"""``dcnlab info``: one lab, its configuration and its state."""

from __future__ import annotations

from typing import Any

from dcnlab.cli.app import command
from dcnlab.cli.parameters.arguments import LabName
from dcnlab.cli.show import JsonFlag, print_ended, print_json, print_notes, table


@command("dcnlab info LAB", "dcnlab info LAB --json")
def info(lab: LabName, json: JsonFlag = False) -> None:
    """Show a lab: options that differ from the default, controller, failed links, processes that have ended."""
    from dcnlab.lab.client import Lab

    answer = Lab.attach(lab).info()
    if json:
        print_json(answer)
        return
    table(("item", "value"), list(_rows(answer)))
    print_notes(lab, answer["controller"]["notes"])
    print_ended(lab, answer["ended"])
    print_notes(lab, answer["damage"])


def _rows(answer: dict[str, Any]) -> list[tuple[str, str]]:
    """The items of a lab and their values as text."""
    controller = answer["controller"]
    shown = answer | {"options": _chosen(answer["options"])}
    rows = [(key, _text(value)) for key, value in shown.items() if key not in _ELSEWHERE]
    rows.append(("down", "; ".join(map(_down, answer["down_links"])) or "none"))
    cut = [
        *(_ends(one) for one in answer["down_links"] if one["number"] in answer["cut"]["links"]),
        *answer["cut"]["nodes"],
    ]
    rows.append(("cut", ", ".join(cut) or "none"))
    rows.append(("controller", controller["controller"]))
    if controller["library"]:
        rows.append(("library", controller["library"]))
    rows.append(("switches connected", f"{controller['connected']} of {controller['switches']}"))
    for one in controller["controllers"] if len(controller["controllers"]) > 1 else ():
        roles = ", ".join(f"{role} of {number}" for role, number in one["roles"].items())
        rows.append((one["controller"], f"{one['connected']} connected" + (f": {roles}" if roles else "")))
    if controller["rest"]:
        rows.append(("REST of applications", controller["rest"]))
    return rows


#: Items that have rows of their own, or say little to people.
_ELSEWHERE = ("controller", "backend", "ended", "damage", "launch", "started", "down", "down_links", "cut")


def _chosen(options: dict[str, Any]) -> dict[str, Any]:
    """The options that differ from their defaults, without those that have rows of their own."""
    from dataclasses import fields

    from dcnlab.lab.options.config import LabConfig

    usual = {field.name: field.default for field in fields(LabConfig)}
    return {
        name: value
        for name, value in options.items()
        if name not in ("topology", "scheme", "name", "custom")
        and (list(value) if isinstance(value, list | tuple) else value) != usual.get(name)
    }


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
