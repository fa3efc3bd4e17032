"""Metrics of a lab, read by a Prometheus of Debian's, and the queries of the dashboard; samples as a frame."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dcnlab.lab.client import Lab
from dcnlab.lab.errors import LabError, UsageError
from dcnlab.lab.metrics.exporter import serving
from dcnlab.lab.sampling import Sampling
from tests.capabilities import lacking

pytestmark = pytest.mark.lab
EXAMPLES = Path(__file__).parents[3] / "examples" / "grafana"
DASHBOARD = json.loads((EXAMPLES / "dcnlab.json").read_text())
QUERIES = sorted({target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]})
TIMEOUT = 240.0


def eventually(ask: Callable[[], Any]) -> Any:
    """The first true value of a function, called again and again; a failure after four minutes."""
    end = time.monotonic() + TIMEOUT
    while not (value := ask()):
        assert time.monotonic() < end, "nothing came"
        time.sleep(0.1)
    return value


class Prometheus:
    """A Prometheus that reads one exporter; a reading may take as long as it is apart from the next."""

    def __init__(self, port: int, instance: str) -> None:
        self.port, self.instance = port, instance

    def query(self, text: str) -> list[dict[str, Any]]:
        """The samples of an instant query; none while it does not answer yet."""
        url = f"http://127.0.0.1:{self.port}/api/v1/query?{urllib.parse.urlencode({'query': text})}"
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                return list(json.load(answer)["data"]["result"])
        except urllib.error.HTTPError as error:
            pytest.fail(f"{text}: {error.read().decode()}")
        except OSError:
            return []

    def value(self, text: str) -> float | None:
        """The value of a query with one sample."""
        samples = self.query(text)
        return float(samples[0]["value"][1]) if len(samples) == 1 else None


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab("bcube:2,1", "brp", rate="50Mbit") as running:
        yield running


@pytest.fixture(scope="module")
def prometheus(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    program = shutil.which("prometheus")
    if program is None:
        lacking("Prometheus is not installed: apt install prometheus")
    folder = tmp_path_factory.mktemp("prometheus")
    words = [sys.executable, "-m", "dcnlab.cli", "metrics", lab.config.name, "--port", "0"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as exporter:
        assert exporter.stdout is not None
        instance = exporter.stdout.readline().split("/")[2]
        config = (EXAMPLES / "prometheus.yml").read_text()
        config = config.replace("127.0.0.1:9101", instance).replace("5s", "3s")
        (folder / "prometheus.yml").write_text(config)
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        options = [f"--web.listen-address=127.0.0.1:{port}", f"--storage.tsdb.path={folder}/data"]
        log = (folder / "log").open("w")
        with subprocess.Popen(
            [program, f"--config.file={folder}/prometheus.yml", *options], stderr=log
        ) as server:
            yield Prometheus(port, instance)
            server.terminate()
        log.close()
        exporter.terminate()


def test_prometheus_reads_what_the_lab_counts(lab: Lab, prometheus: Prometheus) -> None:
    lab.iperf("h0", "h3", seconds=1)
    lab.fail("h0", "s0")
    counters = lab.counters()
    ends, (to_b, _) = next(
        (ends, carried) for ends, carried in zip(counters.ends, counters.links, strict=True) if carried[0]
    )
    query = f'dcnlab_link_bytes_total{{source="{ends[0]}",destination="{ends[1]}"}}'
    assert eventually(lambda: (value := prometheus.value(query)) is not None and value >= to_b)
    assert eventually(lambda: prometheus.value("sum(1 - dcnlab_link_up)") == 1)
    assert eventually(lambda: prometheus.value("dcnlab_convergence_seconds_count"))
    entries = len(lab.flows("s1")["flows"])
    assert eventually(lambda: prometheus.value('dcnlab_flow_entries{switch="s1"}') == entries)
    assert prometheus.value("dcnlab_up") == 1
    assert {tuple(sorted(item["metric"].items())) for item in prometheus.query("dcnlab_queue_packets")}
    lab.restore("h0", "s0")


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_of_the_dashboard_has_values(query: str, prometheus: Prometheus) -> None:
    text = query.replace("$instance", prometheus.instance).replace("$__rate_interval", "1m")
    assert "$" not in text
    assert eventually(lambda: prometheus.query(text))


def test_samples_are_a_frame(lab: Lab) -> None:
    rows = 2 * len(lab.counters().links)
    with lab.sample(every=0.05) as samples:
        sent = lab.iperf("h0", "h3", seconds=1).mbps * 1e6 / 8
        assert eventually(lambda: len(samples.frame()) > 3 * rows)
    frame = samples.frame()
    assert list(frame.columns) == ["time_s", "source", "destination", "bytes", "mbps"]
    assert len(frame) % rows == 0
    assert frame["time_s"].is_monotonic_increasing
    assert frame["bytes"].max() > 0.9 * sent > 0
    assert frame["mbps"].max() > 0
    with pytest.raises(UsageError, match="positive"):
        lab.sample(every=0)


def test_a_port_that_is_taken_is_one_line(lab: Lab) -> None:
    with serving(lab, 0) as port, pytest.raises(UsageError, match=f"port {port} .*choose another"):
        serving(lab, port).__enter__()


def test_a_lab_that_ends_ends_its_metrics(prometheus: Prometheus) -> None:
    with Lab("bcube:2,1", "brp") as other:
        words = [sys.executable, "-m", "dcnlab.cli", "metrics", other.config.name, "--port", "0", "--json"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as exporter, serving(other, 0) as port:
            assert exporter.stdout is not None
            assert exporter.stdout.readline()
            other.stop()
            assert exporter.wait(TIMEOUT) == 0
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
                assert "dcnlab_up 0.0" in answer.read().decode()


def test_samples_end_with_the_lab() -> None:
    answers = iter([Lab.__new__(Lab)])

    def read() -> Any:
        if (answer := next(answers, None)) is None:
            raise LabError("the lab has ended")
        return answer

    with Sampling(read, 0.001) as samples:
        samples._thread.join(TIMEOUT)
        assert not samples._thread.is_alive()
