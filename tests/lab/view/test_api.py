"""The interface of a real lab over HTTP, as programs use it: urllib, curl, server-sent events."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
import signal
import stat
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from dcnlab.lab import measurement
from dcnlab.lab.api.stream import STREAMS
from dcnlab.lab.client import Lab
from tests.ovs import poll

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab("bcube:2,1", "brp") as running:
        yield running


@contextlib.contextmanager
def serving(lab: Lab, *words: str) -> Iterator[dict[str, str]]:
    """`dcnlab api` while it serves: what it printed; it ends silently at Ctrl-C."""
    command = [sys.executable, "-m", "dcnlab.cli", "api", lab.config.name, "--json", *words]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert running.stdout is not None
        printed = ""
        while not printed.endswith("}\n"):
            line = running.stdout.readline()
            assert line, running.communicate()[1]
            printed += line
        yield json.loads(printed)
        assert running.poll() is None
    finally:
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=120)
    assert (running.returncode, errors) == (130, "")


@pytest.fixture(scope="module")
def url(lab: Lab) -> Iterator[str]:
    with serving(lab) as printed:
        yield printed["url"]


def ask(url: str, method: str = "GET", body: Any = None, **headers: str) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, headers, method=method)
    with urllib.request.urlopen(request, timeout=240) as answer:
        return json.load(answer)


def refused(url: str, method: str = "GET", body: Any = None, **headers: str) -> tuple[int, str]:
    with pytest.raises(urllib.error.HTTPError) as caught:
        ask(url, method, body, **headers)
    with caught.value as error:
        return error.code, error.read().decode()


def messages(stream: Iterator[bytes]) -> Iterator[tuple[str, str, Any]]:
    """The (type, id, data) of server-sent events."""
    fields: dict[str, str] = {}
    for line in stream:
        key, _, value = line.decode().rstrip("\n").partition(": ")
        if key:
            fields[key] = value
        else:
            if "data" in fields:
                yield fields.get("event", "message"), fields.get("id", ""), json.loads(fields["data"])
            fields = {}


def test_nodes_links_and_tables_are_the_labs(lab: Lab, url: str) -> None:
    assert ask(url + "nodes") == lab.nodes()
    links = ask(url + "links")
    assert [link["number"] for link in links] == list(range(8))
    assert ask(url + "links/0") == ask(url + f"links/{links[0]['a']}-{links[0]['b']}") == links[0]
    node = ask(url + "nodes/s0")
    assert {link["b"] for link in node["links"]} == {"s0"}
    assert ask(url + "nodes/s0/table") == lab.tables("s0")
    assert ask(url + "lab")["topology"] == "bcube:2,1"
    assert [step["node"] for step in ask(url + "paths/h0/h3")] == lab.route("h0", "h3")


def test_links_and_nodes_fail_and_are_restored(lab: Lab, url: str) -> None:
    for what, links in (("links/h0-s0", 1), ("nodes/h1", 2)):
        answer = ask(f"{url}{what}/fail", "POST")
        assert len(answer["links"]) == links
        assert [link["number"] for link in ask(url + "links") if not link["up"]] == sorted(answer["links"])
        assert ask(url + "state")["down"] == sorted(answer["links"])
        assert ask(f"{url}{what}/restore", "POST")["up"] is True
    assert ask(url + "state")["down"] == []


def test_measurements_are_those_of_the_registry(lab: Lab, url: str) -> None:
    known = ask(url + "measurements")
    assert set(known) == set(measurement.known())
    assert known["iperf"]["arguments"]["required"] == ["a", "b"]
    answer = ask(url + "measurements/ping", "POST", {"pairs": [["h0", "h3"], ["h1", "h2"]]})
    assert (answer["held"], answer["sent"]) == (True, 2)
    assert ask(url + "measurements/path", "POST", {"a": "h0", "b": "h3"})["path"] == lab.route("h0", "h3")


def test_events_are_a_list_or_a_stream(lab: Lab, url: str) -> None:
    before = ask(url + "events")[-1]["number"]
    query = f"events?follow=true&state=true&kind=link&kind=converged&after={before}"
    with urllib.request.urlopen(url + query, timeout=240) as stream:
        assert stream.headers["Content-Type"].startswith("text/event-stream")
        told = messages(stream)
        lab.fail("h0", "s0")
        events = [next(told)]
        while not any(kind == "state" and data["down"] for kind, _, data in events):
            events.append(next(told))
        lab.restore("h0", "s0")
        while sum(data.get("kind") == "converged" for _, _, data in events) < 2:
            events.append(next(told))
    for kind, number, data in events:
        assert (int(number) == data["number"] > before) if kind == "message" else data["ended"] == []
    since = ask(f"{url}events?kind=link&after={before}")
    assert [value["up"] for value in since] == [False, True]
    request = urllib.request.Request(
        url + "events?kind=link",
        headers={"Accept": "text/event-stream", "Last-Event-ID": str(since[0]["number"])},
    )
    with urllib.request.urlopen(request, timeout=240) as stream:
        assert next(messages(stream))[2] == since[1]


def test_all_clients_get_all_events_of_one_reader(lab: Lab, url: str) -> None:
    with contextlib.ExitStack() as stack:
        query = "events?follow=true&kind=measurement-ended&after=999999999"
        streams = [stack.enter_context(urllib.request.urlopen(url + query, timeout=240)) for _ in range(12)]
        for stream in streams:
            assert stream.readline() == b"retry: 1000\n"
        lab.ping("h0", "h1")
        first_events = [next(messages(stream))[2] for stream in streams]
    assert len({value["number"] for value in first_events}) == 1


def test_streams_have_a_bound_and_hold_up_no_other_request(lab: Lab, url: str) -> None:
    """They are opened and not read; those that are closed make room again."""
    with contextlib.ExitStack() as stack:
        refused = []
        for _ in range(STREAMS + 20):
            try:
                stack.enter_context(urllib.request.urlopen(url + "events?follow=true&state=true", timeout=240))
            except urllib.error.HTTPError as error:
                refused.append((error.code, "streams are open" in error.read().decode()))
        assert set(refused) == {(503, True)}
        assert len(refused) >= 20
        assert ask(url + "lab")["name"] == lab.config.name

    def opens() -> bool:
        try:
            with urllib.request.urlopen(url + "events?follow=true", timeout=240) as stream:
                return next(messages(stream))[0] == "message"
        except urllib.error.HTTPError:
            return False

    poll(opens, 120)


def test_a_terminal_ends_with_its_stream(lab: Lab, url: str) -> None:
    identifier = ask(url + "nodes/s0/terminal", "POST")["terminal"]
    path = f"{url}terminals/{identifier}"
    with urllib.request.urlopen(path, timeout=240) as stream:
        assert refused(path)[0] == 400  # it is open
        assert ask(path + "/size", "POST", {"rows": 40, "columns": 100})["columns"] == 100
        assert refused(path + "/size", "POST", {"rows": 0, "columns": 100})[0] == 400
        typed = b"stty size; ovs-vsctl get bridge s0 fail_mode; exit\n"
        urllib.request.urlopen(urllib.request.Request(path + "/input", typed), timeout=240).close()
        told, shown = server_sent(stream), b""
        for kind, data in told:
            if kind == "end":
                break
            shown += base64.b64decode(data)
    assert b"40 100" in shown
    assert b"secure" in shown
    assert refused(path + "/input", "POST", "x")[0] == 400


def server_sent(stream: Any) -> Iterator[tuple[str, str]]:
    """Types and data of server-sent events that are not JSON."""
    kind = "message"
    for line in stream:
        key, _, value = line.decode().rstrip("\n").partition(": ")
        if key == "event":
            kind = value
        elif key == "data":
            yield kind, value


def test_the_end_of_the_lab_ends_the_stream() -> None:
    other = Lab("bcube:2,1", "brp").start()
    try:
        with serving(other) as printed:
            url = printed["url"]
            with urllib.request.urlopen(url + "events?follow=true", timeout=240) as stream:
                told = messages(stream)
                assert next(told)[2]["state"] == "ready"
                other.stop()
                *_, (_, _, last), (kind, _, _) = told
            assert (last["state"], kind) == ("ending", "end")
            code, text = refused(url + "nodes")
            assert code == 503
            assert "no lab named" in text
    finally:
        other.stop()


# --- who is let in ------------------------------------------------------------


def test_the_token_is_a_path_or_a_bearer(lab: Lab, url: str) -> None:
    root, token = url.rstrip("/").rsplit("/", 1)
    assert ask(f"{root}/nodes", Authorization=f"Bearer {token}") == lab.nodes()
    for path, headers in ((f"/{token}x/nodes", {}), ("/nodes", {}), ("/nodes", {"Authorization": "Bearer x"})):
        assert refused(root + path, **headers)[0] == 403
    assert refused(url + "nodes", Origin="http://evil.example")[0] == 403
    assert refused(url + "links/0/fail", "POST", Origin="null")[0] == 403
    assert refused(url + "nodes", Host="evil.example")[0] == 400


def test_a_unix_socket_is_its_owners(lab: Lab, tmp_path: Path) -> None:
    path = tmp_path / "lab.sock"
    with serving(lab, "--unix", str(path)) as printed:
        assert printed["unix"] == str(path)
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        curl = ["curl", "-sS", "--unix-socket", str(path), printed["url"] + "nodes"]
        assert json.loads(subprocess.run(curl, capture_output=True, check=True).stdout) == lab.nodes()
        command = [sys.executable, "-m", "dcnlab.cli", "api", lab.config.name, "--unix", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
        assert "Address already in use" in done.stderr
    assert not path.exists()


@pytest.mark.parametrize(
    ("path", "method", "body", "says"),
    [
        ("nodes/h99", "GET", None, "no node 'h99'"),
        ("links/99", "GET", None, "no link number 99"),
        ("links/h0-h3/fail", "POST", None, "no link 'h0-h3'"),
        ("paths/h0/s0", "GET", None, "s0"),
        ("paths/h0/h1?follow=last", "GET", None, "one of heaviest, first"),
        ("events?kind=links", "GET", None, "no kind of event 'links'"),
        ("events?after=-1", "GET", None, "after must be"),
        ("measurements/ipref", "POST", {}, "did you mean iperf"),
        ("measurements/iperf", "POST", {"a": "h0"}, "missing argument b"),
        ("measurements/iperf", "POST", ["h0"], "must be a JSON object"),
        ("measurements/stream", "POST", {"a": "h0", "b": "h1"}, "does not end"),
        ("links/0/impair", "POST", {}, "say what to change"),
        (
            "links/0/impair",
            "POST",
            {"lag": "5ms"},
            "there is no 'lag' in a request for 'impair': known are delay",
        ),
        ("links/0/impair", "POST", {"clear": "yes"}, "'clear' of a request for 'impair' must be true or false"),
        ("nodes/h0/capture?seconds=-1", "GET", None, "seconds must be a number above 0"),
        ("nodes/h0/capture?seconds=9&count=x", "GET", None, "count must be a number"),
        ("nodes/h0/capture?filter=no+such+filter", "GET", None, "tcpdump: "),
        ("nodes/h99/terminal", "POST", None, "no node 'h99'"),
        ("terminals/none", "GET", None, "no such terminal"),
        ("terminals/none/input", "POST", {}, "no such terminal"),
        ("check", "POST", {"title": "x", "topology": "bcube:4,1"}, "scenario.yaml:1: "),
    ],
)
def test_wrong_requests_are_status_400_and_one_line(
    url: str, path: str, method: str, body: Any, says: str
) -> None:
    code, text = refused(url + path, method, body)
    assert code == 400
    assert says in json.loads(text)["error"]


def test_what_is_not_there_names_the_description(url: str) -> None:
    for path, method in (("nothing", "GET"), ("nodes", "POST"), ("links/0/fail", "GET")):
        code, text = refused(url + path, method)
        assert code in (404, 405)
        assert "openapi.json" in json.loads(text)["error"]


# --- the description ----------------------------------------------------------


def test_the_openapi_document_describes_every_request(url: str) -> None:
    document = ask(url + "openapi.json")
    assert document["openapi"].startswith("3.1")
    assert {f"/measurements/{name}" for name in measurement.known()} <= set(document["paths"])
    for path, methods in document["paths"].items():
        for operation in methods.values():
            named = {p["name"] for p in operation["parameters"] if p["in"] == "path"}
            assert named == set(re.findall(r"{(\w+)}", path))
            assert operation["summary"]
            assert not operation["summary"].startswith("Make a")
    schema = document["paths"]["/measurements/iperf"]["post"]["requestBody"]["content"]["application/json"][
        "schema"
    ]
    assert schema["properties"]["seconds"]["minimum"] == 0.1
    # What needs no argument answers as it is described.
    for path, methods in document["paths"].items():
        if "get" in methods and "{" not in path:
            ask(url + path[1:])


class _Loaded(HTMLParser):
    """What a page loads, and where it leads."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.addresses += [value for name, value in attributes if name in ("src", "href") and value]


def test_the_page_shows_it_without_assets_from_elsewhere(url: str) -> None:
    with urllib.request.urlopen(url, timeout=240) as answer:
        text = answer.read().decode()
        assert "script-src 'self'" in answer.headers["Content-Security-Policy"]
    page = _Loaded()
    page.feed(text)
    assert "api.css" in page.addresses
    for address in page.addresses:
        assert address == "data:," or "//" not in address
        if address != "data:,":
            with urllib.request.urlopen(url + address, timeout=240) as answer:
                assert answer.status == 200
    assert f"curl {url.rstrip('/')}/nodes" in text
