"""``dcnlab kv``: the key-value store with key-based routing."""

from __future__ import annotations

import sys
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from dcnlab.cli.app import command
from dcnlab.cli.parameters.arguments import LabName
from dcnlab.cli.show import JsonFlag, print_json, table
from dcnlab.lab.client import Lab
from dcnlab.lab.errors import LabError, UsageError


class Verb(StrEnum):
    """What to do with keys.  The command does not follow from the operation: there a key is hexadecimal digits,
    a value travels through a descriptor, and each verb has an answer of its own."""

    put = "put"
    get = "get"
    del_ = "del"
    where = "where"
    ls = "ls"


@command("dcnlab kv LAB put colour blue --replicas 2", "dcnlab kv LAB get colour", "dcnlab kv LAB ls")
def kv(
    lab: LabName,
    verb: Annotated[Verb, typer.Argument(metavar="put|get|del|where|ls", help="The operation.")],
    key: Annotated[str, typer.Argument(metavar="[KEY]", help="Any text; not for ls.")] = "",
    value: Annotated[
        str | None, typer.Argument(metavar="[VALUE]", help="Text, @FILE, or - for standard input.")
    ] = None,
    origin: Annotated[str, typer.Option("--from", metavar="SERVER", help="The server that requests.")] = "h0",
    replicas: Annotated[int, typer.Option(min=1, help="Number of copies.")] = 1,
    json: JsonFlag = False,
) -> None:
    """Store values by key-based routing: put, get, del, where (the replica servers), ls."""
    if (verb is Verb.ls) != (not key) or (verb is Verb.put) != (value is not None):
        raise UsageError("write put KEY VALUE, get KEY, del KEY, where KEY, or ls")
    running = Lab.attach(lab)
    if verb is Verb.put:
        assert value is not None
        data = _read(value)
        servers = running.put(key, data, replicas, origin)
        shown = {"key": key, "bytes": len(data), "servers": servers}
        print_json(shown) if json else print(f"{key}: {len(data)} bytes at {', '.join(servers)}")
        return
    _QUERIES[verb](running, key, origin, json)


def _read(value: str) -> bytes:
    """The value as bytes."""
    if value == "-":
        return sys.stdin.buffer.read()
    if not value.startswith("@"):
        return value.encode()
    try:
        return Path(value[1:]).read_bytes()
    except OSError as error:
        raise UsageError(f"{value[1:]}: {error.strerror}") from None


def _get(lab: Lab, key: str, origin: str, json: bool) -> None:
    server, value = lab.find(key, origin)
    if value is None:
        raise LabError(f"there is no {key}")
    if json:
        print_json({"key": key, "server": server, "bytes": len(value), "text": value.decode(errors="replace")})
        return
    sys.stdout.buffer.write(value + (b"\n" if sys.stdout.isatty() else b""))


def _delete(lab: Lab, key: str, origin: str, json: bool) -> None:
    servers = lab.delete(key, origin)
    print_json({"key": key, "servers": servers}) if json else print(f"{key}: deleted at {', '.join(servers)}")
    if not servers:
        raise LabError(f"no replica server of the key answers {origin}")


def _where(lab: Lab, key: str, origin: str, json: bool) -> None:
    places, labels = lab.where(key, origin), {node["name"]: node["label"] for node in lab.nodes()}
    for place in places:
        place["label"] = labels[place["server"]]
    if json:
        print_json({"key": key, "places": places})
        return
    rows = ((i, p["server"], p["label"], _describe(p)) for i, p in enumerate(places, start=1))
    table(("place", "server", "label", "copy"), rows)


def _describe(place: dict[str, object]) -> str:
    if not place["answers"]:
        return "no answer"
    return "-" if place["bytes"] is None else f"{place['bytes']} bytes"


def _list(lab: Lab, key: str, origin: str, json: bool) -> None:
    keys = lab.keys(origin)
    if json:
        print_json({"keys": keys})
    else:
        table(("key", "bytes", "servers"), [(k["key"], k["bytes"], " ".join(k["servers"])) for k in keys])


_QUERIES: dict[Verb, Callable[[Lab, str, str, bool], None]] = {
    Verb.get: _get,
    Verb.del_: _delete,
    Verb.where: _where,
    Verb.ls: _list,
}
