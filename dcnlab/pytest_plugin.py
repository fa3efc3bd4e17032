"""The pytest plugin: real labs as fixtures.

    @pytest.mark.dcnlab("bcube:4,1", scheme="brp")
    def test_a_cut_link_loses_nobody(lab):
        lab.fail("h0", "s0")
        assert lab.pingall().lost == []

The marker takes what :class:`dcnlab.Lab` takes, and ``scope``: ``"function"``, ``"module"`` (the default) or
``"session"``.  Tests of one scope with equal arguments share a lab.  Links that a test failed are restored
after it, and have the impairments of the launch again.  A lab that has ended, or that is not as it was (it has
lost a process, has another network, or a service) is replaced for the next test.

pytest loads this module in every run, so it imports labs only when a test asks for one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from dcnlab.lab.client import Lab

_MARKER = "dcnlab(topology, scheme=..., scope='module', **options): the lab that the fixture `lab` gives"
_SCOPES = {"function": pytest.Item, "module": pytest.Module, "session": pytest.Session}
#: Lines of the log, and events, that are shown with a failure.
_SHOWN = 40
_USED = pytest.StashKey["Lab"]()


@dataclass
class _Pool:
    """The labs that run, by the node of their scope and their arguments."""

    labs: dict[tuple[str, str], Lab] = field(default_factory=dict)
    #: What :func:`_state` said of each when it was launched.
    states: dict[str, dict[str, Any]] = field(default_factory=dict)

    def get(self, node: Any, topology: Any, options: dict[str, Any]) -> Lab:
        """The lab of these arguments; it ends with ``node``."""
        key = (
            node.nodeid,
            repr((topology if isinstance(topology, str) else id(topology), sorted(options.items()))),
        )
        if key not in self.labs:
            self.labs[key] = lab = _launch(topology, options)
            self.states[lab.config.name] = _state(lab)
            node.addfinalizer(lambda: self.drop(key))
        return self.labs[key]

    def drop(self, key: tuple[str, str]) -> None:
        """End a lab, unless it was replaced."""
        if lab := self.labs.pop(key, None):
            lab.stop()

    def clean(self, lab: Lab) -> None:
        """Undo what a test did to links; end a lab that is not as it was then."""
        from dcnlab.lab.errors import LabError

        with contextlib.suppress(LabError):
            before = self.states[lab.config.name]
            _restore(lab)
            if lab.impairments() != before["impairments"]:
                lab.impair(clear=True)
            if _state(lab) == before:
                return
        for key in [key for key, other in self.labs.items() if other is lab]:
            with contextlib.suppress(LabError):
                self.drop(key)


def _launch(topology: Any, options: dict[str, Any]) -> Lab:
    """A lab that runs; what prevents one fails the test with one line."""
    from dcnlab.lab.client import Lab
    from dcnlab.lab.errors import LabError
    from topos.spec import SpecError

    try:
        return Lab(topology, **options).start()
    except (LabError, SpecError) as error:
        pytest.fail(f"no lab: {error}", pytrace=False)


def _state(lab: Lab) -> dict[str, Any]:
    """What tests find in a lab, beside its journal and what programs have written."""
    info, kept = lab.info(), ("down", "cut", "ended", "damage", "restarts", "outside", "links")
    of_info = {name: info[name] for name in kept}
    return {**of_info, "nodes": lab.nodes(), "impairments": lab.impairments(), "services": lab.services()}


def _restore(lab: Lab) -> None:
    for node in lab.info().cut.nodes:
        lab.restore(node)
    info = lab.info()
    links = {*info.down, *info.cut.links}
    if not links:
        return
    from topos import registry

    fabric = registry.fabric(lab.config.topology)
    for link in sorted(links):
        a, _, b, _ = fabric.link_ends[link].tolist()
        lab.restore(fabric.name(a), fabric.name(b))


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line("markers", _MARKER)


@pytest.fixture(scope="session")
def _dcnlab_pool() -> _Pool:
    return _Pool()


@pytest.fixture
def lab(request: pytest.FixtureRequest, _dcnlab_pool: _Pool) -> Iterator[Lab]:
    """The running lab that the test's marker ``dcnlab`` describes."""
    marker = request.node.get_closest_marker("dcnlab")
    if marker is None or len(marker.args) != 1:
        pytest.fail('the fixture `lab` needs @pytest.mark.dcnlab("TOPOLOGY", scheme=...)', pytrace=False)
    options = dict(marker.kwargs)
    scope = options.pop("scope", "module")
    if scope not in _SCOPES:
        pytest.fail(f"dcnlab: scope is one of {', '.join(_SCOPES)}, not {scope!r}", pytrace=False)
    node = request.node if scope == "function" else request.node.getparent(_SCOPES[scope])
    running = _dcnlab_pool.get(node, marker.args[0], options)
    request.node.stash[_USED] = running
    yield running
    _dcnlab_pool.clean(running)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Any:
    """Show the log and the events of the lab with a test that failed."""
    report = yield
    used = item.stash.get(_USED, None)
    if report.failed and used is not None:
        report.sections += [(f"dcnlab {title}", text) for title, text in _told(used)]
    return report


def _told(lab: Lab) -> Iterator[tuple[str, str]]:
    """What a lab says about itself: the end of its log, and of its events."""
    from dcnlab.lab import log
    from dcnlab.lab.errors import LabError

    name = f"{lab.config.name} ({lab.config.topology}, {lab.config.scheme})"
    with contextlib.suppress(OSError):
        yield f"log of {name}", "\n".join(log.path(lab.path).read_text().splitlines()[-_SHOWN:])
    with contextlib.suppress(OSError, LabError):
        records = list(lab.events())[-_SHOWN:]
        yield f"events of {name}", "\n".join(f"{one.kind:10} {one.event.text()}" for one in records)
