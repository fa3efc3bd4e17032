"""A lab that runs for long: hundreds of failures and restores leave nothing behind in its processes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dcnlab.lab.client import Lab
from tests.lab import processes

pytestmark = pytest.mark.lab

#: Failures and restores before the first measurement and until the second.
WARM_UP, ROUNDS = 30, 150
#: Bytes by which a process may grow meanwhile.  The session's ring of events is not full yet: it grows by less
#: than its size, 10,000 events of a few hundred bytes.
SESSION, OTHERS = 6_000_000, 500_000
#: The same of ovsdb-server, which keeps a history of transactions, no larger than a snapshot of its database.
DATABASE = 4_000_000


@pytest.fixture(scope="module", params=["lab", "agents"])
def lab(request: pytest.FixtureRequest) -> Iterator[Lab]:
    with Lab("bcube:2,1", "brp", link_state=request.param) as running:
        yield running


def sizes(lab: Lab) -> dict[int, tuple[str, int, int]]:
    """Name, memory of its own and open descriptors of each process of the lab."""
    return {
        process.pid: (process.name(), process.memory_full_info().uss, process.num_fds())
        for process in processes.inside(lab)
    }


def test_no_process_grows(lab: Lab) -> None:
    sessions = {process.pid for process in processes.modules(lab, "dcnlab.lab.session")}

    def change(times: int) -> dict[int, tuple[str, int, int]]:
        for _ in range(times):
            lab.fail("h0", "s0")
            lab.restore("h0", "s0")
        assert lab.pingall().lost == []
        return sizes(lab)

    def grown(
        before: dict[int, tuple[str, int, int]], after: dict[int, tuple[str, int, int]]
    ) -> dict[int, str]:
        larger = {}
        for pid, (name, memory, descriptors) in after.items():
            limit = SESSION if pid in sessions else DATABASE if name == "ovsdb-server" else OTHERS
            if memory - before[pid][1] >= limit or descriptors > before[pid][2] + 2:
                larger[pid] = f"{name}: {before[pid]}, then {after[pid]}"
        return larger

    before, after = change(WARM_UP), change(ROUNDS)
    assert before.keys() == after.keys()
    suspects = grown(before, after)
    if suspects:  # an allocator takes more memory once, what leaks grows each time
        again = change(ROUNDS)
        assert not suspects.keys() & grown(after, again).keys(), suspects
