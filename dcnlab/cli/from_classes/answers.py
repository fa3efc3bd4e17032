"""Answers of operations as text for people: a function for each kind of answer that is no table."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dcnlab.cli.launching import show_configured
from dcnlab.cli.show import cell, table
from dcnlab.lab.contract.codec import encode

if TYPE_CHECKING:
    from dcnlab.lab.contract.lab import AttachedInterface
    from dcnlab.lab.contract.links import ImpairedLink, ImpairedLinks, LinkChange
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
    "reconfigure": lambda _, answer: show_configured(answer),
}
