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
from dcnlab.lab import measurement
from dcnlab.lab.api.endpoint import BOOLEAN, INTEGER, LINK, NODE, SERVER, TEXT, endpoint
from dcnlab.lab.api.schemas import arguments_schema
from dcnlab.lab.api.state import state
from dcnlab.lab.api.stream import Broadcast
from dcnlab.lab.client import Lab
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
    def _drawing(self) -> dict[str, Any]:
        return fabric_json(self.fabric)

    # --- the lab --------------------------------------------------------------

    @endpoint(
        "GET", "/lab", returns="Name, topology, scheme, counts, links that are down, processes that ended."
    )
    def lab(self, _: Request) -> Response:
        """The lab and its state."""
        return JSONResponse(self._lab.info())

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
        "GET", "/drawing", returns="Nodes with positions, labels and addresses; links with their curvature."
    )
    def drawing(self, _: Request) -> Response:
        """How to draw the network."""
        return JSONResponse(lab_drawing(self._lab, self._drawing))

    # --- nodes and links ------------------------------------------------------

    @endpoint("GET", "/nodes", returns="Name, kind, label and IPv4 address of each node.")
    def nodes(self, _: Request) -> Response:
        """All nodes."""
        return JSONResponse(self._lab.nodes())

    @endpoint(
        "GET", "/nodes/{node}", parameters={"node": NODE}, returns="The node, and its ports with their links."
    )
    def node(self, request: Request) -> Response:
        """One node and its ports."""
        index = self._node(request)
        links = [link for link in self._links() if self.fabric.name(index) in (link["a"], link["b"])]
        return JSONResponse({**self._lab.nodes()[index], "links": links})

    @endpoint(
        "GET", "/nodes/{node}/table", parameters={"node": NODE},
        returns="`predicted` by the scheme; `installed` and `equal`: null for servers.",
    )  # fmt: skip
    def table(self, request: Request) -> Response:
        """The table of a node, as the scheme predicts it and as Open vSwitch holds it."""
        return JSONResponse(self._lab.tables(request.path_params["node"]))

    @endpoint(
        "GET", "/nodes/{node}/flows", parameters={"node": NODE},
        returns="`flows`: table, priority, match, actions, cookie, packets, bytes, seconds; `at`: when.",
    )  # fmt: skip
    def flows(self, request: Request) -> Response:
        """The flow entries of a switch with their counters, of any controller."""
        return JSONResponse(self._lab.flows(request.path_params["node"]))

    @endpoint("POST", "/nodes/{node}/fail", parameters={"node": NODE}, returns="As `dcnlab fail --json`.")
    def fail_node(self, request: Request) -> Response:
        """Cut all links of a node; answered when the lab has converged."""
        return JSONResponse(self._lab.fail(request.path_params["node"]))

    @endpoint("POST", "/nodes/{node}/restore", parameters={"node": NODE}, returns="As `dcnlab restore --json`.")
    def restore_node(self, request: Request) -> Response:
        """Restore all links of a node."""
        return JSONResponse(self._lab.restore(request.path_params["node"]))

    @endpoint("GET", "/links", returns="Number, ends, ports and state of each link.")
    def links(self, _: Request) -> Response:
        """All links."""
        return JSONResponse(self._links())

    @endpoint("GET", "/links/{link}", parameters={"link": LINK}, returns="The link.")
    def link(self, request: Request) -> Response:
        """One link."""
        return JSONResponse(self._links()[self._link(request)])

    @endpoint("POST", "/links/{link}/fail", parameters={"link": LINK}, returns="As `dcnlab fail --json`.")
    def fail_link(self, request: Request) -> Response:
        """Cut a link; answered when the lab has converged."""
        return JSONResponse(self._lab.fail(*self.ends(request)))

    @endpoint("POST", "/links/{link}/restore", parameters={"link": LINK}, returns="As `dcnlab restore --json`.")
    def restore_link(self, request: Request) -> Response:
        """Restore a link."""
        return JSONResponse(self._lab.restore(*self.ends(request)))

    # --- paths and counters ---------------------------------------------------

    @endpoint(
        "GET", "/paths/{a}/{b}", parameters={"a": SERVER, "b": SERVER},
        query={"follow": {**TEXT, "enum": ["heaviest", "first"], "default": "heaviest"}},
        returns="The steps: node, reason, the entry that decides, whether it is installed, which it overrides.",
    )  # fmt: skip
    def path(self, request: Request) -> Response:
        """The path of a packet between two servers, explained."""
        follow = request.query_params.get("follow", "heaviest")
        if follow not in ("heaviest", "first"):
            raise UsageError(f"follow must be heaviest or first, not {follow!r}")
        return JSONResponse(self._lab.explain(request.path_params["a"], request.path_params["b"], follow))

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
        found = {}
        for node, ports in next_hops_towards(scheme, destination, links).items():
            total = sum(ports.values())
            shares = {fabric.link_at(node, port): round(sent / total, 4) for port, sent in ports.items()}
            found[fabric.name(node)] = shares
        return JSONResponse(found)

    @endpoint("GET", "/counters", returns="`at`: when, in seconds; `links`: bytes from a to b and from b to a.")
    def counters(self, _: Request) -> Response:
        """The bytes that every link has carried since the launch."""
        return JSONResponse(self._lab.counters().to_json())

    @endpoint("GET", "/stats", returns="As `dcnlab stats --json`.")
    def stats(self, _: Request) -> Response:
        """Counters of agents and of switches' ports."""
        return JSONResponse(self._lab.stats().to_json())

    @endpoint(
        "GET", "/controller", returns="Flow messages, packet-ins, ARP replies; empty without a controller."
    )
    def controller(self, _: Request) -> Response:
        """Counters of the controller."""
        return JSONResponse(self._lab.controller() or {})

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

    def _link(self, request: Request) -> int:
        text = request.path_params["link"]
        if text.isdecimal():
            if int(text) >= len(self.fabric.link_ends):
                raise UsageError(f"there is no link number {text}")
            return int(text)
        a, dash, b = text.partition("-")
        try:
            found = self.fabric.links_between(self.fabric.index(a), self.fabric.index(b))
        except KeyError:
            found = ()
        if not dash or not len(found):
            raise UsageError(f"there is no link {text!r}: name its number or its ends, such as h0-s0")
        return int(found[0])

    def name(self, request: Request) -> str:
        """The name of the node in the request's path."""
        return self.fabric.name(self._node(request))

    def ends(self, request: Request) -> tuple[str, ...]:
        """The names that stand for the link in the request's path, and for no other."""
        return self.fabric.link_names(self._link(request))

    def _links(self) -> list[dict[str, Any]]:
        down, name = set(self._lab.info()["down"]), self.fabric.name
        return [
            {
                "number": number, "a": name(link.a.node), "a_port": link.a.number,
                "b": name(link.b.node), "b_port": link.b.number, "up": number not in down,
            }
            for number, link in enumerate(self.fabric.links())
        ]  # fmt: skip


def summary(kind: type[Any]) -> str:
    """The first line of a measurement's docstring."""
    return (kind.__doc__ or "").strip().partition("\n")[0]


def lab_drawing(lab: Lab, drawn: dict[str, Any] | None = None) -> dict[str, Any]:
    """What `/drawing` returns; ``drawn``: the :func:`fabric_json`, where it is known."""
    drawn = drawn or fabric_json(registry.fabric(lab.config.topology))
    info, addresses = lab.info(), {node["name"]: node["ipv4"] for node in lab.nodes()}
    nodes = [{**node, "ipv4": addresses[node["name"]]} for node in drawn["nodes"]]
    about = {key: info[key] for key in ("name", "topology", "scheme", "datapath", "backend")}
    return {**about, **drawn, "nodes": nodes}


def json_object(body: bytes) -> dict[str, Any]:
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
