"""Answers of operations as text for people: a function for each kind of answer that is no table."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dcnlab.cli.launching import show_configured
from dcnlab.cli.show import cell, print_ended, print_notes, table
from dcnlab.lab.contract.codec import encode

if TYPE_CHECKING:
    from dcnlab.lab.contract.lab import AttachedInterface, LabInfo
    from dcnlab.lab.contract.links import LinkChange
    from dcnlab.lab.contract.network import ImpairedLink, ImpairedLinks
    from dcnlab.lab.contract.operation import Operation
    from dcnlab.lab.contract.processes import NamedProcess, ProcessChange
    from dcnlab.lab.operations.attach import AttachInterface

#: Names that one line lists, and rows that a table of impairments shows.
_SHOWN, _SHOWN_ROWS = 4, 20


def show(wanted: Operation[Any], answer: Any) -> None:
    """Print the answer to an operation; one that has no function here as a table."""
    if function := _FUNCTIONS.get(wanted.name):
        function(wanted, answer)
    else:
        show_table(encode(answer))


def show_table(answer: Any) -> None:
    """A JSON value as a table: of its fields, or with a row for each of several."""
    if isinstance(answer, Mapping):
        table(("item", "value"), [(name, _text(value)) for name, value in answer.items()])
    elif isinstance(answer, list) and answer and all(isinstance(one, Mapping) for one in answer):
        table(tuple(answer[0]), [tuple(map(_text, one.values())) for one in answer])
    else:
        print(_text(answer))


def _text(value: Any) -> str:
    return ", ".join(map(_text, value)) if isinstance(value, list) else cell(value)


# --- labs ---------------------------------------------------------------------


def _info(_: Any, answer: LabInfo) -> None:
    """Options that differ from the default, controller, failed links, processes that have ended."""
    table(("item", "value"), list(_info_rows(answer)))
    print_notes(answer.name, answer.controller.notes)
    print_ended(answer.name, answer.ended)
    print_notes(answer.name, answer.damage)


def _info_rows(answer: LabInfo) -> list[tuple[str, str]]:
    """The items of a lab and their values as text."""
    controller = answer["controller"]
    chosen = {name: answer["options"][name] for name in answer["chosen"] if name != "custom"}
    shown = answer | {"options": chosen}
    rows = [(key, _info_text(value)) for key, value in shown.items() if key not in _SHOWN_OTHERWISE]
    rows.append(("down", "; ".join(map(_down_link, answer["down_links"])) or "none"))
    for word in ("cut", "removed"):
        links = [_link_ends(one) for one in answer["down_links"] if one["number"] in answer[word]["links"]]
        rows.append((word, ", ".join([*links, *answer[word]["nodes"]]) or "none"))
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
_SHOWN_OTHERWISE = {
    "controller", "backend", "ended", "damage", "launch", "started", "down", "down_links", "cut",
    "removed", "chosen",
}  # fmt: skip


def _link_ends(link: dict[str, Any]) -> str:
    return "-".join(link["link"])


def _down_link(link: dict[str, Any]) -> str:
    """A link that is down, and why."""
    return f"{_link_ends(link)} ({', '.join(link['because'])})"


def _info_text(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(_info_text, value)) or "none"
    if isinstance(value, dict):
        return ", ".join(f"{key} {_info_text(item)}" for key, item in value.items()) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


# --- links --------------------------------------------------------------------


def _link_change(_: Any, change: LinkChange) -> None:
    """How long the lab took to converge, and what keeps links down."""
    detection = change.detection_ms
    detected = "no change" if detection is None else f"detected after {detection} ms"
    done = "restored" if change.up else "failed"
    order = f", in {change.turns} turns that took {change.order_ms} ms" if change.turns else ""
    print(f"{done}: {detected}, converged after {change.converged_ms} ms{order}")
    if change.repair is not None:
        print(_tables(change, change.repair))
    for note in change.notes():
        print(note, file=sys.stderr)
    if change.silent:
        print(_silent(change.silent), file=sys.stderr)


def _silent(names: list[str]) -> str:
    """One line about agents that do not answer."""
    shown = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
    verbs = ("agent", "does", "its") if len(names) == 1 else ("agents", "do", "their")
    return "{} {} {} not answer: {} links count as down until then".format(verbs[0], shown, *verbs[1:])


def _tables(change: LinkChange, repair: Mapping[str, int | float]) -> str:
    """One line about the tables of a scheme that repairs split clusters."""
    text = f"tables: {change.flow_mods} flow mods at {change.switches} switches in {change.tables_ms} ms"
    if not repair["split_clusters"]:
        return f"{text}; no cluster is split"
    return (
        f"{text}; split clusters: {repair['split_clusters']} ({repair['reclustered']} with a new prefix,"
        f" {repair['on_backup_path']} on backup paths);"
        f" extra entries per switch: {repair['extra_entries_max']} at most"
    )


def _impaired(_: Any, answer: ImpairedLinks) -> None:
    """A table of the links with their impairments."""
    rows = [(_direction(one), _impairments(one)) for one in answer.links[:_SHOWN_ROWS]]
    if not rows:
        print("no link has impairments")
        return
    table(("link", "impairments"), rows)
    if len(answer.links) > _SHOWN_ROWS:
        print(f"and {len(answer.links) - _SHOWN_ROWS} more")


def _direction(one: ImpairedLink) -> str:
    """A link, and which end sends where the directions differ."""
    return "-".join(one.link) + (f" from {one.sender}" if one.sender else "")


def _impairments(one: ImpairedLink) -> str:
    return ", ".join(f"{name} {value} ({one.by[name]})" for name, value in one.impairments.items()) or "none"


# --- processes and interfaces -------------------------------------------------


def _restarted(_: Any, change: ProcessChange) -> None:
    print(f"restarted: {', '.join(map(_process, change.processes))}, in {change.ms} ms")


def _killed(_: Any, change: ProcessChange) -> None:
    print(f"killed: {', '.join(map(_process, change.processes))}")


def _paused(_: Any, change: ProcessChange) -> None:
    print(f"paused: {', '.join(map(_process, change.processes))}")


def _process(one: NamedProcess) -> str:
    name = "supervisor of all agents" if one.process == "supervisor" else one.process
    return f"{name} of {', '.join(one.nodes)}" if one.nodes else name


def _attached(wanted: AttachInterface, answer: AttachedInterface) -> None:
    print(f"{wanted.interface} is port {answer.port} of {answer.switch}")
    if wanted.host:
        place = f"give the machine behind it address {answer.ipv4} and MAC address {answer.mac}"
        print(f"it has the place of {answer.host}: {place}")
    else:
        print("no entry of the scheme names this port: add entries, or use a controller of your own")


def _detached(_: Any, answer: AttachedInterface) -> None:
    print(f"{answer.interface} is the machine's again")


#: What prints the answer to an operation, by the operation's name.
_FUNCTIONS: dict[str, Callable[[Any, Any], None]] = {
    "fail": _link_change,
    "restore": _link_change,
    "impair": _impaired,
    "restart": _restarted,
    "kill": _killed,
    "pause": _paused,
    "attach": _attached,
    "detach": _detached,
    "info": _info,
    "reconfigure": lambda _, answer: show_configured(answer),
}
