"""What each request returns: a thin client of the lab's control socket.

Errors of the lab are ``{"error": ...}``: status 400 for a wrong request, 503 when the lab cannot answer or has
ended.
"""

from __future__ import annotations

import json
from functools import cached_property
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from addressing.registry import bind
from addressing.towards import next_hops_towards
from dcnlab.lab import measurement, operations
from dcnlab.lab.api.endpoint import BOOLEAN, INTEGER, LINK, NODE, SERVER, TEXT, endpoint
from dcnlab.lab.api.schemas import arguments_schema
from dcnlab.lab.api.state import state
from dcnlab.lab.api.stream import Broadcast
from dcnlab.lab.client import Lab
from dcnlab.lab.contract.codec import encode
from dcnlab.lab.contract.values import JsonObject
from dcnlab.lab.drawing.document import fabric_json
from dcnlab.lab.errors import UsageError
from topos import registry
from topos.fabric import Fabric
from topos.graph import LinkState
from topos.spec import SpecError, lookup

#: Bytes of the body of a request.
_LARGEST_BODY = 1 << 20


class Resources:
    """The resources of one lab."""

    def __init__(self, lab: Lab, broadcast: Broadcast) -> None:
        self._lab = lab
        self._broadcast = broadcast

    @cached_property
    def fabric(self) -> Fabric:
        """The lab's network."""
        return registry.fabric(self._lab.config.topology)

    @cached_property
    def _drawing(self) -> JsonObject:
        return fabric_json(self.fabric)

    # --- the lab --------------------------------------------------------------

    @endpoint(
        "GET", "/state",
        returns="`down`: numbers of links; `ended`: lines; `at`, `links`: as of `/counters`; maybe `queues` by"
        " port and `buffers` by server: packets that wait, and those dropped or the most in one buffer;"
        " `channels` by port: of each virtual channel that is not idle the neighbour, the name, packets that"
        " wait, credits used and the limit; `overruns` by place: packets that were not read in time.",
    )  # fmt: skip
    def state(self, _: Request) -> Response:
        """What changes: failed links, processes that have ended, counters of links."""
        return JSONResponse(state(self._lab))

    @endpoint(
        "GET", "/drawing",
        returns="Nodes with positions, labels and addresses; links with their curvature; impairments.",
    )  # fmt: skip
    def drawing(self, _: Request) -> Response:
        """How to draw the network."""
        return JSONResponse(lab_drawing(self._lab, self._drawing))

    # --- nodes and links ------------------------------------------------------

    @endpoint(
        "GET", "/nodes/{node}", parameters={"node": NODE}, returns="The node, and its ports with their links."
    )
    def node(self, request: Request) -> Response:
        """One node and its ports."""
        index = self._node(request)
        links = [link for link in self._links() if self.fabric.name(index) in (link["a"], link["b"])]
        return JSONResponse({**self._lab.nodes()[index], "links": links})

    @endpoint("GET", "/links", returns="Number, ends, ports and state of each link.")
    def links(self, _: Request) -> Response:
        """All links."""
        return JSONResponse(self._links())

    @endpoint("GET", "/links/{link}", parameters={"link": LINK}, returns="The link.")
    def link(self, request: Request) -> Response:
        """One link."""
        return JSONResponse(self._links()[self._link(request.path_params["link"])])

    # --- next hops ------------------------------------------------------------

    @endpoint(
        "GET", "/next-hops/{server}", parameters={"server": SERVER},
        returns="By node: the numbers of links, and the share of its packets that leaves by each.",
    )  # fmt: skip
    def next_hops(self, request: Request) -> Response:
        """The next hops of all nodes when every server sends to this one, with the present failures."""
        fabric, links = self.fabric, LinkState(frozenset(self._lab.info()["down"]))
        scheme = bind(self._lab.config.scheme, fabric).with_failures(links)
        destination = self._node(request, "server")
        if destination not in scheme.endpoints():
            raise UsageError(f"{fabric.name(destination)} is no destination: name a server")
        by_node = {}
        for node, ports in next_hops_towards(scheme, destination, links).items():
            total = sum(ports.values())
            shares = {fabric.link_at(node, port): round(sent / total, 4) for port, sent in ports.items()}
            by_node[fabric.name(node)] = shares
        return JSONResponse(by_node)

    # --- measurements ---------------------------------------------------------

    @endpoint("GET", "/measurements", returns="By name: the summary, and the JSON schema of the arguments.")
    def measurements(self, _: Request) -> Response:
        """The measurements that the lab can make."""
        return JSONResponse(
            {
                name: {"summary": summary(kind), "arguments": arguments_schema(kind)}
                for name, kind in measurement.known().items()
            }
        )

    def measure(self, name: str, body: bytes) -> Response:
        """Make a measurement; its arguments are a JSON object."""
        try:
            kind = lookup(name, measurement.known(), "measurement")
        except SpecError as error:
            raise UsageError(str(error)) from error
        result = self._lab.measure(kind.from_json(json_object(body)))
        return JSONResponse({"held": result.held, "figures": result.summary(), **result.to_json()})

    def perform(self, name: str, body: bytes) -> Response:
        """Perform an operation of a ``--custom`` file or of an installed package."""
        known = operations.known()
        if name not in known or known.is_builtin(name):
            raise UsageError(f"there is no operation {name!r} here: see openapi.json")
        return JSONResponse(encode(self._lab.perform(known[name].from_json(json_object(body)))))

    # --- events ---------------------------------------------------------------

    @endpoint(
        "GET", "/events",
        query={
            "after": {**INTEGER, "default": 0, "description": "Only events with greater numbers."},
            "kind": {"type": "array", "items": TEXT, "description": "Only events of these kinds."},
            "follow": {**BOOLEAN, "default": False, "description": "Go on, as server-sent events."},
            "state": {**BOOLEAN, "default": False, "description": "With follow: also `/state`, each second."},
        },
        returns="A list, or with `follow` (or `Accept: text/event-stream`) a stream.",
    )  # fmt: skip
    async def events(self, request: Request) -> Response:
        """What has happened in the lab, and what happens.

        In the stream, each event is a message. Its data is the JSON of `dcnlab events --json`, its id the
        number; `Last-Event-ID` continues after it. Messages of the type `state` are as of `/state`. One of
        the type `end` is the last: the lab has ended."""
        return await self._broadcast.respond(request)

    # --- names ----------------------------------------------------------------

    def index(self, name: str) -> int:
        """The number of a node."""
        try:
            return self.fabric.index(name)
        except KeyError:
            raise UsageError(f"there is no node {name!r} in {self.fabric.spec}") from None

    def _node(self, request: Request, parameter: str = "node") -> int:
        return self.index(request.path_params[parameter])

    def _link(self, text: str) -> int:
        if text.isdecimal():
            if int(text) >= len(self.fabric.link_ends):
                raise UsageError(f"there is no link number {text}")
            return int(text)
        a, dash, b = text.partition("-")
        try:
            links = self.fabric.links_between(self.fabric.index(a), self.fabric.index(b))
        except KeyError:
            links = ()
        if not dash or not len(links):
            raise UsageError(f"there is no link {text!r}: name its number or its ends, such as h0-s0")
        return int(links[0])

    def name(self, request: Request) -> str:
        """The name of the node in the request's path."""
        return self.fabric.name(self._node(request))

    def ends(self, text: str) -> tuple[str, ...]:
        """The names that stand for a link, which is named by its ends or its number, and for no other."""
        return self.fabric.link_names(self._link(text))

    def _links(self) -> list[JsonObject]:
        down, name = set(self._lab.info()["down"]), self.fabric.name
        return [
            {
                "number": number, "a": name(link.a.node), "a_port": link.a.number,
                "b": name(link.b.node), "b_port": link.b.number, "up": number not in down,
            }
            for number, link in enumerate(self.fabric.links())
        ]  # fmt: skip


def summary(kind: type[Any]) -> str:
    """The first line of the docstring of a measurement or an operation, as Markdown."""
    return (kind.__doc__ or "").strip().partition("\n")[0].replace("``", "`")


def lab_drawing(lab: Lab, drawn: JsonObject | None = None) -> JsonObject:
    """What `/drawing` returns; ``drawn``: the :func:`fabric_json`, where it is known."""
    drawn = drawn or fabric_json(registry.fabric(lab.config.topology))
    info, addresses = lab.info(), {node["name"]: node["ipv4"] for node in lab.nodes()}
    nodes = [{**node, "ipv4": addresses[node["name"]]} for node in drawn["nodes"]]
    about = {key: info[key] for key in ("name", "topology", "scheme", "datapath", "backend")}
    return {**about, **drawn, "nodes": nodes, "impairments": lab.impairments()}


def json_object(body: bytes) -> JsonObject:
    """The JSON object in the body of a request; nothing stands for an empty one."""
    if len(body) > _LARGEST_BODY:
        raise UsageError(f"the body is larger than {_LARGEST_BODY} bytes")
    try:
        value = json.loads(body or b"{}")
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise UsageError("the body must be a JSON object with the arguments")
    return value
