"""The launch of a lab, stage by stage.

The controller and the agents' supervisor start first, so that they import modules while namespaces,
links and switches are created.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from addressing.scheme import Scheme
from controller.beside import NOTHING, Beside
from controller.client import ControllerProcess
from dcnlab.lab.autoconfig import configuring
from dcnlab.lab.emulation import network, tunnels
from dcnlab.lab.emulation.namespaces import netns
from dcnlab.lab.emulation.outside import Outside
from dcnlab.lab.emulation.running import Running, local
from dcnlab.lab.emulation.stages import Report, Stages
from dcnlab.lab.emulation.switches import controllers, openvswitch, waking
from dcnlab.lab.emulation.switches.shards import Shard, split
from dcnlab.lab.emulation.waiting import STALL
from dcnlab.lab.options.config import LabConfig
from dcnlab.lab.options.local_part import LocalPart
from hostagent.client import AgentPool
from hostagent.linux.channel import Message
from topos.fabric import Fabric
from topos.graph import Port

if TYPE_CHECKING:
    from dcnlab.lab.emulation.switches.answering import Answering

OnLinkChange = Callable[[Port, bool], None]
OnEvent = Callable[[Message], None]


def launch(
    config: LabConfig,
    scheme: Scheme,
    on_link_change: OnLinkChange,
    report: Report,
    outside: Outside | None = None,
    on_controller_event: OnEvent = lambda _: None,
    part: LocalPart | None = None,
    guard: tunnels.Guard | None = None,
) -> Running:
    """Launch a lab, or with ``part`` one machine's part of it, with tunnels to the others by ``guard``.

    ``on_link_change(port, up)`` is called from other threads for every port whose link goes down or
    comes up, ``on_controller_event`` with what our controller reports; ``report`` is called with the name of
    each stage.
    """
    outside = outside or Outside()
    clock = Stages(report)
    fabric = scheme.fabric
    beside = Beside(config.broadcast and not fabric.relaying)  # relays carry broadcasts themselves
    shards = split(network.bridges(fabric, part))
    datapath = openvswitch.choose_datapath(config.datapath)
    agents = spawn_agents(config, fabric, on_link_change, part)
    clock.stage("namespaces")
    netns.create(shard.netns for shard in shards)
    answering = _answer_foreign(shards, outside) if config.choice().kind in ("remote", "app") else None
    controller = spawn_controller(
        config, fabric, shards, outside, on_link_change, on_controller_event, part=part,
        beside=beside,
    )  # fmt: skip
    running = Running(
        config, fabric, scheme, shards, controller, agents, datapath,
        outside=outside, part=part, early_answering=answering, beside=beside,
    )  # fmt: skip
    network.build_network(running, clock, guard)
    if agents is not None and config.autoconfigure:
        clock.stage("addresses")
        enable_protocols(running)
        if part is None:  # otherwise the coordinator has all machines do it
            running.configure(scheme)
    clock.stage("tables")
    with waking.woken(shards):
        if controller is not None:
            controller.wait_ready(STALL)
        if running.choice.kind in ("remote", "app") and not running.choice.tables:
            clock.stage("controller")
            controllers.wait_connected(running.choice, shards, running.connections, outside)
    openvswitch.end_probes(shards)
    running.seconds = clock.finish()
    return running


def _answer_foreign(shards: tuple[Shard, ...], outside: Outside) -> Answering:
    """Correct what switches answer to controllers that are not ours."""
    from dcnlab.lab.emulation.switches.answering import Answering

    answering = Answering(shards)
    answering.start()
    outside.serve_answers = answering.serve
    return answering


def enable_protocols(running: Running) -> None:
    """Have the agents run the protocol by which servers configure themselves, where they do."""
    if running.agents is not None and running.config.autoconfigure:
        configuring.enable_configuration(running.agents, running.scheme)


def spawn_agents(
    config: LabConfig, fabric: Fabric, on_link_change: OnLinkChange, part: LocalPart | None = None
) -> AgentPool | None:
    """Start the agents' supervisor, where servers relay."""
    if not fabric.relaying:
        return None

    def carrier(node: int, port: int, up: bool) -> None:
        on_link_change(Port(node, port), up)

    pool = AgentPool(config.agent_options(), bytes.fromhex(part.key) if part is not None else b"")
    pool.on_link_change = carrier
    return pool


def spawn_controller(
    config: LabConfig,
    fabric: Fabric,
    shards: tuple[Shard, ...],
    outside: Outside,
    on_link_change: OnLinkChange,
    on_event: OnEvent,
    resume: Sequence[int] | None = None,
    part: LocalPart | None = None,
    beside: Beside = NOTHING,
) -> ControllerProcess | None:
    """Start the controller, where there are switches; they hold ``beside`` beside the scheme's entries.

    With ``resume``, the links that are down, it takes over switches that have their tables already.
    """

    def event(message: Message) -> None:
        if message["event"] == "port":
            on_link_change(Port(fabric.index(message["switch"]), message["port"]), message["up"])
        elif message["event"] == "rest" and not message["served"]:
            outside.close_rest()
        on_event(message)

    switches = None if part is None else local(fabric, part, range(fabric.servers, fabric.size))
    return controllers.spawn(config, config.choice(), shards, outside, event, resume, switches, beside)
