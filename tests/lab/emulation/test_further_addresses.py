"""Further addresses of hosts: packets to them reach that host, by both versions of IP, also around failures."""

from __future__ import annotations

import pytest

from addressing import registry as schemes
from dcnlab.lab.client import Lab
from dcnlab.lab.errors import OptionError
from dcnlab.lab.options.config import LabConfig
from hostagent import further_addresses
from tests.ovs import poll
from topos import registry

SERVICE, SECOND = "10.200.0.1", "10.200.0.2"
WIDE = "fd00::ac8:1"


def test_addresses_are_of_their_servers() -> None:
    bound = schemes.bind("brp", registry.fabric("bcube:4,1"))
    assert further_addresses.parse("", bound) == {}
    assert further_addresses.parse(f"h3={SERVICE}, h3={SECOND},h5=10.255.0.1", bound) == {
        (10 << 24) + (200 << 16) + 1: 3,
        (10 << 24) + (200 << 16) + 2: 3,
        (10 << 24) + (255 << 16) + 1: 5,
    }


@pytest.mark.parametrize(
    ("topology", "scheme", "text", "says"),
    [
        ("bcube:4,1", "brp", "10.200.0.1", "write h3=10.200.0.1 or h3=10.200.0.0/24, not '10.200.0.1'"),
        ("bcube:4,1", "brp", "h3=10.200", "write h3=10.200.0.1 or h3=10.200.0.0/24, not 'h3=10.200'"),
        ("bcube:4,1", "brp", "h3=10.200.0.1/24", "write h3=10.200.0.1 or"),
        ("bcube:4,1", "brp", "h3=10.200.0.0/23", "10.200.0.0/23 has 512 addresses: 256 are the most"),
        ("bcube:4,1", "brp", "h3=10.200.0.0/24,h4=10.200.0.9", "10.200.0.9 belongs to a host already"),
        ("bcube:4,1", "brp", "h99=10.200.0.1", "no node 'h99'"),
        ("bcube:4,1", "brp", "s0=10.200.0.1", "s0 is a switch"),
        ("bcube:4,1", "brp", "h3=192.168.0.1", "no address of a host in 10.0.0.0/8"),
        ("bcube:4,1", "brp", "h3=10.255.255.255", "no address of a host in 10.0.0.0/8"),
        ("bcube:4,1", "brp", "h3=10.0.0.1", "belongs to a host already"),
        ("bcube:4,1", "brp", "h3=10.64.0.1", "belongs to a host already"),
        ("bcube:4,1", "brp", "h3=10.200.0.1,h4=10.200.0.1", "belongs to a host already"),
        ("fattree:4", "twolevel", "h3=10.200.0.1", "the labels of twolevel are addresses"),
        ("fattree:4", "none", "h3=10.200.0.1", "scheme none leaves addresses to programs"),
    ],
)
def test_what_is_no_further_address_is_refused(topology: str, scheme: str, text: str, says: str) -> None:
    with pytest.raises(OptionError, match=says):
        LabConfig.of(topology, scheme, addresses=text).validate()


@pytest.mark.lab
@pytest.mark.parametrize(
    ("topology", "scheme", "options"),
    [("bcube:2,1", "brp", {}), ("bcube:2,1", "brp", {"fast_path": "on"}), ("fattree:4", "ecmp", {})],
)
def test_a_host_answers_at_all_addresses_of_a_subnet(
    topology: str, scheme: str, options: dict[str, object]
) -> None:
    with Lab(topology, scheme=scheme, addresses="h3=10.200.7.0/24", **options) as lab:
        for last in (0, 1, 77, 255):
            each = (f"10.200.7.{last}", f"fd00::ac8:7{last:02x}")
            for address in each:
                command = ["ping", "-c1", "-W2", address]
                poll(lambda command=command: lab.run("h0", command).returncode == 0, 30)


@pytest.mark.lab
@pytest.mark.parametrize(
    ("topology", "scheme", "options"),
    [
        ("bcube:2,1", "brp", {}),
        ("bcube:2,1", "wmgr", {"fast_path": "on"}),
        ("fattree:4", "ecmp", {}),
        ("torus:3x3", "wmgr", {"autoconfigure": True}),
    ],
)
def test_a_host_answers_at_its_further_addresses(
    topology: str, scheme: str, options: dict[str, object]
) -> None:
    with Lab(topology, scheme, addresses=f"h3={SERVICE},h3={SECOND}", **options) as lab:

        def answers(address: str) -> bool:
            return lab.run("h0", ["ping", "-c1", "-W2", address]).returncode == 0

        for address in (SERVICE, SECOND, WIDE):
            poll(lambda address=address: answers(address), 30)
        shown = lab.run("h3", ["ping", "-c1", "-W2", "h0"])
        assert shown.returncode == 0, "what the host itself sends has its first address"
        lab.serve("web", "h3", ["python3", "-m", "http.server", "-b", SERVICE, "8000"], ready="tcp:8000")
        page = ["curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", f"http://{SERVICE}:8000/"]
        assert lab.run("h0", page).stdout == "200"
        first, second, *others = lab.route("h0", "h3")
        lab.fail(*(second, others[0]) if topology == "fattree:4" else (first, second))
        poll(lambda: answers(SERVICE), 30)
