"""Programs in hosts: services with logs, readiness and limits; ``Lab.popen`` and ``await``."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from dcnlab import Lab, LabError, UsageError, run_scenario
from dcnlab.lab.emulation.machine import limits
from dcnlab.lab.methods.popen import Process
from dcnlab.lab.program import Program, read_cpu, read_memory
from dcnlab.lab.scenario.reading import from_values
from dcnlab.lab.scenario.service import Service, in_order
from dcnlab.lab.services.readiness import Readiness
from tests.lab import processes
from tests.lab.lines import dcnlab
from tests.ovs import poll

BASE: dict[str, Any] = {"topology": "bcube:2,1", "scheme": "brp"}


# --- the form of scenarios -------------------------------------------------------------


def service(**keys: Any) -> dict[str, Any]:
    return {**BASE, "services": [{"on": "h0", "run": ["sleep", 9], **keys}]}


def test_a_service_is_read() -> None:
    read = from_values(
        service(run="sh -c 'echo a b'", env={"N": 3}, limits={"cpu": "20%", "memory": "256M"}, private="/tmp")
    ).services[0]
    assert read.run == ("sh", "-c", "echo a b")
    assert read.result_name == "sh"
    program = read.program()
    assert (program.env, program.cpu, program.memory) == ({"N": "3"}, 20.0, 256 << 20)
    assert program.private == ("/tmp",)
    assert from_values(service()).services[0].run == ("sleep", "9")


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"ready": "udp:7"}, "services[0]: ready must be written as tcp:80, log:TEXT or exit:0, not 'udp:7'"),
        ({"ready": "tcp:99999"}, "services[0]: ready must be written as tcp:80"),
        ({"ready": "tcp:0"}, "services[0]: ready must be written as tcp:80"),
        ({"ready": f"exit:{'9' * 5000}"}, "services[0]: ready must be written as tcp:80"),
        ({"run": [""]}, "services[0]: say what to run"),
        ({"run": ["a\0b"]}, "services[0]: no word, variable or folder of a program can contain a null"),
        ({"on": []}, "services[0].on: must not be empty"),
        ({"env": {"A=B": "1"}}, "services[0]: env: 'A=B' is no name of a variable"),
        ({"cwd": "nowhere"}, "services[0].cwd: there is no folder"),
        ({"private": ["/nowhere"]}, "services[0].private: there is no folder /nowhere"),
        ({"limits": {"memory": "9" * 5000}}, "services[0].limits: memory must be a size from 1M"),
        ({"limits": {"cpu": "2"}}, "services[0].limits: cpu must be a share of one processor from 1%"),
        ({"limits": {"memory": "9"}}, "services[0].limits: memory must be a size from 1M, such as 256M"),
        ({"on": "h0 h9"}, "services[0].on: no server is named h9"),
        ({"on": "s*"}, "services[0].on: no server is named s*"),
        ({"after": "dbb"}, "services[0].after: no service is named dbb"),
        ({"after": "sleep"}, "services: the services sleep wait for each other"),
        ({"private": ["tmp"]}, "services[0]: private: 'tmp' must be a folder below /"),
        ({"figures": {"rate": "no group"}}, "services[0]: figures.rate: the expression needs a group"),
        ({"figures": {"rate": "("}}, "services[0]: figures.rate: not a regular expression"),
        ({"figures": {"exit": "(1)"}}, "services[0]: figures: exit must be a new name"),
        ({"imags": "x"}, "services[0].imags: unknown key: "),
        ({"name": "lab"}, "services[0]: a result named lab exists already"),
    ],
)
def test_what_is_wrong_is_said(keys: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError) as raised:
        from_values(service(**keys))
    assert str(raised.value).startswith(says)


def test_a_scenario_does_something() -> None:
    with pytest.raises(UsageError, match="traffic is missing"):
        from_values(BASE)


def test_services_start_after_those_they_wait_for() -> None:
    made = [
        Service.model_validate({"on": "h0", "run": "x", "name": name, "after": after})
        for name, after in (("web", "app"), ("app", "db cache"), ("cache", ""), ("db", "cache"))
    ]
    assert [one.result_name for one in in_order(made)] == ["cache", "db", "app", "web"]


def test_figures_are_the_last_numbers_of_a_log() -> None:
    one = Service.model_validate(
        {"on": "h0", "run": "x", "figures": {"rate": r"rate ([\d.,]+)", "no": "(x)", "part": r"r(\d)?"}}
    )
    assert one.numbers("rate 1.5\nrate 1,234.5\n") == {"rate": 1234.5, "no": None, "part": None}


def test_values() -> None:
    assert (read_cpu("150%"), read_memory("1G"), read_memory("2048K")) == (150, 1 << 30, 2 << 20)
    assert str(Readiness.parse("log:is ready: yes")) == "log:is ready: yes"
    for wrong in ("cpu", "-3%", "0.1%"):
        with pytest.raises(ValueError, match="cpu must be"):
            read_cpu(wrong)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"words": " "}, "^say what to run"),
        ({"words": 5}, "^not a program"),
        ({"words": []}, "^say what to run"),
        ({"words": ["x"], "private": "/tmp"}, "^private must be a list"),
        ({"words": ["x"], "env": 5}, "^not a program"),
        ({"words": ["x"], "cpu": 5}, "^cpu must be a share"),
        ({"words": ["x"], "memory": [1]}, "^memory must be a size"),
    ],
)
def test_programs_that_python_cannot_ask_for(asked: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        Program.of(**asked)


def test_a_machine_without_cgroups_refuses_limits_in_one_line(tmp_path: Path) -> None:
    (mounts := tmp_path / "mounts").write_text("proc /proc proc rw 0 0\n")
    with pytest.raises(UsageError, match="no cgroup controller for memory: leave out limits, or run as root"):
        limits.group("none", 0.0, 1 << 20, mounts)


# --- in a lab ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab("bcube:2,1", scheme="brp") as running:
        yield running


def ended(process: Process) -> tuple[int, str]:
    return process.wait(120), process.output().strip()


@pytest.mark.lab
def test_a_program_runs_beside_others(lab: Lab) -> None:
    process = lab.popen("h0", ["sh", "-c", "echo $WHO; pwd; cat; exit 3"], env={"WHO": "me"}, cwd="/usr")
    assert ended(process) == (3, "me\n/usr")
    assert process.returncode == process.poll() == 3
    process.terminate()  # of no effect
    assert ended(lab.popen("h0", ["getent", "hosts", "h3"]))[1].startswith("10.0.0.4")
    with lab.popen("h1", ["sleep", "1000"]) as endless:
        assert endless.poll() is None
        with pytest.raises(subprocess.TimeoutExpired):
            endless.wait(0.01)
    assert endless.returncode == 128 + 15
    with pytest.raises(UsageError, match="command not found: 'nonesuch'"):
        lab.popen("h0", ["nonesuch"])
    with pytest.raises(UsageError, match="there is no folder /nonesuch"):
        lab.popen("h0", ["true"], cwd="/nonesuch")


@pytest.mark.lab
def test_programs_can_be_awaited(lab: Lab) -> None:
    async def both() -> list[int]:
        async def code(process: Process) -> int:
            return await process

        first, second = (lab.popen(f"h{n}", ["sh", "-c", f"exit {n}"]) for n in (1, 2))
        return list(await asyncio.gather(code(first), code(second)))

    assert asyncio.run(both()) == [1, 2]


@pytest.mark.lab
def test_folders_of_a_hosts_own(lab: Lab, tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "outside").write_text("machine")
    own, file = str(tmp_path), str(tmp_path / "inner" / "file")
    assert ended(lab.popen("h0", ["sh", "-c", f"ls {own}; echo h0 > {file}"], private=[own])) == (0, "inner")
    assert ended(lab.popen("h0", ["cat", file], private=[own])) == (0, "h0")
    assert ended(lab.popen("h1", ["cat", file], private=[own]))[0] != 0
    assert not Path(file).exists()
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "settings").write_text("read")
    words = ["sh", "-c", f"cat settings; ls {own}"]
    assert ended(lab.popen("h2", words, cwd=str(tmp_path / "work"), private=[own])) == (0, "readinner\nwork")
    # Root's, also in the lab of an ordinary user.
    assert ended(lab.popen("h0", ["find", "/var/log", "-type", "f"], private=["/var/log"])) == (0, "")


@pytest.mark.lab
def test_limits_are_imposed(lab: Lab) -> None:
    eat = "x = bytearray(100 << 20); print(len(x))"
    try:
        code, text = ended(lab.popen("h0", [sys.executable, "-c", eat], memory="40M"))
    except UsageError as error:
        assert "limits" in str(error)  # noqa: PT017
        pytest.skip(str(error))
    assert (code, text) == (128 + 9, "")
    assert ended(lab.popen("h0", [sys.executable, "-c", eat], memory="400M")) == (0, str(100 << 20))
    # Under a limit of 10 %, half a second of work takes at least four, however busy the machine is.
    work = "import time\nwhile time.process_time() < 0.5: pass"
    begun = time.monotonic()
    assert ended(lab.popen("h0", [sys.executable, "-c", work], cpu="10%"))[0] == 0
    assert time.monotonic() - begun > 3


@pytest.mark.lab
def test_a_service_is_ready_writes_a_log_and_ends(lab: Lab) -> None:
    words = [sys.executable, "-u", "-m", "http.server", "80"]
    state = lab.serve("web", "h2", words, ready="tcp:80", cwd="/usr")
    assert (state.state, state.exit) == ("running", None)
    fetched = ended(lab.popen("h0", ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "http://h2/"]))
    assert fetched == (0, "200")
    assert "GET / HTTP/1.1" in lab.service_log("web")
    with pytest.raises(UsageError, match="service web runs in h2 already"):
        lab.serve("web", "h2", words)
    done = dcnlab("services", lab.config.name, "--json")
    assert [(one["name"], one["node"], one["state"]) for one in json.loads(done.stdout)] == [
        ("web", "h2", "running")
    ]
    [stopped] = lab.stop_service("web")
    assert (stopped.state, stopped.exit) == ("ended", 128 + 15)
    with pytest.raises(UsageError, match="there is no service nothing"):
        lab.service_log("nothing")


@pytest.mark.lab
def test_a_service_that_is_not_ready(lab: Lab) -> None:
    with pytest.raises(LabError, match="service bad of h1 ended with exit code 4: oh no"):
        lab.serve("bad", "h1", ["sh", "-c", "echo oh no; exit 4"], ready="tcp:81", within=120)
    with pytest.raises(LabError, match=r"service late of h1 was not ready \(log:never\) after 0.1 s"):
        lab.serve("late", "h1", ["sleep", "1000"], ready="log:never", within=0.1)
    assert lab.serve("said", "h1", ["sh", "-c", "echo now; sleep 999"], ready="log:now").state == "running"


@pytest.mark.lab
def test_a_scenario_with_services(tmp_path: Path) -> None:
    """The order, figures of logs in several hosts, a failure that ends the run, and the logs that are kept."""
    document = {
        **BASE,
        "services": [
            {"on": "h*", "name": "client", "at": "0s", "run": ["echo", "rate", 7], "ready": "exit:0",
             "figures": {"rate": r"rate (\d+)"}},
            {"on": "h0", "name": "second", "after": "first", "run": "sh -c 'date +%s.%N; sleep 99'",
             "ready": "log:."},
            {"on": "h1", "name": "first", "run": "sh -c 'sleep 0.2; date +%s.%N'", "ready": "exit:0"},
        ],
        "expect": ["client.rate == 7", "client.exit == 0", "client.instances == 4", "second.running == 1"],
    }  # fmt: skip
    outcome = run_scenario(document, keep=tmp_path)
    assert outcome.held, outcome.to_json()
    first, second = (float((tmp_path / "logs" / log).read_text()) for log in ("h1/first.log", "h0/second.log"))
    assert first < second
    assert sorted(path.name for path in (tmp_path / "logs").iterdir()) == ["h0", "h1", "h2", "h3"]


@pytest.mark.lab
def test_a_lab_that_is_killed_leaves_no_group_of_limits() -> None:
    with Lab("bcube:2,1", scheme="brp") as lab:
        try:
            lab.popen("h0", ["sleep", "7301"], memory="40M")
        except UsageError as error:
            pytest.skip(str(error))

        def groups() -> set[str]:
            """Of the program, once it has been started within its limits."""
            own = set()
            for one in processes.inside(lab):
                with contextlib.suppress(psutil.NoSuchProcess):
                    if one.cmdline() == ["sleep", "7301"]:
                        text = Path(f"/proc/{one.pid}/cgroup").read_text()
                        own |= {*re.findall(r"dcnlab-services/(\S+)", text)}
            return own

        poll(lambda: bool(groups()), 60)
        (group,) = groups()
        assert group in all_groups()
        processes.modules(lab, "dcnlab.lab.session")[0].kill()
        poll(lambda: group not in all_groups(), 60)


def all_groups() -> set[str]:
    """The control groups of programs of all labs; those of other tests come and go meanwhile."""
    folders = os.walk("/sys/fs/cgroup")  # which skips what has gone, as Path.glob does not
    return {name for root, names, _ in folders if root.endswith("/dcnlab-services") for name in names}
