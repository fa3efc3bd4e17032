"""`add` and `remove`: hosts come to a running lab and go, links and nodes go and come back."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from dcnlab.lab.client import Lab
from dcnlab.lab.errors import LabError
from tests.lab.lines import alone
from tests.ovs import poll

pytestmark = pytest.mark.lab


def pings(lab: Lab, source: str, target: str, *more: str) -> bool:
    return lab.run(source, ["ping", "-c1", "-W2", *more, target]).returncode == 0


@pytest.mark.parametrize(
    ("topology", "scheme", "broadcast"),
    [
        ("fattree:4", "ecmp", False),
        ("fattree:4", "twolevel", False),
        ("jellyfish:4,8,3", "wmgr", True),
    ],
)
def test_a_host_that_is_added_reaches_all_and_is_reached(topology: str, scheme: str, broadcast: bool) -> None:
    with Lab(topology, scheme=scheme, broadcast=broadcast) as lab:
        for name, switch in (("late", "s1"), ("other", "s4")):
            added = lab.add("host", name, to=switch)
            assert added.address.startswith("10.201.0.")
        for source, target in (("late", "h7"), ("h7", "late"), ("late", "other"), ("h0", "other")):
            for flags in ((), ("-6",)) if scheme != "twolevel" else ((),):
                poll(functools.partial(pings, lab, source, target, *flags), 30)
        assert lab.pingall().lost == []
        assert lab.verify(any_packet=True).found == []
        assert all(lab.tables(switch).equal for switch in ("s1", "s4"))
        first, second = lab.route("h0", "h7")[1:3]
        lab.fail(first, second)
        poll(lambda: pings(lab, "h7", "late"), 30)
        lab.kill("controller")
        poll(lambda: lab.info().restarts.get("controller") == 1 and lab.info().ended == [], 60)
        poll(lambda: pings(lab, "late", "other"), 30)
        lab.remove("host", "late")
        assert not pings(lab, "h7", added.address[:-1] + "1")
        with pytest.raises(LabError, match="no node 'late'"):
            lab.run("late", ["true"])
        lab.add("host", "late", to="s4")
        poll(lambda: pings(lab, "h7", "late"), 30)


def test_a_lab_gets_a_switch_and_links_that_its_topology_never_had() -> None:
    with Lab("leafspine:3,1,hosts=1", scheme="ecmp") as lab:
        assert len(lab.route("h0", "h2")) == 5
        lab.add("link", "s0", "s2")
        assert lab.route("h0", "h2") == ["h0", "s0", "s2", "h2"]
        lab.add("switch", "s4")
        lab.add("link", "s4", "s1")
        lab.add("host", "late", to="s4")
        info = lab.info()
        assert info.topology.endswith(" + s0:3--s2:3 + s4 + s4:1--s1:3")
        assert info.added == ["late"]
        poll(lambda: pings(lab, "late", "h0") and pings(lab, "h0", "late", "-6"), 30)
        assert all(lab.tables(switch).equal for switch in ("s0", "s1", "s2", "s4"))
        assert lab.fail("s0", "s2").flow_mods > 0
        assert len(lab.route("h0", "h2")) == 5
        assert lab.pingall().lost == []
        lab.restore("s0", "s2")
        assert lab.verify(any_packet=True).found == []
        measure_and_serve(lab)


def measure_and_serve(lab: Lab) -> None:
    """Measurements and services know a host that was added."""
    assert lab.ping("h0", "late").received == lab.ping("late", "h1", ipv6=True).received == 1
    assert lab.iperf("late", "h2", seconds=1).mbps > 0
    lab.serve("web", "late", ["python3", "-m", "http.server", "80"], ready="tcp:80")
    assert lab.services()[0].node == "late"


def test_nodes_without_a_scheme_get_links_and_routers_with_addresses_of_their_own() -> None:
    with Lab("fattree:4", scheme="none:routers=switches") as lab:
        before = lab.run("s0", ["ip", "-o", "-4", "address", "show", "dev", "s0-eth4"]).stdout
        lab.add("switch", "s20")
        lab.add("link", "s20", "s0")
        assert lab.run("s0", ["ip", "-o", "-4", "address", "show", "dev", "s0-eth4"]).stdout == before
        shown = json.loads(lab.run("s0", ["ip", "-j", "address", "show", "dev", "s0-eth5"]).stdout)
        there = json.loads(lab.run("s20", ["ip", "-j", "address", "show", "dev", "s20-eth1"]).stdout)
        for version, flag in (("inet", "-4"), ("inet6", "-6")):
            own, other = (
                next(
                    a["local"] for a in one[0]["addr_info"] if (a["family"], a["scope"]) == (version, "global")
                )
                for one in (shown, there)
            )
            poll(functools.partial(pings, lab, "s20", own, flag), 30)
            assert own != other
        assert lab.fail("s20", "s0").detection_ms is not None


def test_what_was_removed_is_not_restored_but_added() -> None:
    with Lab("bcube:2,1", scheme="brp") as lab:
        removed = lab.remove("link", "h0", "s0")
        assert removed.names == ["h0", "s0"]
        with pytest.raises(LabError, match=r"h0-s0 was removed: `dcnlab add .* link h0 s0` adds"):
            lab.restore("h0", "s0")
        lab.remove("switch", "s1")
        info = lab.info()
        assert (len(info.removed.links), info.removed.nodes) == (1, ["s1"])
        assert (info.cut.links, info.cut.nodes) == ([], [])
        assert {cause for one in info.down_links for cause in one.because} == {
            "it was removed",
            "s1 was removed",
        }
        with pytest.raises(LabError, match="s1 was removed"):
            lab.restore("s1")
        with pytest.raises(LabError, match="was removed before"):
            lab.remove("link", "h0", "s0")
        lab.add("link", "h0", "s0")
        lab.add("switch", "s1")
        assert lab.info().down == []
        poll(lambda: lab.pingall().lost == [], 30)
        with pytest.raises(LabError, match="h0-s0 is there: `restore` brings back what has failed"):
            lab.add("link", "h0", "s0")


def test_commands_say_what_they_did(programs: Path, tmp_path: Path) -> None:
    with Lab("fattree:4", scheme="none") as lab:
        dcnlab = functools.partial(alone, programs, tmp_path)
        for words, shown in (
            (("add", lab.config.name, "host", "h16", "--to", "s3", "--address", "10.9.9.1/24"), "10.9.9.1"),
            (("remove", lab.config.name, "link", "s0", "s8"), "s8"),
            (("add", lab.config.name, "link", "s0", "s8"), "s8"),
            (("remove", lab.config.name, "host", "h16"), "h16"),
        ):
            done = dcnlab(*words, "--json")
            assert (done.returncode, done.stderr) == (0, "")
            assert shown in json.loads(done.stdout).get("address", json.loads(done.stdout)["names"])
        for more in ([], ["--to", "s3"]):
            done = dcnlab("add", lab.config.name, "host", "h16", *more)
            assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)


def test_a_learning_controller_finds_a_host_that_is_added() -> None:
    learning = Path(__file__).parents[1] / "l2_learning.py"
    with Lab("fattree:4", scheme="ecmp", controller=f"app-only:{learning}", no_loops=True) as lab:
        lab.add("host", "late", to="s3")
        poll(lambda: pings(lab, "h0", "late"), 60)
        poll(lambda: pings(lab, "late", "h15"), 60)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("host", "h9", "s0"), "the servers of bcube:2,1 relay packets"),
        (("link", "s0", "s3", ""), "the servers of bcube:2,1 relay packets, and their agents know the network"),
        (("link", "h0", "h3", ""), "h0 is a server, which has its link: a link is added between switches"),
        (("switch", "s9", ""), "begin with a topology that has it"),
        (("host", "h9", ""), "say at which switch: `host h9 --to s1`"),
        (("cable", "h0", "s0", ""), "say link, host or switch, not 'cable'"),
    ],
)
def test_what_a_lab_cannot_follow_is_one_line(lab: Lab, words: tuple[str, ...], says: str) -> None:
    kind, *names, to = words
    with pytest.raises(LabError, match=says) as refused:
        lab.add(kind, *names, to=to)
    assert "\n" not in str(refused.value)


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab("bcube:2,1", scheme="brp") as running:
        yield running
