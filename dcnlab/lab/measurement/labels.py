"""The labels that the servers of a lab have learned (WMGR), held against the scheme's."""

from __future__ import annotations

from typing import Any

from addressing.schemes.wmgr import Wmgr
from dcnlab.lab.autoconfig import labelling
from dcnlab.lab.errors import LabError, UsageError
from dcnlab.lab.instruments import echo as ping
from dcnlab.lab.running.lab import RunningLab

#: Servers between all of which a lab is tried.
_ENDS = 16


def report(session: RunningLab) -> dict[str, Any]:
    """What ``dcnlab label LAB`` shows: a round as ``labelling.offline`` has them, its time that since the last
    change of a link, its frames all since the lab began, its pairs real echo requests."""
    running, scheme = session.running, session.scheme
    if not isinstance(scheme, Wmgr) or not running.config.autoconfigure or running.agents is None:
        raise UsageError("this lab's labels were given: start one with --scheme wmgr --autoconfigure")
    last = running.agents.wait_labels(labelling.expected(scheme), labelling.TIMEOUT)
    if last is None:
        raise LabError(labelling.mismatch_message(running.agents, scheme))
    changes = session.link_state.changes
    ms = round((last - changes[-1].at) * 1000, 3) if changes else running.aacm["ms"]
    fabric, words, common = scheme.fabric, scheme.embedding.words, scheme.embedding.common
    ends = range(0, fabric.servers, -(-fabric.servers // _ENDS))
    pairs = [(a, b) for a in ends for b in ends if a != b and words[a][:common] == words[b][:common]]
    echoes = ping.ping_pairs((session.endpoint(a), session.endpoint(b)) for a, b in pairs).summary()
    one = {
        "what": f"{len(session.link_state.state().down)} links down", "ms": ms,
        "frames": dict(labelling.frames(running.agents)), "changed": None, "equal": True,
        "pairs": echoes["sent"], "lost": echoes["sent"] - echoes["received"],
    }  # fmt: skip
    counts = {"nodes": fabric.size, "links": len(fabric.link_ends), "root": fabric.name(scheme.root_node)}
    return {"topology": fabric.spec, **counts, "label_bits": scheme.label_bits, "rounds": [one]}
