"""Tables in files: dumps of switches with their links, and transfer functions as Hassel writes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from addressing.fields import mac
from addressing.registry import bind
from addressing.scheme import Scheme
from controller import plan
from dcnlab.verifier import files
from dcnlab.verifier.checking import Fault, Report
from dcnlab.verifier.transfers import Transfers, Unreadable
from tests.lab.lines import dcnlab
from topos.registry import fabric

#: Of Stanford's backbone, the rules of two routers that match 10.20.0.0/16, a longer one, and their link: file
#: hassel-c/tfs/simple/ in https://github.com/Br1an6/Improvisation-of-Netplumber (headers are IP destinations;
#: rules bbra_rtr_844, 866, 869, boza_rtr_1, 202; their input ports shortened to three).
ROUTERS = {
    "bbra_rtr": [
        ("0000101000010100xxxxxxxxxxxxxxxx", "100001", "844"),
        ("00001010xxxxxxxxxxxxxxxxxxxxxxxx", "", "866"),
        ("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "100004", "869"),
    ],
    "boza_rtr": [
        ("10101011010000000000110000000001", "", "1"),
        ("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "300007", "202"),
    ],
}
INPUTS = {"bbra_rtr": "100001, 100002, 100004", "boza_rtr": "300001, 300002, 300007"}
LINKS = [("100001", "300007"), ("300007", "100001")]


@pytest.fixture
def stanford(tmp_path: Path) -> Path:
    for name, rules in ROUTERS.items():
        lines = [
            f"fwd$[{INPUTS[name]}]${match}$None$None$None$None$[{out}]$#$#$${name}_route.txt$1,${name}_{number}$"
            for match, out, number in rules
        ]
        (tmp_path / f"{name}.tf").write_text("\n".join([f"8${name}$0$0$0$", "#", *lines]))
    links = [f"link$[{a}]$None$None$None$None$None$[{b}]$#$#$$$_1$" for a, b in LINKS]
    (tmp_path / "topology.tf").write_text("\n".join(["8$$2$0$0$", "#", *links]))
    return tmp_path


def follow(port: int, header: int) -> str:
    """What becomes of a packet, rule by rule over the characters of the excerpt."""
    bits, seen = f"{header:032b}", set[int]()
    peers = {int(a): int(b) for a, b in LINKS}
    while port not in seen:
        seen.add(port)
        rules = ROUTERS["bbra_rtr" if port < 200000 else "boza_rtr"]
        out = next(
            out for match, out, _ in rules if all(m in (b, "x") for m, b in zip(match, bits, strict=True))
        )
        if not out:
            return "dropped"
        if int(out) not in peers:
            return "leaves"
        port = peers[int(out)]
    return "loops"


def test_packets_of_transfer_functions_end_as_their_rules_say(stanford: Path) -> None:
    model = files.read(stanford)
    assert isinstance(model, Transfers)
    (report,) = files.check(model)
    assert {kind: count > 0 for kind, count in report.concerned.items()} == {Fault.loop: True}
    (loop,) = report.violations
    assert set(loop.path) == {"bbra_rtr", "boza_rtr"}
    assert set(loop.entries) == {"bbra_rtr_844", "boza_rtr_202"}
    header, _, _, port, _, destination = loop.packet.replace(",", "").split()
    assert follow(int(port), int(header, 2)) == "loops"
    assert header.startswith("0000101000010100")
    assert destination.startswith("10.20.")
    others = ((0x0A150000, "dropped"), (0x08080808, "leaves"), (0x0A140001, "loops"), (0xAB400C01, "leaves"))
    for header_value, end in others:
        assert follow(100002, header_value) == end


def dumped(folder: Path, extra: str = "") -> Report:
    """The tables of a fat tree as `ovs-ofctl` prints them, with one more entry at s0."""
    scheme = bind("shortest", fabric("fattree:4"))
    net = scheme.fabric
    lines = []
    for switch in range(net.servers, net.size):
        name = net.name(switch)
        text = list(plan.desired_table(scheme, switch).lines()) + [extra] * (name == "s0")
        (folder / f"{name}.flows").write_text("\n".join(text))
        (folder / f"{name}.groups").write_text("\n".join(text))
        for port, end in net.ports(switch):
            if not net.is_server(end.node):
                lines.append(f"{name}:{port} {net.name(end.node)}:{end.number}")
            else:
                address = f"10.0.0.{end.node + 1}"
                lines.append(f"host {net.name(end.node)} {name}:{port} {_match(scheme, end.node, address)}")
    (folder / "links").write_text("# links, then hosts\n" + "\n".join(lines))
    return files.check(files.read(folder))[0]


def _match(scheme: Scheme, host: int, address: str) -> str:
    return f"ip,dl_dst={mac.text(mac.encode(scheme.label(host), scheme.label_bits))},nw_dst={address}"


def test_dumps_of_switches_hold_and_what_is_planted_is_found(tmp_path: Path) -> None:
    assert dumped(tmp_path).violations == ()
    report = dumped(tmp_path, "priority=60000,tcp,nw_dst=10.0.0.16,tp_dst=80 actions=drop")
    (lost,) = report.violations
    assert (lost.kind, lost.path[-1]) == (Fault.lost, "s0")
    assert "tcp_dst=80" in lost.packet
    assert {destination for _, destination in lost.pairs} == {"h15"}


def test_what_is_no_folder_of_tables_is_told_in_one_line(tmp_path: Path, stanford: Path) -> None:
    empty = tmp_path / "none"
    empty.mkdir()
    for folder, line in ((empty, "topology.tf (Hassel)"), (stanford, "")):
        done = dcnlab("verify", folder, "--tables")
        assert done.returncode == (2 if line else 1)
        assert line in done.stderr
    (empty / "links").write_text("a:1 b:2")
    with pytest.raises(Unreadable, match=r"links:1: there is no file a\.flows"):
        files.read(empty)
