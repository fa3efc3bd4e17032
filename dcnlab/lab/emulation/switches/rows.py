"""The rows of a database by which an Open vSwitch has its bridges (ovs-vswitchd.conf.db(5))."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dcnlab.lab.emulation.switches.ovsdb import Operation

_ROOT = "Open_vSwitch"


@dataclass(frozen=True)
class Bridge:
    """A switch to create: its name, datapath id and (interface, OpenFlow port) pairs."""

    name: str
    dpid: int
    ports: tuple[tuple[str, int], ...]


class _Rows:
    """The operations of a transaction that inserts rows, which refer to each other."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []

    def insert(self, table: str, **row: Any) -> list[str]:
        """Insert a row; the reference to it."""
        name = f"row{len(self.operations)}"
        self.operations.append({"op": "insert", "table": table, "row": row, "uuid-name": name})
        return ["named-uuid", name]

    def port(self, interface: str, **settings: Any) -> list[str]:
        """Insert a port with one interface; the reference to it."""
        inner = self.insert("Interface", name=interface, **settings)
        return self.insert("Port", name=interface, interfaces=inner)


def create(
    bridges: Sequence[Bridge],
    datapath: str,
    versions: Sequence[str],
    settings: Mapping[str, str],
    tls: Mapping[str, str],
    learning: bool = False,
) -> list[Operation]:
    """Create bridges, without other ports than their own, in an empty database.

    ``settings`` are those of the whole Open vSwitch; ``tls`` are the files of the SSL table's columns, if any.
    ``learning``: without a controller they forward as Ethernet switches do.
    """
    rows = _Rows()
    root: dict[str, Any] = {"other_config": _map(settings)}
    root["bridges"] = _set(
        _bridge(rows, bridge, datapath, versions, "standalone" if learning else "secure") for bridge in bridges
    )
    if tls:
        root["ssl"] = rows.insert("SSL", **tls)
    rows.insert(_ROOT, **root)
    return rows.operations


def _bridge(rows: _Rows, bridge: Bridge, datapath: str, versions: Sequence[str], fail_mode: str) -> list[str]:
    settings = {"datapath-id": f"{bridge.dpid:016x}", "disable-in-band": "true"}
    return rows.insert(
        "Bridge",
        name=bridge.name,
        datapath_type=datapath,
        fail_mode=fail_mode,
        protocols=_set(versions),
        other_config=_map(settings),
        mcast_snooping_enable=False,
        ports=rows.port(bridge.name, type="internal"),
    )


def wire(bridges: Sequence[Bridge], controllers: Sequence[str]) -> list[Operation]:
    """Add the ports of bridges that exist, and their controllers."""
    rows = _Rows()
    for bridge in bridges:
        ports = [rows.port(interface, ofport_request=number) for interface, number in bridge.ports]
        settings = {"connection_mode": "out-of-band", "inactivity_probe": 0, "max_backoff": 1000}
        inserted = [rows.insert("Controller", target=target, **settings) for target in controllers]
        changes = [["ports", "insert", _set(ports)], ["controller", "insert", _set(inserted)]]
        condition = [["name", "==", bridge.name]]
        rows.operations.append({"op": "mutate", "table": "Bridge", "where": condition, "mutations": changes})
    return rows.operations


def number(configuration: int) -> Operation:
    """Give what a transaction configures a number: see :func:`applied`."""
    return {"op": "update", "table": _ROOT, "where": [], "row": {"next_cfg": configuration}}


def applied(configuration: int) -> Operation:
    """Wait until the Open vSwitch has applied what has that number."""
    expected = [{"cur_cfg": configuration}]
    return {
        "op": "wait", "table": _ROOT, "where": [], "columns": ["cur_cfg"], "until": "==", "rows": expected,
    }  # fmt: skip


def _set(values: Iterable[Any]) -> list[Any]:
    return ["set", list(values)]


def _map(values: Mapping[str, str]) -> list[Any]:
    return ["map", [list(item) for item in values.items()]]
