"""The web view without a lab: drawings of every family, and who is let in."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib.bezier import BezierSegment
from starlette.testclient import TestClient

from dcnlab.lab import view
from dcnlab.lab.api.security import HEADERS, new_token
from dcnlab.lab.api.stream import Broadcast
from dcnlab.lab.client import Lab
from dcnlab.lab.drawing.document import fabric_json
from dcnlab.lab.drawing.layout import draw
from dcnlab.lab.instruments.counting.counters import parse
from dcnlab.lab.view.app import application
from topos import registry

TOKEN = new_token()
STATIC = Path(view.__file__).parent / "static"
EXAMPLES = [family.example for family in registry.known().values()]


@pytest.fixture
def client() -> TestClient:
    """A view of a lab that is not there: it seems to have started, and nobody answers."""
    lab = Lab("bcube:2,1", "brp", "no-such-lab")
    lab._started = True
    return TestClient(application(lab, Broadcast(lab), TOKEN), base_url="http://127.0.0.1")


@pytest.mark.parametrize(
    "path",
    ["/", "/api/lab", f"/{TOKEN[:-1]}/", f"/{TOKEN}x/", "/%00/", f"//{TOKEN}/", "/é/"],
    ids=["root", "no token", "short", "long", "zero", "doubled slash", "accent"],  # the token is drawn anew
)
def test_nothing_without_the_token(client: TestClient, path: str) -> None:
    for method in ("GET", "POST"):
        answer = client.request(method, path)
        assert answer.status_code == 403
        assert "dcnlab view" in answer.text
        assert {key: answer.headers[key] for key in HEADERS} == HEADERS


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "192.0.2.1"])
def test_nothing_under_another_name(client: TestClient, host: str) -> None:
    assert client.get(f"/{TOKEN}/", headers={"Host": host}).status_code == 400


@pytest.mark.parametrize("page", ["", "view.css", *(path.name for path in STATIC.glob("*.js"))])
def test_the_page_and_nothing_from_elsewhere(client: TestClient, page: str) -> None:
    answer = client.get(f"/{TOKEN}/{page}")
    assert answer.status_code == 200
    assert {key: answer.headers[key] for key in HEADERS} == HEADERS
    loaded = re.findall(r"""(?:src|href|url|import|fetch)\s*[=(]\s*["']?(\w+:)?//""", answer.text)
    assert loaded == []


@pytest.mark.parametrize("origin", ["null", "http://evil.example", "http://127.0.0.1:1", "https://127.0.0.1"])
@pytest.mark.parametrize("page", ["", "api/lab", "api/links/0/fail"])
def test_nothing_for_pages_of_other_origins(client: TestClient, origin: str, page: str) -> None:
    for method in ("GET", "POST"):
        answer = client.request(method, f"/{TOKEN}/{page}", headers={"Origin": origin})
        assert answer.status_code == 403
        assert {key: answer.headers[key] for key in HEADERS} == HEADERS
    assert client.get(f"/{TOKEN}/", headers={"Origin": "http://127.0.0.1"}).status_code == 200


def test_a_lab_that_is_not_there(client: TestClient) -> None:
    answer = client.get(f"/{TOKEN}/api/state")
    assert answer.status_code == 503
    assert "there is no lab named" in answer.json()["error"]


def test_cutting_needs_a_post_and_a_link(client: TestClient) -> None:
    assert client.get(f"/{TOKEN}/api/links/0/fail").status_code in (404, 405)
    assert client.post(f"/{TOKEN}/api/links/99/fail").status_code == 400
    assert client.post(f"/{TOKEN}/api/links/none/fail").status_code == 400


def test_tokens_differ_and_are_long() -> None:
    tokens = {new_token() for _ in range(100)}
    assert len(tokens) == 100
    assert min(map(len, tokens)) >= 32


LARGER = ["bcube:2,2", "clot:2x2", "clot:2x2x4", "fattree:6", "hdcube:4,1", "hypercube:5", "torus:2x3x3"]


@pytest.mark.parametrize("spec", [*EXAMPLES, *LARGER])
def test_every_family_can_be_drawn(spec: str) -> None:
    fabric = registry.fabric(spec)
    drawing = draw(fabric)
    assert drawing.points.shape == (fabric.size, 2)
    assert np.isfinite(drawing.points).all()
    assert np.isfinite(drawing.bows).all()
    gaps = np.linalg.norm(drawing.points[:, None] - drawing.points[None], axis=2)
    assert gaps[np.triu_indices(fabric.size, 1)].min() > 0.02


@pytest.mark.parametrize(
    ("spec", "levels"), [("fattree:4", [16, 8, 8, 4]), ("bcube:2,2", [8, 4, 4, 4]), ("bcube:4,1", [16, 4, 4])]
)
def test_levels_stand_above_each_other(spec: str, levels: list[int]) -> None:
    """Every link leads from one row up to another, and rows have the sizes that the papers give them."""
    fabric = registry.fabric(spec)
    height = -draw(fabric).points[:, 1]
    assert np.unique(height, return_counts=True)[1].tolist() == levels
    assert (height[fabric.link_ends[:, 0]] < height[fabric.link_ends[:, 2]]).all()


def test_a_cube_looks_like_one() -> None:
    """All edges along one dimension are drawn parallel and of one length."""
    fabric = registry.fabric("hypercube:5")
    points = draw(fabric).points
    for bit in range(5):
        edges = [points[v ^ 1 << bit] - points[v] for v in range(32) if not v >> bit & 1]
        assert np.ptp(edges, axis=0).max() < 1e-9


@pytest.mark.parametrize("spec", ["dcell:4,1", "dcell:2,2", "ficonn:4,2", "hcn:4,2", "hcn:3,2,parts=2"])
def test_cells_stand_apart_and_look_alike(spec: str) -> None:
    """Every server as far from its switch as all others, and nearer to it than to any other switch."""
    fabric = registry.fabric(spec)
    points = draw(fabric).points
    gaps = np.linalg.norm(points[: fabric.servers, None] - points[None, fabric.servers :], axis=2)
    switches = [
        next(end for end in fabric.neighbours(v) if end >= fabric.servers) for v in range(fabric.servers)
    ]
    own = np.arange(fabric.servers), np.array(switches) - fabric.servers
    at = gaps[own]
    assert at == pytest.approx(at[0])
    gaps[own] = np.inf
    assert (gaps.min(axis=1) > at).all()


def test_a_drawing_is_always_the_same() -> None:
    first, second = (draw(registry.fabric("dcell:3,1")).points for _ in range(2))
    assert (first == second).all()


def test_no_link_of_a_grid_runs_through_a_node() -> None:
    fabric = registry.fabric("torus:4x4")
    drawing = draw(fabric)
    for link, bow in zip(fabric.links(), drawing.bows, strict=True):
        length = np.linalg.norm(drawing.points[link.a.node] - drawing.points[link.b.node])
        assert bool(bow) == (length > 1)


@pytest.mark.parametrize("spec", [*EXAMPLES, "fattree:6", "torus:2x3x3", "xpander:6,2,hosts=1"])
def test_no_link_hides_behind_a_node(spec: str) -> None:
    """As the page draws links, curves with their control point at twice the bow."""
    fabric = registry.fabric(spec)
    drawing = draw(fabric)
    for link, bow in zip(fabric.links(), drawing.bows, strict=True):
        start, end = drawing.points[[link.a.node, link.b.node]]
        control = (start + end) / 2 + 2 * bow * np.array([end[1] - start[1], start[0] - end[0]])
        curve = BezierSegment(np.array([start, control, end]))(np.linspace(0.05, 0.95, 50))
        others = np.delete(drawing.points, [link.a.node, link.b.node], axis=0)
        assert np.linalg.norm(curve[:, None] - others[None], axis=2).min() > 0.1


@pytest.mark.parametrize(
    ("spec", "stubs"),
    [("torus:5x6", 11), ("torus:4x4", 0), ("torus:3x5", 3), ("clot:6x6", 12), ("smallworld:6x6,torus=no", 0)],
)
def test_links_round_a_large_grid_are_stubs(spec: str, stubs: int) -> None:
    """One for each row and each column with more than four nodes."""
    assert draw(registry.fabric(spec)).wraps.sum() == stubs


def test_the_drawing_names_what_is_drawn() -> None:
    fabric = registry.fabric("bcube:4,1")
    drawing = fabric_json(fabric)
    assert [node["name"] for node in drawing["nodes"]] == [node.name for node in fabric.nodes()]
    assert [(link["a"], link["b"]) for link in drawing["links"]] == [
        (x.a.node, x.b.node) for x in fabric.links()
    ]


def test_interface_counters_are_read() -> None:
    text = (
        "Inter-|   Receive                                                |  Transmit\n"
        " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs ...\n"
        "    lo: 10 1 0 0 0 0 0 0 20 2 0 0 0 0 0 0\n"
        "s0-eth1:123456789012 1 0 0 0 0 0 0 7 2 0 0 0 0 0 0\n"
    )
    assert parse(text) == {"lo": (20, 10), "s0-eth1": (7, 123456789012)}
