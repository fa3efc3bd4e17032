"""Proofs of all pairs: processor seconds, beside following one packet of each pair.

    python -m benchmarks verify [TOPOLOGY=SCHEME...]
    python -m benchmarks verify every [TOPOLOGY=SCHEME...]

``tables`` compiles the tables that switches hold and the forwarding classes of servers, ``check`` proves all
pairs over all choices.  ``each pair`` follows one packet of some pairs, with one choice at each node, as
`dcnlab path` does, and is scaled to all pairs; ``ratio`` divides it by ``check``.  ``failure`` is the mean of
some single links, known to the control plane, with the tables that this compiles; ``all links`` is scaled.
``every`` proves each scheme on a network of about 1,024 servers, with tables and check only; it takes minutes.
"""

from __future__ import annotations

import random
import sys
import time

from addressing.registry import bind
from addressing.scheme import Scheme, path
from dcnlab.verifier.checking import Report
from dcnlab.verifier.offline import Offline, Tables
from dcnlab.verifier.pairs import Compiled
from topos.graph import LinkState
from topos.registry import fabric

DEFAULT = ("fattree:16=twolevel", "fattree:16=ecmp", "torus:32x32=dor", "jellyfish:16,128,8=shortest")
#: Each scheme on a network of about 1,024 servers.
EVERY = (
    "fattree:16=shortest", "fattree:16=ecmp", "fattree:16=twolevel", "fattree:16=updown", "fattree:16=wmgr",
    "fattree:16=tz", "fattree:16=hier", "torus:32x32=dor", "torus:32x32=greedy", "torus:32x32=pow",
    "torus:32x32=min-ad", "dragonfly:8,4,4=valiant", "hypercube:10=permsort",
    "hypercube:10=vertex-transitive", "smallworld:32x32,clusters=4x4=hrsw",
    "smallworld:32x32,clusters=4x4=hrsw-set", "dcell:5,2=dfr", "borel:47,2,1,2=cr", "borel:47,2,1,2=cr-bfs",
    "borel:47,2,1,2=twophase", "hdcube:12,2=dcube", "hdcube:12,2=dcube-shortest", "bcube:32,1=brp",
    "torus:32x32=wmgr-cayley",
)  # fmt: skip
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
    """Mean seconds of a single link."""
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
    return (
        f"{topology:30} {text:17} {scheme.fabric.servers:5,} {report.states:>10,} {tables:7.2f} {check:6.2f} "
        f"{'holds' if report.held else 'violated'}"
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
        print("network scheme  servers  states  tables s  check s")
        for one in sys.argv[2:] or EVERY:
            print(whole(*one.rsplit("=", 1)), flush=True)
        return
    chosen = sys.argv[1:] or DEFAULT
    print("network scheme  pairs  states  tables s  check s  each pair s  ratio  failure s  all links s")
    for one in chosen:
        print(measure(*one.rsplit("=", 1)), flush=True)


if __name__ == "__main__":
    main()
