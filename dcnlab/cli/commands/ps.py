"""``dcnlab ps``: list labs."""

from __future__ import annotations

from typing import Any

from dcnlab.cli.app import command
from dcnlab.cli.show import JsonFlag, controlled, fits, print_ended, print_json, print_notes, table


@command("dcnlab ps", "dcnlab ps --json")
def ps(json: JsonFlag = False) -> None:
    """List labs. One that died is listed once as stale, then removed."""
    from dcnlab.lab.control import runtime
    from dcnlab.lab.methods.asking import try_info

    rows = []
    for running in runtime.labs():
        alive = runtime.in_use(running.path)  # removes the socket of a lab that has died
        row = {"name": running.name, "alive": alive, **(try_info(running.path) if alive else {})}
        rows.append({**row, "state": _state(row)})
    if json:
        print_json(rows)
    elif rows:
        whole = _print(rows)
        for row in rows:
            if not whole and ":" in controlled(row):
                print(f"{row['name']}: controller {controlled(row)}")
            if line := _said(row):
                print(line)
            print_notes(row["name"], row.get("controller", {}).get("notes", ()))
            if row.get("replaced"):
                from dcnlab.lab.control import upgrade  # few labs are

                both = f"version {row['version']}; installed is {upgrade.version()}"
                print(f"{row['name']}: {upgrade.NOTE} ({both})")
            print_ended(row["name"], row.get("ended", ()))
            print_notes(row["name"], row.get("damage", ()))
    else:
        print("no labs are running: launch one, e.g. `dcnlab up bcube:4,1 --scheme brp`")


_KEYS = ("topology", "scheme", "servers", "switches", "datapath")
_COLUMNS = ("name", *_KEYS, "controller", "state")


def _print(rows: list[dict[str, Any]]) -> bool:
    """The table, with versions where they fit; whether controllers are whole in it."""
    whole = fits(_COLUMNS, _cells(rows))
    cells = _cells(rows, whole)
    longer = [(*cell, _release(row)) for cell, row in zip(cells, rows, strict=True)]
    if fits((*_COLUMNS, "version"), longer):
        table((*_COLUMNS, "version"), longer)
    else:
        table(_COLUMNS, cells)
    return whole


def _cells(rows: list[dict[str, Any]], whole: bool = True) -> list[tuple[str, ...]]:
    """The table: where it is too wide, only the kinds of controllers; lines of their own then name them."""
    return [
        (row["name"], *(str(row.get(key, "")) for key in _KEYS), controlled(row, whole), row["state"])
        for row in rows
    ]


def _release(row: dict[str, Any]) -> str:
    """The version of dcnlab that started a lab, without the commit."""
    return str(row.get("version", "")).partition(" ")[0].partition("+")[0]


def _said(row: dict[str, Any]) -> str:
    """A line about a lab that does not answer as it should; empty for others."""
    if row["state"] == "busy":
        return f"{row['name']} does not answer yet: it works, or hangs; see `dcnlab doctor {row['name']}`"
    if row["state"] == "ending":
        return f"{row['name']} has ended, or is about to: the kernel still removes what it had"
    return str(row.get("stopped") or row.get("problem", ""))


def _state(row: dict[str, Any]) -> str:
    if not row["alive"]:
        return "stale"
    if "stopped" in row:
        return "stopped"
    if "silent" in row:
        return str(row["silent"])
    if "problem" in row:
        return "damaged"
    return "damaged" if row.get("ended") or row.get("damage") else "running"
