"""The MTU of links, relays and hosts: packets of that size pass, and relays name it where a link takes less."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dcnlab.lab.client import Lab
from dcnlab.lab.errors import OptionError
from dcnlab.lab.options import mtu
from dcnlab.lab.options.config import LabConfig
from tests.ovs import poll
from topos import registry


def test_more_than_fits_between_machines_is_refused_and_less_is_taken() -> None:
    assert mtu.over(9000, 4, 1500) == 1500
    assert mtu.over(1500, 6, 1500) == 1430
    assert mtu.over(9050, 4, 9000) == 9000
    with pytest.raises(OptionError, match="room for 1450"):
        mtu.over(1500, 4, 9000)


def test_a_file_states_the_mtu_of_a_link(tmp_path: Path) -> None:
    spec = line(tmp_path)
    config = LabConfig.of(spec, "shortest", mtu=9000)
    assert config.mtus(registry.fabric(spec)) == {1: 1400}
    assert LabConfig.of(spec, "shortest", link_attributes=False).mtus(registry.fabric(spec)) == {}
    with pytest.raises(
        OptionError, match=r"link b-c of .*: mtu must be a number of bytes from 1280 to 9216, not 70"
    ):
        LabConfig.of(line(tmp_path, 70), "shortest").validate()


def line(folder: Path, narrow: int = 1400) -> str:
    """Three servers in a row; the second link has another MTU."""
    links = [{"source": "a", "target": "b"}, {"source": "b", "target": "c", "mtu": narrow}]
    graph = {"nodes": [{"id": name, "kind": "server"} for name in "abc"], "links": links}
    (folder / "line.json").write_text(json.dumps(graph))
    return f"file:{folder}/line.json"


def ping(lab: Lab, version: str, size: int, a: str, b: str) -> str:
    """What ping prints for one packet of this size in IP that must not be fragmented."""
    payload = size - (28 if version == "-4" else 48)
    done = lab.run(a, ["ping", version, "-c1", "-W2", "-M", "do", "-s", str(payload), b])
    return done.stdout + done.stderr


@pytest.mark.lab
@pytest.mark.parametrize(
    ("topology", "scheme", "options"),
    [("fattree:4", "ecmp", {}), ("bcube:2,1", "brp", {}), ("bcube:2,1", "wmgr", {"fast_path": "on"})],
)
def test_packets_of_the_mtu_pass_and_larger_ones_do_not(
    topology: str, scheme: str, options: dict[str, str]
) -> None:
    with Lab(topology, scheme, mtu=9000, **options) as lab:
        last = [node["name"] for node in lab.nodes() if node["kind"] == "server"][-1]
        for version in ("-4", "-6"):
            poll(lambda version=version: "1 received" in ping(lab, version, 9000, "h0", last), 30)
            assert "9000" in ping(lab, version, 9001, "h0", last)
        assert lab.iperf("h0", last, seconds=1).mbps > 1


@pytest.mark.lab
@pytest.mark.parametrize("fast_path", ["off", "on"])
def test_a_relay_names_the_mtu_of_the_next_link(tmp_path: Path, fast_path: str) -> None:
    with Lab(line(tmp_path), "shortest", mtu=9000, fast_path=fast_path) as lab:
        for version in ("-4", "-6"):
            poll(lambda version=version: "1 received" in ping(lab, version, 1400, "a", "c"), 30)
            said = ping(lab, version, 1401, "a", "c")
            assert "1400" in said, said
            whole = lab.run("a", ["ping", version, "-c1", "-W2", "-s", "5000", "c"])
            assert "1 received" in whole.stdout, whole.stdout
        assert lab.iperf("a", "c", seconds=1).mbps > 1  # TCP learns the size from the ICMP errors
        wide = lab.iperf("a", "c", seconds=2, ipv6=True)
        assert wide.mbps > 1
        assert wide.limit, "the kernel says what limited the connection, by IPv6 too"
        assert lab.stats().servers["b"]["dropped: larger than the MTU"] >= 2
