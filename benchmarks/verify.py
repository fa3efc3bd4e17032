"""Proofs of all pairs: processor seconds, beside following one packet of each pair.

    python -m benchmarks verify [TOPOLOGY=SCHEME...]
    python -m benchmarks verify every [TOPOLOGY=SCHEME...]
    python -m benchmarks verify links [TOPOLOGY=SCHEME...]
    python -m benchmarks verify files

``tables`` compiles the tables that switches hold and the forwarding classes of servers, ``check`` proves all
pairs over all choices.  ``each pair`` follows one packet of some pairs, with one choice at each node, as
`dcnlab path` does, and is scaled to all pairs; ``ratio`` divides it by ``check``.  ``failure`` is the mean of
some single links, known to the control plane, with the tables that this compiles; ``all links`` is scaled.
``every`` proves each scheme on a network of about 1,024 servers, with tables and check only, and tells the
memory at most; it takes minutes.  ``links`` proves each network after the failure of each single link, known to
the control plane, in as many processes as there are processors; it takes a quarter of an hour.  ``files``
checks the transfer functions in the folders that DCNLAB_HASSEL names (with colons between them): their packets
are classes at the ports where packets enter.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import resource
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from addressing.registry import bind
from addressing.scheme import Scheme, path
from dcnlab.verifier import files
from dcnlab.verifier.arrays.pairs import Compiled
from dcnlab.verifier.checking import Fault, Report
from dcnlab.verifier.offline import Offline, Tables
from dcnlab.verifier.sweep import Question, sweep
from dcnlab.verifier.transfers import Transfers
from topos.graph import LinkState
from topos.registry import fabric

DEFAULT = ("fattree:16=twolevel", "fattree:16=ecmp", "torus:32x32=dor", "jellyfish:16,128,8=shortest")
#: Each scheme on a network of about 1,024 servers.
EVERY = (
    "fattree:16=shortest", "fattree:16=ecmp", "fattree:16=twolevel", "fattree:16=updown", "fattree:16=wmgr",
    "fattree:16=tz", "fattree:16=hier", "torus:32x32=dor", "torus:32x32=greedy", "torus:32x32=pow",
    "torus:32x32=min-ad", "dragonfly:8,4,4=valiant", "hypercube:10=permsort",
    "hypercube:10=vertex-transitive", "smallworld:32x32,clusters=4x4=hrsw",
    "smallworld:32x32,clusters=4x4=hrsw-set", "smallworld:32x32,clusters=1x1=hrsw", "dcell:5,2=dfr",
    "borel:47,2,1,2=cr", "borel:47,2,1,2=cr-bfs", "borel:47,2,1,2=twophase", "hdcube:12,2=dcube",
    "hdcube:12,2=dcube-shortest", "bcube:32,1=brp",
    "torus:32x32=wmgr-cayley",
)  # fmt: skip
#: Networks of 1,024 servers whose links fail one by one.
LINKS = ("fattree:16=ecmp", "torus:32x32=dor", "bcube:32,1=brp", "bcube:4,4=brp")
_PAIRS, _LINKS = 300, 4


def each_pair(scheme: Scheme) -> float:
    """Seconds to follow a packet of every pair, from a sample."""
    draw, ends = random.Random(1), range(scheme.fabric.servers)
    pairs = [draw.sample(ends, 2) for _ in range(_PAIRS)]
    begin = time.process_time()
    for source, destination in pairs:
        assert path(scheme, source, destination) is not None
    return (time.process_time() - begin) / _PAIRS * len(ends) * (len(ends) - 1)


def failures(compiled: Compiled, scheme: Scheme) -> float:
    """Mean seconds of a single link, without what is known of the intact network once."""
    compiled.intact()
    links = range(len(scheme.fabric.link_ends))
    chosen = random.Random(1).sample(links, min(_LINKS, len(links)))
    begin = time.process_time()
    for link in chosen:
        down = LinkState(frozenset({link}))
        compiled.check(Offline(Tables(scheme.with_failures(down), compiled.whole), down))
    return (time.process_time() - begin) / len(chosen)


def proved(scheme: Scheme) -> tuple[Compiled, Report, float, float]:
    """The proof of all pairs, and the seconds of tables and check."""
    begin = time.process_time()
    compiled = Compiled(Tables(scheme))
    middle = time.process_time()
    report = compiled.check(Offline(compiled.whole))
    return compiled, report, middle - begin, time.process_time() - middle


def whole(topology: str, text: str) -> str:
    """A line of the table of all schemes."""
    scheme = bind(text, fabric(topology))
    _, report, tables, check = proved(scheme)
    gibibytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return (
        f"{topology:30} {text:17} {scheme.fabric.servers:7,} {report.states:>11,} {tables:8.2f} {check:7.2f} "
        f"{gibibytes:10.1f} {'holds' if report.held else 'violated'}"
    )


def processor() -> float:
    """Processor seconds of this process and of those that have ended."""
    every = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in every)


def each_link(topology: str, text: str) -> str:
    """A line of the table of failures."""
    scheme = bind(text, fabric(topology))
    begin, before = time.perf_counter(), processor()
    held = list[bool]()
    every = max(1, len(scheme.fabric.link_ends) // 20)
    for outcome in sweep(scheme, Question("links"), text):
        held.append(outcome.held)
        if len(held) % every == 0:
            took = time.perf_counter() - begin
            print(f"{topology} {text}: {len(held):,} links, {took:.0f} s", file=sys.stderr, flush=True)
    took = time.perf_counter() - begin
    return (
        f"{topology:16} {text:9} {scheme.fabric.servers:7,} {len(held):>6,} {took / 60:8.1f} "
        f"{(processor() - before) / 60:18.1f} {'holds' if all(held) else f'violated {held.count(False):,}'}"
    )


def lines(function: Callable[[str, str], str], chosen: Sequence[str]) -> None:
    """Print a line per network, each from a process of its own: what one has needed is not counted again."""
    context = multiprocessing.get_context("fork")
    for one in chosen:
        with ProcessPoolExecutor(1, context) as alone:
            print(alone.submit(function, *one.rsplit("=", 1)).result(), flush=True)


def transfer_functions(folder: Path) -> str:
    """A line of the table of transfer functions."""
    begin = time.process_time()
    model = files.read(folder)
    assert isinstance(model, Transfers)
    middle = time.process_time()
    (report,) = files.check(model)
    seconds = time.process_time() - middle
    rules = len({rule.rank for every in model.rules.values() for rule in every})
    return (
        f"{folder.name:9} {len(model.routers):7} {rules:7,} {report.checked:>14,} "
        f"{report.concerned.get(Fault.loop, 0):>14,} {len(report.violations):7} "
        f"{middle - begin:6.1f} {seconds:7.1f}"
    )


def measure(topology: str, text: str) -> str:
    """A line of the table."""
    scheme = bind(text, fabric(topology))
    compiled, report, tables, check = proved(scheme)
    pair, failure = each_pair(scheme), failures(compiled, scheme)
    return (
        f"{topology} {text:12} {report.checked:>10,} {report.states:>10,} {tables:7.2f} {check:6.2f} "
        f"{pair:9.1f} {pair / check:6.0f} {failure:7.2f} {failure * len(scheme.fabric.link_ends):9.0f}"
    )


def main() -> None:
    """Print a line per network; the first network is proved once before, so that no compilation is measured."""
    measure("fattree:4", "ecmp")
    if sys.argv[1:2] == ["every"]:
        print(f"{'network':30} {'scheme':17} servers      states tables s check s memory GiB")
        lines(whole, sys.argv[2:] or EVERY)
        return
    if sys.argv[1:2] == ["links"]:
        print(f"{'network':16} {'scheme':9} servers  links  minutes  processor minutes")
        lines(each_link, sys.argv[2:] or LINKS)
        return
    if sys.argv[1:2] == ["files"]:
        print("folder    routers   rules        packets        looping circles read s check s")
        for folder in os.environ.get("DCNLAB_HASSEL", "").split(":"):
            print(transfer_functions(Path(folder)), flush=True)
        return
    chosen = sys.argv[1:] or DEFAULT
    print("network scheme  pairs  states  tables s  check s  each pair s  ratio  failure s  all links s")
    for one in chosen:
        print(measure(*one.rsplit("=", 1)), flush=True)


if __name__ == "__main__":
    main()
