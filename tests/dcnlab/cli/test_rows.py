"""Bridges in a database of Open vSwitch: the same as by ovs-vsctl, and applied when the wait for that ends."""

from __future__ import annotations

import json
import socket
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from dcnlab.lab.emulation.switches import openvswitch, ovsdb, rows
from dcnlab.lab.emulation.switches.rows import Bridge
from dcnlab.lab.emulation.switches.shards import Shard
from dcnlab.lab.errors import LabError
from tests.ovs import PrivateOvs

BRIDGES = (Bridge("s0", 5, (("s0-eth1", 1), ("s0-eth2", 2))), Bridge("s1", 6, (("s1-eth1", 1),)))
VERSIONS = ("OpenFlow10", "OpenFlow13")
SETTINGS = {"userspace-tso-enable": "true", "stats-update-interval": "1000"}
TLS = {"private_key": "/k.pem", "certificate": "/c.pem", "ca_cert": "/a.pem"}
#: What refers to rows by their identities, and what Open vSwitch itself writes.
TABLES = {
    "Open_vSwitch": ("other_config", "bridges", "ssl", "next_cfg"),
    "Bridge": (
        "name", "datapath_type", "fail_mode", "protocols", "other_config", "mcast_snooping_enable", "ports",
        "controller",
    ),
    "Port": ("name", "interfaces"),
    "Interface": ("name", "type", "ofport_request"),
    "Controller": ("target", "connection_mode", "inactivity_probe", "max_backoff"),
    "SSL": ("private_key", "certificate", "ca_cert", "bootstrap_ca_cert"),
}  # fmt: skip


@contextmanager
def database() -> Iterator[PrivateOvs]:
    """An ovsdb-server with an empty database of Open vSwitch; its socket is ``db.sock``."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as ended:
        ovs = PrivateOvs(Path(folder))
        ended.callback(ovs.stop)
        ovs.run("ovsdb-tool", "create", "conf.db", "/usr/share/openvswitch/vswitch.ovsschema")
        ovs.run("ovsdb-server", "conf.db", "--remote=punix:db.sock", "--detach", "--no-chdir", "--pidfile")
        yield ovs


def transact(ovs: PrivateOvs, *operations: ovsdb.Operation) -> list[Any]:
    with ovsdb.Connection(ovs.directory / "db.sock", 30.0) as connection:
        connection.send(operations)
        return connection.result()


def content(ovs: PrivateOvs) -> dict[str, list[str]]:
    """The rows of all tables, with the names of other rows in the place of their identities."""
    results = transact(ovs, *({"op": "select", "table": table, "where": []} for table in TABLES))
    tables = {table: result["rows"] for table, result in zip(TABLES, results, strict=True)}
    names = {
        row["_uuid"][1]: str(row.get("name") or row.get("target") or table)
        for table, selected in tables.items()
        for row in selected
    }

    def named(value: Any) -> Any:
        match value:
            case ["uuid", identity]:
                return names[identity]
            case ["set" | "map", some]:
                return sorted(str(named(one)) for one in some)
            case _:
                return value

    return {
        table: sorted(str([named(row[column]) for column in columns]) for row in tables[table])
        for table, columns in TABLES.items()
    }


def by_vsctl(ovs: PrivateOvs) -> None:
    words = ["--no-wait", "init", "--", "set", "Open_vSwitch", "."]
    words += [f"other_config:{name}={value}" for name, value in SETTINGS.items()]
    words += ["--", "set-ssl", *TLS.values()]
    for bridge in BRIDGES:
        words += ["--", "add-br", bridge.name, "--", "set", "Bridge", bridge.name, "datapath_type=netdev"]
        words += ["fail_mode=secure", f"protocols={','.join(VERSIONS)}", "mcast_snooping_enable=false"]
        words += [f"other-config:datapath-id={bridge.dpid:016x}", "other-config:disable-in-band=true"]
        words += ["--", "set-controller", bridge.name, "tcp:127.0.0.1:6653"]
        words += ["--", "set", "Controller", bridge.name, "connection_mode=out-of-band"]
        words += ["inactivity_probe=0", "max_backoff=1000"]
        for interface, number in bridge.ports:
            words += ["--", "add-port", bridge.name, interface]
            words += ["--", "set", "Interface", interface, f"ofport_request={number}"]
    ovs.vsctl(*words)


def test_the_rows_are_those_of_ovs_vsctl() -> None:
    with database() as ours, database() as theirs:
        transact(ours, *rows.create(BRIDGES, "netdev", VERSIONS, SETTINGS, TLS))
        transact(ours, *rows.wire(BRIDGES, ["tcp:127.0.0.1:6653"]))
        by_vsctl(theirs)
        assert content(ours) == content(theirs)


def test_a_switch_has_its_ports_when_the_wait_ends() -> None:
    with database() as ovs:
        daemon = ("--detach", "--no-chdir", "--pidfile", "-vconsole:off", "-vsyslog:off")
        ovs.run("ovs-vswitchd", "unix:db.sock", "--enable-dummy=override", "--disable-system", *daemon)
        with ovsdb.Connection(ovs.directory / "db.sock", 30.0) as connection:
            connection.send(rows.create(BRIDGES, "dummy", ("OpenFlow13",), {}, {}))
            connection.send([*rows.wire(BRIDGES, []), rows.number(1)])
            connection.send([rows.applied(1)])
            for _ in range(3):
                connection.result()
        for bridge in BRIDGES:
            shown = ovs.ofctl("show", bridge.name)
            assert all(f" {number}({interface}): " in shown for interface, number in bridge.ports)
            assert f"dpid:{bridge.dpid:016x}" in shown


def test_what_a_database_refuses_is_one_line() -> None:
    with database() as ovs, ovsdb.Connection(ovs.directory / "db.sock", 30.0) as connection:
        for operations in ([{"op": "fly"}], rows.create((BRIDGES[0],) * 2, "netdev", VERSIONS, {}, {})):
            connection.send(operations)
            with pytest.raises(LabError, match=r"^ovsdb-server: [^\n]+$"):
                connection.result()
        connection.send([rows.number(7)])
        assert connection.result() == [{"count": 0}]


def test_a_database_that_does_not_answer_is_named() -> None:
    shard = Shard(9999, BRIDGES)
    with pytest.raises(LabError, match=r"^ovsdb-server of s0 to s1: .*No such file"):
        openvswitch._transact([shard], lambda _: [], ())


def test_an_answer_comes_in_pieces_of_any_size() -> None:
    """Also in the middle of a character; the answer after it is kept."""
    answers = [
        {"id": 0, "error": None, "result": [{"details": "\u00e9"}]},
        {"id": 0, "error": None, "result": []},
    ]
    data = "".join(json.dumps(answer, ensure_ascii=False) for answer in answers).encode()
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{folder}/db.sock")
        listener.listen()
        with ovsdb.Connection(Path(folder, "db.sock"), 30.0) as connection:
            peer, _ = listener.accept()
            with peer, ThreadPoolExecutor(1) as beside:
                sending = beside.submit(lambda: [peer.send(data[at : at + 1]) for at in range(len(data))])
                assert [connection.result() for _ in answers] == [answer["result"] for answer in answers]
                sending.result()
            assert not connection.has_more
