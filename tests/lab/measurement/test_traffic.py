"""Many flows at once in real labs: completion times, slowdowns, failures, and beside them the prediction."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from dcnlab.cli.outcome import show
from dcnlab.experiments import matrix
from dcnlab.experiments.prediction import with_predictions
from dcnlab.lab.client import Lab
from dcnlab.lab.errors import UsageError
from dcnlab.lab.measurement.traffic import Traffic, TrafficResult
from dcnlab.lab.scenario import reading, runner
from dcnlab.traffic.workload import draw
from tests.lab.lines import dcnlab
from topos.registry import fabric

SPEC = "hypercube:2"


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab(SPEC, "ecmp", rate="4Mbit") as running:
        yield running


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"pattern": "incast", "load": 0.5, "count": 2}, "not both"),
        ({"pattern": "incast", "transport": "udp", "cc": "bbr"}, "cc is for TCP"),
        ({"pattern": "incast", "transport": "sctp"}, "transport must be one of tcp, udp, mptcp"),
        ({"pattern": "incast", "cc": "no such"}, "cc must match"),
    ],
)
def test_wrong_arguments_are_one_line(arguments: dict[str, object], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        Traffic.from_json(arguments)


@pytest.mark.lab
def test_flows_are_those_that_the_evaluator_draws(lab: Lab) -> None:
    words = (
        "permutation",
        "--sizes",
        "fixed:20K",
        "--load",
        "0.2",
        "--for",
        "1s",
        "--seed",
        "3",
        "--timeout",
        "60s",
    )
    done = dcnlab("traffic", lab.config.name, *words, "--predict", "--json")
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    assert shown.pop("held")
    predicted, throughput = shown.pop("predicted"), shown.pop("throughput")
    result = TrafficResult.from_json(shown)
    assert throughput["measured_mbps"] == result.mbps
    # On average each server sends at 0.2 of a link's rate, and could at twice the rate.
    assert 0 < throughput["predicted_mbps"] < throughput["optimum_lower_mbps"]
    assert throughput["optimum_lower_mbps"] <= throughput["optimum_upper_mbps"]
    wanted = Traffic("permutation", "fixed:20K", 0.2, 1.0, seed=3)
    assert result.flows == len(draw(fabric(SPEC), wanted.demand(0.2, 4e6)))
    assert (result.failed, result.errors, result.rate_mbps, result.rate_measured) == (0, {}, 4.0, False)
    assert [(one.sizes, one.flows) for one in result.bins] == [
        ("all", result.flows),
        ("<= 100 KB", result.flows),
    ]
    assert [(one["sizes"], one["flows"], one["failed"]) for one in predicted] == [
        (one.sizes, one.flows, 0) for one in result.bins
    ]
    assert predicted[0]["slowdown_median"] >= 1


@pytest.mark.lab
def test_an_incast_takes_what_the_links_of_the_receiver_need(lab: Lab) -> None:
    done = dcnlab(
        "traffic",
        lab.config.name,
        "incast",
        "--count",
        "2",
        "--sizes",
        "fixed:100K",
        "--timeout",
        "60s",
        "--predict",
    )
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()]
    measured, predicted = (
        next(row for row in rows if row[:2] == [name, "all"]) for name in ("measured", "predicted")
    )
    assert measured[2:4] == predicted[2:4] == ["6", "0"]
    # 600 KB over two links of 4 Mb/s; the token buckets of the links let a first burst pass.
    assert float(measured[6]) > 0.7 * 8 * 600_000 / 8e6 * 1000
    assert "6/6 flows" in done.stdout
    # The receiver has two links of 4 Mb/s, of which headers take a part.
    [line] = [row for row in rows if row[:1] == ["throughput:"]]
    lower, upper = float(line[line.index("optimum") + 1]), float(line[line.index("to") + 1])
    assert 7.5 < lower <= upper < 7.7
    assert 7 < float(line[line.index("predicted") + 1]) <= upper


@pytest.mark.lab
def test_flows_without_a_load_are_sent_again_until_the_time_is_over(lab: Lab) -> None:
    once = lab.traffic("incast", sizes="fixed:1K", count=1)
    again = lab.traffic("incast", sizes="fixed:1K", count=1, seconds=3.0)
    assert (once.flows, again.flows % 3, again.failed) == (3, 0, 0)
    assert again.flows > 3


@pytest.mark.lab
def test_datagrams_and_congestion_controls(lab: Lab) -> None:
    udp = lab.traffic("incast", sizes="fixed:20K", count=1, transport="udp")
    assert (udp.flows, udp.failed) == (3, 0)
    assert lab.traffic("stride:by=2", sizes="fixed:1K", count=1, cc="reno", timeout=60).held
    with pytest.raises(UsageError, match=r"this kernel has no congestion control nosuch: it has .*reno"):
        lab.traffic("incast", count=1, cc="nosuch")
    with pytest.raises(UsageError, match="single path"):
        lab.traffic("incast", count=1, transport="mptcp")
    with pytest.raises(UsageError, match="no such server"):
        lab.traffic("incast:to=4")


@pytest.mark.lab
def test_files_are_found_from_the_callers_folder(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pairs.txt").write_text("h0 h3\nh2 h1\n")
    Path("own.cdf").write_text("1000 0\n2000 1\n")
    result = lab.traffic("pairs.txt", sizes="own.cdf", count=2, timeout=60)
    assert (result.flows, result.failed) == (4, 0)
    assert [one.sizes for one in result.bins] == ["all", "<= 10 KB"]
    Path("own.cdf").write_text("1000 0\n2000 much\n")
    done = dcnlab("traffic", lab.config.name, "pairs.txt", "--sizes", "own.cdf")
    assert (done.returncode, done.stderr) == (2, "dcnlab: own.cdf:2: must be a size in bytes and a share\n")


@pytest.mark.lab
def test_flows_that_cannot_arrive_fail_and_are_counted(lab: Lab) -> None:
    lab.fail("h3")
    try:
        done = dcnlab(
            "traffic",
            lab.config.name,
            "all-to-all",
            "--count",
            "1",
            "--sizes",
            "fixed:1K",
            "--timeout",
            "2s",
            "--json",
        )
    finally:
        lab.restore("h3")
    answer = json.loads(done.stdout)
    assert done.returncode == 1
    assert not answer["held"]
    assert (answer["flows"], answer["failed"]) == (12, 6)
    assert sum(answer["errors"].values()) == 6
    assert answer["bins"][0]["fct_median_ms"] > 0


@pytest.mark.lab
def test_links_without_a_rate_are_as_fast_as_a_flow_alone(lab: Lab) -> None:
    lab.impair(rate="none")
    try:
        result = lab.traffic("permutation", sizes="fixed:10K", timeout=60)
        assert (result.load, result.flows, result.failed, result.rate_measured) == (0, 4, 0, True)
        assert result.rate_mbps > 0
        with pytest.raises(UsageError, match="have no rate"):
            lab.traffic("permutation", load=0.5)
    finally:
        lab.impair(clear=True)


@pytest.mark.lab
def test_scenarios_have_flows_measured_and_predicted(
    lab: Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "flows.yaml"
    (tmp_path / "pairs.txt").write_text("h0 h3\n")
    file.write_text(
        f"topology: {SPEC}\nscheme: ecmp\ntraffic:\n"
        "  - flows: {pattern: pairs.txt, sizes: fixed:10K, load: 0.1, for: 1s, seed: 2, timeout: 60s}\n"
        "  - flows: incast\n    name: burst\n    count: 1\n    sizes: fixed:10K\n    timeout: 60s\n"
        "expect:\n  - flows.failed == 0\n  - flows.slowdown_p99 > 0\n  - burst.flows == 3\n"
    )
    result = with_predictions(runner.check(reading.read(file), lab, lambda _: None))
    assert result.held, result.results
    assert result.results["flows"]["flows"] > 0
    flows = result.to_json()["flows"]
    assert set(flows) == {"flows", "burst"}
    for name, of in flows.items():
        by_size = (of["measured"], of["predicted"])
        sizes, counts = ([[one[key] for one in source] for source in by_size] for key in ("sizes", "flows"))
        assert sizes[0] == sizes[1] == ["all", "<= 10 KB"]
        assert counts[0] == counts[1] == [result.results[name]["flows"]] * 2
    assert flows["burst"]["predicted"][0]["slowdown_median"] > 1
    show(result)
    words = capsys.readouterr().out.split()
    assert words.count("throughput:") == 2
    assert words.count("measured") - 4 == words.count("predicted") - 2 == 4
    figures = {(name, figure): value for _, _, name, figure, value in result.rows()}
    assert figures["burst", "optimum_upper_mbps"] == flows["burst"]["throughput"]["optimum_upper_mbps"] > 0
    assert figures["burst", "predicted_mbps"] > 0


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ("{pattern: incast, size: 1}", r":4: traffic\[0\].flows.size: unknown key: did you mean sizes"),
        ("{pattern: nosuch}", r":4: traffic\[0\].flows: unknown traffic 'nosuch'"),
        ("{pattern: incast, sizes: some}", r":4: traffic\[0\].flows: sizes: there is neither"),
        ("{pattern: incast, for: 5}", r":4: traffic\[0\].flows.for: must be a time"),
        ("{pattern: incast, load: 0.1, count: 2}", "a load or a number of flows, not both"),
        ("{sizes: fixed:1M}", "must be a pattern such as incast, not None"),
        ("3", "must be a pattern such as incast, not 3"),
        ("{pattern: incast, at: 1s}\n    at: 2s", "at is given twice"),
    ],
)
def test_wrong_entries_are_one_line(tmp_path: Path, entry: str, says: str) -> None:
    file = tmp_path / "flows.yaml"
    file.write_text(f"topology: {SPEC}\nscheme: ecmp\ntraffic:\n  - flows: {entry}\n")
    with pytest.raises(UsageError, match=says):
        reading.read(file)


def test_both_forms_of_an_entry_are_one(tmp_path: Path) -> None:
    options = {"sizes": "websearch", "load": 0.2, "for": "2s"}
    here = {"topology": SPEC, "scheme": "ecmp"}
    within, beside = (
        reading.from_values({**here, "traffic": [entry]}).traffic[0].wanted
        for entry in ({"flows": {"pattern": "incast", **options}}, {"flows": "incast", **options})
    )
    assert within == beside == Traffic("incast", "websearch", 0.2, 2.0)


def test_a_sweep_finds_the_options_of_flows() -> None:
    document = {"topology": SPEC, "scheme": "ecmp", "traffic": [{"flows": {"pattern": "incast", "load": 0.1}}]}
    assert (
        matrix.find(document, "flows.load") == matrix.find(document, "load") == ("traffic", 0, "flows", "load")
    )
    assert matrix.find(document, "flows.sizes") == matrix.find(document, "sizes") == ("traffic", 0, "sizes")
    wanted = []
    for run in matrix.runs(document, {"load": [0.2], "sizes": ["fixed:5K"]}, 2):
        [entry] = reading.from_values(run.document).traffic
        wanted.append(entry.wanted)
    assert wanted == [Traffic("incast", "fixed:5K", 0.2, seed=seed) for seed in (1, 2)]
