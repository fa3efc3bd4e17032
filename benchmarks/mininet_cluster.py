"""Mininet's cluster edition (`mininet.examples.cluster`), for comparison with a lab on many machines.

    python -m benchmarks.mininet_cluster [--fanout 8] [--machines 4]

Machines are network namespaces with an sshd and an Open vSwitch each, joined by a bridge; Mininet runs on the
first.  All is in a sandbox with file systems, processes and a network of its own, where ``sudo``, which the
cluster edition puts before its commands, runs them: they are root's already.  Links between machines are its
default, tunnels of ssh.  Prints a line of JSON: seconds to build and start the network, and the packets that a
round of pings has lost.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.sandboxes import enter_sandbox
from dcnlab.lab.emulation.switches import openvswitch
from dcnlab.lab.emulation.switches.shards import Shard

#: Seconds after which it is not waited for any longer.
TIMEOUT = 900.0
_PROGRAMS = Path("/run/programs")
_SSH = Path("/root/.ssh")
_SUDO = """\
#!/bin/sh
while :; do
    case $1 in
    -E) shift ;;
    -u) shift 2 ;;
    *) exec "$@" ;;
    esac
done
"""
_SSHD = """\
ListenAddress {address}
HostKey /run/keys/host
AuthorizedKeysFile /run/keys/user.pub
PidFile none
StrictModes no
UsePAM no
UseDNS no
PermitRootLogin yes
PermitTunnel yes
MaxStartups 1000
MaxSessions 1000
SetEnv PATH={path} OVS_RUNDIR={rundir}
"""
#: Fan-out, kind of datapath, addresses of the other machines.
_PROGRAM = """\
import json, sys, time
from functools import partial
from mininet.examples.cluster import MininetCluster, RemoteOVSSwitch
from mininet.topolib import TreeTopo
fanout, kind, *others = sys.argv[1:]
switch = partial(RemoteOVSSwitch, datapath=kind, failMode="standalone")
begun = time.perf_counter()
net = MininetCluster(
    topo=TreeTopo(2, int(fanout)), switch=switch, controller=None, servers=["localhost", *others], user="root"
)
net.start()
seconds = round(time.perf_counter() - begun, 2)
ends = [(link.intf1.node, link.intf2.node) for link in net.links]
cut = sum(a.server != b.server for a, b in ends)
lost = net.ping([net.hosts[0], net.hosts[-1]], timeout="30")
print(json.dumps({"hosts": len(net.hosts), "links_cut": cut, "launch_s": seconds, "lost_percent": lost}))
"""
_CLIENT = """\
Host *
    IdentityFile /run/keys/user
    StrictHostKeyChecking no
    UserKnownHostsFile /dev/null
    LogLevel ERROR
"""


def measure(fanout: int, machines: int) -> dict[str, Any]:
    """Launch it in a process of its own: ``launch_s``, ``lost_percent``; ``note`` where it fails."""
    argv = [sys.executable, "-m", "benchmarks.mininet_cluster", "--fanout", str(fanout),
             "--machines", str(machines)]  # fmt: skip
    try:
        done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        return {"note": f"not done within {TIMEOUT:g} s"}
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        return {"note": " ".join((done.stderr.strip().splitlines() or ["failed"])[-1:])}
    figures: dict[str, Any] = json.loads(lines[-1])
    return figures


def _run(*argv: str, **more: Any) -> None:
    subprocess.run(argv, check=True, capture_output=True, **more)


def _prepare() -> None:
    """Keys, ssh's settings, and ``sudo``; /root/.ssh and /run are this sandbox's own."""
    for folder in (Path("/run/keys"), Path("/run/sshd"), Path("/run/netns"), _PROGRAMS):
        folder.mkdir(exist_ok=True)
    _SSH.mkdir(exist_ok=True)
    _run("mount", "-t", "tmpfs", "tmpfs", str(_SSH))
    for name in ("host", "user"):
        _run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"/run/keys/{name}")
    Path(_SSH, "config").write_text(_CLIENT)
    Path(_PROGRAMS, "sudo").write_text(_SUDO)
    Path(_PROGRAMS, "sudo").chmod(0o755)
    os.environ["PATH"] = f"{_PROGRAMS}:{os.environ['PATH']}"
    os.environ["HOME"] = "/root"


def _machines(count: int) -> list[str]:
    """Namespaces on a bridge, with an sshd and an Open vSwitch each; their addresses."""
    shards = [Shard(number, ()) for number in range(count)]
    _run("ip", "netns", "add", "between")
    _run("ip", "-n", "between", "link", "add", "br0", "type", "bridge")
    _run("ip", "-n", "between", "link", "set", "br0", "up")
    for number, shard in enumerate(shards):
        near, name = f"m{number}", shard.netns
        _run("ip", "netns", "add", name)
        _run("ip", "-n", "between", "link", "add", near, "type", "veth", "peer", "name", "up0", "netns", name)
        _run("ip", "-n", "between", "link", "set", near, "up", "master", "br0")
        _run("ip", "-n", name, "address", "add", f"10.99.0.{number + 1}/24", "dev", "up0")
        for interface in ("up0", "lo"):
            _run("ip", "-n", name, "link", "set", interface, "up")
    Path("/run/openvswitch").mkdir()
    openvswitch.start_switches(shards, openvswitch.prepare(shards, "netdev"))
    addresses = [f"10.99.0.{number + 1}" for number in range(count)]
    for shard, address in zip(shards, addresses, strict=True):
        file = Path(f"/run/keys/{shard.netns}.conf")
        file.write_text(_SSHD.format(address=address, path=os.environ["PATH"], rundir=shard.rundir))
        _run(*shard.command("/usr/sbin/sshd", "-f", str(file)))
    os.environ["OVS_RUNDIR"] = str(shards[0].rundir)
    return addresses


def launch(fanout: int, addresses: Sequence[str]) -> dict[str, Any]:
    """Build and start the network on the first machine, with Debian's Mininet: that of PyPI is older, and its
    cluster edition fails with Python 3."""
    kind = {"kernel": "kernel", "userspace": "user"}[openvswitch.choose_datapath("auto")]
    argv = ["/usr/bin/python3", "-c", _PROGRAM, str(fanout), kind, *addresses[1:]]
    command = Shard(0, ()).command(*argv)
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    figures: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return figures


def main() -> None:
    """Print a line of JSON, and end with all that was started."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fanout", type=int, default=8, help="of a tree with two levels of switches")
    parser.add_argument("--machines", type=int, default=4)
    options = parser.parse_args()
    enter_sandbox()
    _prepare()
    addresses = _machines(options.machines)
    print(json.dumps(launch(options.fanout, addresses)), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
