"""What is done in a lab besides failures and measurements: impairments, scenarios, captures."""

from __future__ import annotations

import os
import signal
import tempfile
import threading
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from dcnlab.lab.api.endpoint import BOOLEAN, INTEGER, LINK, NODE, TEXT, endpoint
from dcnlab.lab.api.resources import Resources, json_object
from dcnlab.lab.client import Lab
from dcnlab.lab.control.rpc import Connection
from dcnlab.lab.errors import UsageError
from dcnlab.lab.options.link_shape import IMPAIRMENTS

#: The longest capture, in seconds and in packets; bytes of a scenario.
_MOST_SECONDS, _MOST_PACKETS, _LARGEST_SCENARIO = 600, 1_000_000, 1 << 20
_CHUNK = 1 << 16


class Actions:
    """Actions in one lab."""

    def __init__(self, lab: Lab, resources: Resources) -> None:
        self._lab, self._resources = lab, resources

    @endpoint("GET", "/impairments", returns="`links`: the links that have impairments, with their values.")
    def impairments(self, _: Request) -> Response:
        """The links that are impaired."""
        return JSONResponse(self._lab.ask("impair"))

    @endpoint(
        "POST", "/links/{link}/impair", parameters={"link": LINK},
        body={
            "type": "object", "additionalProperties": False,
            "properties": {**dict.fromkeys(IMPAIRMENTS, TEXT), "clear": BOOLEAN},
        },
        returns="As `dcnlab impair --json`.",
    )  # fmt: skip
    async def impair(self, request: Request) -> Response:
        """Change delay, loss, rate and errors of a link, such as `{"delay": "5ms"}`; `none` ends one."""
        values, ends = json_object(await request.body()), self._resources.ends(request)
        for name, value in values.items():
            if name not in (*IMPAIRMENTS, "clear"):
                raise UsageError(f"there is no impairment {name!r}: known are {', '.join(IMPAIRMENTS)}, clear")
            if not isinstance(value, bool if name == "clear" else str):
                raise UsageError(f"{name} must be text such as 5ms or 1%; clear must be true or false")
        clear = values.pop("clear", False)
        if not values and not clear:
            raise UsageError('say what to change, such as {"loss": "1%"}, or {"clear": true}')
        words = {"kind": "link", "names": list(ends), "values": values, "clear": clear}
        return JSONResponse(await run_in_threadpool(self._lab.ask, "impair", **words))

    @endpoint(
        "POST", "/check", query={"events": {**BOOLEAN, "default": False}}, body=TEXT,
        body_type="application/yaml", returns="As `dcnlab check --json`.",
    )  # fmt: skip
    async def check(self, request: Request) -> Response:
        """Run a scenario's measurements, with `events` also its failures, and judge its expectations."""
        text, events = await request.body(), request.query_params.get("events", "0")
        if len(text) > _LARGEST_SCENARIO:
            raise UsageError(f"the scenario is larger than {_LARGEST_SCENARIO} bytes")
        return JSONResponse(await run_in_threadpool(self._check, text, events in ("1", "true", "yes")))

    def _check(self, text: bytes, events: bool) -> dict[str, Any]:
        from dcnlab.lab.scenario import reading, runner

        with tempfile.TemporaryDirectory(prefix="dcnlab-") as folder:
            path = Path(folder, "scenario.yaml")
            path.write_bytes(text)
            try:
                scenario = reading.read(path)
            except UsageError as error:
                raise UsageError(str(error).replace(f"{folder}/", "")) from None
            return runner.check(scenario, self._lab, lambda _: None, events).to_json()

    @endpoint(
        "GET", "/nodes/{node}/capture", parameters={"node": NODE},
        query={
            "seconds": {"type": "number", "default": 5, "description": f"How long, at most {_MOST_SECONDS}."},
            "count": {**INTEGER, "default": 10000, "description": "End after this many packets."},
            "filter": {**TEXT, "description": "A tcpdump filter, such as `icmp`."},
        },
        returns="The packets at all interfaces of the node, as pcapng.",
        media_type="application/vnd.tcpdump.pcap",
    )  # fmt: skip
    def capture(self, request: Request) -> Response:
        """Capture packets at a node for some seconds."""
        query = request.query_params
        seconds = _within("seconds", query.get("seconds", "5"), _MOST_SECONDS)
        count = int(_within("count", query.get("count", "10000"), _MOST_PACKETS))
        name = self._resources.name(request)
        data = _captured(self._lab.path, name, seconds, count, query.get("filter", "").split())
        headers = {"Content-Disposition": f'attachment; filename="{name}.pcapng"'}
        return Response(data, media_type="application/vnd.tcpdump.pcap", headers=headers)


def _within(name: str, text: str, most: int) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= most:
        raise UsageError(f"{name} must be a number above 0, at most {most}, not {text!r}")
    return value


def _captured(path: Path, node: str, seconds: float, count: int, expression: list[str]) -> bytes:
    """What tcpdump writes in so many seconds, or until it has so many packets."""
    connection, (reading, writing) = Connection(path), os.pipe()
    found = bytearray()

    def collect() -> None:
        while data := os.read(reading, _CHUNK):
            found.extend(data)

    nothing, problems = os.open(os.devnull, os.O_RDWR), tempfile.TemporaryFile()  # noqa: SIM115
    timer = threading.Timer(seconds, connection.signal, (signal.SIGINT,))
    collector = threading.Thread(target=collect, daemon=True)
    words: dict[str, Any] = {"node": node, "port": None, "options": ["-U", "-w", "-"], "count": count}
    try:
        collector.start()
        timer.start()
        descriptors = (nothing, writing, problems.fileno())
        code = connection.call("capture", None, descriptors, expression=expression, **words)["exit"]
    finally:
        timer.cancel()
        os.close(writing)
        collector.join()
        for descriptor in (reading, nothing):
            os.close(descriptor)
        connection.close()
    problems.seek(0)
    said = problems.read().decode(errors="replace").strip().splitlines()
    problems.close()
    if not found:
        raise UsageError(f"tcpdump: {said[-1] if said else f'exit code {code}'}")
    return bytes(found)
