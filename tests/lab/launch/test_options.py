"""The options of a lab, stated once: command line, scenario files, Python and agents agree on them."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from dcnlab.cli import loading
from dcnlab.cli.app import app
from dcnlab.lab.client import Lab
from dcnlab.lab.errors import UsageError
from dcnlab.lab.options.config import LabConfig, lab_options
from dcnlab.lab.scenario.model import Options, Scenario
from dcnlab.lab.scenario.reading import read
from tests.lab.lines import dcnlab

SCENARIO = """\
topology: {topology}
scheme: {scheme}
options:
{options}
traffic:
  - {traffic}
expect:
  - {expect}
"""


def scenario(folder: Path, options: dict[str, Any], **parts: str) -> Path:
    """A scenario file with those options."""
    lines = "\n".join(f"  {key}: {json.dumps(value)}" for key, value in options.items())
    common = {"topology": "bcube:4,1", "scheme": "brp", "traffic": "ping: all", "expect": "ping.lost == 0"}
    path = folder / "scenario.yaml"
    path.write_text(SCENARIO.format(options=lines, **{**common, **parts}))
    return path


def test_every_option_is_known_everywhere() -> None:
    import typer

    loading.load(["up"])
    up = typer.main.get_command(app).commands["up"]  # type: ignore[attr-defined]
    command_line = {parameter.name: parameter.default for parameter in up.params}
    for name, field in lab_options().items():
        assert command_line[name] == field.default
        assert Options.model_fields[name].default == field.default
        assert field.metadata["doc"].endswith(".")
    assert set(Options.model_fields) == set(lab_options())
    assert {field.name for field in dataclasses.fields(LabConfig)} - set(lab_options()) == {
        "topology", "scheme", "name", "custom",
    }  # fmt: skip


def test_a_scenario_has_every_option_of_up() -> None:
    """As an option, or as a key of the file; except those about the terminal and what else is run."""
    import typer

    loading.load(["up"])
    up = typer.main.get_command(app).commands["up"]  # type: ignore[attr-defined]
    keys = set(Scenario.model_fields) | set(Options.model_fields)
    assert {parameter.name for parameter in up.params} - keys == {"detach", "json", "script", "test"}


WRONG: list[tuple[dict[str, Any], str, str]] = [
    ({"bufers": 4}, "bufers", "did you mean buffers?"),
    ({"load_balance": "random"}, "load_balance", "'random'"),
    ({"buffers": -1}, "buffers", "-1"),
    ({"multipath": 0}, "multipath", "0"),
    ({"autoconfigure": "maybe"}, "autoconfigure", "'maybe'"),
    ({"delay": 5}, "delay", "not 5"),
    ({"delay": "5"}, "delay", "delay must be written as in 1ms, not '5'"),
    ({"machines": "tcp://10.0.0.1:8786"}, "machines", "has no TLS"),
    ({"machines": "10.0.0.1"}, "machines", "such as tls://10.0.0.1:8786"),
    ({"machines": "tls://h"}, "machines", "such as tls://10.0.0.1:8786"),
    ({"placement": "parts.yaml"}, "placement", "placement needs machines"),
    ({"miswire": "h3:2,h7:1"}, "miswire", "miswire needs autoconfigure"),
    ({"autoconfigure": True}, "autoconfigure", "cannot configure themselves"),
    ({"buffers": 4}, "buffers", "set rate"),
    ({"load_balance": "probe"}, "load_balance", "no parallel paths to probe"),
]


@pytest.mark.parametrize(("options", "name", "says"), WRONG, ids=[str(case[0]) for case in WRONG])
def test_a_wrong_option_is_one_line_in_python_and_in_a_scenario(
    options: dict[str, Any], name: str, says: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError) as in_python:
        Lab("bcube:4,1", "brp", **options).start()
    with pytest.raises(UsageError) as in_scenario:
        read(scenario(tmp_path, options))
    for error in (str(in_python.value), str(in_scenario.value)):
        assert says in error
        assert "\n" not in error
    assert f"scenario.yaml:4: options.{name}" in str(in_scenario.value)


def test_multipath_sets_the_scheme_and_who_reports_failures(tmp_path: Path) -> None:
    config = LabConfig.of("bcube:4,1", "brp", multipath=2)
    assert (config.scheme, config.link_state) == ("brp:multipath=yes,paths=2", "agents")
    assert LabConfig.of("bcube:4,1", "brp", multipath=2, link_state="lab").link_state == "lab"
    assert read(scenario(tmp_path, {"multipath": 2})).config() == config
    assert LabConfig.from_json(json.loads(json.dumps(config.to_json()))) == config
    with pytest.raises(UsageError, match=r"\(brp, dcube-shortest\), not ecmp"):
        LabConfig.of("fattree:4", "ecmp", multipath=2)


def test_agents_get_their_share_of_the_options() -> None:
    config = LabConfig.of("clot:4x4", "pow", flow_control="credits", agents="workers", seed=7)
    options = config.agent_options()
    assert (options.agents, options.seed, options.buffers) == ("workers", 7, 10)
    assert type(options).from_json(json.loads(json.dumps(options.to_json()))) == options


@pytest.mark.lab
def test_a_scenario_spreads_flows_over_two_paths(tmp_path: Path) -> None:
    """Eight flows get more than the 4 Mb/s that one path carries."""
    path = scenario(
        tmp_path,
        {"multipath": 2, "rate": "4Mbit"},
        traffic="{iperf: h0 -> h15, for: 3s, parallel: 8}",
        expect="iperf.mbps > 4.8",
    )
    done = dcnlab("run", str(path), "--json")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.lab
def test_a_scenario_configures_its_servers(tmp_path: Path) -> None:
    path = scenario(tmp_path, {"autoconfigure": True, "agents": "workers"}, topology="clot:4x4", scheme="pow")
    done = dcnlab("run", str(path), "--json")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.lab
def test_a_scenario_swaps_links_and_aacm_finds_them(tmp_path: Path) -> None:
    options = {"autoconfigure": True, "miswire": "h3:2,h7:1"}
    done = dcnlab("run", str(scenario(tmp_path, options, topology="clot:4x4", scheme="pow")))
    assert done.returncode == 1
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("dcnlab: ")]
    assert "AACM found errors" in line
    assert "h3 (0,3)" in line


@pytest.mark.lab
def test_the_demo_takes_options_of_labs() -> None:
    done = dcnlab("demo", "--agents", "workers", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    refused = dcnlab("demo", "--link-state", "nobody")
    assert refused.returncode == 2
    assert len(refused.stderr.splitlines()) == 1
