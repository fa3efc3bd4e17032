"""``compare``: all combinations of topologies, schemes, failures and seeds, in parallel, resumable.

Each combination is a :class:`Request`.  Its result is one line of JSON with the hash of the
request as its key; only the parent process appends to the file.  Results that the directory
already holds are not computed again.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
import multiprocessing
import os
import signal
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, as_completed
from contextlib import closing
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

import numba

from addressing.registry import compatible_schemes
from dcnlab.evaluator import compiling
from dcnlab.evaluator.evaluate import evaluate
from dcnlab.evaluator.graph.failures import parse as sizes_of
from dcnlab.evaluator.graph.hop_graph import Hops
from dcnlab.evaluator.graph.pairs import check as check_pairs
from dcnlab.evaluator.metrics import OF_OPTIMAL, Conditions, check
from dcnlab.evaluator.optimum.beside import without_optimal
from dcnlab.evaluator.routing.path_lengths import FailureKnowledge
from dcnlab.evaluator.seeds import Draw
from dcnlab.evaluator.traffic.latency import FlowControl
from dcnlab.evaluator.worker_processes import SafeSpawnContext, process_pool, with_custom
from dcnlab.traffic.given import text_of_demands
from topos import plugins
from topos.registry import is_seeded, parse, with_seed, without_seed
from topos.spec import SpecError, split_spec

#: Incremented when results change; part of every request's hash.
FORMAT = 8
RESULTS = "results.jsonl"

Row = dict[str, Any]
#: Called after each result with the number done, the total number, and the result.
Progress = Callable[[int, int, Row], None]


class Job(Protocol):
    """A unit of work: a dataclass with a key under which its result is stored."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def key(self) -> str:
        """Equal for equal jobs, different for different ones."""
        ...


Q = TypeVar("Q", bound=Job)


def key_of(asked: Job) -> str:
    """The key of a job, from its type and fields."""
    kind = [] if isinstance(asked, Request) else [type(asked).__name__]
    custom = filter(None, [plugins.digest()])  # results of the user's own files hold for their text only
    text = json.dumps([FORMAT, *kind, *custom, dataclasses.asdict(asked)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:20]


@dataclass(frozen=True)
class Request:
    """One evaluation.

    ``metrics`` is a comma-separated list of further metrics (see :mod:`dcnlab.evaluator.metrics`),
    measured under ``traffic`` with paths by ``flows`` and, for latency and fct, ``load``; ``flow_control`` is
    for latency; ``gap`` and ``paths`` are for the optimum.  ``seed`` draws traffic, paths and samples, and,
    unless they have seeds of their own, a random network and the failures; None for what nothing draws.
    """

    topology: str
    scheme: str
    pairs: str = "servers"
    failures: str = ""
    seed: int = 1
    failure_knowledge: FailureKnowledge = "yes"
    hops: Hops = "links"
    traffic: str = ""
    metrics: str = ""
    load: float = 0.0
    flow_control: FlowControl = "none"
    flows: str = "hashed"
    gap: str = "1%"
    paths: str = ""
    graph_seed: int | None = None
    failure_seed: int | None = None

    @property
    def key(self) -> str:
        """The key under which the result is stored."""
        return key_of(self)


def requests(
    topologies: Sequence[str],
    schemes: Sequence[str],
    failures: Sequence[str] = ("",),
    seeds: Sequence[int | Draw] = (1,),
    *,
    pairs: str | Any = "servers",
    failure_knowledge: FailureKnowledge = "yes",
    hops: Hops = "links",
    pattern: str | Any = "",
    metrics: Sequence[str] = (),
    loads: Sequence[float] = (0.5,),
    flow_control: FlowControl = "none",
    flows: str = "hashed",
    gap: str = "1%",
    paths: str = "",
) -> list[Request]:
    """All combinations in which the scheme fits the topology; over ``loads`` only with latency or fct.

    A ``pattern`` (also a file, a numpy matrix or a networkx graph) requests throughput under it; ``optimal`` is
    no scheme by itself, but adds the optimum and the share of it that each scheme reaches.  A seed draws the
    failures, the sampled pairs, and a random topology whose specification names no seed; a :class:`Draw` has a
    seed for each.  What no seed changes is evaluated once.  Raises SpecError with one line.
    """
    pairs, pattern = text_of_demands(pairs), text_of_demands(pattern)
    schemes, optimal = without_optimal(schemes)
    more = (*(("throughput",) if pattern else ()), *(OF_OPTIMAL if optimal else ()))
    wanted = list(dict.fromkeys((*metrics, *more)))
    at = loads if {"latency", "fct"} & set(wanted) else (0.0,)
    for load in loads:
        check(
            wanted,
            Conditions(
                load=load,
                traffic=pattern or "all-to-all",
                flow_control=flow_control,
                flows=flows,
                gap=gap,
                paths=paths,
            ),
        )
    check_pairs(pairs)
    failures = [text if sizes_of(text) else "" for text in failures]  # one error here, not one per evaluation
    requests_once: dict[Request, None] = {}
    draws = [Draw.of(seed) if isinstance(seed, int) else seed for seed in seeds]
    for text, scheme, failing, load, draw in itertools.product(topologies, schemes, failures, at, draws):
        if split_spec(scheme)[0] in compatible_schemes(parse(text)):
            spec, own = without_seed(with_seed(text, draw.graph))
            one = Request(
                spec, scheme, pairs, failing, draw.traffic, failure_knowledge, hops, pattern, ",".join(wanted),
                load, flow_control, flows, gap, paths, own, draw.failures if failing else None,
            )  # fmt: skip
            together = draw == Draw.of(draw.traffic) and (failing or is_seeded(text))
            used = one.metrics or one.pairs.startswith("sample") or together
            requests_once[one if used else replace(one, seed=draws[0].traffic)] = None
    if not requests_once:
        raise SpecError("none of these schemes fits any of these topologies")
    return list(requests_once)


def run_job(request: Request) -> Row:
    """Evaluate one request: its fields, then every figure under its flattened key (``path.mean``)."""
    report = evaluate(
        request.topology,
        [request.scheme],
        pairs=request.pairs,
        failures=request.failures,
        seed=request.seed,
        graph_seed=request.graph_seed,
        failure_seed=request.failure_seed,
        failure_knowledge=request.failure_knowledge,
        hops=request.hops,
        metrics=tuple(filter(None, request.metrics.split(","))),
        traffic=request.traffic or "all-to-all",
        load=request.load or 0.5,
        flow_control=request.flow_control,
        flows=request.flows,
        gap=request.gap,
        paths=request.paths,
    )
    whole = report.as_dict()
    [scheme] = whole.pop("schemes")
    whole.pop("models", None)  # sentences, not figures
    figures = {**dict(flatten(whole)), **dict(flatten(scheme))}
    figures.pop("aware")  # the same as failure_knowledge
    figures["failed_share"] = report.failed_links / max(1, report.links)
    asked = dataclasses.asdict(request)
    return {"key": request.key, **asked, **{k: v for k, v in figures.items() if k not in asked}}


def flatten(value: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Flatten nested dictionaries to ``outer.inner`` keys; lists and histograms stay as they are."""
    for key, item in value.items():
        if isinstance(item, dict) and not key.endswith("histogram"):
            yield from flatten(item, f"{prefix}{key}.")
        else:
            yield prefix + key, item


def compare(
    wanted: Sequence[Request],
    directory: Path | None = None,
    *,
    workers: int | None = None,
    progress: Progress | None = None,
    on_compile: compiling.Notify | None = None,
    executor: Executor | None = None,
) -> list[Row]:
    """The results of ``wanted``: see :func:`collect`."""
    return collect(
        run_job, wanted, directory, workers=workers, progress=progress, on_compile=on_compile, executor=executor
    )


def collect(
    run_job: Callable[[Q], Row],
    wanted: Sequence[Q],
    directory: Path | None = None,
    *,
    workers: int | None = None,
    progress: Progress | None = None,
    on_compile: compiling.Notify | None = None,
    executor: Executor | None = None,
) -> list[Row]:
    """The results of ``wanted``, in that order; results that ``directory`` holds are read from it.

    ``executor`` computes the rest (any ``concurrent.futures`` executor, including a Dask
    client's).  Without one, ``workers`` processes do (default: one per core), and ``on_compile``
    is called with the kernels that they compile.  A job that fails gives a row with an ``error``
    instead of figures; it is tried again next time.
    """
    known = load(directory) if directory else {}
    rows = {asked.key: known[asked.key] for asked in wanted if asked.key in known}
    pending = [asked for asked in wanted if asked.key not in rows]
    done = len(rows)
    with closing(_run(run_job, pending, workers, executor, on_compile)) as answers:
        for row in answers:
            rows[row["key"]] = row
            done += 1
            if directory and "error" not in row:
                append(directory, row)
            if progress:
                progress(done, len(wanted), row)
    return [rows[asked.key] for asked in wanted]


def _run(
    run_job: Callable[[Q], Row],
    pending: Sequence[Q],
    workers: int | None,
    executor: Executor | None,
    on_compile: compiling.Notify | None,
) -> Generator[Row, None, None]:
    if not pending:
        return
    if executor is not None:
        yield from _gather(executor, run_job, pending)
        return
    cores = len(os.sched_getaffinity(0))
    count = min(workers or cores, len(pending))
    threads = min(max(1, cores // count), numba.get_num_threads())  # numba refuses more than it started with
    context = SafeSpawnContext()  # not forked: numba's threads do not survive a fork
    others = set(multiprocessing.active_children())
    with (
        compiling.compile_notifications(context, on_compile) as to,
        process_pool(count, context, _begin_worker, threads, to) as pool,
    ):
        try:
            yield from _gather(pool, run_job, pending)
        except BaseException:  # interrupted: nobody waits for the remaining results
            pool.shutdown(wait=False, cancel_futures=True)
            for process in set(multiprocessing.active_children()) - others:
                process.terminate()
            raise


def _begin_worker(threads: int, to: Connection | None) -> None:
    """Initialise a worker: leave Ctrl-C to the parent process, and report compilations to it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    numba.set_num_threads(threads)
    if to is not None:
        compiling.report_compilations(to)


def _gather(executor: Executor, run_job: Callable[[Q], Row], pending: Sequence[Q]) -> Iterator[Row]:
    work = with_custom(run_job)
    futures = {executor.submit(work, asked): asked for asked in pending}
    try:
        for future in as_completed(futures):
            asked = futures[future]
            try:
                yield future.result()
            except (SpecError, ValueError, MemoryError, ArithmeticError, BrokenExecutor) as error:
                yield {"key": asked.key, **dataclasses.asdict(asked), "error": str(error) or repr(error)}
    finally:
        for future in futures:  # interrupted: nobody waits for the remaining results
            future.cancel()


def load(directory: Path) -> dict[str, Row]:
    """The stored results by key; an incomplete last line, and lines that are no results, are ignored."""
    path = directory / RESULTS
    rows: dict[str, Row] = {}
    for line in path.read_bytes().splitlines() if path.exists() else ():
        try:
            row = json.loads(line)
        except ValueError:  # neither JSON nor UTF-8
            continue
        if isinstance(row, dict) and "key" in row:
            rows[str(row["key"])] = row
    return rows


def append(directory: Path, row: Row) -> None:
    """Add a result to those that the folder holds."""
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / RESULTS).open("a") as file:
        file.write(json.dumps(row) + "\n")
