"""How a flow uses several paths: hashed to one of them, split over all, or several hashed subflows.

A lab hashes every flow, and each node decides independently of the others.  Offline the same draw is made with
the seed.  A scheme with a single path per pair is not affected.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from addressing.scheme import Scheme
from dcnlab.evaluator.routing.path_lengths import FailureKnowledge, with_failure_knowledge
from dcnlab.evaluator.routing.sampled_paths import Sampler
from dcnlab.evaluator.routing.vectorized import forms_of
from dcnlab.evaluator.traffic.flows import Flows, flows
from dcnlab.evaluator.traffic.loads import CarriedLoad
from dcnlab.traffic.patterns import Traffic
from topos.graph import ALL_UP, NONE, IntArray, LinkState
from topos.spec import SpecError

#: The most subflows of a flow.
_MOST = 256
#: The most links of a path.
_TTL = 255
#: The paths of more flows do not fit into the memory of an ordinary machine.
_MOST_DRAWN = 40_000_000
#: So many paths are drawn at a time.
_AT_ONCE = 1 << 15
FORMS = "hashed, split or subflows=8"


@dataclass(frozen=True)
class FlowModel:
    """``subflows`` per flow, each hashed to a path; with 0 the flow is split in the scheme's proportions."""

    subflows: int = 1

    def __str__(self) -> str:
        """As the option is written."""
        return {0: "split", 1: "hashed"}.get(self.subflows, f"subflows={self.subflows}")

    @property
    def sentence(self) -> str:
        """What happens to a flow, in words."""
        if self.subflows > 1:
            return f"each flow is {self.subflows} subflows, each hashed to one path"
        return "each flow is hashed to one path" if self.subflows else "each flow is split over its paths"


HASHED, SPLIT = FlowModel(), FlowModel(0)


def read(text: str) -> FlowModel:
    """Parse ``hashed``, ``split`` or ``subflows=8``; SpecError with one line."""
    if text in ("hashed", "split"):
        return HASHED if text == "hashed" else SPLIT
    key, _, count = text.partition("=")
    if key != "subflows" or not count.isdecimal() or not 1 <= int(count) <= _MOST:
        raise SpecError(f"flows: cannot read {text!r}: write {FORMS}, with at most {_MOST} subflows")
    return FlowModel(int(count))


def route(
    scheme: Scheme,
    traffic: Traffic,
    model: FlowModel = HASHED,
    seed: int = 1,
    down: LinkState = ALL_UP,
    *,
    failure_knowledge: FailureKnowledge = "yes",
) -> Flows:
    """The links that each flow of ``traffic`` crosses, in the order of ``traffic``.

    ``seed`` draws the paths.  A flow is not delivered where its path is lost, a split one where any part is.
    """
    if not draws(scheme, model, down, failure_knowledge) or not len(traffic):
        return _in_order(flows(scheme, traffic, down, failure_knowledge=failure_knowledge), traffic)
    return _hashed(scheme, traffic, model.subflows, seed, down, failure_knowledge)


def draws(scheme: Scheme, model: FlowModel, down: LinkState, failure_knowledge: FailureKnowledge) -> bool:
    """Whether paths have to be drawn: not for split flows, nor for a scheme with a single path per pair."""
    forms = forms_of(*with_failure_knowledge(scheme, down, failure_knowledge))
    return model != SPLIT and forms.rule is None and forms.source_routes is None


def check_drawn(paths: int) -> None:
    """Raise SpecError, in one line, if these are too many paths to draw."""
    if paths > _MOST_DRAWN:
        raise SpecError(f"flows: {paths:,} paths are too many to draw: use split")


def carried_by(routed: Flows, links: int) -> CarriedLoad:
    """What the delivered flows, of one packet each, carry over each of ``links`` directed links."""
    return CarriedLoad(routed.loads(links), int(routed.delivered.sum()))


def _in_order(flows: Flows, traffic: Traffic) -> Flows:
    """Flows that are sorted by destination and source, in the order of ``traffic``."""
    order = np.lexsort((traffic.sources, traffic.destinations))
    if (order == np.arange(len(order))).all():
        return flows
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return flows.take(place)


def _hashed(
    scheme: Scheme, traffic: Traffic, subflows: int, seed: int, down: LinkState, knowledge: FailureKnowledge
) -> Flows:
    check_drawn(len(traffic) * subflows)
    sources, destinations = (np.repeat(ends, subflows) for ends in (traffic.sources, traffic.destinations))
    bound, known = with_failure_knowledge(scheme, down, knowledge)
    sampler = Sampler(bound, down, known)
    counts, links = [], []
    for chunk, first in enumerate(range(0, len(sources), _AT_ONCE)):
        some = slice(first, first + _AT_ONCE)
        paths = sampler.draw(sources[some], destinations[some], _seed_of(seed, chunk), _TTL)
        crossed: IntArray = np.where(paths.delivered[:, None], paths.links, NONE)
        counts.append((crossed != NONE).sum(axis=1))
        links.append(crossed[crossed != NONE])
    start, crossed = np.concatenate([[0], *counts]).cumsum(), np.concatenate(links)
    shares = np.full(len(crossed), 1 / subflows) if subflows > 1 else np.zeros(0)
    return Flows(traffic.sources, traffic.destinations, start, crossed, shares, subflows)


def _seed_of(seed: int, chunk: int) -> int:
    """The seed of a chunk of paths: they are numbered from 0 in each."""
    return int(np.random.SeedSequence([seed, chunk]).generate_state(1, np.uint64)[0] >> 1) if chunk else seed
