"""Teaches routing programs in nodes: a BGP Clos (RFC 7938) of FRRouting, and its convergence beside ecmp."""

import re
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from dcnlab import Lab, fabric
from dcnlab.lab.measurement.stream import Stream

TOPOLOGY, NETWORK = "fattree:4", fabric("fattree:4")
FRR = Path("/usr/lib/frr")
ROUTERS = range(NETWORK.servers, NETWORK.size)
#: Seconds in which routing converges on any machine.
PATIENCE = 60.0
#: Eight flows from the hosts below s0, which has two links up, to another pod.
FLOWS = [(source, f"h{target}") for source in ("h0", "h1") for target in range(8, 12)]

#: Debian's FRRouting runs as root only where root is in the group frrvty: it gets such a file of groups.
ROOT = ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/group && exec "$@"']

CONFIGURATION = """\
hostname {name}
router bgp {number}
 bgp router-id {loopback}
 bgp bestpath as-path multipath-relax
 no bgp ebgp-requires-policy
 no bgp default ipv4-unicast
 neighbor fabric peer-group
 neighbor fabric remote-as external
 neighbor fabric advertisement-interval 0
 neighbor fabric timers 3 9
{neighbours}
 address-family ipv4 unicast
  redistribute connected
  maximum-paths 64
  neighbor fabric activate
 exit-address-family
 address-family ipv6 unicast
  redistribute connected
  maximum-paths 64
  neighbor fabric activate
 exit-address-family
"""


def as_number(node: int) -> int:
    """As in RFC 7938, section 5.2.1: one for the core, one a pod's aggregation, one each edge switch."""
    number = node - NETWORK.servers
    edges = 2 * len(ROUTERS) // 5
    if number < edges:
        return 65100 + number
    return 65001 + (number - edges) // 2 if number < 2 * edges else 65000


def configuration(node: int) -> str:
    """The file of a router: a session on each of its links to another one, without addresses (RFC 8950)."""
    name = NETWORK.name(node)
    ports = [port for port, end in NETWORK.ports(node) if end.node in ROUTERS]
    neighbours = "\n".join(f" neighbor {name}-eth{port} interface peer-group fabric" for port in ports)
    loopback = f"10.128.0.{node + 1}"
    return CONFIGURATION.format(name=name, number=as_number(node), loopback=loopback, neighbours=neighbours)


def start_routing(lab: Lab, folder: Path) -> None:
    """Run zebra and bgpd in every router, and wait until all hosts reach each other by both versions of IP."""
    groups = Path("/etc/group").read_text()
    (folder / "group").write_text(re.sub(r"(?m)^(frrvty:.*:).*$", r"\1root", groups))
    for node in ROUTERS:
        name = NETWORK.name(node)
        own = folder / name
        own.mkdir()
        (own / "frr.conf").write_text(configuration(node))
        shared = [
            "-u",
            "root",
            "-g",
            "root",
            "-f",
            f"{own}/frr.conf",
            "-z",
            f"{own}/zserv",
            "--vty_socket",
            str(own),
        ]
        for program in ("zebra", "bgpd"):
            lab.serve(
                program,
                name,
                [*ROOT, f"{folder}/group", str(FRR / program), *shared, "-i", f"{own}/{program}.pid"],
            )
    for version in ("-4", "-6"):
        while lab.run("h0", ["ping", version, "-c1", "-W1", "h15"]).returncode:
            time.sleep(0.2)
    while lab.pingall().lost:
        time.sleep(0.2)


def outages(lab: Lab) -> Iterator[float]:
    """The outage of each flow while a link of s0 fails, until all hosts reach each other again."""
    streams = [lab.begin(Stream(*flow)) for flow in FLOWS]
    lab.fail("s0", "s8")
    end = time.monotonic() + PATIENCE
    while lab.pingall().lost:
        assert time.monotonic() < end, "not all hosts reach each other again"
    for stream in streams:
        yield stream.stop().outage_ms


def main() -> None:
    """Print one line for each of the two."""
    if not (FRR / "bgpd").exists():
        sys.exit("FRRouting is missing: apt-get install frr")
    print(f"{'routing':<20}{'longest outage of a flow, ms':>30}")
    for label, scheme in (("BGP (FRRouting)", "none:routers=switches"), ("ecmp", "ecmp")):
        with ExitStack() as opened:
            folder = Path(opened.enter_context(tempfile.TemporaryDirectory()))
            lab = opened.enter_context(Lab(TOPOLOGY, scheme=scheme))
            if scheme != "ecmp":
                start_routing(lab, folder)
            longest = list(outages(lab))
            print(f"{label:<20}{max(longest):>30.1f}", flush=True)


if __name__ == "__main__":
    main()
