"""What a lab is and how it is."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.contract.lab import LabInfo, Openings
from dcnlab.lab.contract.operation import Operation
from dcnlab.lab.operations.control import Control
from dcnlab.lab.operations.facts import Facts

if TYPE_CHECKING:
    from dcnlab.lab.control.rpc import Call
    from dcnlab.lab.coordinator.lab import Coordinator


@dataclass(frozen=True)
class Info(Operation[LabInfo]):
    """Show a lab: options that differ from the default, controller, failed links, processes that have ended."""

    name: ClassVar[str] = "info"
    records: ClassVar[bool] = False
    http: ClassVar[str] = "GET /lab"
    returns: ClassVar[str] = "Name, topology, scheme, counts, links that are down, processes that ended."
    examples: ClassVar[tuple[str, ...]] = ("dcnlab info LAB", "dcnlab info LAB --json")

    def perform(self, lab: Coordinator, call: Call) -> LabInfo:
        from dcnlab.lab.control import upgrade
        from dcnlab.lab.options import exposure

        config, fabric, down = lab.config, lab.fabric, lab.links.down
        by_machine = lab.perform_all(Facts())
        facts = [*by_machine.values()]
        restarts = Counter[str]()
        for one in facts:
            restarts.update(one.restarts)
        rests = {name: one.controller.rest for name, one in by_machine.items()}
        attached = [interface for one in facts for interface in one.attached]
        problems = [machine.problem for machine in lab.machines if machine.problem]
        return LabInfo(
            name=config.name,
            topology=fabric.spec,
            scheme=config.scheme,
            backend=config.backend,
            datapath=", ".join(sorted({one.datapath for one in facts})),
            fast_path=facts[0].fast_path,
            switch_fast_path=facts[0].switch_fast_path,
            receive_buffers=facts[0].receive_buffers,
            custom=list(config.custom),
            servers=len(fabric.end_nodes),
            switches=fabric.size - len(fabric.end_nodes),
            links=len(fabric.link_ends),
            down=sorted(down),
            cut=lab.link_state.cut_names(),
            removed=lab.link_state.removed_names(),
            added=[*lab.later],
            down_links=lab.link_state.still_down(down),
            outside=Openings(config.nat, list(map(str, exposure.parse(config.expose))), attached),
            started=lab.started,
            launch=lab.seconds,
            ended=[line for one in facts for line in one.ended] + problems,
            damage=[line for one in facts for line in one.damage],
            version=upgrade.version(),
            replaced=upgrade.was_replaced(),
            controller=Control.merge([one.controller for one in facts]),
            restarts=dict(restarts),
            options=config.to_json(),
            chosen=config.chosen(),
            **(lab.others.describe(rests) if lab.others is not None else {}),
        )
