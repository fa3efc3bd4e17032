"""The machines of a lab on several: what the user is told of them, and one that was lost comes back."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dcnlab.lab.contract.lab import MachineInfo, Rejoined
from dcnlab.lab.coordinator.machine import at_once
from dcnlab.lab.errors import LabError, UsageError
from dcnlab.lab.events.kinds import LabState
from dcnlab.lab.machines import placement_file
from dcnlab.lab.machines.launching import Launch
from dcnlab.lab.machines.remote_machine import RemoteMachine
from dcnlab.lab.operations.impair import Impair
from dcnlab.lab.options.link_shape import NONE, Shape

_log = logging.getLogger(__name__)


class Members:
    """The machines that were launched."""

    def __init__(self, launched: Launch) -> None:
        self._launch, self._lab = launched, launched.lab
        self._machines = list(launched.machines)
        #: One at a time: two would launch the same part twice.
        self._rejoining = threading.Lock()

    def end(self) -> None:
        """Let the machines go: they have ended."""
        self._launch.transport.close()

    def describe(self, rests: Mapping[str, str]) -> dict[str, Any]:
        """What ``info`` tells of them; ``rests`` has the REST interfaces of their controllers by machine."""
        return {
            "mtu": self._launch.mtu,
            "links_cut": len(self._launch.placement.cut),
            "machines": [self._describe(machine, rests.get(machine.name, "")) for machine in self._machines],
        }

    def _describe(self, machine: RemoteMachine, rest: str) -> MachineInfo:
        nodes = machine.part.nodes
        servers = sum(map(self._lab.fabric.is_server, nodes))
        return MachineInfo(
            machine=machine.name,
            address=machine.worker.address,
            servers=servers,
            switches=len(nodes) - servers,
            links_to_others=len(machine.part.peers),
            nodes=placement_file.as_json(self._launch.placement)[machine.name],
            rest=rest,
            launch_s=machine.launch_s,
            lost=bool(machine.lost),
            silent=machine.silent and not machine.lost,
        )

    def rejoin(self, name: str) -> Rejoined:
        """Launch the part of a machine that was lost again, or with an empty name those of all such machines.

        Returns when tables follow.  UsageError when no such machine is lost; LabError when there
        is no worker at its address, or the launch fails: it stays lost then.
        """
        begun = time.monotonic()
        with self._rejoining:
            lost = self._lost(name)
            stages = at_once(lost, self._relaunch)
        seconds = {stage: max(one.get(stage, 0.0) for one in stages) for stage in stages[0]}
        total = round(time.monotonic() - begun, 3)
        return Rejoined([machine.name for machine in lost], seconds, total)

    def _lost(self, name: str) -> list[RemoteMachine]:
        if name and name not in (names := [machine.name for machine in self._machines]):
            raise UsageError(f"this lab has no machine {name!r}, but {', '.join(names)}")
        lost = [machine for machine in self._machines if machine.lost and name in ("", machine.name)]
        if not lost:
            raise UsageError(f"{name} is not lost" if name else "no machine of this lab is lost")
        return lost

    def _relaunch(self, old: RemoteMachine) -> Mapping[str, float]:
        """The part on the worker that is at the address of the machine now."""
        worker = self._launch.transport.worker_again(old.worker)
        if worker is None:
            raise LabError(f"{old.lost}, and no worker runs there: start it again, then try again")
        new = self._launch.machine(worker, replace(old.part, configured=True, rejoins=old.part.rejoins + 1))
        old.release()
        self._launch.launch_part(new, again=True)
        self._impair(new)
        self._adopt(new)
        _log.info("%s runs again", new.name)
        return new.seconds

    def _impair(self, machine: RemoteMachine) -> None:
        """Give links the impairments that they have now, as the other machines know them."""
        if not (others := [each for each in self._lab.living if each.name != machine.name]):
            return
        ours, theirs = (each.impairments for each in (machine, others[0]))
        for link, node in ours.keys() | theirs.keys():
            before, now = (links.get((link, node), Shape()).given() for links in (ours, theirs))
            if before != now:
                values = {**dict.fromkeys(before, NONE), **now}
                name, sender = self._lab.fabric.link_names(link), self._lab.fabric.name(node)
                machine.perform(Impair("link", name, values, sender=sender))

    def _adopt(self, machine: RemoteMachine) -> None:
        """Take a machine in the place of the one that is lost; returns when the tables of all follow.  Links
        that the user has cut stay cut."""
        lab = self._lab
        with lab.link_lock:
            if cut := lab.ends_at(machine, sorted(lab.link_state.cut_links)):
                machine.set_links(cut, False)
            self._machines = [machine if each.name == machine.name else each for each in self._machines]
            lab.machines = list(self._machines)
            lab.journal.add(LabState("rejoined", str(machine)))
            self._launch.watch.begin_again(machine)  # also where the tables of another part do not follow
            lab.link_state.await_state()
