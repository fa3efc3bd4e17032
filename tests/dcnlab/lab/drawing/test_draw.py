"""`dcnlab draw`: pictures and pages of networks that do not run."""

from __future__ import annotations

import itertools
import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from addressing.registry import bind
from dcnlab.lab.drawing import notebook
from dcnlab.lab.drawing.bundling import BUNDLED
from dcnlab.lab.drawing.coast import coast
from dcnlab.lab.drawing.figure import Figure
from dcnlab.lab.drawing.frame import Frame, arrow_shapes
from dcnlab.lab.drawing.layout import draw
from dcnlab.lab.drawing.marks import towards
from tests.lab.lines import dcnlab
from tests.topos.graphs import graph
from topos import registry
from topos.graph import ALL_UP

SVG = "{http://www.w3.org/2000/svg}"
EXAMPLES = [family.example for family in registry.known().values()]


@pytest.mark.parametrize(
    ("ending", "start"), [("svg", b"<svg"), ("pdf", b"%PDF"), ("png", b"\x89PNG"), ("html", b"<!doctype html>")]
)
def test_each_format_holds_what_was_asked_for(tmp_path: Path, ending: str, start: bytes) -> None:
    path = tmp_path / "new" / f"picture.{ending}"
    words = ("clot:4x4", "--scheme", "dor", "--source", "h0", "--destination", "h5", "--failures", "links=2")
    done = dcnlab("draw", *words, "-o", str(path), "--json")
    assert (done.returncode, done.stderr) == (0, "")
    said = json.loads(done.stdout)
    assert (len(said["down"]), said["arrows"] > 0, said["written"]) == (2, True, str(path))
    assert path.read_bytes().startswith(start)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("bcube:4,1", "-o", "x.gif"), "a picture is a .svg, .pdf, .png or .html file"),
        (("bcube:4,1", "--scheme", "brp", "-o", "x.svg"), "--scheme and --destination belong together"),
        (("bcube:4,1", "--source", "h1", "-o", "x.svg"), "--source needs --scheme and --destination"),
        (("bcube:4,1", "--scheme", "brp", "--destination", "s0", "-o", "x.svg"), "s0 is a switch"),
        (("bcube:4,1", "--failures", "links=99", "-o", "x.svg"), "has only 32 links"),
    ],
)
def test_what_cannot_be_drawn_is_one_line(tmp_path: Path, words: tuple[str, ...], problem: str) -> None:
    done = dcnlab("draw", *(str(tmp_path / word) if word.startswith("x.") else word for word in words))
    assert done.returncode == 2
    assert problem in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("spec", EXAMPLES)
def test_a_notebook_shows_every_family(spec: str) -> None:
    fabric = notebook.fabric(spec)
    picture = fabric._repr_svg_()
    assert picture is not None
    root = ElementTree.fromstring(picture)
    shown = [text.text for group in root if group.get("class") == "names" for text in group.iter(f"{SVG}text")]
    assert shown == [node.name for node in fabric.nodes()]
    links = next(group for group in root if group.get("class") == "links")
    assert len(links) == len(fabric.link_ends)
    assert fabric.family.layout_caption.endswith(".")
    assert notebook.fabric("bcube:8,3")._repr_svg_() is None  # too large to look at


@pytest.mark.parametrize("spec", [*EXAMPLES, "bcube:3,2", "fattree:6", "star:5", "dcell:2,2"])
def test_parts_are_alike(spec: str) -> None:
    """Every part has the same number of nodes, and no part is empty."""
    fabric = registry.fabric(spec)
    numbers = fabric.family.part_numbers()
    if numbers is None:
        return
    assert numbers.shape == (fabric.size,)
    sizes = np.bincount(numbers[numbers >= 0])
    assert len(sizes) > 1
    if fabric.family.part_name == "ring":  # of random graphs, whose parts differ
        return
    assert (sizes == sizes[0]).all()


@pytest.mark.parametrize("spec", ["smallworld:8x8", "smallworld:4x4,clusters=2x2", "random:24,4,hosts=1"])
def test_an_only_host_lies_clear_of_its_switch(spec: str) -> None:
    """The largest circle of a server does not reach into the square of its switch."""
    fabric, radius = registry.fabric(spec), 0.16
    points = draw(fabric).points
    for server in range(fabric.servers):
        ((_, port),) = fabric.ports(server)
        aside = np.maximum(np.abs(points[server] - points[port.node]) - radius, 0)
        assert np.hypot(*aside) > radius


@pytest.mark.parametrize("spec", ["jellyfish:6,60,4", "jellyfish:4,20,3", "random:40,4", "random:24,4,hosts=1"])
def test_random_graphs_are_drawn_on_rings(spec: str) -> None:
    """Rings of one distance from the first vertex, from the inside out; vertices do not lie on each other."""
    fabric = registry.fabric(spec)
    numbers, points = fabric.family.part_numbers(), draw(fabric).points
    assert numbers is not None
    first = next(node for node in range(fabric.size) if fabric.is_server(node) == (fabric.switches == 0))
    vertices = range(first, fabric.size)
    lengths = nx.single_source_shortest_path_length(graph(fabric), first)
    assert [numbers[node] for node in vertices] == [lengths[node] for node in vertices]
    radii = np.linalg.norm(points - points[first], axis=1)
    for node in vertices:
        assert all(radii[node] < radii[other] for other in vertices if numbers[other] > numbers[node])
    gaps = [np.linalg.norm(points[a] - points[b]) for a, b in itertools.combinations(vertices, 2)]
    assert min(gaps) > 0.5


def test_a_bubble_sort_coset_changes_by_the_last_generator_alone() -> None:
    fabric = registry.fabric("bubblesort:5")
    numbers = fabric.family.part_numbers()
    assert numbers is not None
    ends, ports = fabric.link_ends[:, [0, 2]], fabric.link_ends[:, [1, 3]]
    crossing = numbers[ends[:, 0]] != numbers[ends[:, 1]]
    assert (crossing == (ports == 4).all(axis=1)).all()


def test_cosets_look_alike() -> None:
    """The distances inside each coset are the same, in some order."""
    fabric = registry.fabric("star:4")
    points, numbers = draw(fabric).points, fabric.family.part_numbers()
    assert numbers is not None
    shapes = []
    for part in range(4):
        inside = points[numbers == part]
        shapes.append(np.sort(np.linalg.norm(inside[:, None] - inside[None], axis=2), axis=None))
    assert np.allclose(shapes, shapes[0])


@pytest.mark.parametrize("spec", ["smallworld:16x16,clusters=4x4", "bcube:4,3", "star:6"])
def test_links_between_two_parts_of_a_large_network_meet(spec: str) -> None:
    fabric = registry.fabric(spec)
    assert fabric.size > BUNDLED
    drawing, ends = draw(fabric), fabric.link_ends[:, [0, 2]]
    assert drawing.led.any()
    middles = drawing.points[ends].mean(axis=1) / 2 + drawing.controls / 2  # of the curves
    numbers = fabric.family.part_numbers()
    assert numbers is not None
    inner = drawing.led & (numbers[ends] >= 0).all(axis=1)
    sides = np.sort(numbers[ends], axis=1)
    for pair in np.unique(sides[inner], axis=0):
        mine = inner & (sides == pair).all(axis=1)
        straight = drawing.points[ends[mine]].mean(axis=1)
        assert np.ptp(middles[mine], axis=0).max() <= 0.16 * np.ptp(straight, axis=0).max() + 1e-9


def test_twisted_links_leave_the_edges_of_the_cube() -> None:
    """In M-DCube some links of one dimension are not parallel to the others; in H-DCube all are."""

    def directions(spec: str) -> int:
        fabric = registry.fabric(spec)
        family: Any = fabric.family
        points = draw(fabric).points
        servers = [v for v in range(fabric.servers) if family.dimension(v) == 1]
        along = [points[fabric.peer(v, 2).node] - points[v] for v in servers]  # type: ignore[union-attr]
        return len({(abs(round(float(x), 6)), abs(round(float(y), 6))) for x, y in along})

    assert directions("hdcube:3,1") == 1
    assert directions("mdcube:3,1") > 1


def test_arrows_are_the_next_hops() -> None:
    fabric = registry.fabric("bcube:4,1")
    scheme = bind("brp", fabric)
    marks = towards(scheme, 5, ALL_UP, source=0)
    at = {arrow.node for arrow in marks.arrows}
    assert 5 not in at
    assert set(range(fabric.servers)) - at == {5}
    for arrow in marks.arrows:
        assert arrow.node in fabric.link_ends[arrow.link, [0, 2]]
    assert fabric.link_ends[marks.path[0], [0, 2]].min() == 0
    assert 5 in fabric.link_ends[marks.path[-1], [0, 2]]
    figure = Figure(fabric, marks)
    for arrow in marks.arrows:
        shaft, _, tip = figure.arrow(arrow)
        own = figure.drawing.points[arrow.node]
        assert np.linalg.norm(shaft - own) < np.linalg.norm(tip - own)


def test_the_wrapped_butterfly_has_stubs() -> None:
    drawing = draw(registry.fabric("butterfly:3"))
    assert drawing.wraps.sum() == 16


@pytest.mark.parametrize(
    "spec",
    [*EXAMPLES, "bcube:4,2", "clot:4x4x4", "clot:6x6", "torus:4x4x4", "slimfly:3", "star:5",
     "smallworld:8x8", "slimfly:5,hosts=1", "xpander:6,3", "fattree:6"],
)  # fmt: skip
def test_no_link_passes_through_a_node_that_it_does_not_join(spec: str) -> None:
    """But few in dense networks, and those are faint."""
    fabric = registry.fabric(spec)
    drawing = draw(fabric)
    ends, share = fabric.link_ends[:, [0, 2]], np.linspace(0, 1, 401)[:, None]
    start, end = drawing.points[ends[:, 0]], drawing.points[ends[:, 1]]
    for number in np.flatnonzero(~drawing.wraps).tolist():
        curve = (1 - share) ** 2 * start[number] + 2 * share * (1 - share) * drawing.controls[number]
        curve = curve + share**2 * end[number]
        others = np.delete(drawing.points, ends[number], axis=0)
        near = np.abs(others - np.clip(others, curve.min(axis=0), curve.max(axis=0))).max(axis=1)
        others = others[near < 2 * drawing.radius]  # no other one can be nearer than that
        gap = np.linalg.norm(curve[:, None] - others[None], axis=2).min(initial=np.inf)
        assert (
            drawing.faint[number] == (gap < drawing.radius) or abs(gap - drawing.radius) < 0.05 * drawing.radius
        )
    assert drawing.faint.sum() <= 0.06 * len(ends)
    assert drawing.radius > 0.03


# --- how it fits a page -------------------------------------------------------------------------


def svg_of(tmp_path: Path, *words: str) -> ElementTree.Element:
    path = tmp_path / "x.svg"
    done = dcnlab("draw", *words, "-o", str(path))
    assert done.returncode == 0, done.stderr
    return ElementTree.fromstring(path.read_text())


@pytest.mark.parametrize(("width", "pixels"), [("3.5in", 336), ("88mm", 333), ("9cm", 340), ("252pt", 336)])
@pytest.mark.parametrize("spec", ["bcube:4,1", "clot:6x6", "fattree:4"])
def test_a_picture_has_the_width_of_a_column_and_text_of_7_points(
    tmp_path: Path, width: str, pixels: int, spec: str
) -> None:
    root = svg_of(tmp_path, spec, "--width", width, "--no-caption")
    assert float(root.attrib["width"]) == pytest.approx(pixels, abs=1)
    sizes = {float(text.attrib["font-size"]) for text in root.iter(f"{SVG}text")}
    assert sizes == {9.3}  # 7 pt
    for shape in root.iter(f"{SVG}circle"):
        x, radius = float(shape.attrib["cx"]), float(shape.attrib["r"])
        assert radius <= x <= pixels - radius


@pytest.mark.parametrize("width", ["0.5in", "x", "nan", "99in", "3ft"])
def test_a_width_that_is_none_is_one_line(tmp_path: Path, width: str) -> None:
    done = dcnlab("draw", "bcube:2,1", "--width", width, "-o", str(tmp_path / "x.svg"))
    assert (done.returncode, "write 3.5in" in done.stderr) == (2, True)


def test_no_caption_is_no_caption(tmp_path: Path) -> None:
    captions = [
        [text for group in root if group.get("class") == "caption" for text in group]
        for root in (svg_of(tmp_path, "bcube:2,1"), svg_of(tmp_path, "bcube:2,1", "--no-caption"))
    ]
    assert len(captions[0]) > 0
    assert captions[1] == []


@pytest.mark.parametrize("spec", ["fattree:16", "dragonfly:8,4,4"])
def test_hosts_of_a_dense_network_are_numbers(tmp_path: Path, spec: str) -> None:
    fabric = registry.fabric(spec)
    root = svg_of(tmp_path, spec)
    shapes = [one for group in root if group.get("class") == "names" for one in group]
    assert len(shapes) == fabric.switches
    words = " ".join(text.text or "" for group in root if group.get("class") == "caption" for text in group)
    assert f"{fabric.servers} hosts are not drawn" in words


@pytest.mark.parametrize("spec", ["clot:6x6", "bcube:4,1", "dcell:4,1", "hypercube:4"])
def test_arrows_lie_on_their_links_and_fit_them(spec: str) -> None:
    fabric = registry.fabric(spec)
    marks = towards(bind("shortest", fabric), fabric.servers - 1, ALL_UP)
    figure = Figure(fabric, marks)
    frame = Frame.of(figure)
    for arrow in marks.arrows:
        shaft, head, width = arrow_shapes(figure, arrow, frame)
        along = np.linspace(0, 1, 400)[:, None]
        curves = [
            frame.pixels((1 - along) ** 2 * a + 2 * along * (1 - along) * b + along**2 * c)
            for a, b, c in figure.curve(arrow.link)
        ]
        points = np.concatenate(curves)
        for place in (shaft[0], head[0]):  # where the shaft begins, and the tip
            assert np.linalg.norm(points - place, axis=1).min() < 0.5
        assert np.linalg.norm(head[0] - head[1]) <= 12
        assert np.linalg.norm(head[0] - head[1:].mean(axis=0)) < np.linalg.norm(head[0] - shaft[0])
        assert 0 < width <= 2


# --- maps -------------------------------------------------------------------------------------------

CITIES = """graph [
  node [ id 0 label "London" Longitude -0.12 Latitude 51.5 ]
  node [ id 1 label "Amsterdam" Longitude 4.9 Latitude 52.37 ]
  node [ id 2 label "Geneva" Longitude 6.14 Latitude 46.2 ]
  node [ id 3 label "Madrid" Longitude -3.7 Latitude 40.4 ]
  edge [ source 0 target 1 ] edge [ source 1 target 2 ] edge [ source 2 target 3 ] edge [ source 3 target 0 ]
]"""


def test_a_map_has_straight_links_names_and_a_coast(tmp_path: Path) -> None:
    file, land = tmp_path / "cities.gml", tmp_path / "land.json"
    file.write_text(CITIES)
    fabric = registry.fabric(f"file:{file}")
    drawing, scale = draw(fabric), fabric.family.map_scale
    assert scale is not None
    places = {
        "London": (-0.12, 51.5),
        "Amsterdam": (4.9, 52.37),
        "Geneva": (6.14, 46.2),
        "Madrid": (-3.7, 40.4),
    }
    for node in fabric.nodes():
        longitude, latitude = places[node.label]
        assert drawing.points[node.index] == pytest.approx((scale[0] * longitude, -scale[1] * latitude))
    ends = drawing.points[fabric.link_ends[:, [0, 2]]]
    assert np.allclose(drawing.controls, ends.mean(axis=1))  # straight
    assert scale[0] / scale[1] == pytest.approx(np.cos(np.radians(48.85)))  # as at the median latitude
    assert fabric.family.layout_caption == "Nodes where they are on Earth."
    # Two lines of coast: one near, of which one point lies outside, and one far away.
    arcs = [[[0, 500], [10, 0], [10, 0], [1000, 0]], [[1700, 100], [5, 5]]]
    transform = {"scale": [0.1, 0.1], "translate": [0.0, 0.0]}
    land.write_text(json.dumps({"transform": transform, "arcs": arcs}))
    low, high = np.array([-5 * scale[0], -60 * scale[1]]), np.array([10 * scale[0], -40 * scale[1]])
    (line,) = coast(low, high, scale, land)
    assert line[0] == pytest.approx((0.0, -50 * scale[1]))
    assert line[-1][0] == pytest.approx(high[0])  # led to the border
    assert coast(low, high, scale, tmp_path / "none.json") == []
    root = svg_of(tmp_path, f"file:{file}")
    names = {text.text for group in root if group.get("class") == "names" for text in group.iter(f"{SVG}text")}
    assert names == set(places)


@pytest.mark.parametrize("spec", EXAMPLES)
def test_every_family_has_a_thumbnail_in_the_catalogue(spec: str) -> None:
    name = spec.partition(":")[0]
    folder = Path(__file__).parents[4] / "docs"
    assert f"![{spec}](images/families/{name}.svg)" in (folder / "catalogue.md").read_text()
    root = ElementTree.fromstring((folder / "images" / "families" / f"{name}.svg").read_text())
    shapes = [one for group in root if group.get("class") == "names" for one in group]
    assert len(shapes) == registry.fabric(spec).size
    assert not list(root.iter(f"{SVG}text"))
