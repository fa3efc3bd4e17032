"""Keys in a real lab: any server gets values of any bytes back, also while their home is down."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from dcnlab.lab.client import Lab
from dcnlab.lab.errors import LabError, UsageError
from dcnlab.lab.kv.placement import replica_servers
from tests.lab.shared import on_shared_lab
from topos import registry

pytestmark = pytest.mark.lab


def kv(programs: Path, lab: Lab, *words: str, data: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = [programs / "dcnlab", "kv", lab.config.name, *words]
    return subprocess.run(command, input=data, capture_output=True, check=False)


@pytest.mark.parametrize(("topology", "scheme"), [("clot:4x4", "pow"), ("bcube:3,1", "brp")])
def test_values_outlive_their_home(topology: str, scheme: str) -> None:
    fabric = registry.fabric(topology)
    order = [fabric.name(server) for server in replica_servers(fabric, b"colour")]
    elsewhere = [name for name in map(fabric.name, range(fabric.servers)) if name not in order[:2]]
    with Lab(topology, scheme) as lab:
        value = os.urandom(3_000_000)
        before = sum(map(sum, lab.counters().links))
        assert lab.put("colour", value, replicas=2, origin=elsewhere[0]) == order[:2]
        assert sum(map(sum, lab.counters().links)) - before > 2 * len(value)  # over the lab's links
        assert lab.find("colour", elsewhere[1]) == (order[0], value)
        assert [place["server"] for place in lab.where("colour", elsewhere[0])] == order

        lab.fail(order[0])
        assert lab.find("colour", elsewhere[1]) == (order[1], value)
        assert lab.where("colour", elsewhere[1])[0] == {"server": order[0], "answers": False, "bytes": None}
        assert lab.put("colour", b"", replicas=2, origin=elsewhere[1]) == order[1:3]
        assert lab.get("colour", order[0]) == value  # cut off, it finds its own copy
        stranger = next(name for name in elsewhere if name not in order)
        lab.fail(stranger)
        with pytest.raises(LabError, match="no replica server of the key answers"):
            lab.get("colour", stranger)
        lab.restore(stranger)

        lab.restore(order[0])
        assert lab.get("colour", order[0]) == b""  # the newest copy wins, wherever it is
        assert lab.keys() == [{"key": "colour", "bytes": 0, "servers": sorted(order[1:3], key=fabric.index)}]
        assert lab.delete("colour") == order
        assert lab.get("colour") is None
        with pytest.raises(UsageError, match="replicas are 1 to"):
            lab.put("colour", b"x", replicas=99)


@on_shared_lab
def test_the_command(lab: Lab, programs: Path) -> None:
    assert kv(programs, lab, "put", "a key", "-", "--from", "h3", data=b"\x00\xff\n").returncode == 0
    assert kv(programs, lab, "get", "a key").stdout == b"\x00\xff\n"
    for words, code, says in [
        (("get", "nothing"), 1, b"there is no nothing"),
        (("put", "alone"), 2, b"write put KEY VALUE"),
        (("put", "k", "v", "--replicas", "9"), 2, b"replicas are 1 to 4"),
        (("get", "k", "--from", "s0"), 2, b"is a switch"),
        (("put", "k", "@/no/such/file"), 2, b"No such file"),
    ]:
        done = kv(programs, lab, *words)
        assert (done.returncode, says in done.stderr) == (code, True), done
