"""``python -m dcnlab.lab.session``, started by init inside the lab's sandbox: launch, then serve."""

# ruff: noqa: E402
from __future__ import annotations

import gc

gc.disable()  # imports leave no garbage; main() has it looked for again

from dcnlab.lab import python_process

python_process.import_numpy()

import contextlib
import errno
import json
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NoReturn

from controller.client import ControllerError
from dcnlab.lab import log, naming
from dcnlab.lab.contract.codec import decode_fields
from dcnlab.lab.contract.launch import LaunchReport, LaunchRequest
from dcnlab.lab.control import holders, rpc, upgrade
from dcnlab.lab.coordinator.lab import Coordinator
from dcnlab.lab.emulation import ssh_settings
from dcnlab.lab.emulation.machine import programs
from dcnlab.lab.emulation.namespaces import hosts
from dcnlab.lab.emulation.outside import Outside
from dcnlab.lab.emulation.switches import openvswitch
from dcnlab.lab.errors import LabError
from dcnlab.lab.options import exposure
from dcnlab.lab.options.config import LabConfig
from dcnlab.lab.options.local_part import LocalPart
from dcnlab.lab.running.guard import Guard
from dcnlab.lab.running.local_machine import LocalMachine
from hostagent.client import AgentError
from topos import plugins

Report = Callable[[LaunchReport], None]
_log = logging.getLogger(__name__)


def main() -> None:
    """Launch, report, serve until ``down`` (or run the prompt in the foreground)."""
    gc.freeze()  # what was imported stays
    gc.enable()
    upgrade.keep_own()
    request = LaunchRequest.read(sys.argv[1])
    log.set_up("session", os.fdopen(os.dup(2), "w", buffering=1))
    status = os.fdopen(request.status, "wb", buffering=0)
    listener = socket.socket(fileno=request.listener)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    programs.extend_path()

    def report(message: LaunchReport) -> None:
        with contextlib.suppress(OSError):
            status.write(message.line())

    outside = Outside.received(request.opened)
    guard = Guard(request.broker, request.groups)
    lab, machine = _launch(LabConfig.from_json(request.config), outside, guard, _part(request), report)
    _reset_signal_handlers()
    running = machine.running
    report(LaunchReport(ready=True, seconds=running.seconds, aacm=running.configured))
    upgrade.version()  # what is installed later has another one
    from dcnlab.lab.session import recording  # operations, which a launch does not wait for

    if not running.choice.tables:
        from dcnlab.lab.instruments import flood_watch

        flood_watch.begin(machine)

    from dcnlab.lab.instruments.counting.history import LinkHistory

    threading.Thread(target=machine.own(LinkHistory).run, daemon=True, name="history").start()
    answer = recording.answering(lab.perform, lab.journal)
    server = threading.Thread(target=rpc.serve, args=(listener, answer, lab.stop), daemon=True)
    server.start()
    holders.announce_serving()
    code = 0
    if request.errors is not None:
        os.dup2(request.errors, 2)  # the programs of the prompt write to the user's terminal
        os.close(request.errors)
        code = _in_foreground(lab, machine, answer, request)
    else:
        lab.stop.wait()
    holders.announce_ending()
    lab.end()
    server.join()
    guard.tell_ended(code)
    os._exit(code)


def _part(request: LaunchRequest) -> LocalPart | None:
    """Return the part of the lab that this machine runs, with the key that its lab has written for it."""
    if request.part is None or request.key is None:
        return None
    with open(request.key, "rb") as file:
        return replace(decode_fields(LocalPart, request.part), key=file.read().hex())


def _in_foreground(
    lab: Coordinator, machine: LocalMachine, answer: rpc.Answering, request: LaunchRequest
) -> int:
    """Run the prompt, or a Mininet script; the exit code."""
    from dcnlab.lab import operations
    from dcnlab.lab.emulation import mininet

    def set_link(a: str, b: str, up: bool) -> None:
        lab.change_links(lab.links_named("link", [a, b]), up=up)

    def impair(link: int, sender: str, values: dict[str, str]) -> None:
        machine.impair(naming.directions(machine.fabric, (link,), sender), values)

    def change(name: str, *words: str, **more: str) -> Any:
        kind: Any = operations.known()[name]
        return kind.of(*words, **more).perform(lab, None)

    net = mininet.objects(machine.running, set_link, impair, change)
    if request.script:
        from dcnlab.lab.session import script

        return script.run(net, lab.fabric.spec, request.script)
    from dcnlab.lab.session import prompt
    from dcnlab.lab.session.commands import Commands

    asking = Commands(socket.socket(fileno=request.commands))
    prompt.run(lambda: prompt.Prompt(answer, net, asking))
    return 0


def _launch(
    config: LabConfig, outside: Outside, guard: Guard, part: LocalPart | None, report: Report
) -> tuple[Coordinator, LocalMachine]:
    """Launch the lab; after an error report one line, log the traceback, and exit."""

    def stage(name: str) -> None:
        _log.info("stage: %s", name)
        report(LaunchReport(stage=name))

    _log.info("launch %s", json.dumps(config.to_json()))
    try:
        lab = Coordinator(config, config.validate())
        machine = LocalMachine(
            config, lab.launched_scheme, lab.link_state, lab.journal, stage, outside, guard=guard, part=part
        )
        running, lab.machines = machine.running, [machine]
        machine.restore = lambda links: lab.change_links(links, up=True)
        if running.configured is not None:
            lab.note_configuration(running.configured)
        lab.start()
        hosts.install(running.scheme)
        hosts.resolve_by()
        ssh_settings.install()
        if running.isolation is not None and running.servers:
            running.isolation.ready(lab.fabric.name(running.servers[0]))  # where it fails, the launch does
        if config.ssh:
            from dcnlab.lab.services import sshd

            sshd.start(machine)
        if config.nat:
            from dcnlab.lab.outside import nat

            nat.start(machine, guard)
        for exposed in exposure.parse(config.expose):
            from dcnlab.lab.outside import expose

            expose.start(machine, guard, exposed)
    except LabError as error:
        _end(report, str(error), error.exit_code)
    except (AgentError, ControllerError) as error:
        _end(report, str(error), 1)
    except Exception as error:
        custom = plugins.custom_error(error)
        _end(report, custom or _unexpected(error), 2 if custom else 1)
    _log.info("ready: %s datapath, seconds by stage %s", running.datapath, running.seconds)
    for shard in running.shards:
        first, last = shard.bridges[0].name, shard.bridges[-1].name
        command = f"dcnlab exec {config.name} {first} cat {shard.rundir}/ovs-vswitchd.log"
        _log.info("log of Open vSwitch (%s to %s): %s", first, last, command)
    return lab, machine


def _unexpected(error: Exception) -> str:
    """One line for an error that no other code has worded."""
    if isinstance(error, MemoryError):
        return "not enough memory for the lab: use a smaller topology, or raise the limit (ulimit -v)"
    if isinstance(error, OSError) and error.errno == errno.EFBIG:
        return "a file reached the limit of its size, ulimit -f: raise the limit"
    return plugins.described(error)


def _end(report: Report, text: str, code: int) -> NoReturn:
    """Report the error of a launch and exit; warnings of Open vSwitch go into the log as well."""
    _log.error("launch failed", exc_info=True)
    for file, lines in openvswitch.complaints():
        _log.error("%s:\n%s", file, lines)
    report(LaunchReport(error=text, code=code))
    logging.shutdown()
    os._exit(code)  # without waiting for threads


def _reset_signal_handlers() -> None:
    """Let programs in nodes end by SIGINT and SIGHUP.

    The guard ignores both, and its children inherit that: agents and controller, which run already.
    Children do not inherit a handler, even one that does nothing.
    """
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)


if __name__ == "__main__":
    main()
