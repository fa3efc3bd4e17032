"""A lab in which every operation is called, and what it has said."""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dcnlab.lab.client import Lab
from dcnlab.lab.control.rpc import Connection
from dcnlab.lab.errors import LabError
from dcnlab.lab.events.kinds import Converged
from tests.ovs import poll
from tests.snapshots.plain import plain

TOPOLOGY, SCHEME = "bcube:2,1", "brp"

#: Kinds of events that several threads report, and those of which each round of convergence has some.
_AT_ONCE = ("process-stopped", "process-ended", "process-restarted")
_ROUNDS = ("link", "tables", "learned", "converged")

Exchange = dict[str, Any]


def control(lab: Lab, folder: Path) -> str:
    """Call every operation: the requests and their answers, one after the other."""
    with _recorded() as exchanges:
        _look(lab)
        _change_links(lab)
        _run_programs(lab, folder)
        _keep_keys(lab)
        _end_processes(lab)
        _measure(lab)
        _ask_wrongly(lab)
    return json.dumps(exchanges, indent=1, ensure_ascii=False) + "\n"


@contextlib.contextmanager
def _recorded() -> Iterator[list[Exchange]]:
    """What passes the control socket meanwhile."""
    exchanges: list[Exchange] = []
    call = Connection.call

    def recorded(connection: Connection, op: str, *rest: Any, **arguments: Any) -> Any:
        exchange: Exchange = {"request": plain({"op": op, **arguments})}
        exchanges.append(exchange)
        try:
            answer = call(connection, op, *rest, **arguments)
        except LabError as error:
            exchange["error"] = {"text": str(error), "code": error.exit_code}
            raise
        exchange["answer"] = plain(answer, counting=arguments.get("name") in ("counters", "stats"))
        return answer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Connection, "call", recorded)
        yield exchanges


def _look(lab: Lab) -> None:
    lab.info(), lab.nodes(), lab.control(), lab.controller(), lab.queues()
    lab.tables("s0"), lab.tables("h0"), lab.flows("s0"), lab.explain("h0", "h3")


def _change_links(lab: Lab) -> None:
    lab.fail("h0", "s0"), lab.info(), lab.fail("s1"), lab.restore("h2", "s1"), lab.restore("s1")
    lab.restore("h0", "s0")
    lab.impair("h0", "s0", loss="1%"), lab.impairments(), lab.impair(clear=True)


def _run_programs(lab: Lab, folder: Path) -> None:
    lab.run("h0", ["true"])
    lab.serve("echo", "h1", ["sh", "-c", "echo ready; exec sleep 100"], ready="log:ready")
    lab.services(), lab.await_service("echo"), lab.service_log("echo"), lab.stop_service("echo")
    with lab.capture("h0", folder / "h0.pcap", "icmp") as capture:
        lab.ping("h0", "h1")
    capture.result()


def _keep_keys(lab: Lab) -> None:
    lab.put("colour", b"blue"), lab.get("colour"), lab.where("colour"), lab.keys(), lab.delete("colour")


def _end_processes(lab: Lab) -> None:
    lab.pause("h3")
    _await_links(lab, [3, 7])
    lab.fail("h3", "s1"), lab.restore("h3", "s1")
    lab.restart("h3")
    _await_links(lab, [])


def _await_links(lab: Lab, down: list[int]) -> None:
    """Wait until the lab has converged on these links being down: what follows is no part of it."""

    def converged() -> bool:
        followed = [record.event for record in lab.events(kinds=("link", "converged"))]
        return isinstance(followed[-1], Converged) and followed[-1].down == down

    poll(converged, 60)


def _measure(lab: Lab) -> None:
    lab.ping("h0", "h3"), lab.route("h0", "h3"), lab.traceroute("h0", "h3"), lab.counters(), lab.stats()
    lab.overruns(), lab.buffers()


def _ask_wrongly(lab: Lab) -> None:
    wrong = (
        lambda: lab.fail("h0", "h3"), lambda: lab.restore("x9"), lambda: lab.impair("h0", "s0", loss="often"),
        lambda: lab.tables("s99"), lambda: lab.flows("h0"), lambda: lab.restart("nothing"), lab.reconfigure,
        lambda: lab.attach_interface("h0", "eth9"), lambda: lab.detach_interface("eth9"), lab.rejoin,
        lambda: lab.service_log("web"), lambda: lab.ask("nothing"), lambda: lab.run("h0", ["nosuchprogram"]),
    )  # fmt: skip
    for call in wrong:
        with contextlib.suppress(LabError):
            call()


def journal(lab: Lab) -> str:
    """The events of the lab, one a line.

    After each command or measurement those of one kind are together and sorted, with the last of each link: who
    is first of several threads differs, and into how many rounds changes at the same time fall.
    """
    steps: list[list[dict[str, Any]]] = [[]]
    for record in lab.events():
        if record.kind in ("command", "measurement"):
            steps.append([])
        steps[-1].append(record.event.to_json())
    return "\n".join("".join(_step(events)) for events in steps)


def _step(events: list[dict[str, Any]]) -> Iterator[str]:
    followed = {event["who"] if event["kind"] == "learned" else event["kind"]: event for event in events}
    links = {event["link_number"]: event for event in events if event["kind"] == "link"}
    at_once = [event for event in events if event["kind"] in _AT_ONCE]
    several = [sorted(_line(one) for one in at_once if one["kind"] == kind) for kind in _AT_ONCE]
    tables = {event["switch"] for event in events if event["kind"] == "tables"}
    yield from (_line(event) for event in events if event["kind"] not in (*_AT_ONCE, *_ROUNDS))
    yield from itertools.chain(*several)
    yield from (_line(links[number]) for number in sorted(links))
    yield from (f"tables of {switch} changed\n" for switch in sorted(tables))
    yield from (
        _line(followed[name]) for name in ("all agents", "the controller", "converged") if name in followed
    )


def _line(event: dict[str, Any]) -> str:
    if event["kind"] == "link" and ":" in event["reporter"]:
        assert event["reporter"].partition(":")[0] in event["link"]
        event = {**event, "reporter": "the end that was first"}
    return json.dumps(plain(event), ensure_ascii=False) + "\n"
