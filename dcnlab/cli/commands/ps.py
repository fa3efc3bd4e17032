"""``dcnlab ps``: list labs."""

from __future__ import annotations

from typing import Any

from dcnlab.cli.app import command
from dcnlab.cli.show import JsonFlag, controlled, fits, print_ended, print_json, print_notes, table
from dcnlab.lab.client import try_info


@command("dcnlab ps", "dcnlab ps --json", quick=True)
def ps(json: JsonFlag = False) -> None:
    """List labs; a stale one has died and left its socket, which is removed: it is listed once."""
    from dcnlab.lab.control import runtime, upgrade

    rows = []
    for found in runtime.labs():
        alive = runtime.in_use(found.path)  # removes the socket of a lab that has died
        rows.append({"name": found.name, "alive": alive, **(try_info(found.path) if alive else {})})
    if json:
        print_json(rows)
    elif rows:
        whole = fits(_COLUMNS, _cells(rows))
        table(_COLUMNS, _cells(rows, whole))
        for row in rows:
            if not whole and ":" in controlled(row):
                print(f"{row['name']}: controller {controlled(row)}")
            if "stopped" in row:
                print(row["stopped"])
            print_notes(row["name"], row.get("controller", {}).get("notes", ()))
            if row.get("replaced"):
                print(f"{row['name']}: {upgrade.NOTE} (it is version {row['version']})")
            print_ended(row["name"], row.get("ended", ()))
            print_notes(row["name"], row.get("damage", ()))
    else:
        print("no labs are running: launch one, e.g. `dcnlab up bcube:4,1 --scheme brp`")


_KEYS = ("topology", "scheme", "servers", "switches", "datapath")
_COLUMNS = ("name", *_KEYS, "controller", "state")


def _cells(rows: list[dict[str, Any]], whole: bool = True) -> list[tuple[str, ...]]:
    """The table: where it is too wide, only the kinds of controllers; lines of their own then name them."""
    return [
        (row["name"], *(str(row.get(key, "")) for key in _KEYS), controlled(row, whole), _state(row))
        for row in rows
    ]


def _state(row: dict[str, Any]) -> str:
    if not row["alive"]:
        return "stale"
    if "stopped" in row:
        return "stopped"
    if "topology" not in row:
        return "starting"
    return "damaged" if row.get("ended") or row.get("damage") else "running"
