"""What decides about a packet at a switch, and why it is lost there, in words."""

from __future__ import annotations

from dcnlab.verifier.openflow.pipeline import Noted, process
from dcnlab.verifier.openflow.tables import Entry, Switch


def decisive(switch: Switch, in_port: int, header: int) -> list[Entry]:
    """The entries of the first table that match with the highest priority; any of several may decide."""
    table = switch.tables.get(0)
    return [] if table is None else table.find(header, in_port, {})


def why_lost(switch: Switch, in_port: int, header: int) -> str:
    """Why no copy leaves a switch, for a packet of which that can be."""
    state, matched = switch.ports.get(in_port), decisive(switch, in_port, header)
    if state is not None and not state.receives:
        return f"port {in_port} takes no packets"
    if not matched:
        return "no entry matches"
    if not any(entry.actions for entry in matched):
        return "its entry drops it"
    noted = Noted()
    process(switch, in_port, header, noted)
    return " or ".join(noted.losses) or "its entry names no port that is up"
