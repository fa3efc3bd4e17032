"""Rates of flow entries, from two looks at their counters."""

from __future__ import annotations

from dcnlab.lab.contract.switches import FlowEntries, FlowEntry


def rates(before: FlowEntries, now: FlowEntries) -> list[tuple[float, float]]:
    """Packets and bits per second of each entry of ``now`` since ``before``; 0 for an entry that is new."""
    seconds = now.at - before.at
    known = {_key(entry): entry for entry in before.flows}
    pairs = []
    for entry in now.flows:
        old = known.get(_key(entry), entry)
        new = entry.packets < old.packets  # it was removed and added again
        packets, size = (0, 0) if new else (entry.packets - old.packets, entry.bytes - old.bytes)
        pairs.append((packets / seconds, 8 * size / seconds) if seconds > 0 else (0.0, 0.0))
    return pairs


def _key(entry: FlowEntry) -> tuple[int, int, str, str]:
    return entry.table, entry.priority, entry.match, entry.cookie
