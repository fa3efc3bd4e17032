"""What is done in a lab besides operations and measurements: scenarios, captures."""

from __future__ import annotations

import tempfile
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from dcnlab.lab.api.endpoint import BOOLEAN, INTEGER, NODE, TEXT, endpoint
from dcnlab.lab.api.resources import Resources
from dcnlab.lab.client import Lab
from dcnlab.lab.contract.values import JsonObject
from dcnlab.lab.errors import UsageError
from dcnlab.lab.methods.capturing import CaptureError

#: The longest capture, in seconds and in packets; bytes of a scenario.
_MOST_SECONDS, _MOST_PACKETS, _LARGEST_SCENARIO = 600, 1_000_000, 1 << 20


class Actions:
    """Actions in one lab."""

    def __init__(self, lab: Lab, resources: Resources) -> None:
        self._lab, self._resources = lab, resources

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

    def _check(self, text: bytes, events: bool) -> JsonObject:
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
        with tempfile.NamedTemporaryFile(prefix="dcnlab-") as file:
            try:
                self._lab.capture(name, file.name, query.get("filter", ""), count=count).within(seconds)
            except CaptureError as error:
                raise UsageError(f"tcpdump: {error}") from None
            data = file.read()
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
