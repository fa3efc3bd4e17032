"""``dcnlab capture``: tcpdump at a node, or between switches and controller."""

from __future__ import annotations

import os
import pwd
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from dcnlab.cli.app import command
from dcnlab.cli.from_classes.operations import asks
from dcnlab.cli.parameters.arguments import LabName
from dcnlab.cli.show import JsonFlag, print_json
from dcnlab.lab.client import Lab
from dcnlab.lab.contract.switches import Captured
from dcnlab.lab.errors import UsageError
from dcnlab.lab.foreground import run_in_foreground
from dcnlab.lab.operations.capture import Capture

_STDOUT = Path("-")


@command(
    "dcnlab capture LAB h12 icmp",
    "dcnlab capture LAB s4 --port 4 --count 10",
    "dcnlab capture LAB h0 -w h0.pcap",
    "dcnlab capture LAB h0 --wireshark",
    "dcnlab capture LAB controller -w openflow.pcap",
    "dcnlab capture LAB controller --switch s3",
)
@asks(Capture)  # no more follows: packets go to a descriptor, of a file or of Wireshark
def capture(
    lab: LabName,
    wanted: Capture,
    write: Annotated[
        Path | None,
        typer.Option("--write", "-w", metavar="FILE.pcap", help="Write packets to a file; -: standard output."),
    ] = None,
    wireshark: Annotated[
        bool, typer.Option("--wireshark", help="Show packets in Wireshark, with the dissector of this lab.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Capture packets with tcpdump at a server, at a switch's ports, or to the controller; Ctrl-C stops it."""
    if json and (write is None or write == _STDOUT):
        raise UsageError("--json reports the file that was written: add -w FILE.pcap")
    if wireshark and write is not None:
        raise UsageError("choose --wireshark or --write")
    attached = Lab.attach(lab)
    binary = wireshark or write is not None
    wanted = replace(wanted, options=("-U", "-w", "-") if binary else ("-l",))
    if wireshark:
        raise typer.Exit(_in_wireshark(attached, wanted))
    if write is None or write == _STDOUT:
        raise typer.Exit(run_in_foreground(attached.path, wanted, (0, 1, 2)))
    code = _written(attached.path, write, wanted)
    if json:
        print_json(Captured(wanted.node, wanted.port, str(write), write.stat().st_size))
    raise typer.Exit(code)


def _written(path: Path, file: Path, wanted: Capture) -> int:
    """Capture into a file that this process opens, so that it belongs to the user."""
    try:
        target = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from None
    try:
        return run_in_foreground(path, wanted, (0, target, 2))
    finally:
        os.close(target)


def _behind_sudo() -> dict[str, Any]:
    """Whom root runs Wireshark as: the user of sudo, whose window it is.  As root, 4.4 takes no dissector."""
    try:
        uid, gid = int(os.environ["SUDO_UID"]), int(os.environ["SUDO_GID"])
    except (KeyError, ValueError):
        return {}
    if os.geteuid() or not uid:
        return {}
    try:
        home = pwd.getpwuid(uid).pw_dir
    except KeyError:
        home = "/"
    return {"user": uid, "group": gid, "extra_groups": [], "env": {**os.environ, "HOME": home}}


def _in_wireshark(lab: Lab, wanted: Capture) -> int:
    """Capture into Wireshark, which shows packets as they come; returns when both have ended."""
    from dcnlab.lab.inspection.wireshark import lua

    with tempfile.NamedTemporaryFile("w", prefix="dcnlab-", suffix=".lua") as script:
        script.write(lua(lab.config.topology, lab.config.scheme))
        script.flush()
        command = ["wireshark", "-k", "-i", "-", "-X", f"lua_script:{script.name}"]
        user = _behind_sudo()
        if user:
            os.fchown(script.fileno(), user["user"], user["group"])
        try:
            shown = subprocess.Popen(command, stdin=subprocess.PIPE, **user)
        except OSError as error:
            text = f"wireshark: {error.strerror}: install it, or use `-w - | wireshark -k -i -` elsewhere"
            raise UsageError(text) from None
        assert shown.stdin is not None
        try:
            return run_in_foreground(lab.path, wanted, (0, shown.stdin.fileno(), 2))
        finally:
            shown.stdin.close()
            shown.wait()
