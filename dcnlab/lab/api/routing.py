"""What a scheme has decided, for pictures: labels, tables, clusters, trees, and parallel paths of a pair."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from addressing.hierarchy import Hierarchy
from addressing.multipath.parallel_paths import parallel_paths
from addressing.registry import bind
from addressing.scheme import Scheme
from addressing.schemes.tz import Tz
from addressing.schemes.wmgr import Wmgr
from addressing.table import compile_table
from dcnlab.lab.api.endpoint import SERVER, endpoint
from dcnlab.lab.api.resources import Resources
from dcnlab.lab.client import Lab
from dcnlab.lab.contract.values import JsonObject
from topos.graph import NONE, LinkState


class Routing:
    """The routing of one lab, computed from its scheme and its present failures."""

    def __init__(self, lab: Lab, resources: Resources) -> None:
        self._lab, self._resources = lab, resources
        self._bound: Scheme | None = None

    @endpoint(
        "GET", "/scheme", returns="`labels` in bits by node; `clusters`, `landmarks` and `tree`, or null."
    )
    def scheme(self, _: Request) -> Response:
        """What the scheme gives each node, with the present failures. `tree` has the numbers of its links and
        the word of each node (WMGR)."""
        scheme = self._scheme()
        return JSONResponse(
            {
                "labels": list(_labels(scheme)),
                "clusters": list(scheme.clustering) if isinstance(scheme, Hierarchy) else None,
                "landmarks": list(scheme.landmarks) if isinstance(scheme, Tz) else None,
                "tree": _tree(scheme) if isinstance(scheme, Wmgr) else None,
            }
        )

    @endpoint("GET", "/entries", returns="Numbers by node; null for plain hosts, which have no table.")
    def entries(self, _: Request) -> Response:
        """How many entries the scheme predicts for each node's table, with the present failures."""
        scheme, fabric = self._scheme(), self._resources.fabric
        return JSONResponse(
            [
                None if fabric.is_end_host(node) else len(compile_table(scheme, node, scheme.known).entries)
                for node in range(fabric.size)
            ]
        )

    def _scheme(self) -> Scheme:
        """The lab's scheme with the present failures; kept until they change."""
        links = LinkState(frozenset(self._lab.info()["down"]))
        if self._bound is None or self._bound.known != links:
            self._bound = bind(self._lab.config.scheme, self._resources.fabric).with_failures(links)
        return self._bound

    @endpoint(
        "GET", "/paths/{a}/{b}/parallel", parameters={"a": SERVER, "b": SERVER},
        returns="The paths, the shortest first: `nodes`, `links`, and whether all links are `up`.",
    )  # fmt: skip
    def parallel(self, request: Request) -> Response:
        """Parallel paths of two servers: paths that share no inner node."""
        fabric, down = self._resources.fabric, set(self._lab.info()["down"])
        a, b = (self._resources.index(request.path_params[key]) for key in ("a", "b"))
        paths = []
        for path in parallel_paths(fabric, a, b):
            between = [fabric.links_between(one, other) for one, other in itertools.pairwise(path)]
            links = [next((link for link in choice if link not in down), choice[0]) for choice in between]
            names = [fabric.name(node) for node in path]
            paths.append({"nodes": names, "links": links, "up": not down.intersection(links)})
        return JSONResponse(paths)


def _labels(scheme: Scheme) -> Iterator[str]:
    """By node its label in bits; empty where it has none."""
    endpoints = scheme.endpoints()
    for node in range(scheme.fabric.size):
        yield f"{scheme.label(node):0{scheme.label_bits}b}" if node in endpoints else ""


def _tree(scheme: Wmgr) -> JsonObject:
    """The tree whose links are the letters of WMGR's words."""
    parents = enumerate(scheme.embedding.parents)
    links = (scheme.fabric.links_between(node, above) for node, above in parents if above != NONE)
    used = [next(link for link in choice if link not in scheme.known.down) for choice in links]
    words = [list(word) for word in scheme.embedding.words]
    return {"links": used, "words": words}
