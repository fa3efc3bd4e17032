"""What ``ovs-ofctl`` prints of a switch, of any controller, as tables.

Nothing is refused: what is not understood stays in the tables, marked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dcnlab.verifier.atoms import Predicate
from dcnlab.verifier.openflow import fields
from dcnlab.verifier.openflow.tables import Bucket, Entry, Group, PortState, Switch

#: Parts of a line that are no part of the match.
_STATISTICS = re.compile(
    r"\b(cookie|duration|n_packets|n_bytes|idle_age|hard_age|idle_timeout|hard_timeout|importance)=[^ ,]*,? *"
)
_FLAGS = re.compile(r"\b(send_flow_rem|check_overlap|reset_counts|no_packet_counts|no_byte_counts)\b,? *")
_SCRATCH = re.compile(r"^(metadata|reg\d+|xreg\d+)$")
_GROUP = re.compile(r"\s*group_id=(\d+),type=(\w+),?(.*)")
_WATCH_PORT, _WATCH_GROUP = re.compile(r"watch_port:(\w+),?"), re.compile(r"watch_group:(\w+),?")
_BUCKET_WORDS = re.compile(r"\b(bucket_id|weight):\w+,?")
_PORT = re.compile(r"\s*(\d+|LOCAL)\(([^)]*)\)")
_ATTRIBUTE = re.compile(r"\s*(config|state):\s+(.*)")
RESERVED = {"IN_PORT": 0xFFF8, "TABLE": 0xFFF9, "NORMAL": 0xFFFA, "LOCAL": 0xFFFE, "CONTROLLER": 0xFFFD}
_DEFAULT_PRIORITY = 32768


def switch(name: str, flows: str, groups: str = "", ports: str = "") -> Switch:
    """A switch from ``dump-flows``, ``dump-groups`` and ``dump-ports-desc``."""
    entries = tuple(entry(line) for line in flows.splitlines() if _is_entry(line))
    found = {one.id: one for line in groups.splitlines() for one in _group(line)}
    return Switch(name, entries, found, dict(_ports(ports)))


def _is_entry(line: str) -> bool:
    return "actions=" in line and not line.lstrip().startswith("group_id=")


def entry(line: str) -> Entry:
    """One line of ``dump-flows``."""
    head, _, actions = line.strip().partition("actions=")
    head = _FLAGS.sub("", _STATISTICS.sub("", head)).replace(" ", "")
    table, priority, in_port = 0, _DEFAULT_PRIORITY, 0
    match: Predicate = (0, 0)
    scratch: list[tuple[str, int, int]] = []
    unknown = ""
    for part in filter(None, head.split(",")):
        name, _, value = part.partition("=")
        if name == "table":
            table = int(value)
        elif name == "priority":
            priority = int(value)
        elif name == "in_port":
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
    return Entry(table, priority, match, split(actions), line.strip(), in_port, tuple(sorted(scratch)), unknown)


def _masked(text: str) -> tuple[int, int]:
    value, _, mask = text.partition("/")
    number = int(mask, 0) if mask else (1 << 128) - 1
    return int(value, 0) & number, number


def split(actions: str) -> tuple[str, ...]:
    """Actions that commas separate, but not those inside parentheses."""
    found, depth, last = [], 0, 0
    for place, letter in enumerate(actions):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and not depth:
            found.append(actions[last:place])
            last = place + 1
    found.append(actions[last:])
    return tuple(one.strip() for one in found if one.strip() and one.strip() != "drop")


def _group(line: str) -> Iterator[Group]:
    if (found := _GROUP.match(line)) is not None:
        number, kind, rest = found.groups()
        buckets = tuple(map(_bucket, rest.split("bucket=")[1:]))
        yield Group(int(number), {"ff": "fast_failover"}.get(kind, kind), buckets)


def _bucket(text: str) -> Bucket:
    text = _BUCKET_WORDS.sub("", text)
    port, group = _WATCH_PORT.search(text), _WATCH_GROUP.search(text)
    actions = _WATCH_GROUP.sub("", _WATCH_PORT.sub("", text)).replace("actions=", "", 1)
    return Bucket(split(actions), _watched(port[1]) if port else 0, _watched_group(group))


def _watched(text: str) -> int:
    return int(text) if text.isdigit() else 0


def _watched_group(found: re.Match[str] | None) -> int | None:
    return int(found[1]) if found is not None and found[1].isdigit() else None


def _ports(text: str) -> Iterator[tuple[int, PortState]]:
    """Ports with their configuration and state; the local port of the switch is none."""
    number, words = 0, {"config": "", "state": ""}
    for line in [*text.splitlines(), "0(end)"]:
        if (begins := _PORT.match(line)) is not None:
            if number:
                yield number, _port_state(words)
            number, words = int(begins[1]) if begins[1].isdigit() else 0, {"config": "", "state": ""}
        elif (found := _ATTRIBUTE.match(line)) is not None:
            words[found[1]] = found[2]


def _port_state(words: dict[str, str]) -> PortState:
    config, state = words["config"].split(), words["state"].split()
    return PortState(
        "PORT_DOWN" not in config and "LINK_DOWN" not in state and "NO_FWD" not in config,
        "NO_FLOOD" not in config,
        "NO_RECV" not in config and "PORT_DOWN" not in config,
    )
