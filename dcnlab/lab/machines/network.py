"""The network of a lab on many machines, for what looks into it from the outside."""

from __future__ import annotations

from dataclasses import asdict

from dcnlab.lab.machines.whole_lab import WholeLab
from dcnlab.lab.running.network import Frame, Network, Verdict
from topos.graph import Port


def of(lab: WholeLab) -> Network:
    """The whole network; a switch is asked on its machine."""

    def verdict(at: Port, frame: Frame) -> Verdict:
        part, node = lab.part_of(at.node), lab.fabric.name(at.node)
        return Verdict.from_json(part.ask("verdict", node=node, port=at.number, frame=asdict(frame)))

    links = lab.link_state.state()
    return Network(
        lab.scheme.with_failures(links) if links else lab.scheme, links, lab.config.choice().tables, verdict
    )
