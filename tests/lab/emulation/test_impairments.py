"""Impairments of links while a lab runs: what is asked for is imposed, and changes lose no packets."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import networkx
import pytest

from dcnlab.lab import naming
from dcnlab.lab.client import Lab
from dcnlab.lab.emulation.links import delays, shaping
from dcnlab.lab.emulation.links.shaping import Disciplines
from dcnlab.lab.errors import OptionError, UsageError
from dcnlab.lab.measurement.stream import Stream
from dcnlab.lab.options.config import LabConfig
from dcnlab.lab.options.link_shape import Shape, of_attributes
from tests.lab.lines import dcnlab
from tests.ovs import poll
from topos.registry import fabric


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"delay": "fast"}, "delay must be written as in 1ms, not 'fast'"),
        ({"loss": "101%"}, "loss is at most 100%, not 101%"),
        ({"corrupt": "0.1"}, "corrupt must be written as in 0.1%"),
        ({"rate": "0Mbit"}, "a rate of 0 would drop all packets: `none` removes a limit"),
        ({"rate": "0"}, "a rate of 0 would drop all packets: `none` removes a limit"),
        ({"jitter": "1ms"}, "jitter needs a delay"),
        ({"reorder": "1%"}, "reorder needs a delay"),
        ({"colour": "blue"}, "there is no impairment colour: there are delay, jitter"),
    ],
)
def test_wrong_values_are_one_line(values: dict[str, str], says: str) -> None:
    with pytest.raises(OptionError, match=says):
        Shape().changed(values)


def test_values_that_are_not_given_stay_and_none_ends_one() -> None:
    shape = Shape(delay="1ms", queue=20).changed({"loss": "1%"}).changed({"delay": "none"})
    assert shape == Shape(loss="1%", queue=20)
    assert not shape.changed({"loss": "none"})


@pytest.mark.parametrize("zero", ["0", "0%", "0.0"])
def test_no_loss_and_no_delay_may_be_written_as_zero(zero: str) -> None:
    shape = Shape(delay="1ms", jitter="1us", loss="1%")
    assert shape.changed({"loss": zero}) == Shape(delay="1ms", jitter="1us")
    assert not shape.changed({"loss": zero, "jitter": "0", "delay": "0ms"})
    assert not LabConfig.of("bcube:2,1", "brp", loss=zero, delay="0", rate="none").shape


def test_links_by_pattern() -> None:
    bcube = fabric("bcube:2,1")
    assert naming.links_matching(bcube, "all", []) == tuple(range(8))
    assert set(naming.links_matching(bcube, "link", ["h*", "s0"])) == set(naming.links(bcube, "node", ["s0"]))
    assert naming.links_matching(bcube, "link", ["s0", "h?"]) == naming.links_matching(
        bcube, "link", ["h*", "s0"]
    )
    for wrong in (("link", ["s*", "s*"]), ("all", ["h0"]), ("link", ["h*", "s9"]), ("node", ["h*"])):
        with pytest.raises(UsageError):
            naming.links_matching(bcube, *wrong)


def test_attributes_of_links_are_impairments() -> None:
    stated = {
        "delay": 5,
        "jitter": "200us",
        "rate": 2.5,
        "loss": "1",
        "reorder": 0,
        "length": 7,
        "corrupt": "2%",
    }
    assert of_attributes(stated) == {
        "delay": "5ms", "jitter": "200us", "rate": "2.5Mbit", "loss": "1%", "corrupt": "2%",
    }  # fmt: skip
    assert of_attributes({"colour": "red"}) == {}


def graphml(folder: Path, **attributes: object) -> str:
    """A file with a network of two servers at a switch, one of whose links has attributes."""
    graph = networkx.Graph()
    for name in ("a", "b"):
        graph.add_node(name, kind="server")
    graph.add_node("w", kind="switch")
    graph.add_edge("a", "w", **attributes)
    graph.add_edge("b", "w")
    networkx.write_graphml(graph, folder / "own.graphml")
    return f"file:{folder}/own.graphml"


def test_a_file_that_states_nonsense_is_refused(tmp_path: Path) -> None:
    spec = graphml(tmp_path, rate="fast")
    with pytest.raises(
        OptionError, match=r"link a-w of file:.*: rate must be written as in 100Mbit, not 'fast'"
    ):
        LabConfig.of(spec, "shortest").validate()
    LabConfig.of(spec, "shortest", link_attributes=False).validate()
    config = LabConfig.of(graphml(tmp_path, rate=8), "shortest", rate="9Mbit", loss="1%")
    assert config.shapes(config.validate().fabric) == {0: Shape(rate="8Mbit", loss="1%")}


@pytest.mark.lab
def test_a_file_shapes_links_at_the_launch(tmp_path: Path) -> None:
    with Lab(graphml(tmp_path, rate=2), "shortest") as lab:
        [link] = lab.impairments()
        assert (set(link.link), link.impairments) == ({"a", "w"}, {"rate": "2Mbit"})
        assert 0 < lab.iperf("a", "b", seconds=1).mbps < 2.2
        lab.impair(rate="none")
        assert lab.impairments() == []
        lab.impair(clear=True)
        assert lab.impairments() == [link]


@pytest.mark.parametrize("netem", [True, False])
def test_a_change_alters_the_disciplines_that_are_there(netem: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is added anew would lose the packets that wait: only at an interface without disciplines."""
    monkeypatch.setattr(shaping, "has_netem", lambda: netem)
    shapes = [
        Shape(rate="1Mbit"),
        Shape(rate="2Mbit", loss="1%"),
        Shape(),
        Shape(loss="2%"),
        Shape(rate="3Mbit"),
    ]
    now = Disciplines.NONE
    for shape in shapes:
        before = now
        lines, now = shaping.change_lines(shape, "e", before)
        assert before is Disciplines.NONE or all(" change " in line for line in lines)
    assert now is (Disciplines.NETEM if netem else Disciplines.HTB)
    assert lines[0].endswith("corrupt 0%" if netem else "rate 3Mbit")


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab("bcube:2,1", "brp", supervise=False) as running:
        yield running


#: Sends frames by both interfaces; an error ends it.
SENDER = """
import socket
for port in (1, 2):
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as out:
        out.bind((f"h0-eth{port}", 0))
        for _ in range(50):
            out.send(bytes(12) + bytes.fromhex("88b5") + bytes(46))
"""


def exceeds(lab: Lab, a: str, b: str, mbps: float) -> bool:
    """Whether TCP gets more than so much at some time; a busy machine may need several tries."""
    poll(lambda: lab.iperf(a, b, seconds=1).mbps > mbps, 120)
    return True


@pytest.mark.lab
def test_a_rate_is_imposed_and_ends(lab: Lab) -> None:
    first = lab.route("h0", "h1")[1]
    (link,) = lab.impair("h0", first, rate="1Mbit")
    assert (set(link.link), link.impairments) == ({"h0", first}, {"rate": "1Mbit"})
    assert link.by["rate"] in ("htb", "netem")
    assert lab.impairments() == [link]
    assert 0 < lab.iperf("h0", "h1", seconds=1).mbps < 1.1
    assert exceeds(lab, "h2", "h3", 1.5)  # other links are as they were
    lab.impair("h0", first, rate="40Mbit")
    assert exceeds(lab, "h0", "h1", 1.5)
    lab.impair(clear=True)
    assert lab.impairments() == []


@pytest.mark.lab
def test_loss_is_imposed_each_way(lab: Lab) -> None:
    first = lab.route("h0", "h1")[1]
    (link,) = lab.impair("h0", first, loss="30%")
    assert link.by["loss"] in ("eBPF", "netem") or os.geteuid() != 0
    stream = lab.measure(Stream("h0", "h1", seconds=2, every=0.002))
    share = stream.lost / (stream.lost + stream.received)
    assert 0.15 < share < 0.45  # of some hundred packets
    lab.impair("h0", first, loss="none")
    assert lab.ping("h0", "h1").received == 1
    lab.impair("h0", first, loss="100%")
    assert lab.ping("h0", "h1", timeout=0.2).received == 0
    assert lab.run("h0", ["python3", "-c", SENDER]).returncode == 0  # one that sees an error sends again
    lab.impair("h0", first, clear=True)
    assert lab.pingall().held


@pytest.mark.lab
def test_one_direction_of_a_link_is_impaired_and_the_other_is_as_it_was(lab: Lab) -> None:
    first = lab.route("h0", "h1")[1]
    (link,) = lab.impair("h0", first, sender="h0", loss="50%")
    assert (link.sender, link.impairments, lab.impairments()) == ("h0", {"loss": "50%"}, [link])
    there, back = (lab.measure(Stream(*ends, seconds=2, every=0.002)) for ends in (("h0", "h1"), ("h1", "h0")))
    assert 0.3 < there.lost / (there.lost + there.received) < 0.7  # of some hundred packets
    assert (back.lost, back.received > 100) == (0, True)
    lab.impair("h0", first, sender=first, delay="60ms")
    assert {(one.sender, *one.impairments.items()) for one in lab.impairments()} == {
        ("h0", ("loss", "50%")),
        (first, ("delay", "60ms")),
    }
    lab.impair("h0", first, sender="h0", loss="none", delay="60ms")
    (link,) = lab.impairments()
    assert (link.sender, link.impairments) == ("", {"delay": "60ms"}), "alike in both directions: one entry"
    lab.impair("h0", first, sender=first, clear=True)
    assert min(round_trips(lab), default=60) >= 60
    poll(lambda: min(round_trips(lab), default=999) < 120, 120)
    with pytest.raises(UsageError, match="h3 is at neither end"):
        lab.impair("h0", first, sender="h3", loss="1%")
    shown = dcnlab("impair", lab.config.name, "node", "h0", "--from", "h0", "--loss", "1%")
    assert shown.stdout.count("from h0") == len(shown.stdout.splitlines()) - 1 == 2, shown.stdout + shown.stderr
    lab.impair(clear=True)
    assert lab.impairments() == []


def round_trips(lab: Lab, count: int = 10) -> list[float]:
    """Milliseconds of the echo requests from h0 to h1 that were answered."""
    done = lab.run("h0", ["ping", "-c", str(count), "-i", "0.02", "-W", "9", "h1"])
    return [float(one) for one in re.findall(r"time=([\d.]+)", done.stdout)]


@pytest.mark.lab
def test_delay_is_imposed_each_way_and_ends(lab: Lab) -> None:
    first = lab.route("h0", "h1")[1]
    (link,) = lab.impair("h0", first, delay="40ms", jitter="5ms")
    assert link.by == dict.fromkeys(("delay", "jitter"), "netem" if shaping.has_netem() else "delay line")
    assert min(round_trips(lab), default=70) >= 70
    poll(lambda: min(round_trips(lab), default=999) < 120, 120)
    assert exceeds(lab, "h0", "h1", 1.0)  # TCP's super-packets pass
    lab.impair("h0", first, duplicate="100%")
    assert "DUP!" in lab.run("h0", ["ping", "-c", "3", "-i", "0.1", "-W", "9", "h1"]).stdout
    lab.impair("h0", first, clear=True)
    poll(lambda: min(round_trips(lab), default=999) < 30, 120)


@pytest.mark.lab
@pytest.mark.skipif(shaping.has_netem(), reason="the kernel delays packets itself")
def test_the_process_that_delays_is_started_again(lab: Lab) -> None:
    first = lab.route("h0", "h1")[1]
    lab.impair("h0", first, delay="20ms")
    assert "dcndelay" in lab.run("h0", ["ip", "link"]).stdout
    (before,) = lab.run("h0", ["pgrep", "-f", "links.delay_line"]).stdout.split()  # of this lab only
    opened = lab.run("h0", ["ls", "-l", f"/proc/{before}/fd"]).stdout
    assert ("net/tun" in opened, opened.count("socket:")) == (True, 1), "each makes the lab's end longer"
    assert lab.run("h0", ["kill", "-KILL", before]).returncode == 0
    poll(lambda: lab.run("h0", ["pgrep", "-f", "links.delay_line"]).stdout.split() not in ([], [before]), 60)
    poll(lambda: min(round_trips(lab, 3), default=0.0) >= 40, 60)
    lab.impair("h0", first, rate="20Mbit")
    lab.restart(first)  # Open vSwitch removes what it finds at its ports
    poll(lambda: min(round_trips(lab, 3), default=0) >= 40, 60)
    lab.impair(clear=True)


@pytest.mark.lab
def test_changes_lose_no_packets_that_wait(lab: Lab) -> None:
    lab.impair(rate="50Mbit", delay="1ms")  # the kernel drops what is sent while it attaches the first of them
    lab.impair(clear=True)
    stream = lab.begin(Stream("h0", "h1", every=0.001))
    for number in range(20):
        lab.impair(rate=f"{20 + number}Mbit")
    for delay in ("5ms", "8ms", "none"):
        lab.impair(delay=delay)
    lab.impair(clear=True)
    result = stream.stop()
    assert result.lost == 0
    assert result.received > 20


@pytest.mark.lab
def test_links_fail_and_recover_with_their_impairments(lab: Lab) -> None:
    first = lab.route("h0", "h1")[1]
    lab.impair("h*", first, rate="4Mbit")
    lab.fail("h0", first)
    assert lab.pingall().held
    lab.restore("h0", first)
    assert lab.iperf("h0", "h1", seconds=1).mbps < 4.4
    lab.restart(first)  # Open vSwitch removes what it finds at its ports
    assert lab.pingall().held
    assert lab.iperf("h0", "h1", seconds=1).mbps < 4.4
    lab.impair(clear=True)


@pytest.mark.lab
def test_the_kernels_fast_paths_keep_to_impairments() -> None:
    with Lab("bcube:2,1", "brp", fast_path="auto", switch_fast_path="auto") as fast:
        assert fast.pingall().held
        route = fast.route("h0", "h3")
        fast.impair(route[1], route[2], loss="100%")
        assert fast.ping("h0", "h3", timeout=0.2).received == 0
        fast.impair(clear=True)
        assert fast.ping("h0", "h3").received == 1


@pytest.mark.lab
def test_the_command_shows_what_it_imposed(lab: Lab) -> None:
    name = lab.config.name
    done = dcnlab("impair", name, "link", "h*", "s0", "--rate", "50Mbit", "--json")
    assert done.returncode == 0, done.stderr
    assert {tuple(one["link"]) for one in json.loads(done.stdout)["links"]} == {("h0", "s0"), ("h1", "s0")}
    assert dcnlab("impair", name).stdout.count("rate 50Mbit") == 2
    assert "none" in dcnlab("impair", name, "all", "--clear").stdout
    assert dcnlab("impair", name).stdout == "no link has impairments\n"
    for words in (
        ["all"],
        ["link", "h0", "s0", "--loss", "1"],
        ["--loss", "1%"],
        ["all", "--clear", "--loss", "1%"],
    ):
        done = dcnlab("impair", name, *words)
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr


#: A server that sends a megabyte by TCP to each client, and a client that says whether it has it as it was.
SENDS = """
import socket
with socket.create_server(("", 5999)) as server:
    print("ready", flush=True)
    while True:
        with server.accept()[0] as connection:
            connection.sendall(bytes(range(256)) * 4096)
"""
RECEIVES = """
import socket, sys
with socket.create_connection((sys.argv[1], 5999)) as client:
    found = b"".join(iter(lambda: client.recv(1 << 16), b""))
print(found == bytes(range(256)) * 4096)
"""


def wrong_checksums(lab: Lab, node: str) -> int:
    """How many segments of TCP a host has found wrong."""
    names, values = (
        line.split()
        for line in lab.run(node, ["cat", "/proc/net/snmp"]).stdout.splitlines()
        if line[:4] == "Tcp:"
    )
    return int(values[names.index("InCsumErrors")])


@pytest.mark.lab
def test_receivers_find_wrong_bits(lab: Lab) -> None:
    first = lab.route("h1", "h0")[1]
    (link,) = lab.impair("h1", first, corrupt="4%")
    assert link.by == {"corrupt": "netem" if shaping.has_netem() else "delay line"}
    lab.serve("sender", "h1", ["python3", "-c", SENDS], ready="log:ready")

    def wrong_bits() -> bool:
        done = lab.run("h0", ["python3", "-c", RECEIVES, "h1"])
        assert done.stdout == "True\n", done
        return wrong_checksums(lab, "h0") > 0

    poll(wrong_bits, 120)
    lab.impair("h1", first, clear=True)
    assert lab.pingall().held


@pytest.mark.lab
def test_all_impairments_at_once(lab: Lab) -> None:
    if shaping.has_netem() or not delays.problem():
        lab.impair(delay="1ms", jitter="0.1ms", corrupt="1%", duplicate="1%", reorder="1%")
        lab.impair(clear=True)


def test_what_cannot_be_imposed_is_refused_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shaping, "has_netem", lambda: False)
    monkeypatch.setattr(shaping, "has_qdisc", lambda name: name == "htb")
    monkeypatch.setattr(delays, "problem", lambda: "no /dev/net/tun")
    shaping.check_kernel(Shape(rate="1Mbit"))
    with pytest.raises(
        OptionError,
        match=r"^this kernel has no netem, so delay and corrupt cannot be imposed \(no /dev/net/tun\)",
    ):
        shaping.check_kernel(Shape(delay="1ms", corrupt="1%", rate="1Mbit"))
    monkeypatch.setattr(shaping, "has_qdisc", lambda name: False)
    with pytest.raises(OptionError, match="this kernel has no htb, so rate cannot be imposed"):
        shaping.check_kernel(Shape(rate="1Mbit"))
