"""A scenario in labs for every combination of some values: resumed, with seeds, origin, means and a report."""

from __future__ import annotations

import csv
import functools
import json
import math
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from dcnlab import Lab, UsageError, run_matrix
from dcnlab.cli.sweeping import read_matrix, show_sweep
from dcnlab.evaluator import compare
from dcnlab.experiments import matrix, summary, sweep
from dcnlab.experiments.provenance import provenance
from dcnlab.experiments.report import report
from dcnlab.experiments.sweep import plan
from dcnlab.lab.host_load import HostLoad
from tests.lab.lines import alone

DOCUMENT: dict[str, Any] = {
    "topology": "bcube:2,1",
    "scheme": "brp",
    "options": {"seed": 5},
    "traffic": [
        {"stream": "h0 -> h3", "for": "1s"},
        {"stream": "h1 -> h2", "for": "1s", "name": "other"},
        {"iperf": "h0 -> h1"},
    ],
    "events": [{"at": "1s", "impair": "all", "to": {"rate": "50Mbit"}}],
}
SCENARIO = """
topology: bcube:2,1
scheme: brp
traffic:
  - ping: h0 -> h3
    size: 100
matrix:
  size: [100, 1000]
expect:
  - ping.sent == 1
"""


# --- values and their places ---------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "place"),
    [
        ("scheme", ("scheme",)),
        ("topology", ("topology",)),
        ("rate", ("events", 0, "to", "rate")),  # stands once in the file, so it is not the option of labs
        ("delay", ("options", "delay")),
        ("options.rate", ("options", "rate")),
        ("parallel", ("traffic", 2, "parallel")),
        ("stream.every", ("traffic", 0, "every")),
        ("other.every", ("traffic", 1, "every")),
        ("traffic.1.for", ("traffic", 1, "for")),
    ],
)
def test_a_key_has_one_place(key: str, place: matrix.Place) -> None:
    assert matrix.find(DOCUMENT, key) == place


@pytest.mark.parametrize(
    ("key", "says"),
    [
        ("for", "for stands for traffic.0.for and traffic.1.for: write one of these"),
        ("every", "every stands for traffic.0.every and traffic.1.every: write one of these"),
        ("colour", "colour is neither topology, scheme, an option of labs nor a key"),
        ("bulk.for", "bulk.for: the scenario has nothing named bulk"),
        ("traffic.7.for", "traffic.7.for: there is no 7"),
        ("traffic.0.stream.for", "traffic.0.stream has no keys"),
    ],
)
def test_a_key_without_one_place(key: str, says: str) -> None:
    with pytest.raises(UsageError) as raised:
        matrix.find(DOCUMENT, key)
    assert says in str(raised.value)


def test_every_combination_with_seeds_that_count_up() -> None:
    runs = matrix.runs(DOCUMENT, {"scheme": ["brp", "wmgr"], "delay": ["1ms", "2ms", "3ms"]}, repeat=2)
    assert len(runs) == 12
    assert [(run.repetition, run.seed) for run in runs] == [(1, 5)] * 6 + [(2, 6)] * 6
    assert [run.document["options"]["delay"] for run in runs[:3]] == ["1ms", "2ms", "3ms"]
    assert {run.document["scheme"] for run in runs[:3]} == {"brp"}
    assert all(run.document["options"]["seed"] == run.seed for run in runs)
    assert DOCUMENT["options"] == {"seed": 5}, "the scenario itself stays as it is"
    assert str(runs[0]) == "scheme=brp delay=1ms repetition 1"


def test_words_of_the_command_line() -> None:
    words = ["topology=bcube:2,1,bcube:4,1", "load=0.2,0.6", "rate=10Mbit,20Mbit", "parallel=1,2"]
    assert read_matrix(words) == {
        "topology": ["bcube:2,1", "bcube:4,1"],
        "load": [0.2, 0.6],
        "rate": ["10Mbit", "20Mbit"],
        "parallel": [1, 2],
    }
    for wrong in ("scheme", "scheme=", "=brp"):
        with pytest.raises(UsageError, match="--matrix takes KEY=VALUE"):
            read_matrix([wrong])


def test_what_is_wrong_with_a_run_is_said_before_any_starts() -> None:
    with pytest.raises(UsageError, match=r"^scheme=pow repetition 1: scheme: pow does not fit bcube:2,1"):
        plan(DOCUMENT, {"scheme": ["brp", "pow"]})
    with pytest.raises(UsageError, match=r"matrix.scheme: must not be empty"):
        plan({**DOCUMENT, "matrix": {"scheme": []}})
    with pytest.raises(UsageError, match=r"matrix.scheme: must be a list, not 'brp'"):
        plan(DOCUMENT, {"scheme": "brp"})
    with pytest.raises(UsageError, match=r"options.seed: must be a whole number"):
        plan(DOCUMENT, {"seed": ["x"]})
    with pytest.raises(UsageError, match=r"repeat: should be greater than or equal to 1"):
        plan(DOCUMENT, repeat=0)


def test_a_wrong_key_names_the_file_and_the_nearest_key(tmp_path: Path) -> None:
    (path := tmp_path / "sizes.yaml").write_text(SCENARIO.replace("  size: [", "  schem: ["))
    with pytest.raises(UsageError, match=rf"^{path}: matrix: schem is neither .*: did you mean scheme\?$"):
        plan(path)
    with pytest.raises(UsageError, match=r"^matrix: sise is neither .*: did you mean size\?$"):
        plan(path, {"sise": [1]})


def test_results_that_cannot_be_read_are_left_out(tmp_path: Path) -> None:
    kept = {"key": "a", "values": {}}
    lines = [b"garbage", b"\xff{}", b"[]", b"{}", b"5", json.dumps(kept).encode(), b'{"key": "b']
    (tmp_path / compare.RESULTS).write_bytes(b"\n".join(lines))
    assert compare.load(tmp_path) == {"a": kept}
    with pytest.raises(UsageError, match="is a file: name a folder"):
        sweep.run(plan(DOCUMENT), tmp_path / compare.RESULTS)


def test_the_key_of_a_run_depends_on_what_it_runs(tmp_path: Path) -> None:
    graph = tmp_path / "own.edgelist"
    graph.write_text("0 1\n1 2\n2 0\n")
    document = {"topology": f"file:{graph},hosts=1", "scheme": "shortest", "traffic": [{"ping": "all"}]}

    def keys(**more: Any) -> list[str]:
        return [key for key, _, _ in plan({**document, **more}, repeat=2).runs]

    first = keys()
    assert len(set(first)) == 2
    assert keys() == first
    assert not set(keys(options={"rate": "10Mbit"})) & set(first)
    graph.write_text("0 1\n1 2\n2 3\n3 0\n")
    assert not set(keys()) & set(first)


# --- means -----------------------------------------------------------------------------


def row(scheme: str, load: float, value: float, **more: Any) -> dict[str, Any]:
    return {
        "values": {"scheme": scheme, "load": load}, "repetition": 1, "seed": 1, "topology": "bcube:2,1",
        "scheme": scheme, "results": {"lab": {"overruns": 0}, "stream": {"outage_ms": value, "path": "x"}},
        "expect": [], "held": True, "rejected": False, "warnings": [], "scenario": {},
        "provenance": {**provenance(), "datapath": "userspace", "begun": 0.0}, **more,
    }  # fmt: skip


def test_means_and_intervals() -> None:
    values = [1.0, 2.0, 4.0, 5.5]
    rows = [row("brp", 0.2, value) for value in values]
    rows += [row("brp", 0.2, 1000.0, rejected=True), row("wmgr", 0.2, 7.0), {"values": {}, "error": "no"}]
    means = {(mean.values["scheme"], mean.figure): mean for mean in summary.means(rows)}
    mean = means["brp", "stream.outage_ms"]
    assert (mean.runs, mean.mean) == (4, statistics.mean(values))
    student = 3.182446  # Student's t of three degrees of freedom at 97.5 %, from a table
    assert mean.half == pytest.approx(student * statistics.stdev(values) / math.sqrt(4), rel=1e-6)
    assert means["wmgr", "stream.outage_ms"].half is None


def test_a_report_is_one_page(tmp_path: Path) -> None:
    rows = [row(s, load, 10 * load + n) for s in ("brp", "wmgr") for load in (0.2, 0.6) for n in range(3)]
    rows.append(row("brp", 0.6, 1.0, rejected=True, held=False,
                    expect=[{"text": "lab.overruns == 0", "value": 7, "held": False}]))  # fmt: skip
    text = report("outages", rows)
    assert "13 runs with seeds 1: 12 count; 1 rejected" in text
    assert "lab.overruns == 0 (found 7)" in text
    assert text.count("<svg") == 1
    assert provenance()["kernel"] in text
    assert "http" not in text.replace("http://www.w3.org", "")


def test_flows_stand_beside_their_prediction(capsys: pytest.CaptureFixture[str]) -> None:
    """In the means, in the table of the command and in the report, by size."""

    def flows(load: float, number: int) -> dict[str, Any]:
        sizes = [
            {"sizes": name, "flows": 9, "fct_median_ms": 40 * load + number} for name in ("all", "<= 10 KB")
        ]
        lower = [{**one, "fct_median_ms": 20 * load} for one in sizes]
        rates = {"predicted_mbps": 3 + load, "optimum_lower_mbps": 5.0, "optimum_upper_mbps": 6.0}
        web = {"measured": sizes, "predicted": lower, "throughput": {"measured_mbps": 2.0, **rates}}
        made = row("brp", load, 1.0, flows={"web": web})
        made["results"]["web"] = {"fct_median_ms": 40 * load + number, "mbps": 2.0}
        return made

    rows = [flows(load, number) for load in (0.25, 0.5) for number in range(3)]
    means = {(one.values["load"], one.figure): one for one in summary.means(rows)}
    assert (means[0.5, "web.fct_median_ms"].mean, means[0.5, "web.fct_median_ms"].predicted) == (21, 10)
    assert (means[0.5, "web.mbps"].mean, means[0.5, "web.mbps"].predicted) == (2.0, 3.5)
    assert means[0.5, "stream.outage_ms"].predicted is None
    flat = summary.flat(rows[0])
    assert (flat["predicted.web.fct_median_ms"], flat["predicted.web.mbps"]) == (5, 3.25)
    assert (flat["optimum.web.lower_mbps"], flat["optimum.web.upper_mbps"]) == (5, 6)
    assert [(one[2], one[3]["fct_median_ms"]) for one in summary.by_size(rows)][-2:] == [
        ("measured", 21), ("predicted", 10),
    ]  # fmt: skip
    show_sweep(sweep.Sweep("flows", tuple(rows)))
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[0][-1] == "predicted"
    assert ["10"] in [line[-1:] for line in lines if "web.fct_median_ms" in line]
    text = report("flows", rows)
    assert "Flows by size" in text
    assert "brp, predicted" in text
    assert "predicted" not in report("none", [row("brp", 0.2, 1.0)])


def test_the_load_of_the_machine() -> None:
    before = HostLoad.now()
    deadline = time.monotonic() + 0.2
    while time.monotonic() < deadline:
        pass
    figures = before.figures()
    assert 0 < figures["busy_percent"] <= 100
    assert 0 <= figures["steal_percent"] <= 100
    assert figures["waited_percent"] is None or 0 <= figures["waited_percent"] <= 100


# --- labs ------------------------------------------------------------------------------


@pytest.mark.lab
def test_a_sweep_resumes_and_writes_everything(programs: Path, tmp_path: Path) -> None:
    (path := tmp_path / "sizes.yaml").write_text(SCENARIO)
    outputs = ["--report", "r.html", "--csv", "r.csv", "--parquet", "r.parquet", "--results", "kept"]
    run = functools.partial(alone, programs, tmp_path, "run", path, "--json", *outputs)

    done = run("--matrix", "size=100")
    assert done.returncode == 0, done.stderr
    done = run()
    assert done.returncode == 0, done.stderr
    assert "run 1 of 2: size=100 repetition 1: kept" in done.stderr
    assert "run 2 of 2: size=1000 repetition 1\n" in done.stderr
    answer = json.loads(done.stdout)
    assert [one["values"] for one in answer["runs"]] == [{"size": 100}, {"size": 1000}]
    for one in answer["runs"]:
        assert one["provenance"]["versions"]["openvswitch"]
        assert one["provenance"]["datapath"] in ("userspace", "kernel")
        assert one["scenario"]["options"]["seed"] == one["seed"] == 1
        assert {"overruns", "steal_percent", "busy_percent"} < set(one["results"]["lab"])
    with (tmp_path / "r.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(one["size"], one["ping.received"]) for one in rows] == [("100", "1"), ("1000", "1")]
    import pyarrow.parquet

    assert pyarrow.parquet.read_table(tmp_path / "r.parquet").column("size").to_pylist() == [100, 1000]
    assert "Provenance" in (tmp_path / "r.html").read_text()


@pytest.mark.lab
def test_a_single_run_writes_a_page_and_tables(programs: Path, tmp_path: Path) -> None:
    flows = {"flows": {"pattern": "permutation", "sizes": "websearch:scale=0.01", "count": 8, "seed": 1}}
    scenario = {"topology": "hypercube:2", "scheme": "ecmp", "options": {"rate": "40Mbit"}, "traffic": [flows]}
    (path := tmp_path / "one.json").write_text(json.dumps({**scenario, "expect": ["flows.failed == 0"]}))
    outputs = ["--report", "r.html", "--csv", "r.csv", "--parquet", "r.parquet"]
    done = alone(programs, tmp_path, "run", path, *outputs)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "r.html").read_text()
    for part in (
        "Expectations",
        "flows.failed == 0",
        "Flows by size",
        "predicted",
        "<svg",
        "Provenance",
        "kernel",
    ):
        assert part in text, part
    with (tmp_path / "r.csv").open(newline="") as file:
        assert [(one["seed"], one["flows.failed"]) for one in csv.DictReader(file)] == [("1", "0")]
    assert (tmp_path / "r.parquet").stat().st_size > 0


@pytest.mark.lab
def test_a_rejected_run_does_not_count_and_runs_again(tmp_path: Path) -> None:
    scenario = {"topology": "bcube:2,1", "scheme": "brp", "traffic": [{"ping": "h0 -> h3"}]}
    heard: list[str] = []
    for _ in range(2):
        result = run_matrix({**scenario, "expect": ["lab.servers == 5"]}, results=tmp_path, note=heard.append)
        assert [one["rejected"] for one in result.rows] == [True]
        assert result.means() == []
        assert not result.held
    assert heard.count("run 1 of 1: repetition 1") == 2
    assert result.frame()["rejected"].tolist() == [True]


FLOOD = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(5000):
    s.sendto(bytes(1400), (sys.argv[1], 9))
"""
#: A packet socket that is never read, on an interface of its own; what the kernel says of it.
UNREAD = """
import re, socket, subprocess
from dcnlab.lab.instruments.counting import packet_drops
full = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
full.bind(("lo", 0))
full.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
before = packet_drops.count()
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(100):
    sender.sendto(bytes(1000), ("127.0.0.1", 9))
shown = subprocess.run(["ss", "-0", "-m", "-n"], capture_output=True, text=True, check=True).stdout
print(packet_drops.count() - before, sum(map(int, re.findall(r",d([0-9]+)", shown))))
"""


@pytest.mark.lab
def test_packets_that_nobody_reads_are_counted() -> None:
    """An agent that is stopped reads nothing: its device fills, and the kernel drops what follows."""
    with Lab("bcube:2,1", scheme="brp") as lab:
        done = lab.run("h1", [sys.executable, "-c", UNREAD])
        ours, shown = map(int, done.stdout.split())
        assert 0 < ours == shown, done
        assert lab.overruns().places["h0"] == 0
        lab.pause("h0")
        lab.run("h0", [sys.executable, "-c", FLOOD, "10.0.0.4"])
        after = lab.overruns()
        assert after.places["h0"] > 0
        assert after.packets == sum(after.places.values())
