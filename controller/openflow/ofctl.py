"""The lines of ``ovs-ofctl dump-flows`` and ``dump-groups``, of any controller: taken apart, not understood.

Who reads more of them does so from here: :mod:`controller.openflow.dump` what our controller installs, the
verifier what packets do, and ``dcnlab flows`` what was counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

#: The priority that Open vSwitch does not print.
DEFAULT_PRIORITY = 32768
#: What stands before the match and is no option: the cookie, the table, counters and times.
_STATISTICS = frozenset({"cookie", "duration", "table", "n_packets", "n_bytes", "idle_age", "hard_age"})
_OPTIONS = frozenset(
    {
        "idle_timeout", "hard_timeout", "importance", "send_flow_rem", "check_overlap", "reset_counts",
        "no_packet_counts", "no_byte_counts",
    }
)  # fmt: skip
_GROUP = re.compile(r"\s*group_id=(\d+),type=(\w+),?(.*)")


@dataclass(frozen=True, slots=True)
class EntryLine:
    """An entry: its cookie, table, counters and times by name, its options, its match field by field, and its
    actions."""

    statistics: Mapping[str, str]
    options: tuple[str, ...]
    priority: int
    match: tuple[str, ...]
    actions: str


@dataclass(frozen=True, slots=True)
class BucketLine:
    """A bucket of a group: its ``bucket_id``, ``weight`` and so on by name, and its actions."""

    stated: Mapping[str, str]
    actions: str


@dataclass(frozen=True, slots=True)
class GroupLine:
    """A group: its number, its type in the words of Open vSwitch, its buckets."""

    number: int
    kind: str
    buckets: tuple[BucketLine, ...]


def entry(line: str) -> EntryLine | None:
    """The entry in a line of ``dump-flows``; None where there is none.  ValueError for a wrong priority."""
    head, separator, actions = line.strip().partition("actions=")
    if not separator or head.startswith("group_id="):
        return None
    statistics: dict[str, str] = {}
    options, match, priority = [], [], DEFAULT_PRIORITY
    for part in filter(None, re.split(r"[ ,]+", head)):
        name, _, value = part.partition("=")
        if name in _STATISTICS:
            statistics[name] = value
        elif name in _OPTIONS:
            options.append(part)
        elif name == "priority":
            priority = int(value)
        else:
            match.append(part)
    return EntryLine(statistics, tuple(options), priority, tuple(match), actions)


def groups(text: str) -> Iterator[GroupLine]:
    """The groups in the output of ``dump-groups``."""
    for line in text.splitlines():
        if (match := _GROUP.fullmatch(line)) is not None:
            buckets = tuple(map(_bucket, match[3].split("bucket=")[1:]))
            yield GroupLine(int(match[1]), match[2], buckets)


def _bucket(line: str) -> BucketLine:
    head, _, actions = line.partition("actions=")
    return BucketLine(dict(part.split(":", 1) for part in head.split(",") if ":" in part), actions.rstrip(","))
