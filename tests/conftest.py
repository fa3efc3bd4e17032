"""What all tests share: privileged tests run, or say loudly why they cannot."""

from __future__ import annotations

import os

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A lab test on a machine that cannot run labs is skipped, in CI it fails."""
    labs = [item for item in items if item.get_closest_marker("lab")]
    if not labs or os.environ.get("DCNLAB_REQUIRE_LABS"):
        return
    from lab.doctor import examine

    lacks = [f"{finding.what}: {finding.found}" for finding in examine() if finding.state == "lack"]
    if lacks:
        for item in labs:
            item.add_marker(pytest.mark.skip(reason="; ".join(lacks)))
