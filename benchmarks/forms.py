"""The vectorised forms of schemes beside the schemes themselves, as a user's own scheme is evaluated.

    python -m benchmarks.forms [--only SCHEME] [--functions] [--limit SECONDS] [--json]

Each module of ``dcnlab/evaluator/routing/vector`` states a scheme a second time, for speed.  Here one
evaluation of all pairs of a network of some thousand nodes runs with the module and without it.  A module that
saves less than two thirds is not worth its lines.  With ``--functions``, it runs without each of the module's
functions too, and so does a sample of pairs of a network of a hundred thousand nodes.

Every run has a process of its own, after a small evaluation that loads the compiled code, and ends after
``--limit`` seconds.  Times are of the processor.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import json
import multiprocessing
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection

from dcnlab.evaluator.evaluate import evaluate
from dcnlab.evaluator.routing import vector, vectorized
from topos.registry import parse

#: By scheme: a network of some thousand nodes.
SCHEMES = {
    "brp": "bcube:10,2",
    "cr": "borel:41,4,1,7",
    "cr-bfs": "borel:41,4,1,7",
    "dcube": "mdcube:16,4",
    "dcube-shortest": "hdcube:16,4",
    "dfr": "dcell:5,2",
    "dor": "torus:32x32",
    "ecmp": "fattree:16",
    "greedy": "torus:32x32",
    "hier": "torus:32x32",
    "hrsw": "smallworld:32x32,clusters=4x4",
    "hrsw-set": "smallworld:32x32,clusters=4x4",
    "ksp": "jellyfish:128,12,8",
    "min-ad": "torus:32x32",
    "permsort": "hypercube:10",
    "pow": "clot:8x8x16",
    "shortest": "torus:32x32",
    "twolevel": "fattree:16",
    "twophase": "borel:41,4,1,7",
    "tz": "random:1024,8,hosts=0",
    "updown": "fattree:16",
    "valiant": "torus:32x32",
    "wmgr": "torus:32x32",
    "wmgr-cayley": "hypercube:10",
}
#: Larger ones, of which a sample of pairs is evaluated.
LARGE = {
    "brp": "bcube:18,3",
    "cr": "borel:131,4,1,4",
    "cr-bfs": "borel:131,4,1,4",
    "dcube": "mdcube:60,5",
    "dcube-shortest": "hdcube:60,5",
    "dfr": "dcell:18,2",
    "dor": "torus:48x48x48",
    "ecmp": "torus:48x48x48",
    "greedy": "torus:48x48x48",
    "hier": "torus:48x48x48",
    "hrsw": "smallworld:320x320,clusters=16x16",
    "hrsw-set": "smallworld:320x320,clusters=16x16",
    "ksp": "random:8192,8,hosts=0",
    "min-ad": "torus:48x48x48",
    "permsort": "hypercube:17",
    "pow": "clot:48x48x48",
    "shortest": "torus:48x48x48",
    "twolevel": "fattree:72",
    "twophase": "borel:131,4,1,4",
    "tz": "random:100000,8,hosts=0",
    "updown": "fattree:72",
    "valiant": "torus:48x48x48",
    "wmgr": "hypercube:17",
    "wmgr-cayley": "hypercube:17",
}
SAMPLE = "sample:2000"
#: What :mod:`dcnlab.evaluator.routing.vector` says that a module may have.
FUNCTIONS = (
    "rule", "source_routes", "shares", "crossings", "lengths", "pair_lengths", "spread", "joint", "loads",
    "table_counts", "always_shortest", "symmetric", "few_steps",
)  # fmt: skip
LIMIT = 120.0
#: Processor seconds of one evaluation without these functions.
Run = Callable[[Sequence[str]], float | None]


def functions_of(scheme: str) -> list[str]:
    """The functions that the scheme's module has."""
    module = importlib.import_module(f"{vector.__name__}.{scheme.replace('-', '_')}")
    return [name for name in FUNCTIONS if hasattr(module, name)]


def _evaluated(scheme: str, spec: str, pairs: str, without: Sequence[str], answer: Connection) -> None:
    """Send the processor seconds of one evaluation."""
    function = vectorized._function
    vectorized._function = lambda scheme, name: None if name in without else function(scheme, name)
    evaluate(parse(spec).example, [scheme], pairs=pairs)
    begun = time.process_time()
    evaluate(spec, [scheme], pairs=pairs)
    answer.send(time.process_time() - begun)


def seconds(scheme: str, spec: str, pairs: str, without: Sequence[str], *, limit: float) -> float | None:
    """Processor seconds of one evaluation; None where it does not end within ``limit``, or with an error."""
    ours, its = multiprocessing.Pipe(duplex=False)
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=_evaluated, args=(scheme, spec, pairs, without, its))
    process.start()
    its.close()
    try:
        return float(ours.recv()) if ours.poll(limit) else None
    except EOFError:  # its traceback stands in standard error
        return None
    finally:
        process.kill()
        process.join()


def measured(scheme: str, left_out: Sequence[str], run: Run) -> dict[str, float | None]:
    """Processor seconds with the module, without it, and without each function of ``left_out``."""
    times = {"with it": run(()), "without it": run(FUNCTIONS)}
    return times | {f"without {name}": run([name]) for name in left_out}


def show(scheme: str, spec: str, times: dict[str, float | None]) -> None:
    """Print the times of a scheme, each as a multiple of the first."""
    whole = times["with it"]
    for title, spent in times.items():
        ratio = f"{spent / whole:8.1f}" if spent and whole else ""
        text = f"{spent:9.2f}" if spent is not None else f"{'-':>9}"
        print(f"{scheme:16}{spec:32}{title:24}{text}{ratio}", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.forms")
    parser.add_argument("--only", choices=SCHEMES)
    parser.add_argument(
        "--functions", action="store_true", help="without each function too, and large networks"
    )
    parser.add_argument("--limit", type=float, default=LIMIT)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    every = {}
    if not options.json:
        print(f"{'scheme':16}{'network':32}{'module':24}{'CPU s':>9}{'times':>8}")
    networks = [(SCHEMES, "servers")] + ([(LARGE, SAMPLE)] if options.functions else [])
    for scheme, spec, pairs in (
        (scheme, spec, pairs) for specs, pairs in networks for scheme, spec in specs.items()
    ):
        if options.only in (None, scheme):
            run = functools.partial(seconds, scheme, spec, pairs, limit=options.limit)
            left_out = functions_of(scheme) if options.functions else []
            every[f"{scheme} {spec}"] = times = measured(scheme, left_out, run)
            if not options.json:
                show(scheme, spec, times)
    if options.json:
        print(json.dumps(every))


if __name__ == "__main__":
    main()
