"""Labs on several machines: what is lost, cut off or killed, and who may launch at all."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from dcnlab.lab.client import Lab
from dcnlab.lab.control import runtime
from dcnlab.lab.errors import LabError, UsageError
from tests.lab.cluster import Cluster, Machines, until
from tests.lab.machines import (
    all_answer,
    assert_events_say_what_info_says,
    assert_lost,
    attached,
    cut_link,
    end_part,
    interfaces,
    joined,
    name,
    nodes_of,
    nothing_left,
)
from tests.lab.terminal import DCNLAB
from topos import registry

pytestmark = [pytest.mark.lab, pytest.mark.xdist_group("machines")]
_FETCH = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=60).status)"
_SINK = """\
import socket
with socket.create_server(("", 81)) as listener:
    print("listening", flush=True)
    connection, _ = listener.accept()
with connection, connection.makefile("rb") as stream:
    connection.sendall(b"closed by the server")
    connection.shutdown(socket.SHUT_WR)
    print(len(stream.read()), "bytes")
"""
_SEND = """\
import socket, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[1])), 60) as connection:
    with connection.makefile("rb") as stream:
        print(stream.read().decode())
    connection.sendall(bytes(1000000))
"""


@pytest.fixture(scope="module")
def lab(workers: Cluster) -> Iterator[Lab]:
    lab_name = name()
    workers.launched(lab_name, "bcube:4,1", "--scheme", "brp")
    with attached(lab_name) as attached_lab:
        yield attached_lab


def test_without_the_key_nobody_launches(workers: Cluster, tmp_path: Path) -> None:
    from dcnlab.lab.machines.certificates import Certificates

    Certificates(tmp_path / "other").create()
    environment = {**workers.environment, "DCNLAB_MACHINES": str(tmp_path / "other")}
    words = [*DCNLAB, "up", "bcube:2,1", "--scheme", "brp", "-d", "--machines", workers.address]
    done = subprocess.run(
        workers.machines[0].command(words), capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 1
    assert "no scheduler answers at tls://10.99.0.1:8786" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_coordinator_that_is_killed_ends_the_lab_everywhere(three: Machines, tmp_path: Path) -> None:
    """With a placement from a file: nothing on the second machine."""
    file, lab_name = tmp_path / "parts.yaml", name()
    file.write_text("m0: [h0, h1, s0, s2]\nm1: []\nm2: [h2, h3, s1, s3]\n")
    words = [
        "--multipath",
        "2",
        "--placement",
        str(file),
        "--nat",
        "--expose",
        "h0:80=18080,h3:80=18081,h3:81=18082",
    ]
    info = three.launched(lab_name, "bcube:2,1", "--scheme", "brp", *words)
    assert [part["nodes"] for part in info["machines"]] == [["h0-h1", "s0", "s2"], ["h2-h3", "s1", "s3"]]
    lab = Lab.attach(lab_name)
    assert lab.pingall().received == 12
    with contextlib.suppress(UsageError):  # a kernel without Multipath TCP
        compared = lab.mptcp("h0", "h3", seconds=0.2)
        assert compared.paths == compared.mptcp.subflows == 2
    for server, port in (("h0", 18080), ("h3", 18081)):
        reaches_the_outside(three, lab, server, port)
    sends_after_the_server_has_ended(three, lab, "h3", 18082)
    processes = [process for process in Path("/proc").iterdir() if process.name.isdigit()]
    (coordinator,) = [process for process in processes if is_coordinator(process, lab_name)]
    os.kill(int(coordinator.name), signal.SIGKILL)
    path = runtime.socket_path(lab_name)
    until(lambda: not runtime.in_use(path) and nothing_left(three, lab_name))


def reaches_the_outside(three: Machines, lab: Lab, server: str, port: int) -> None:
    """A server is let out by its machine, and its port 80 is one of the coordinator's machine."""
    lab.serve("web", server, [sys.executable, "-m", "http.server", "80"], ready="tcp:80")
    done = three.machines[0].python(_FETCH, f"http://127.0.0.1:{port}/")
    assert done.stdout.strip() == "200", done.stderr
    assert "dev outside" in lab.run(server, ["ip", "route", "get", "192.0.2.1"]).stdout


def sends_after_the_server_has_ended(three: Machines, lab: Lab, server: str, port: int) -> None:
    """What a client sends arrives although the server, at its port 81, has ended its own direction before."""
    lab.serve("sink", server, [sys.executable, "-c", _SINK], ready="log:listening")
    done = three.machines[0].python(_SEND, str(port))
    assert done.stdout.strip() == "closed by the server", done.stderr
    until(lambda: "1000000 bytes" in lab.service_log("sink", server))


def is_coordinator(process: Path, lab_name: str) -> bool:
    with contextlib.suppress(OSError):
        words = (process / "cmdline").read_bytes().decode().split("\0")
        return "dcnlab.lab.machines" in words and f'"name": "{lab_name}"' in words[-2]
    return False


def lose_the_third(workers: Cluster, lab: Lab) -> None:
    """Kill the worker of the third machine, unless the lab has lost it before; returns when all know of it."""
    if not lab.info()["machines"][2]["lost"]:
        workers.workers[2].kill()
    until(lambda: lab.info()["machines"][2]["lost"])
    until(lambda: "Remove worker addr: tls://10.99.0.3:" in workers.scheduler_log.read_text())


def have_the_third(workers: Cluster, lab: Lab) -> None:
    """Let the third machine rejoin, if an earlier test has left the lab without it."""
    if lab.info()["machines"][2]["lost"]:
        if workers.workers[2].poll() is not None:
            workers.start_again(2)
        lab.rejoin("m2")


def test_the_living_go_on_when_a_machine_is_lost(workers: Cluster, lab: Lab) -> None:
    fabric, gone = registry.fabric("bcube:4,1"), nodes_of(lab, 2)
    dead = {link.index for link in fabric.links() if {link.a.node, link.b.node} & gone}
    lose_the_third(workers, lab)
    until(lambda: set(lab.info()["down"]) == dead)
    assert [part["lost"] for part in lab.info()["machines"]] == [False, False, True]
    assert any("m2 (10.99.0.3) is lost" in line for line in lab.info()["ended"])
    servers = joined(fabric, dead, gone)
    assert len(servers) > 1
    until(lambda: all_answer(lab, servers))
    with pytest.raises(LabError, match="is lost"):
        lab.tables(fabric.name(max(gone)))


def test_a_machine_that_was_lost_rejoins(workers: Cluster, lab: Lab) -> None:
    """It comes back without the link that was cut meanwhile."""
    lose_the_third(workers, lab)
    with pytest.raises(LabError, match="no worker runs there"):
        lab.rejoin("m2")
    a, b = cut_link(lab.info())
    cut = lab.fail(a, b).links
    lab.impair(a, b, loss="1%")
    workers.start_again(2)
    words = [*DCNLAB, "machines", "rejoin", lab.config.name]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=workers.environment)
    assert (done.returncode, done.stdout.partition(" after")[0]) == (0, f"m2 back in {lab.config.name}"), done
    assert lab.info()["down"] == cut
    assert [part["lost"] for part in lab.info()["machines"]] == [False, False, False]
    inside = Lab.attach(f"{lab.config.name}-m2")
    assert [one.impairments for one in inside.impairments()] == [{"loss": "1%"}]
    lab.impair(a, b, clear=True)
    assert_lost(lab)
    lab.restore(a, b)
    assert lab.info()["down"] == []
    with pytest.raises(UsageError, match="no machine of this lab is lost"):
        lab.rejoin()


def test_machines_that_do_not_reach_each_other_go_on_apart(workers: Cluster, lab: Lab) -> None:
    """Both sides notice, and route without the links between them, until the network works again."""
    have_the_third(workers, lab)
    fabric, apart = registry.fabric("bcube:4,1"), nodes_of(lab, 1)
    dead = {link.index for link in fabric.links() if {link.a.node, link.b.node} & apart}
    between = {link.index for link in fabric.links() if len({link.a.node, link.b.node} & apart) == 1}
    workers.machines[1].connect(False)
    until(lambda: set(lab.info()["down"]) == dead)
    assert [part["silent"] for part in lab.info()["machines"]] == [False, True, False]
    assert_events_say_what_info_says(lab)
    until(lambda: all_answer(lab, joined(fabric, dead, apart)))
    inside = Lab.attach(f"{lab.config.name}-m1")
    until(lambda: between <= set(inside.info()["down"]))
    workers.machines[1].connect(True)
    until(lambda: not lab.info()["down"] and not inside.info()["down"])
    until(lambda: lab.pingall().lost == [])  # the tables of the other machines follow a moment later
    assert_events_say_what_info_says(lab)


def test_what_keeps_a_link_down_is_kept_apart_on_all_machines(workers: Cluster, lab: Lab) -> None:
    """A link between machines that is cut by itself and with its node; then one of its machines is lost."""
    have_the_third(workers, lab)
    a, b = next(pair for pair in links_between(lab, nodes_of(lab, 2)) if pair[1].startswith("s"))
    (cut,) = lab.fail(a, b).links
    lab.fail(b)
    assert lab.info().cut == {"links": [cut], "nodes": [b]}
    (stays,) = lab.restore(b).still_down
    assert (stays.link, stays.because) == ([a, b], ["it is cut by itself"])
    assert lab.info().down == [cut]
    lose_the_third(workers, lab)
    until(lambda: len(lab.info().down) > 1)
    (stays,) = lab.restore(a, b).still_down
    assert stays.because == ["m2 does not answer"]
    assert_events_say_what_info_says(lab)
    have_the_third(workers, lab)
    assert lab.info().down == []
    assert_events_say_what_info_says(lab)


def links_between(lab: Lab, nodes: set[int]) -> Iterator[tuple[str, str]]:
    """The ends of links between some nodes and all others."""
    fabric = registry.fabric(lab.config.topology)
    for link in fabric.links():
        if len({link.a.node, link.b.node} & nodes) == 1:
            yield fabric.name(link.a.node), fabric.name(link.b.node)


def test_a_part_that_is_killed_under_traffic_rejoins_and_every_credit_comes_back(three: Machines) -> None:
    """Connections that nobody ends keep the part's namespaces for minutes.  While servers learn of the loss one
    after the other, frames reach other servers than they were sent to."""
    lab_name = name()
    three.launched(lab_name, "torus:3x3", "--scheme", "pow", "--buffers", "3", "--flow-control", "credits")
    with attached(lab_name) as lab:
        here, there = (f"h{min(nodes_of(lab, number))}" for number in (0, 1))

        errors: list[str] = []

        def flow(source: str, target: str) -> None:
            try:
                lab.iperf(source, target, seconds=60)
            except LabError as error:
                errors.append(str(error))

        flows = [threading.Thread(target=flow, args=ends) for ends in ((here, there), (there, here))]
        for each in flows:
            each.start()
        until(lambda: lab.buffers().exhausted > 1)
        end_part(lab, 1)
        for each in flows:
            each.join(30)  # they end at once, not after their time
        assert [error.partition(") ")[0] for error in errors] == ["m1 (10.99.0.2"] * 2
        assert lab.rejoin("m1").machines == ["m1"]
        until(lambda: lab.pingall().lost == [])  # tables of other machines follow a moment later
        until(lambda: not any(one.waiting or one.used for one in lab.buffers().channels))
    until(lambda: nothing_left(three, lab_name))


def test_a_part_that_is_killed_leaves_nothing_and_rejoins(workers: Cluster, lab: Lab) -> None:
    """Its guard is killed: the kernel ends the rest of it."""
    have_the_third(workers, lab)
    end_part(lab, 1)
    until(lambda: [part["lost"] for part in lab.info()["machines"]] == [False, True, False])
    until(lambda: interfaces(workers.machines[1]) == {"lo", "up0"})
    assert lab.rejoin("m1").machines == ["m1"]
    assert lab.info()["down"] == []
    assert_lost(lab)


def knows_failures(lab: Lab) -> bool:
    """Whether an advertisement that an agent has names a link."""
    return any("links known down" in counts for counts in lab.stats().servers.values())


def labelled(lab: Lab) -> bool:
    """Whether servers have the labels of the links that are up, and reach each other by them."""
    with contextlib.suppress(LabError):  # what is up has changed meanwhile
        return lab.label().lost == 0
    return False


def test_agents_that_tell_each_other_learn_that_a_machine_is_lost_and_is_back(three: Machines) -> None:
    """Nobody else tells them of failures, or gives them labels.  A link that was restored meanwhile comes up
    with the machine, although its agent there does not know what it has advertised before."""
    lab_name = name()
    words = ("--scheme", "wmgr", "--autoconfigure", "--link-state", "agents")
    three.launched(lab_name, "torus:3x3", *words)
    with attached(lab_name) as lab:
        fabric, gone = registry.fabric("torus:3x3"), nodes_of(lab, 2)
        dead = {link.index for link in fabric.links() if {link.a.node, link.b.node} & gone}
        cut = next(link for link in fabric.links() if len({link.a.node, link.b.node} & gone) == 1)
        ends = [fabric.name(end.node) for end in (cut.a, cut.b)]
        lab.fail(*ends)
        end_part(lab, 2)
        living = [Lab.attach(f"{lab_name}-m{number}") for number in range(2)]
        until(lambda: all(set(part.info()["down"]) == dead for part in living))
        until(lambda: all_answer(lab, joined(fabric, dead, gone)))
        until(lambda: labelled(lab))
        lab.restore(*ends)
        assert lab.rejoin("m2").machines == ["m2"]
        assert lab.info()["down"] == []
        until(lambda: not knows_failures(lab))
        until(lambda: lab.pingall().held)
        until(lambda: labelled(lab))
    until(lambda: nothing_left(three, lab_name))


def test_without_a_scheduler_the_lab_ends_everywhere(workers: Cluster, lab: Lab) -> None:
    """The last test: there is no cluster after it."""
    path = lab.path
    workers.scheduler.kill()
    until(lambda: not runtime.in_use(path) and nothing_left(workers, path.stem))
