"""``dcnlab ps``: list labs."""

from __future__ import annotations

from typing import Any

from dcnlab.cli.app import command
from dcnlab.cli.show import JsonFlag, controlled, print_ended, print_json, print_notes, table
from dcnlab.lab.client import try_info


@command("dcnlab ps", "dcnlab ps --json", quick=True)
def ps(json: JsonFlag = False) -> None:
    """List labs; a stale one has died and left its socket, which is removed: it is listed once."""
    from dcnlab.lab import runtime

    rows = []
    for found in runtime.labs():
        alive = runtime.in_use(found.path)  # removes the socket of a lab that has died
        rows.append({"name": found.name, "alive": alive, **(try_info(found.path) if alive else {})})
    if json:
        print_json(rows)
    elif rows:
        keys = ("topology", "scheme", "servers", "switches", "datapath")
        table(
            ("name", *keys, "controller", "state"),
            [(row["name"], *(row.get(key, "") for key in keys), controlled(row), _state(row)) for row in rows],
        )
        for row in rows:
            print_notes(row["name"], row.get("controller", {}).get("notes", ()))
            print_ended(row["name"], row.get("ended", ()))
    else:
        print("no labs are running: launch one, e.g. `dcnlab up bcube:4,1 --scheme brp`")


def _state(row: dict[str, Any]) -> str:
    if not row["alive"]:
        return "stale"
    if "topology" not in row:
        return "starting"
    return "damaged" if row.get("ended") else "running"
