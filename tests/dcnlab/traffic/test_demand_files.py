"""Demand matrices from files: every format gives the same demands, those that were written."""

from __future__ import annotations

import csv
import json
import pickle
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcnlab.evaluator.compare import requests as grid
from dcnlab.evaluator.evaluate import evaluate
from dcnlab.lab.measurement.traffic import Traffic
from dcnlab.traffic.demand_files import steps_of
from dcnlab.traffic.patterns import check, traffic
from dcnlab.traffic.workload import Demand, draw
from tests.lab.lines import dcnlab
from topos.registry import fabric
from topos.spec import SpecError

NETWORK = fabric("fattree:4")
Demands = dict[tuple[int, int], float]


def write(path: Path, demands: Demands, step: int = 0) -> None:
    named = [(f"h{a}", f"h{b}", amount) for (a, b), amount in demands.items()]
    match path.suffix:
        case ".csv":
            with path.open("w", newline="") as file:
                writer = csv.writer(file)
                writer.writerows(
                    [("Source", "destination", "amount", "step"), *((*row, step) for row in named)]
                )
        case ".parquet":
            pyarrow = pytest.importorskip("pyarrow")
            parquet = pytest.importorskip("pyarrow.parquet")
            columns = zip(*named, strict=True)
            parquet.write_table(
                pyarrow.table(dict(zip(("source", "destination", "amount"), map(list, columns), strict=True))),
                path,
            )
        case ".npy" | ".npz":
            matrix = np.zeros((NETWORK.servers, NETWORK.servers))
            for (a, b), amount in demands.items():
                matrix[a, b] = amount
            np.save(path, matrix) if path.suffix == ".npy" else np.savez(path, matrix)
        case ".txt":
            path.write_text("".join(f"{a} {b} {amount}\n" for a, b, amount in named))
        case _:
            graph = nx.DiGraph()
            graph.add_weighted_edges_from(named)
            match path.suffix:
                case ".graphml":
                    nx.write_graphml(graph, path)
                case ".gml":
                    nx.write_gml(graph, path)
                case _:
                    path.write_text(json.dumps(nx.node_link_data(graph, edges="edges")))


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".npy", ".npz", ".txt", ".graphml", ".gml", ".json"])
@settings(deadline=None, max_examples=10)
@given(
    st.dictionaries(
        st.tuples(st.integers(0, 15), st.integers(0, 15)).filter(lambda pair: pair[0] != pair[1]),
        st.floats(0.5, 100),
        min_size=1,
        max_size=9,
    )
)
def test_every_format_holds_the_same_demands(
    tmp_path_factory: pytest.TempPathFactory, suffix: str, demands: Demands
) -> None:
    path = tmp_path_factory.mktemp("demands") / f"some{suffix}"
    write(path, demands)
    check(str(path))
    demand = traffic(NETWORK, str(path))
    pairs = zip(demand.sources.tolist(), demand.destinations.tolist(), strict=True)
    assert dict(zip(pairs, demand.amounts.tolist(), strict=True)) == pytest.approx(demands)


def test_servers_by_number_and_failed_ones(tmp_path: Path) -> None:
    path = tmp_path / "numbers.csv"
    path.write_text("source,destination\n0,15\n3,4\n")
    demand = traffic(NETWORK, str(path), failed={3})
    assert (demand.sources.tolist(), demand.destinations.tolist(), demand.amounts.tolist()) == (
        [0],
        [15],
        [1.0],
    )


def test_steps_are_chosen_or_follow_one_another(tmp_path: Path) -> None:
    path = tmp_path / "steps.npy"
    matrices = np.zeros((3, 16, 16))
    matrices[0, 0, 1], matrices[1, 2, 3], matrices[2, 4, 5] = 1, 2, 3
    np.save(path, matrices)
    assert steps_of(f"{path}:step=all") == [f"{path}:step={step}" for step in range(3)]
    assert traffic(NETWORK, f"{path}:step=1").sources.tolist() == [2]
    with pytest.raises(SpecError, match="3 steps"):
        traffic(NETWORK, str(path))
    with pytest.raises(SpecError, match="no step 7"):
        traffic(NETWORK, f"{path}:step=7")
    flows = draw(NETWORK, Demand(f"{path}:step=all", "fixed:10K", load=0.9, seconds=3.0, rate=1e8))
    assert (np.diff(flows.begin) >= 0).all()
    for step, source in enumerate((0, 2, 4)):  # each step in its second; the last sends three times as much
        inside = (flows.begin >= step) & (flows.begin < step + 1)
        assert set(flows.source[inside].tolist()) == {source}
    sent = np.bincount(flows.source, minlength=5)[[0, 2, 4]]
    assert sent / sent.sum() == pytest.approx(np.array([1, 2, 3]) / 6, abs=0.05)


def test_the_commands_take_them(tmp_path: Path) -> None:
    path = tmp_path / "steps.npy"
    matrices = np.random.default_rng(1).random((2, 16, 16))
    np.save(path, matrices)
    ended = dcnlab(
        "compare", "--topologies", "fattree:4", "--schemes", "ecmp", "--traffic", f"{path}:step=all", "--json",
        "--results", tmp_path / "results",
    )  # fmt: skip
    rows = json.loads(ended.stdout)
    assert [row["traffic"] for row in rows] == [f"{path}:step={step}" for step in (0, 1)]
    assert len({row["throughput.aggregate"] for row in rows}) == 2
    report = evaluate(
        NETWORK, ["ecmp"], metrics=["fct"], traffic=f"{path}:step=all", sizes="fixed:1M", seconds=0.2
    )
    assert report.schemes[0].metrics["fct"]["flows"] > 0


HEADINGS = [
    "source,destination,amount", "from,to,amount", "src,dst,demand", "Sender;Receiver;Volume",
    "dst\tsrc\tbytes", "\ufeffsource,destination,weight", "id,from,to,rate,note", "to,source,value,time",
]  # fmt: skip
DEMANDS = [("h0", "h5", 2.5), ("h3", "h15", 4.0)]


@pytest.mark.parametrize("heading", HEADINGS)
def test_columns_have_their_usual_names(tmp_path: Path, heading: str) -> None:
    path = tmp_path / "some.csv"
    between = next(one for one in ",;\t" if one in heading)
    names = [name.strip("\ufeff").lower() for name in heading.split(between)]

    def cell(name: str, row: tuple[str, str, float]) -> str:
        if name in ("source", "from", "src", "sender"):
            return row[0]
        if name in ("destination", "to", "dst", "receiver"):
            return row[1]
        return "7" if name in ("id", "note", "time") else str(row[2])

    lines = [heading, *(between.join(cell(name, row) for name in names) for row in DEMANDS)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    demand = traffic(NETWORK, str(path))
    pairs = (demand.sources.tolist(), demand.destinations.tolist())
    assert (*pairs, demand.amounts.tolist()) == ([0, 3], [5, 15], [2.5, 4.0])


@pytest.mark.parametrize("form", ["plain", "words", "heading", "index", "part"])
def test_a_matrix_of_text_has_a_row_per_sender(tmp_path: Path, form: str) -> None:
    """As numpy.savetxt and pandas write it, with names or without; a part names some senders and receivers."""
    matrix = np.random.default_rng(2).integers(0, 5, (16, 16)).astype(float)
    path = tmp_path / ("m.txt" if form == "words" else "m.csv")
    names = [f"h{at}" for at in range(16)]
    if form in ("plain", "words"):
        np.savetxt(path, matrix, delimiter="," if form == "plain" else " ")
    elif form == "heading":
        np.savetxt(path, matrix, delimiter=",", header=",".join(names), comments="")
    else:
        rows = range(3, 16) if form == "part" else range(16)
        body = [",".join([names[row], *map(str, matrix[row].tolist())]) for row in rows]
        path.write_text("\n".join(["," + ",".join(names), *body]))
        matrix[: rows.start] = 0
    demand = traffic(NETWORK, str(path))
    np.fill_diagonal(matrix, 0)
    read = np.zeros_like(matrix)
    read[demand.sources, demand.destinations] = demand.amounts
    assert np.array_equal(read, matrix)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.csv", "origin host,where,amount\nh0,h1,1\n", "no column source"),
        ("a.csv", "alpha,beta,gamma\nh0,h1,1\n", "does not say which column is which: write source"),
        ("a.csv", "a,b,c,d\nh0,h1,1,2\n", "neither columns that have names, nor a matrix"),
        ("a.csv", "0,1,2,3\n1,0,2,3\n", "square matrix"),
        ("a.csv", "source,destination,amount\nh0,h1\n", "a.csv:2: it must have 3 cells"),
        ("a.csv", "source,destination,step\nh0,h1,0.5\n", "whole number"),
        ("a.csv", "source,destination,amount\nh0,h1,1\nh0,h77,1\n", "a.csv:3: "),
        ("a.csv", "source,amount\nh0,1\n", "no column destination"),
        ("a.csv", "source,destination\nh0,h99\n", "h99"),
        ("a.csv", "source,destination,amount\nh0,h1,-1\n", "not an amount"),
        ("a.csv", "source,destination\n0,16\n", "two different servers"),
        ("a.json", "{", "Expecting"),
        ("a.npy", "no array", "a.npy"),
        ("a.gml", "graph ]", "not a graph"),
    ],
)
def test_wrong_files_are_refused_in_one_line(tmp_path: Path, name: str, text: str, words: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(SpecError, match=words) as refused:
        traffic(NETWORK, str(path))
    assert "\n" not in str(refused.value)


def test_a_matrix_of_another_size_names_what_is_missing(tmp_path: Path) -> None:
    np.save(tmp_path / "large.npy", np.ones((20, 20)))
    with pytest.raises(SpecError, match="there are 16 servers"):
        traffic(NETWORK, str(tmp_path / "large.npy"))


def test_pareto_and_hot_racks_have_their_shares() -> None:
    network = fabric("fattree:8")
    drawn = traffic(network, "pareto:alpha=2", seed=3).amounts
    for quantile in (0.25, 0.5, 0.9, 0.99):  # of a Pareto distribution: (1 - q)^(-1 / alpha)
        assert np.quantile(drawn, quantile) == pytest.approx((1 - quantile) ** -0.5, rel=0.05)
    skewed = traffic(network, "rack-skewed:share=0.6,count=2", seed=3)
    edge = {host: network.peer(host, 1).node for host in range(network.servers)}  # type: ignore[union-attr]
    received: dict[int, float] = {}
    for to, amount in zip(skewed.destinations.tolist(), skewed.amounts.tolist(), strict=True):
        received[edge[to]] = received.get(edge[to], 0.0) + amount
    hottest = sorted(received.values())[-2:]
    assert sum(hottest) / sum(received.values()) == pytest.approx(0.6 + 0.4 * 8 / 128, abs=0.01)


def _in_memory() -> dict[str, Any]:
    """The same demands, as a program has them."""
    matrix = np.zeros((16, 16))
    matrix[0, 5], matrix[3, 15] = 2.5, 4
    graph = nx.DiGraph()
    graph.add_weighted_edges_from([("h0", "h5", 2.5), ("h3", "h15", 4)])
    numbered = nx.MultiDiGraph()
    numbered.add_edge(0, 5, amount=2.5)
    numbered.add_edge(3, 15, amount=4.0)
    return {"matrix": matrix, "lists": matrix.tolist(), "graph": graph, "numbered": numbered}


@pytest.mark.parametrize("kind", ["matrix", "lists", "graph", "numbered"])
def test_programs_give_matrices_and_graphs_instead_of_files(kind: str, tmp_path: Path) -> None:
    """As traffic and as pairs of evaluate, of grid, and of a lab's traffic."""
    demands = _in_memory()[kind]
    file = tmp_path / "pairs.txt"
    file.write_text("h0 h5 2.5\nh3 h15 4\n")
    report, expected = (
        evaluate(NETWORK, ["ecmp"], pairs=given, traffic=given, metrics=["throughput", "optimum"])
        for given in (demands, str(file))
    )
    assert report.pair_count == 2
    assert report.metrics == expected.metrics
    assert report.schemes[0].as_dict() == expected.schemes[0].as_dict()
    (one,), (again,) = (grid(["fattree:4"], ["ecmp"], pattern=demands) for _ in range(2))
    assert one == again  # the name of the file follows from its content
    sent = traffic(NETWORK, Traffic(demands).pattern)
    assert sent.sources.tolist()[-1] == 3
    assert sent.amounts.sum() == 6.5


def test_what_is_no_demand_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(
        SpecError, match="write a pattern, a file, a matrix of numbers or a networkx graph, not"
    ):
        evaluate(NETWORK, ["ecmp"], traffic={"h0": "h1"}, metrics=["throughput"])
    with pytest.raises(SpecError, match=r"3, 16\): write a square matrix"):
        evaluate(NETWORK, ["ecmp"], traffic=np.ones((3, 16)), metrics=["throughput"])
    with pytest.raises(SpecError, match="no pair of servers that are up"):
        evaluate(NETWORK, ["ecmp"], pairs=np.zeros((16, 16)))
    pickled = tmp_path / "graph.pkl"
    pickled.write_bytes(pickle.dumps(nx.path_graph(3)))
    with pytest.raises(SpecError, match="reading a pickle runs code"):
        check(str(pickled))
