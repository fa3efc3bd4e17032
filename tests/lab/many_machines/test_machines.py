"""One lab on several machines: namespaces with addresses of their own, and a real Dask cluster with TLS."""

from __future__ import annotations

import contextlib
import re
import secrets
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from dcnlab.lab.api.app import interface
from dcnlab.lab.api.stream import Broadcast
from dcnlab.lab.client import Lab
from dcnlab.lab.emulation.images import engines
from dcnlab.lab.errors import LabError, UsageError
from dcnlab.lab.top import reader as top
from tests.lab.cluster import TIMEOUT, Machines, until
from tests.lab.machines import (
    all_pairs_answer,
    assert_lost,
    attached,
    cut_link,
    distant,
    end_part,
    name,
    nodes_of,
    nothing_left,
    packets_of_the_mtu_pass,
    reached,
)
from tests.lab.terminal import DCNLAB, Terminal
from topos import registry

pytestmark = [pytest.mark.lab, pytest.mark.xdist_group("machines")]
#: Prints who sends datagrams, what of them is text, and the domains of IPFIX.
_COLLECT = """\
import re, socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
    one.bind(("", int(sys.argv[1])))
    print("listening")
    while True:
        data, (source, _) = one.recvfrom(65535)
        ports = sorted({found.decode() for found in re.findall(rb"s\\d+-eth", data)})
        print(source, int.from_bytes(data[12:16]), *ports)
"""
FABRICS = [("torus:3x3", "shortest"), ("clot:4x4", "pow"), ("smallworld:4x4", "hrsw"), ("hdcube:4,2", "dcube")]
#: The kernel forwards in the last one, in servers and in switches.
IN_KERNEL = ("--fast-path", "on", "--switch-fast-path", "on")
#: Agents send to each other only what the other one has buffers for.
CREDITS = ("--buffers", "8", "--flow-control", "credits")


@pytest.mark.parametrize(("spec", "scheme"), FABRICS, ids=[spec for spec, _ in FABRICS])
def test_all_pairs_answer_also_without_a_link_between_machines(three: Machines, spec: str, scheme: str) -> None:
    lab_name = name()
    in_kernel = spec == FABRICS[-1][0]
    exported = scheme == "pow"
    configures_itself = ("--autoconfigure", "--ipfix", "h0", "--sampling", "1")
    limited = CREDITS if scheme == "shortest" else ()
    more = IN_KERNEL if in_kernel else configures_itself if exported else limited
    info = three.launched(lab_name, spec, "--scheme", scheme, *more)
    with attached(lab_name) as lab:
        assert len(info["machines"]) == 3
        if exported:
            collects(lab, "h0", 4739)
        all_pairs_answer(lab, info)
        used = {link for link, carried in enumerate(lab.counters().links) if any(carried)}
        until(lambda: any(all(any(one.links[link]) for link in used) for one in lab.history().readings))
        if exported:
            until(lambda: reported(lab) >= set(range(1, 1 + info["switches"])))
        assert info["fast_path"] == ("on" if in_kernel else "off")
        assert (info["switch_fast_path"] == "on") == (scheme in ("hrsw", "dcube")), info["switch_fast_path"]
        if scheme == "pow":
            assert lab.next_hops("h0", "h10", packets=200).shares
            servers_have_configured_themselves(lab, info)
        if limited:
            packets_of_the_mtu_pass(lab, info["mtu"], *distant(lab), "-4", "-6")
            assert {one.server for one in lab.buffers().channels} == {node["name"] for node in lab.nodes()}
        by_kernel = sum(counts["by kernel"] for counts in lab.stats().servers.values()) if in_kernel else 1
        assert by_kernel > 0
    until(lambda: nothing_left(three, lab_name))


def test_hosts_whose_switches_are_on_another_machine(three: Machines, tmp_path: Path) -> None:
    file, lab_name = tmp_path / "placement.yaml", name()
    file.write_text("m0: [h0-h15]\nm1: [s0-s7]\nm2: [s8-s19]\n")
    info = three.launched(lab_name, "fattree:4", "--scheme", "twolevel", "--placement", str(file))
    with attached(lab_name) as lab:
        assert [part["nodes"] for part in info["machines"]] == [["h0-h15"], ["s0-s7"], ["s8-s19"]]
        assert info["links_cut"] == 16 + 16
        assert_lost(lab)
        packets_of_the_mtu_pass(lab, info["mtu"], "h0", "h15", "-4")
        assert lab.iperf("h0", "h15", seconds=0.3).mbps > 0
        lab.fail("h0", "s0")
        others = [f"h{number}" for number in range(1, 16)]
        lost = {pair for other in others for pair in (("h0", other), (other, "h0"))}
        assert_lost(lab, lost)
        lab.restore("h0", "s0")
        assert_lost(lab)
        for number in range(2):
            end_part(lab, number)
            lab.rejoin(f"m{number}")
            assert all(lab.tables(f"s{switch}")["equal"] for switch in range(20))
            assert_lost(lab)
    until(lambda: nothing_left(three, lab_name))


def test_group_frames_cross_machines_and_links_are_removed_there(three: Machines) -> None:
    lab_name = name()
    info = three.launched(lab_name, "fattree:4", "--scheme", "ecmp", "--broadcast")
    with attached(lab_name) as lab:
        a, b = cut_link(info)
        for change in (lambda: None, lambda: lab.remove("link", a, b), lambda: lab.add("link", a, b)):
            change()
            until(lambda: len(set(reached(lab))) == 16)
            answers = reached(lab)
            assert len(answers) == len(set(answers)), "nobody heard a frame twice"
            assert_lost(lab)
        lab.remove("link", a, b)
        with pytest.raises(UsageError, match="was removed"):
            lab.restore(a, b)
        with pytest.raises(UsageError, match="hosts are added to labs on one machine"):
            lab.add("host", "late", to="s0")
    until(lambda: nothing_left(three, lab_name))


def servers_have_configured_themselves(lab: Lab, info: dict[str, Any]) -> None:
    """One Config and one ACK over each torus link, within a machine or between two; again with a
    machine whose servers were launched again with the addresses that they had."""
    launched, again = info["aacm"], lab.reconfigure()
    for outcome in (launched, again):
        assert outcome["frames"]["config"] == 32
        assert outcome["frames"]["config ack"] >= 32  # more if a Config was retransmitted
        assert outcome["servers"].keys() == {f"h{number}" for number in range(16)}
        assert 0 <= max(outcome["servers"].values()) <= outcome["ms"] + 0.001
    events = [record.event for record in lab.events(kinds=["configured"])]
    assert [event.to_json()["servers"] for event in events] == [launched["servers"], again.servers]
    end_part(lab, 1)
    lab.rejoin("m1")
    assert_lost(lab)
    assert lab.reconfigure().frames["config"] == 32


def reported(lab: Lab) -> set[int]:
    """The switches of which flows have come to the collector in h0, by number."""
    return {int(number) for number in re.findall(r"^169\.\S+ (\d+)", lab.service_log("collector", "h0"), re.M)}


@pytest.fixture(scope="module")
def lab(three: Machines) -> Iterator[Lab]:
    lab_name = name()
    three.launched(lab_name, "bcube:4,1", "--scheme", "brp", "--sflow", "h15")
    with attached(lab_name) as attached_lab:
        yield attached_lab


def test_all_pairs_of_a_bcube_answer(lab: Lab) -> None:
    assert len(lab.info()["machines"]) == 3
    all_pairs_answer(lab, lab.info())


def test_programs_run_where_their_host_is(lab: Lab) -> None:
    for host in distant(lab):
        done = lab.run(host, ["sh", "-c", "ip -br addr; cat; echo wrong >&2; exit 3"])
        assert done.returncode == 3
        assert done.stderr == "wrong\n"
        address = next(node["ipv4"] for node in lab.nodes() if node["name"] == host)
        assert address in done.stdout
    words = [*DCNLAB, "exec", lab.config.name, distant(lab)[1], "cat"]
    text = "line\n" * 100_000
    assert subprocess.run(words, input=text, capture_output=True, text=True, check=True).stdout == text


def test_a_program_ends_with_its_client(lab: Lab) -> None:
    mark = f"{secrets.randbelow(10**6) + 10**6}"
    words = [*DCNLAB, "exec", lab.config.name, distant(lab)[1], "sleep", mark]
    with subprocess.Popen(words) as client:
        until(lambda: running(mark))
        client.kill()
    until(lambda: not running(mark))


def running(mark: str) -> bool:
    """Whether a program runs with this as its only argument."""
    wanted = b"sleep\0" + mark.encode() + b"\0"
    for process in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if process.name.isdigit() and (process / "cmdline").read_bytes() == wanted:
                return True
    return False


def test_measurements_cross_machines(lab: Lab) -> None:
    a, b = distant(lab)
    before = lab.counters().bytes
    assert lab.iperf(a, b, seconds=1).mbps > 0
    assert lab.counters().bytes > before + 100_000
    assert lab.traceroute(a, b).hops[-1] == b
    assert lab.route(a, b)[0] == a
    assert lab.ping(a, b).held
    stream = lab.stream(a, b, seconds=0.2)
    assert stream.sent >= stream.received >= 10
    assert stream.lost == stream.sent - stream.received
    traced = lab.trace(a, b)
    assert traced.held
    assert [hop.node for hop in traced.hops] == lab.route(a, b)
    assert [hop.ms for hop in traced.hops] == sorted(hop.ms for hop in traced.hops)
    for pattern, flows in (("incast", 15), ("all-to-all", 240)):
        sent = lab.overload(pattern, frames=2)
        assert (sent.sent, sent.unsent) == (2 * flows, 0)
        assert sent.lost == sent.sent - sent.received < sent.sent


def test_data_is_replicated_to_servers_of_all_machines(lab: Lab) -> None:
    replicated = lab.replicate("h0", ("h1", "h6", "h15"), size=300_000)
    assert replicated.held
    assert replicated.pipeline is not None
    for transfer in (replicated.complete_graph, replicated.pipeline):
        assert [*transfer.sha256] == ["h0", "h1", "h6", "h15"]
        assert transfer.seconds > 0


def test_keys_are_on_all_machines(lab: Lab) -> None:
    """Whichever machines have the servers that ask and those that hold a key."""
    a, b = distant(lab)
    value = secrets.token_bytes(200_000)
    for key, origin in (("colour", a), ("taste", b)):
        holders = lab.put(key, value, replicas=3, origin=origin)
        assert [place.bytes for place in lab.where(key, b)][:3] == [len(value)] * 3
        assert lab.find(key, a) == (holders[0], value)
    assert {entry.key for entry in lab.keys(b)} == {"colour", "taste"}
    lab.delete("colour", b)
    assert lab.get("colour", a) is None


def test_flows_cross_machines(lab: Lab) -> None:
    flows = lab.traffic("permutation", sizes="fixed:20K", timeout=60)
    assert (flows.held, flows.flows, flows.failed) == (True, 16, 0)
    assert 0 < flows.fct_median_ms <= flows.fct_p99_ms
    with pytest.raises(UsageError, match="no congestion control nonesuch"):
        lab.traffic("permutation", cc="nonesuch")


def test_a_stream_that_nobody_receives_is_one_error(lab: Lab) -> None:
    a, b = distant(lab)
    lab.fail(b)
    with pytest.raises(LabError, match="no packet of the stream arrived"):
        lab.stream(a, b, seconds=1000)
    lab.restore(b)


def test_a_program_on_another_machine_has_a_terminal(lab: Lab) -> None:
    """It is resized while bash waits for keys: before each prompt bash reads the size and sets it again, and
    what comes between is lost."""
    shell = (*DCNLAB, "exec", lab.config.name, distant(lab)[1], "--", "bash", "--norc")
    terminal = Terminal(*shell, size=(22, 66))
    try:
        terminal.wait_for(r"bash-\S+# ")
        terminal.type("tty; stty size\n")
        terminal.wait_for(r"/dev/pts/\d+\s+22 66\s[\s\S]*# ")
        terminal.resize(33, 77)
        terminal.type("until stty size | grep '^33 77'; do sleep 0.1; done\n")
        terminal.wait_for(r"[^^]33 77\s")
        terminal.type("sleep 1000\n")
        terminal.interrupt(r"\^C[\s\S]*# ")
        terminal.repeat("echo $((6 * 7))\n", r"42\s")
        terminal.type("exit 3\n")
        assert terminal.code() == 3
    finally:
        terminal.close()


def test_a_program_whose_output_nobody_reads_ends(lab: Lab) -> None:
    """By SIGPIPE, as on one machine."""
    _, b = distant(lab)
    exec_ = subprocess.Popen(
        [*DCNLAB, "exec", lab.config.name, b, "--", "yes"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert exec_.stdout is not None
    assert exec_.stderr is not None
    assert exec_.stdout.read(4) == b"y\ny\n"
    exec_.stdout.close()
    assert exec_.wait(TIMEOUT) != 0
    assert exec_.stderr.read() == b""
    assert lab.run(b, ["pgrep", "-x", "yes"]).returncode == 1


def test_what_looks_into_a_lab_sees_all_machines(lab: Lab) -> None:
    a, b = distant(lab)
    steps = lab.explain(a, b)
    assert [step["node"] for step in steps] == lab.route(a, b)
    assert [step["installed"] for step in steps] == [None if step["node"][0] == "h" else True for step in steps]
    names = [node["name"] for node in lab.nodes()]
    stats = lab.stats()
    assert [*stats.servers, *(one.switch for one in stats.switches)] == names
    assert list(dict.fromkeys(port.switch for port in stats.ports)) == [
        name for name in names if name[0] == "s"
    ]
    assert {name.split(" ")[0] for name in lab.overruns().places} >= {a, b}


def test_what_must_hold_is_checked_on_all_machines(lab: Lab) -> None:
    """Also with a cut link, and with an entry too many in a switch of another machine."""
    lab.fail(*cut_link(lab.info()))
    checked = lab.invariants(within=TIMEOUT)
    assert (checked.asked, checked.violations, checked.unsettled) == (240, 0, "")
    lab.restore(*cut_link(lab.info()))
    far = registry.fabric("bcube:4,1").name(max(nodes_of(lab, 2)))
    control = ["ovs-ofctl", "-O", "OpenFlow13"]
    assert lab.run(far, [*control, "add-flow", far, "dl_type=0x88b5,actions=drop"]).returncode == 0
    checked = lab.invariants(within=TIMEOUT, most=20)
    assert (checked.violated, checked.wrong_tables) == (("wrong_tables",), [far])
    assert lab.run(far, [*control, "del-flows", far, "dl_type=0x88b5"]).returncode == 0


def test_switches_of_all_machines_send_to_a_collector(lab: Lab) -> None:
    """Their counters arrive, by sFlow, from an address of each machine."""
    collects(lab, "h15", 6343)
    every = {f"{port.switch}-eth" for port in lab.stats().ports}
    until(lambda: every <= set(re.findall(r"s\d+-eth", lab.service_log("collector", "h15"))))
    agents = set(re.findall(r"169\.254\.(\d+)\.\d+", lab.service_log("collector")))
    assert agents == {"64", "66", "68"}
    assert [one.node for one in lab.stop_service("collector")] == ["h15"]


def collects(lab: Lab, server: str, port: int) -> None:
    """Have a server print what comes to a port."""
    words = [sys.executable, "-uc", _COLLECT, str(port)]
    lab.serve("collector", server, words, ready="log:listening")


def test_links_between_machines_are_impaired_at_both_ends(lab: Lab) -> None:
    switch, server = sorted(cut_link(lab.info()), reverse=True)
    others = [node["name"] for node in lab.nodes() if node["kind"] == "server" and node["name"] != server]
    target = next(name for name in others if lab.route(server, name)[1] == switch)
    back = lab.route(target, server)[-2] == switch
    assert [one.link for one in lab.impair(server, switch, delay="30ms")] == [(server, switch)]
    assert [one.impairments for one in lab.impairments()] == [{"delay": "30ms"}]
    assert lab.ping(server, target).rtt_ms.p50 > 30 * (1 + back)
    assert {queue["node"] for queue in lab.queues()} <= {server, switch}
    lab.impair(server, switch, clear=True)
    assert lab.impairments() == []


def test_the_picture_has_the_whole_lab(lab: Lab) -> None:
    a, b = distant(lab)
    client = TestClient(interface(lab, Broadcast(lab)))
    for path in (
        "drawing",
        "state",
        f"paths/{a}/{b}",
        f"next-hops/{b}",
        "stats",
        "impairments",
        "nodes/s0/flows",
    ):
        assert client.get(f"/{path}").status_code == 200, path
    drawn = client.get("/drawing").json()["nodes"]
    assert [node["ipv4"] for node in drawn] == [node["ipv4"] for node in lab.nodes()]
    assert client.post(f"/nodes/{a}/fail").json()["up"] is False
    assert client.get("/state").json()["down"] == lab.info()["down"] != []
    client.post(f"/nodes/{a}/restore")
    snapshot = top.once(lab, 0.1)
    assert (len(snapshot.links), snapshot.down) == (len(lab.counters().links), 0)


def test_a_dead_agent_is_known_everywhere(lab: Lab) -> None:
    """Its links count as down until it runs again; the tables of all machines follow."""
    _, b = distant(lab)
    lab.kill(b)
    until(lambda: lab.info()["restarts"].get(f"agent of {b}") == 1 and lab.info()["down"] == [])
    assert lab.invariants(within=TIMEOUT).violations == 0


def test_wrong_requests_are_one_line(lab: Lab) -> None:
    with pytest.raises(UsageError, match="no node 'h99'"):
        lab.tables("h99")
    with pytest.raises(UsageError, match="delay must be written as in"):
        lab.impair("h0", delay="long")
    with pytest.raises(UsageError, match="were given their addresses"):
        lab.reconfigure()


def test_the_machine_of_the_host_has_the_image(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its engine is asked, not that of the machine of the client."""
    monkeypatch.setattr(engines, "exported", None)
    _, b = distant(lab)
    with pytest.raises(UsageError, match="image: podman:none: podman "):
        lab.popen(b, ["true"], image="podman:none")
    with pytest.raises(UsageError, match="image: podman:none: podman "):
        lab.serve("none", b, ["true"], image="podman:none")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--controller", "remote:127.0.0.1:1"), "use an address that all machines reach"),
        (("--controller", "remote:10.99.0.1:1"), "no controller answers at 10.99.0.1:1"),
        (("--controller", "app:switch.py", "--rest-port", "8080"), "rest_port needs a lab on one machine"),
        (("--placement", "/nowhere"), "placement /nowhere: No such file"),
    ],
)
def test_what_a_lab_on_machines_cannot_be(three: Machines, words: tuple[str, ...], says: str) -> None:
    done = three.up("bcube:2,1", "--scheme", "brp", "-d", *words)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert says in done.stderr
