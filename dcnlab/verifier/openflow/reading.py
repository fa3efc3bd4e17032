"""What ``ovs-ofctl`` prints of a switch, of any controller, as tables.

Nothing is refused: what is not understood stays in the tables, marked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from controller.openflow import ofctl
from dcnlab.verifier.atoms import Predicate
from dcnlab.verifier.openflow import fields
from dcnlab.verifier.openflow.tables import Bucket, Entry, Group, PortState, Switch

_SCRATCH = re.compile(r"^(metadata|reg\d+|xreg\d+)$")
_PORT = re.compile(r"\s*(\d+|LOCAL)\(([^)]*)\)")
_ATTRIBUTE = re.compile(r"\s*(config|state):\s+(.*)")
RESERVED = {"IN_PORT": 0xFFF8, "TABLE": 0xFFF9, "NORMAL": 0xFFFA, "LOCAL": 0xFFFE, "CONTROLLER": 0xFFFD}


def switch(name: str, flows: str, groups: str = "", ports: str = "") -> Switch:
    """A switch from ``dump-flows``, ``dump-groups`` and ``dump-ports-desc``."""
    entries = tuple(entry(line) for line in flows.splitlines() if is_entry(line))
    known = {one.number: _group(one) for one in ofctl.groups(groups)}
    return Switch(name, entries, known, dict(_ports(ports)))


def is_entry(line: str) -> bool:
    """Whether a line of ``dump-flows`` is an entry."""
    return ofctl.entry(line) is not None


def entry(line: str) -> Entry:
    """One line of ``dump-flows``."""
    stated = ofctl.entry(line)
    assert stated is not None
    in_port = 0
    match: Predicate = (0, 0)
    scratch: list[tuple[str, int, int]] = []
    unknown = ""
    for part in stated.match:
        name, _, value = part.partition("=")
        if name == "in_port":
            in_port = int(value) if value.isdigit() else RESERVED.get(value, 0xFFFF)
        elif _SCRATCH.match(name):
            scratch.append((name, *_masked(value)))
        else:
            try:
                match = fields.both(
                    match, fields.protocol(name) if name in fields.PROTOCOLS else fields.read(name, value)
                )
            except (fields.Unknown, ValueError):
                unknown = part
    table, actions = int(stated.statistics.get("table", 0)), split(stated.actions)
    return Entry(table, stated.priority, match, actions, line.strip(), in_port, tuple(sorted(scratch)), unknown)


def _masked(text: str) -> tuple[int, int]:
    value, _, mask = text.partition("/")
    number = int(mask, 0) if mask else (1 << 128) - 1
    return int(value, 0) & number, number


def split(actions: str) -> tuple[str, ...]:
    """Actions that commas separate, but not those inside parentheses."""
    parts, depth, last = [], 0, 0
    for place, letter in enumerate(actions):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and not depth:
            parts.append(actions[last:place])
            last = place + 1
    parts.append(actions[last:])
    return tuple(one.strip() for one in parts if one.strip() and one.strip() != "drop")


def _group(stated: ofctl.GroupLine) -> Group:
    kind = {"ff": "fast_failover"}.get(stated.kind, stated.kind)
    return Group(stated.number, kind, tuple(map(_bucket, stated.buckets)))


def _bucket(line: ofctl.BucketLine) -> Bucket:
    port, group = line.stated.get("watch_port", ""), line.stated.get("watch_group", "")
    return Bucket(
        split(line.actions), int(port) if port.isdigit() else 0, int(group) if group.isdigit() else None
    )


def _ports(text: str) -> Iterator[tuple[int, PortState]]:
    """Ports with their configuration and state; the local port of the switch is none."""
    number, words = 0, {"config": "", "state": ""}
    for line in [*text.splitlines(), "0(end)"]:
        if (begins := _PORT.match(line)) is not None:
            if number:
                yield number, _port_state(words)
            number, words = int(begins[1]) if begins[1].isdigit() else 0, {"config": "", "state": ""}
        elif (match := _ATTRIBUTE.match(line)) is not None:
            words[match[1]] = match[2]


def _port_state(words: dict[str, str]) -> PortState:
    config, state = words["config"].split(), words["state"].split()
    return PortState(
        "PORT_DOWN" not in config and "LINK_DOWN" not in state and "NO_FWD" not in config,
        "NO_FLOOD" not in config,
        "NO_RECV" not in config and "PORT_DOWN" not in config,
    )
