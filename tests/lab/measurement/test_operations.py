"""Labs in Python: every operation has a typed method, whose result has the keys of the JSON as fields."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
import re
import types
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dcnlab.lab import contract, measurement, operations
from dcnlab.lab.client import Lab
from dcnlab.lab.contract.answer import Answer
from dcnlab.lab.contract.links import LinkChange
from dcnlab.lab.contract.operation import Operation, Route
from dcnlab.lab.control import stopping
from dcnlab.lab.errors import LabError, UsageError
from dcnlab.lab.methods import popen
from dcnlab.lab.methods.arguments import LabArguments
from dcnlab.lab.options.config import lab_options, option_types

#: Python's own types that say what they are.
PLAIN = {str, int, float, bool, bytes, type(None)}


def methods() -> dict[str, Any]:
    members = inspect.getmembers(Lab, inspect.isfunction)
    return {name: method for name, method in members if not name.startswith("_")}


def is_typed(hint: Any) -> bool:
    """Whether a type says what is inside: no dictionaries of anything."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any or hint in (dict, list, tuple):
        return False
    if origin in (dict, types.UnionType, typing.Union, list, tuple) or parts:
        return all(part is ... or is_typed(part) for part in parts)
    return True


def answers() -> list[type[Answer]]:
    """The classes of the contract."""
    names = (f"{contract.__name__}.{one.name}" for one in pkgutil.iter_modules(contract.__path__))
    classes = {
        kind for name in names for _, kind in inspect.getmembers(importlib.import_module(name), inspect.isclass)
    }
    return [kind for kind in classes if issubclass(kind, Answer)]


def result_of(method: Any) -> Any:
    module = inspect.getmodule(method)
    from dcnlab.lab.events.journal import Record
    from dcnlab.lab.session.commands import Offered

    names = {**vars(module), "Record": Record, "Lab": Lab, "Offered": Offered}
    names |= {kind.__name__: kind for kind in answers()}
    for kind in measurement.known().values():
        names.setdefault(kind.result().__name__, kind.result())
    return typing.get_type_hints(method, names)["return"]


def public() -> dict[str, type[Operation[Any]]]:
    return {name: kind for name, kind in operations.known().items() if kind.public}


def test_every_operation_has_a_method_with_its_answer() -> None:
    asking = "".join(inspect.getsource(method) for name, method in methods().items())
    by_hand = [kind for kind in public().values() if kind.by_hand]
    modules = [inspect.getmodule(Lab.capture), inspect.getmodule(Lab.where), inspect.getmodule(Lab.begin)]
    asking += "".join(inspect.getsource(module) for module in modules if module)
    asking += inspect.getsource(popen) + inspect.getsource(stopping)
    assert [kind.name for kind in by_hand if kind.__name__ not in asking] == ["down"]
    for kind in public().values():
        if not kind.by_hand:
            method = getattr(Lab, re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower())
            assert result_of(method) == kind.answer()


@pytest.mark.parametrize("kind", operations.known().values(), ids=operations.known())
def test_an_operation_says_who_performs_it(kind: type[Operation[Any]]) -> None:
    fields = {item.name for item in dataclasses.fields(kind)}
    assert kind.at in fields or kind.route is not Route.NODE or kind.node_of is not Operation.node_of
    assert inspect.getdoc(kind)
    if kind.answer() is not Any:
        assert is_typed(kind.answer())


@pytest.mark.parametrize("name", sorted(set(methods()) - {"ask", "perform"}))
def test_what_a_method_returns_says_what_is_inside(name: str) -> None:
    assert is_typed(result_of(getattr(Lab, name))), name


def test_every_measurement_is_a_typed_method() -> None:
    for name, kind in measurement.known().items():
        method = Lab.route if name == "path" else getattr(Lab, name.replace("-", "_"))
        if name != "path":
            assert result_of(method) is kind.result()
            own = [item.name for item in dataclasses.fields(kind)]
            assert list(inspect.signature(method).parameters) == ["self", *own, "progress"]


def test_every_answer_has_documented_typed_fields() -> None:
    kinds = answers()
    assert len(kinds) > 15
    for kind in kinds:
        assert (kind.__doc__ or "").count("(") or kind.__doc__
        assert not kind.__doc__.startswith(f"{kind.__name__}(")  # what dataclasses write without a docstring
        assert dataclasses.fields(kind) or kind is Answer


def test_options_of_labs_are_typed() -> None:
    assert typing.get_type_hints(LabArguments) == dict(option_types())
    assert list(LabArguments.__annotations__) == list(lab_options())
    assert LabArguments.__total__ is False


def test_a_result_is_also_its_json() -> None:
    value = {
        "links": [3], "up": False, "silent": [], "detection_ms": None, "converged_ms": 4.5,
        "flow_mods": 1, "switches": 1, "tables_ms": 2.0, "turns": 4, "order_ms": 1.5,
    }  # fmt: skip
    change = LinkChange.from_json({**value, "later": 1})
    assert (change.links, change.converged_ms, change.detection_ms, change.repair) == ([3], 4.5, None, None)
    assert change == change.to_json() == {**value, "later": 1}
    with pytest.raises(dataclasses.FrozenInstanceError):
        change.up = True  # type: ignore[misc]
    assert LinkChange(**value) == {**value, "still_down": []}  # type: ignore[arg-type]


# --- in a lab -----------------------------------------------------------------


def nested(value: Any) -> Iterator[Answer]:
    """A result and the results inside it, as its fields hold them."""
    if isinstance(value, Answer):
        yield value
        for field in dataclasses.fields(value):
            yield from nested(getattr(value, field.name))
    elif isinstance(value, list):
        for one in value:
            yield from nested(one)


def check_fields(*results: Any) -> None:
    """Each key of the JSON is a field, and each field without a default a key."""
    for answer in (one for result in results for one in nested(result)):
        fields = {field.name: field for field in dataclasses.fields(answer)}
        needed = {name for name, field in fields.items() if field.default is dataclasses.MISSING}
        assert needed <= {*answer}, answer
        assert {*answer} - {"event"} <= set(fields), answer


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab("bcube:2,1", scheme="brp", rate="100Mbit") as running:
        yield running


@pytest.mark.lab
def test_results_of_operations_have_the_keys_of_their_json_as_fields(lab: Lab, tmp_path: Path) -> None:
    lab.put("colour", b"blue")
    results = [
        lab.info(), lab.nodes(), lab.control(), lab.controller(), lab.fail("h0", "s0"), lab.restore("h0", "s0"),
        lab.tables("s0"), lab.tables("h0"), lab.flows("s0"), lab.queues(), lab.explain("h0", "h3"),
        lab.where("colour"), lab.keys(), lab.restart("h3"),
    ]  # fmt: skip
    check_fields(*results)
    assert lab.info().controller.connected == lab.info().switches == 4
    assert lab.tables("s0").equal
    assert lab.explain("h0", "h3")[-1].delivered
    assert {one.key for one in lab.keys()} == {"colour"}  # noqa: SIM118
    assert lab.queues()[0].dropped == 0


@pytest.mark.lab
def test_packets_are_captured_beside_other_operations(lab: Lab, tmp_path: Path) -> None:
    file = tmp_path / "h0.pcap"
    with lab.capture("h0", file, "icmp") as capture:
        assert lab.ping("h0", "h1").received == 1
    captured = capture.result()
    assert captured == {"node": "h0", "port": None, "file": str(file), "bytes": file.stat().st_size}
    assert captured.bytes > 100
    counted = lab.capture("s0", tmp_path / "s0.pcap", port=1, count=1)
    assert lab.ping("h0", "h1").received == 1
    assert counted.result().bytes > 24


#: Calls, and the words of the command that says the same.
WRONG: list[tuple[str, tuple[Any, ...], str]] = [
    ("ping", ("h0", "h99"), "ping LAB h0 h99"),
    ("stream", ("h0", "h0", 1.0), "stream LAB h0 h0 --for 1s"),
    ("iperf", ("h0", "s0"), "iperf LAB h0 s0"),
    ("traceroute", ("h0", "h9"), "traceroute LAB h0 h9"),
    ("fail", ("h0", "h3"), "fail LAB link h0 h3"),
    ("fail", ("x9",), "fail LAB node x9"),
    ("restore", ("h0", "h3"), "restore LAB link h0 h3"),
    ("tables", ("s99",), "tables LAB s99"),
    ("flows", ("h0",), "flows LAB h0"),
    ("explain", ("h0", "h9"), "explain LAB h0 h9"),
    ("restart", ("nothing",), "restart LAB nothing"),
    ("pause", ("h77",), "pause LAB h77"),
    ("reconfigure", (), "reconfigure LAB"),
    ("attach_interface", ("h0", "eth9"), "attach LAB h0 eth9"),
    ("detach_interface", ("eth9",), "detach LAB eth9"),
    ("detach_interface", ("eth9", "s0"), "detach LAB eth9 --switch s0"),
    ("service_log", ("web",), "services LAB web"),
    ("where", ("colour", "h9"), "kv LAB where colour --from h9"),
    ("mptcp", ("h0", "h9"), "mptcp LAB h0 h9"),
    ("replicate", ("h0", ("h9",)), "replicate LAB h0 h9"),
]


@pytest.mark.lab
@pytest.mark.parametrize(("name", "words", "line"), WRONG, ids=[line for *_, line in WRONG])
def test_a_failed_call_says_what_the_command_says(
    lab: Lab,
    name: str,
    words: tuple[Any, ...],
    line: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from dcnlab.cli import show
    from dcnlab.cli.program import main

    with pytest.raises(LabError) as in_python:
        getattr(lab, name)(*words)
    show.StdoutState.json = False
    monkeypatch.setattr("sys.argv", ["dcnlab", *line.replace("LAB", lab.config.name).split()])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr().err
    assert said == f"dcnlab: {in_python.value}\n"
    assert ended.value.code == (2 if isinstance(in_python.value, UsageError) else 1)


@pytest.mark.lab
def test_a_capture_that_cannot_start_says_why(lab: Lab, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no port 9"):
        lab.capture("h0", tmp_path / "x.pcap", port=9)
    with pytest.raises(LabError, match="syntax error"):
        lab.capture("s0", tmp_path / "x.pcap", "icmp and and", port=1)
    with pytest.raises(UsageError, match="No such file"):
        lab.capture("h0", tmp_path / "no" / "x.pcap")


@pytest.mark.lab
def test_text_is_a_command_of_a_shell(lab: Lab) -> None:
    command = "ip route | head -1"
    done = lab.run("h0", command)
    assert (done.stdout, done.returncode) == (lab.run("h0", ["sh", "-c", command]).stdout, 0)
    assert done.stdout.startswith("default ")
    process = lab.popen("h0", "exit 3")
    process.output()
    assert process.wait() == 3


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"topology": "bcub:2,1"}, "unknown topology 'bcub': did you mean .*bcube"),
        ({"topology": "bcube:2"}, "bcube needs k"),
        ({"topology": "bcube:2,1", "scheme": "brq"}, "unknown scheme 'brq'"),
        ({"topology": "bcube:2,1", "scheme": "dor"}, "dor does not fit bcube:2,1: "),
        ({"topology": "bcube:2,1", "delay": "fast"}, "delay must be written as in 1ms"),
        ({"topology": "bcube:2,1", "colour": "blue"}, "there is no option colour"),
    ],
)
def test_a_lab_that_cannot_be_is_refused_when_it_is_made(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        Lab(**arguments)


@pytest.mark.parametrize(
    "use",
    [
        lambda lab: lab.ping("h0", "h3"),
        lambda lab: lab.run("h0", "true"),
        lambda lab: lab.popen("h0", ["true"]),
        lambda lab: lab.info(),
        lambda lab: lab.put("key", b"value"),
        lambda lab: list(lab.events()),
        lambda lab: lab.capture("h0", "h0.pcap"),
    ],
)
def test_using_a_lab_that_is_not_started_says_what_to_do(use: Callable[[Lab], object]) -> None:
    lab = Lab("bcube:2,1", scheme="brp")
    with pytest.raises(UsageError, match=r"this lab is not started: call start\(\), or use it in a `with`"):
        use(lab)
    lab.stop()
