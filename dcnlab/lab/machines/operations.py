"""The operations of a lab on many machines: each is passed on to the parts that it concerns.

An operation about a node goes to the part that runs it.  A few concern several parts, and their answers are put
together here.  Nothing else is implemented a second time.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from dcnlab.lab import naming
from dcnlab.lab.autoconfig import configuring
from dcnlab.lab.control.rpc import Call, Operation
from dcnlab.lab.errors import UsageError
from dcnlab.lab.inspection import capture, live_path
from dcnlab.lab.kv import ring
from dcnlab.lab.machines import connecting, measured_lab, network, placement_file, rejoining
from dcnlab.lab.machines.remote_part import RemotePart
from dcnlab.lab.machines.whole_lab import WholeLab
from dcnlab.lab.options import exposure
from dcnlab.lab.session import event_stream
from dcnlab.lab.session import operations as session_operations
from dcnlab.lab.session.recording import recorded

#: Operations about the node that this field of the request names.
_ABOUT_A_NODE = {
    "exec": "node", "tables": "node", "flows": "node", "service": "node",
    "attach": "switch", "service_stop": "node", "service_log": "node", "service_wait": "node",
}  # fmt: skip
#: Operations that every part answers alike.
_ANYWHERE = ("nodes",)
#: Operations about a process: of a node, or one of each part.
_ABOUT_PROCESSES = ("restart", "kill", "pause")


def table(lab: WholeLab) -> dict[str, Operation]:
    """The operations by name; the journal records those that do something."""
    operations = _Operations(lab)
    found: dict[str, Operation] = {
        "info": operations.info, "down": operations.down, "measure": partial(measured_lab.measure, lab),
        "fail": operations.fail, "restore": operations.restore, "services": operations.services,
        "control": operations.control, "controller": operations.controller, "events": operations.events,
        "impair": operations.impair, "queues": operations.queues, "explain": operations.explain,
        "rejoin": operations.rejoin, "kv": operations.kv, "reconfigure": operations.reconfigure,
        "capture": operations.capture, "detach": operations.detach,
    }  # fmt: skip
    found |= {name: operations.about_node(field) for name, field in _ABOUT_A_NODE.items()}
    found |= dict.fromkeys(_ANYWHERE, operations.anywhere)
    found |= dict.fromkeys(_ABOUT_PROCESSES, operations.about_processes)
    absent = {name: _not_yet(name) for name in session_operations.names() if name not in found}
    return absent | {name: recorded(name, operation, lab.journal) for name, operation in found.items()}


def _not_yet(name: str) -> Operation:
    """An operation of labs on one machine."""

    def refuse(call: Call) -> Any:
        raise UsageError(f"{name} is not there yet for labs on several machines")

    return refuse


class _Operations:
    def __init__(self, lab: WholeLab) -> None:
        self._lab = lab
        self._ring = ring.Ring(lab.fabric, partial(connecting.to_store, lab))

    def about_node(self, field: str) -> Operation:
        """An operation that the part with a node answers."""

        def serve(call: Call) -> Any:
            return self._lab.part_of(self._lab.node(call.request[field])).serve(call)

        return serve

    def anywhere(self, call: Call) -> Any:
        """An operation that any part can answer."""
        return self._lab.living[0].serve(call)

    def about_processes(self, call: Call) -> Any:
        """End, stop or start processes: of a node, or those of that name in every part that has one."""
        what = call.request["what"]
        find = naming.named_node if call.request["op"] == "restart" else naming.process
        if (node := find(self._lab.fabric, what, self._lab.scheme)) is not None:
            return self._lab.part_of(node).serve(call)

        def ask(part: RemotePart) -> dict[str, Any]:
            try:
                return dict(part.ask(call.request["op"], what=what))
            except UsageError:
                return {"processes": [], "ms": 0.0}  # a part of servers only has no controller

        found = self._lab.on_all(ask)
        processes = [one for each in found for one in each["processes"]]
        if not processes:
            raise UsageError(f"this lab has no {what} of its own")
        return {"processes": processes, "ms": max(each["ms"] for each in found)}

    def capture(self, call: Call) -> Any:
        """What passes a node, or what a switch and its controller say: each machine has its own connections."""
        node, switch = call.request["node"], call.request.get("switch")
        if node == capture.CONTROLLER_NAME:
            if switch is None:
                raise UsageError("switches of several machines talk to a controller: name one with --switch")
            node = switch
        return self._lab.part_of(self._lab.node(node)).serve(call)

    def info(self, call: Call) -> Any:
        """What every lab tells, and its machines."""
        lab, found = self._lab, self._lab.ask_all("info")
        suffix = len(lab.config.name) + 1
        rest = {one["name"][suffix:]: one["controller"]["rest"] for one in found}
        lost = [part.problem for part in lab.parts if part.problem]
        restarts: dict[str, int] = {}
        for one in found:
            for name, count in one["restarts"].items():
                restarts[name] = restarts.get(name, 0) + count
        return {
            **found[0],
            "name": lab.config.name,
            "datapath": ", ".join(sorted({one["datapath"] for one in found})),
            "down": sorted(lab.link_state.state().down),
            "cut": lab.link_state.cut_names(),
            "down_links": lab.link_state.still_down(lab.link_state.state().down),
            "started": lab.started,
            "launch": lab.seconds,
            "ended": [line for one in found for line in one["ended"]] + lost,
            "damage": [line for one in found for line in one["damage"]],
            "controller": _control([one["controller"] for one in found]),
            "restarts": restarts,
            "outside": {
                **found[0]["outside"],
                "expose": list(map(str, exposure.parse(lab.config.expose))),
                "attached": [one for each in found for one in each["outside"]["attached"]],
            },
            "options": lab.config.to_json(),
            "mtu": lab.mtu,
            "links_cut": len(lab.placement.cut),
            "machines": [self._machine(part, rest.get(part.name, "")) for part in lab.parts],
        }

    def _machine(self, part: RemotePart, rest: str) -> dict[str, Any]:
        servers = sum(map(self._lab.fabric.is_server, part.part.nodes))
        counts = {"servers": servers, "switches": len(part.part.nodes) - servers}
        links = {"links_to_others": len(part.part.peers)}
        return {
            "machine": part.name,
            "address": part.worker.address,
            **counts,
            **links,
            "nodes": placement_file.as_json(self._lab.placement)[part.name],
            "rest": rest,
            "launch_s": part.launch_s,
            "lost": bool(part.lost),
            "silent": part.silent and not part.lost,
        }

    def control(self, call: Call) -> Any:
        """The controllers of all parts as one."""
        return _control(self._lab.ask_all("control"))

    def controller(self, call: Call) -> Any:
        """The sums of the counters of all parts' controllers."""
        total: dict[str, Any] = {}
        for one in self._lab.ask_all("controller"):
            for name, value in one.items():
                counted = isinstance(value, int) and not isinstance(value, bool)
                total[name] = total.get(name, 0) + value if counted else value
        return total

    def detach(self, call: Call) -> Any:
        """Give an interface back to its machine: that of the switch, or the one that has such an interface."""
        if switch := call.request.get("switch"):
            return self._lab.part_of(self._lab.node(switch)).serve(call)
        attached = [one for found in self._lab.ask_all("info") for one in found["outside"]["attached"]]
        switches = [one["switch"] for one in attached if one["interface"] == call.request["interface"]]
        if len(switches) > 1:
            text = f"it is attached to {', '.join(sorted(switches))}: name one with --switch"
            raise UsageError(f"several machines have an interface {call.request['interface']}, and {text}")
        part = self._lab.part_of(self._lab.node(switches[0])) if switches else self._lab.living[0]
        return part.serve(call)

    def services(self, call: Call) -> Any:
        """The services of all parts."""
        return [one for found in self._lab.ask_all("services") for one in found]

    def queues(self, call: Call) -> Any:
        """The queues of all parts, in the order of their nodes."""
        found = [one for queues in self._lab.ask_all("queues") for one in queues]
        return sorted(found, key=lambda one: (self._lab.fabric.index(one["node"]), one["port"]))

    def impair(self, call: Call) -> Any:
        """Change links at all their ends: every part knows the shape of every link, and imposes it at home."""
        words = {key: value for key, value in call.request.items() if key != "op"}
        return self._lab.ask_all("impair", **words)[0]

    def kv(self, call: Call) -> Any:
        """The keys and values of servers on all machines."""
        lab = self._lab
        return ring.serve(
            self._ring, call, lambda name: naming.server(lab.fabric, name, lab.scheme), lab.fabric.name
        )

    def explain(self, call: Call) -> Any:
        """The path between two servers, over switches of all machines."""
        return live_path.explained(network.of(self._lab), call.request)

    def reconfigure(self, call: Call) -> Any:
        """Let all servers configure themselves again."""
        configuring.check(self._lab.config)
        self._lab.configure()
        return self._lab.aacm

    def events(self, call: Call) -> Any:
        """What has happened in the lab as a whole."""
        return event_stream.send(self._lab.journal, call)

    def down(self, call: Call) -> Any:
        """End the lab on all machines."""
        self._lab.end()
        return {}

    def fail(self, call: Call) -> Any:
        """Cut a link or all links of a node, at the ends that are on living machines."""
        return self._lab.change_links(*self._links(call), up=False)

    def restore(self, call: Call) -> Any:
        """Undo ``fail``."""
        return self._lab.change_links(*self._links(call), up=True)

    def rejoin(self, call: Call) -> Any:
        """Launch the part of a machine again that was lost and is back, or of all such machines."""
        return rejoining.rejoin(self._lab, call.request["machine"])

    def _links(self, call: Call) -> tuple[tuple[int, ...], int | None]:
        """The links that a request names, and the node where it names them by that."""
        kind, names = call.request["kind"], call.request["names"]
        links = naming.links(self._lab.fabric, kind, names, self._lab.scheme)
        return links, self._lab.node(names[0]) if kind == "node" else None


def _control(found: list[dict[str, Any]]) -> dict[str, Any]:
    """What the parts tell of their controllers, as one; a part without switches has none."""
    chosen = max(found, key=lambda one: int(one.get("switches", 0)))
    whole = dict(chosen)
    for name in ("switches", "connected"):
        if isinstance(chosen.get(name), int):
            whole[name] = sum(int(one.get(name) or 0) for one in found)
    whole["by_hand"] = {switch: targets for one in found for switch, targets in one.get("by_hand", {}).items()}
    whole["rest"] = ""  # of applications on one machine: `machines` has it
    whole["notes"] = sorted({note for one in found for note in one.get("notes", ())})
    return whole
