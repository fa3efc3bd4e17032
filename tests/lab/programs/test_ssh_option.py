"""``up --ssh``: every host has an sshd, and every host may enter it."""

from __future__ import annotations

import pytest

from dcnlab.lab.client import Lab
from dcnlab.lab.errors import OptionError
from dcnlab.lab.options.config import LabConfig

OTHERS = ({"isolate": True}, {"image": "h0=/tmp"}, {"machines": "unix:/run/a,/run/b"})


@pytest.mark.parametrize("options", OTHERS)
def test_hosts_that_do_not_see_the_keys_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(OptionError, match="leave out"):
        LabConfig.of("bcube:2,1", "brp", ssh=True, **options).validate()


@pytest.mark.lab
@pytest.mark.parametrize(("topology", "scheme"), [("bcube:2,1", "brp"), ("fattree:2", "ecmp")])
def test_a_host_enters_another_by_ssh_and_copies_files(topology: str, scheme: str) -> None:
    with Lab(topology, scheme, ssh=True) as lab:
        a, b = "h0", [node["name"] for node in lab.nodes() if node["kind"] == "server"][-1]
        seen = lab.run(b, ["ip", "-br", "address"]).stdout
        assert lab.run(a, ["ssh", b, "ip", "-br", "address"]).stdout == seen
        assert lab.run(a, ["ssh", "-6", b, "ip", "-br", "address"]).stdout == seen
        assert lab.run(a, ["ssh", b, "exit", "7"]).returncode == 7
        copy = f"date > /run/sent && scp -q /run/sent {b}:/run/got && cmp /run/sent /run/got"
        copied = lab.run(a, ["sh", "-c", copy])
        assert copied.returncode == 0, copied.stderr
        other = lab.run(a, ["ssh", "-o", "BatchMode=yes", "-F", "/dev/null", b, "true"])
        assert other.returncode == 255, "without the lab's key nobody enters"
        assert {state.name for state in lab.services()} == {"sshd"}
