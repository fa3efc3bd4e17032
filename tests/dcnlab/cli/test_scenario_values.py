"""Scenario files, without a lab: values, expectations, timelines, and errors that name their place."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import operator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from ruamel.yaml import YAML

from dcnlab.lab.errors import UsageError
from dcnlab.lab.measurement.counters import Counters
from dcnlab.lab.measurement.ping import Ping
from dcnlab.lab.measurement.replicate import Replicate
from dcnlab.lab.measurement.stream import Stream
from dcnlab.lab.scenario import check
from dcnlab.lab.scenario.action import Event
from dcnlab.lab.scenario.expect import OPERATORS, Expectation, read_expectation
from dcnlab.lab.scenario.model import Scenario
from dcnlab.lab.scenario.reading import from_values, read
from dcnlab.lab.scenario.schema import scenario_schema
from dcnlab.lab.scenario.timeline import Step, timeline
from dcnlab.lab.scenario.traffic import TrafficAction, model
from dcnlab.lab.scenario.values import FailureTarget, read_duration, read_target, write_duration

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("*.yaml"))
VALIDATOR = Draft202012Validator(scenario_schema())
BASE = """topology: bcube:2,1
scheme: brp
traffic:
  - ping: all
expect:
  - ping.lost == 0
"""


# --- values -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "seconds"), [("0s", 0), ("1.5s", 1.5), ("200ms", 0.2), ("2min", 120), (" 3 s ", 3)]
)
def test_durations(text: str, seconds: float) -> None:
    assert read_duration(text) == pytest.approx(seconds)


@given(st.one_of(st.integers(), st.floats(), st.none(), st.text(alphabet="0123456789.-+emsin ", max_size=8)))
def test_a_duration_is_never_negative_and_nothing_else_is_raised(value: object) -> None:
    with contextlib.suppress(ValueError):
        assert read_duration(value) >= 0


def test_pairs_and_cuts() -> None:
    assert Stream.targets("h0 -> (1,2)") == {"a": "h0", "b": "(1,2)"}
    assert Ping.targets("all") == {"pairs": "all"}
    assert Ping.targets("h0 -> h1") == {"a": "h0", "b": "h1"}
    assert Replicate.targets("h0 -> h1 (1,2)") == {"source": "h0", "replicas": ("h1", "(1,2)")}
    assert Counters.targets(None) == {}
    assert read_target("link h0  s3") == FailureTarget("link", ("h0", "s3"))
    assert read_target("node s3") == FailureTarget("node", ("s3",))


@pytest.mark.parametrize("text", ["h0", "h0 ->", "h0 -> h1 -> h2", "h0 -> h1 h2", 3, None, ["h0", "h1"]])
def test_what_is_no_pair(text: object) -> None:
    with pytest.raises(ValueError, match="two servers"):
        Stream.targets(text)


@pytest.mark.parametrize("text", ["link h0", "node h0 h1", "cable h0 h1", "", 7])
def test_what_is_no_cut(text: object) -> None:
    with pytest.raises(ValueError, match="link A B"):
        read_target(text)


# --- expectations -------------------------------------------------------------

SPOKEN = {
    "<": operator.lt, "<=": operator.le, "==": operator.eq,
    "!=": operator.ne, ">=": operator.ge, ">": operator.gt,
}  # fmt: skip
numbers = st.integers(-(10**6), 10**6).map(lambda n: n / 100)
expectations = st.builds(
    Expectation,
    st.from_regex(r"[A-Za-z][A-Za-z0-9_-]{0,8}", fullmatch=True),
    st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True),
    st.sampled_from(sorted(OPERATORS)),
    numbers,
)


@given(expectations, st.sampled_from(["", " ", "   "]))
def test_what_is_written_is_read_back(expectation: Expectation, space: str) -> None:
    e = expectation
    assert read_expectation(f"{e.name}.{e.figure}{space}{e.operator}{space}{e.number}") == e


@given(expectations, numbers)
def test_the_verdict_is_the_comparison(expectation: Expectation, value: float) -> None:
    verdict = expectation.judge({expectation.name: {expectation.figure: value}})
    assert verdict.held == SPOKEN[expectation.operator](value, expectation.number)


@given(expectations)
def test_what_was_not_measured_holds_nothing(expectation: Expectation) -> None:
    for results in ({}, {expectation.name: {}}, {expectation.name: {expectation.figure: None}}):
        assert not expectation.judge(results).held


@given(st.text(max_size=30) | st.from_regex(r"\s?[\w-]{1,4}\.\w{1,4}\s?[<=>!]{1,2}\s?[+-]?\d{1,3}(\.\d)?\s?"))
def test_a_text_is_refused_or_says_what_is_read_from_it(text: str) -> None:
    with contextlib.suppress(ValueError):
        expectation = read_expectation(text)
        words = "".join(text.split())
        assert words.startswith(comparison := f"{expectation.name}.{expectation.figure}{expectation.operator}")
        assert float(words.removeprefix(comparison)) == expectation.number


@pytest.mark.parametrize("text", ["a.b < c.d", "a.b", "a < 3", "a.b < 1 and c.d < 2", "__import__('os').x < 1"])
def test_what_is_no_expectation(text: str) -> None:
    with pytest.raises(ValueError, match="must be written as"):
        read_expectation(text)


# --- timelines ----------------------------------------------------------------

times = st.integers(0, 5).map(lambda n: n / 2)
streams = st.builds(
    lambda at, last: model(Stream).model_validate({"stream": "h0 -> h1", "at": f"{at}s", "for": f"{last}s"}),
    times,
    times,
)
failures = st.builds(lambda at: Event.model_validate({"at": f"{at}s", "fail": "node h0"}), times)


def scenario(traffic: list[TrafficAction], events: list[Event]) -> Scenario:
    return Scenario.model_construct(
        topology="bcube:2,1", scheme="brp", traffic=tuple(traffic), events=tuple(events), expect=()
    )


@given(st.lists(streams, max_size=6), st.lists(failures, max_size=6))
def test_a_timeline_is_in_order_and_complete(traffic: list[TrafficAction], events: list[Event]) -> None:
    moments = timeline(scenario(traffic, events))
    assert all(a.at <= b.at for a, b in itertools.pairwise(moments))
    assert (
        [m.step for m in moments].count(Step.BEGIN) == len(traffic) == [m.step for m in moments].count(Step.END)
    )
    assert [m.step for m in moments].count(Step.EVENT) == len(events)
    for stream in traffic:
        steps = [m.step for m in moments if m.action is stream]
        assert steps == [Step.BEGIN, Step.END]
    for a, b in itertools.pairwise(moments):
        if a.at == b.at:
            assert a.step <= b.step


# --- files --------------------------------------------------------------------


def refusal(tmp_path: Path, text: str) -> str:
    path = tmp_path / "scenario.yaml"
    path.write_text(text)
    with pytest.raises(UsageError) as raised:
        read(path)
    said = str(raised.value)
    assert said.startswith(str(path))
    assert "\n" not in said
    return said.removeprefix(str(path))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_reads(path: Path) -> None:
    example = read(path)
    assert example.title
    assert check.LAB not in {action.result_name for action in (*example.traffic, *example.events)}


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("topology", "topologie", ":1: topologie: unknown key: did you mean topology?"),
        ("bcube", "bcub", ":1: topology: unknown topology 'bcub': did you mean bcube"),
        ("brp", "pow", ":2: scheme: pow does not fit bcube:2,1"),
        ("scheme: brp\n", "", ":1: scheme is missing"),
        ("ping: all", "pingg: all", ":4: traffic[0]: needs one of the keys "),
        ("ping: all", "pingg: all", ", verify: did you mean ping?"),
        ("ping: all", "7", ":4: traffic[0]: must be a mapping such as `ping: all`, not 7"),
        ("ping: all", "ping: all\n    iperf: h0 -> h1", ":4: traffic[0]: has iperf and ping: make"),
        ("ping: all", "ping: all\n    ping2: 1", ":5: traffic[0].ping2: unknown key: known here: at, name, "),
        ("ping: all", "flows: {patern: incast}", ":4: traffic[0].flows.patern: unknown key: did you"),
        ("expect:", "repeat: many\nexpect:", ":5: repeat: must be a whole number, not 'many'"),
        ("expect:", "repeats: 2\nexpect:", ":5: repeats: unknown key: did you mean repeat?"),
        ("expect:", "options: {seed: x}\nexpect:", ":5: options.seed: must be a whole number, not 'x'"),
        ("expect:", "options: {nat: x}\nexpect:", ":5: options.nat: must be true or false, not 'x'"),
        ("scheme: brp", "scheme: nope", ":2: scheme: unknown scheme 'nope': known: "),
        ("expect:", "weather: 3\nexpect:", ":5: weather: unknown key: known here: title, "),
        ("expect:", "repeat: 0\nexpect:", ":5: repeat: should be greater than or equal to 1, not 0"),
        ("ping: all", "ping: h0 -> s0", ":4: traffic[0].ping: s0 is a switch"),
        ("ping: all", "ping: h0 -> h9", ":4: traffic[0].ping: no node 'h9'"),
        ("ping: all", "ping: h0 -> h0", ":4: traffic[0].ping: needs two different servers"),
        ("ping: all", "ping: all\n    at: 1", ":5: traffic[0].at: must be a time such as 1.5s"),
        ("ping: all", "ping: all\n    att: 1s", ":5: traffic[0].att: unknown key: did you mean at?"),
        ("ping: all", "ping: all\n    name: 7up", ":5: traffic[0].name: must be a letter"),
        ("ping: all", "ping: all\n  - ping: pairs", ":5: traffic[1]: a result named ping exists"),
        ("ping: all", "ping: all\n    name: lab", ":4: traffic[0]: a result named lab exists"),
        ("ping: all", "iperf: h0 -> h1\n    for: 1s\n    parallel: 0", ":6: traffic[0].parallel: should be"),
        ("ping.lost", "ping.lst", ":6: expect[0]: ping has no figure lst: did you mean lost?"),
        ("ping.lost", "pin.lost", ":6: expect[0]: no result is named pin: did you mean ping?"),
        ("ping.lost == 0", "exit()", ":6: expect[0]: must be written as"),
        ("expect:\n", "events:\n  - at: 1s\n    fail: link h0 h1\nexpect:\n", ":7: events[0].fail: there is"),
        ("expect:\n", "events:\n  - at: 1s\nexpect:\n", ":6: events[0]: needs one of fail, restore, impair,"),
        ("expect:\n", "events:\n  - fail: node h0\nexpect:\n", ":6: events[0]: at is missing"),
        ("expect:\n", "options:\n  dealy: 1ms\nexpect:\n", ":6: options.dealy: unknown key: did you mean"),
        ("expect:\n", "options:\n  delay: fast\nexpect:\n", ":6: options.delay: delay must be written as"),
        ("expect:\n", "scheme: brp\nexpect:\n", ":5: found duplicate key"),
        ("  - ping: all", "  nothing", ":3: traffic: must be a list, not 'nothing'"),
        ("all\n", "[all\n", ":5: "),
    ],
)  # fmt: skip
def test_an_error_names_file_line_and_key(tmp_path: Path, old: str, new: str, says: str) -> None:
    said = refusal(tmp_path, BASE.replace(old, new, 1))
    assert said.startswith(says) if says.startswith(":") else said.endswith(says)


def test_the_schema_is_a_schema() -> None:
    VALIDATOR.check_schema(VALIDATOR.schema)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_fits_the_schema_and_its_own_dump(path: Path) -> None:
    """Editors accept the file; what a model writes is read back as the same model."""
    scenario = read(path)
    for document in (YAML(typ="safe", pure=True).load(path.read_text()), scenario.model_dump(mode="json")):
        assert [error.message for error in VALIDATOR.iter_errors(document)] == []
    assert from_values(scenario.model_dump(), path.parent) == scenario
    assert from_values(json.loads(scenario.model_dump_json()), path.parent) == scenario


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("topology:", "topologie:"), ("ping: all", "ping: 3"), ("ping: all", "ping: all\n    at: 1"),
        ("ping: all", "pingg: all"), ("ping.lost == 0", "exit()"), ("scheme: brp\n", ""),
        ("expect:", "events:\n  - at: 1s\n    fail: link h0\nexpect:"),
        ("expect:", "options: {buffers: -1}\nexpect:"),
        ("expect:", "events:\n  - {at: 1s, fail: node h0, restore: node h0}\nexpect:"),
    ],
)  # fmt: skip
def test_the_schema_refuses_what_reading_refuses(tmp_path: Path, old: str, new: str) -> None:
    text = BASE.replace(old, new, 1)
    assert refusal(tmp_path, text)
    assert not VALIDATOR.is_valid(YAML(typ="safe").load(text))


NODES = st.sampled_from(["h0", "h1", "h2", "h3", "(0,1)"])
TIMES = st.integers(0, 5000).map(lambda ms: f"{ms}ms") | st.sampled_from(["1s", "1.5s", "2min"])
PAIRS = st.sampled_from(["h0 -> h1", "h2 -> h3", "h3 -> (0,1)"])
IMPAIRMENTS = st.fixed_dictionaries(
    {"rate": st.integers(1, 900).map(lambda n: f"{n}Mbit")},
    optional={"delay": st.just("2ms"), "loss": st.sampled_from(["1%", "0.5%", "none"])},
)
ENTRIES = st.one_of(
    st.fixed_dictionaries({"stream": PAIRS, "for": TIMES}, optional={"every": st.just("2ms"), "at": TIMES}),
    st.fixed_dictionaries(
        {"ping": st.just("all") | PAIRS}, optional={"size": st.integers(0, 9000), "at": TIMES}
    ),
    st.fixed_dictionaries({"iperf": PAIRS}, optional={"for": st.just("1s"), "udp": st.just("10M")}),
    st.fixed_dictionaries({"replicate": st.just("h0 -> h1 h2")}, optional={"size": st.integers(1, 10**9)}),
    st.fixed_dictionaries({"counters": st.none()}, optional={"at": TIMES}),
    st.fixed_dictionaries(
        {"flows": st.sampled_from(["incast", "stride:by=2"])}, optional={"load": st.just(0.5)}
    ),
    st.fixed_dictionaries(
        {
            "flows": st.fixed_dictionaries(
                {"pattern": st.just("incast")}, optional={"sizes": st.just("fixed:20K")}
            )
        }
    ),
)
EVENTS = st.one_of(
    st.builds(lambda at, verb: {"at": at, verb: "link h0 s0"}, TIMES, st.sampled_from(["fail", "restore"])),
    st.builds(lambda at, node: {"at": at, "fail": f"node {node}"}, TIMES, NODES),
    st.builds(lambda at, to: {"at": at, "impair": "link h* s0", "to": to}, TIMES, IMPAIRMENTS),
    st.builds(lambda at, verb: {"at": at, verb: "controller"}, TIMES, st.sampled_from(["kill", "restart"])),
)
SERVICES = st.fixed_dictionaries(
    {"on": st.sampled_from(["h0", "h*", ["h1", "h2"]]), "run": st.sampled_from(["sleep 5", ["echo", "a b"]])},
    optional={
        "env": st.just({"A": "1"}), "ready": st.sampled_from(["tcp:80", "exit:0", "log:up"]), "at": TIMES,
        "limits": st.just({"cpu": "20%"}), "within": TIMES, "private": st.just(["/tmp"]),
        "figures": st.just({"rate": "([0-9.]+)"}),
    },
)  # fmt: skip
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "rate": st.just("20Mbit"), "seed": st.integers(0, 99), "agents": st.just("workers"),
        "multipath": st.just(2), "datapath": st.just("userspace"), "supervise": st.booleans(),
    },
)  # fmt: skip


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """Scenarios of all kinds of entries, with names so that no two results have the same."""
    sections = {"services": SERVICES, "traffic": ENTRIES, "events": EVENTS}
    document: dict[str, Any] = {
        section: [
            {**entry, "name": f"{section}{number}"}
            for number, entry in enumerate(draw(st.lists(kind, max_size=3, min_size=section == "traffic")))
        ]
        for section, kind in sections.items()
    }
    document |= {"topology": "bcube:2,1", "scheme": "brp", "options": draw(OPTIONS)}
    if draw(st.booleans()):
        document["links"] = [{"link": "h0 s0", **draw(IMPAIRMENTS)}]
        document["expect"] = ["lab.overruns == 0", "lab.servers >= 4"]
        document |= {
            "matrix": {"scheme": ["brp", "wmgr"], "seed": [1, 2]},
            "repeat": 3,
            "title": "made",
            "name": "own",
        }
    return document


@settings(max_examples=60, deadline=None)
@given(documents())
def test_models_survive_their_own_dump(document: dict[str, Any]) -> None:
    """Also as JSON and as YAML; the schema accepts the document and its dump."""
    scenario = Scenario.model_validate(document)
    written = scenario.model_dump(mode="json")
    assert Scenario.model_validate(written) == scenario
    assert Scenario.model_validate(json.loads(scenario.model_dump_json())) == scenario
    text = io.StringIO()
    YAML(typ="safe").dump(written, text)
    assert Scenario.model_validate(YAML(typ="safe").load(text.getvalue())) == scenario
    assert Scenario.model_validate(written).model_dump(mode="json") == written
    for each in (document, written):
        assert [error.message for error in VALIDATOR.iter_errors(each)] == []


@given(st.floats(0, 1e5))
def test_a_duration_is_written_as_it_is_read(seconds: float) -> None:
    assert read_duration(write_duration(seconds)) == seconds


def test_expectations_are_optional(tmp_path: Path) -> None:
    path = tmp_path / "measure.yaml"
    path.write_text(BASE.partition("expect:")[0])
    assert read(path).expect == ()


def test_files_are_relative_to_the_scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own.edgelist").write_text("0 1\n1 2\n2 0\n")
    (tmp_path / "application.py").write_text("from os_ken.base.app_manager import OSKenApp\n")
    (path := tmp_path / "scenario.yaml").write_text(
        "topology: file:own.edgelist,hosts=1\nscheme: shortest\nname: own\n"
        "options: {controller: 'app:application.py'}\ntraffic: [ping: all]\n"
    )
    read_back = read(path)
    assert read_back.topology == f"file:{tmp_path}/own.edgelist,hosts=1"
    assert read_back.options.controller == f"app:{tmp_path}/application.py"
    assert read_back.config().choice().applications == (f"{tmp_path}/application.py",)
    monkeypatch.chdir(tmp_path)
    assert read(Path("scenario.yaml")).topology == "file:own.edgelist,hosts=1"


def test_a_scenario_of_python_values() -> None:
    values = {"topology": "bcube:2,1", "scheme": "brp", "traffic": [{"ping": "h0 -> h3", "at": "1s"}]}
    assert from_values(values).traffic[0].at == 1
    with pytest.raises(UsageError, match=r"^traffic\[0\].ping: no node 'h9'"):
        from_values({**values, "traffic": [{"ping": "h0 -> h9"}]})


def test_what_is_no_mapping_or_no_text(tmp_path: Path) -> None:
    assert "a scenario is a mapping" in refusal(tmp_path, "")
    assert "a scenario is a mapping" in refusal(tmp_path, "- a\n")
    path = tmp_path / "binary.yaml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="not YAML"):
        read(path)
    with pytest.raises(UsageError, match="No such file"):
        read(tmp_path / "missing.yaml")
