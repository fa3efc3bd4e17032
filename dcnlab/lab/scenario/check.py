"""Checks over a whole file: names that fit together, and fit the network."""

from __future__ import annotations

import contextlib
import fnmatch
import os
from collections.abc import Iterable, Iterator, Mapping

from dcnlab.lab import naming
from dcnlab.lab.emulation.images.engines import exported
from dcnlab.lab.emulation.images.roots import image_files
from dcnlab.lab.errors import LabError, UsageError
from dcnlab.lab.options.images import Image
from dcnlab.lab.scenario.action import Action, Impairment, nearest
from dcnlab.lab.scenario.expect import Expectation
from dcnlab.lab.scenario.model import Scenario
from dcnlab.lab.scenario.service import in_order
from dcnlab.lab.scenario.traffic import TrafficAction
from dcnlab.lab.scenario.values import FailureTarget
from topos.fabric import Fabric

#: The result that every scenario has: that of the lab itself.
LAB = "lab"
LAB_FIGURES = (
    "launch_s", "servers", "switches", "links", "overruns", "busy_percent", "steal_percent", "waited_percent",
    "machine_limited",
    "violations",
)  # fmt: skip

Location = tuple[str | int, ...]
#: The place in the file, and half a sentence.
Problem = tuple[Location, str]


def figures(scenario: Scenario) -> Mapping[str, tuple[str, ...]]:
    """The names of the results, and the figures of each."""
    actions: tuple[Action, ...] = (*scenario.services, *scenario.traffic, *scenario.events)
    return {LAB: LAB_FIGURES, **{action.result_name: action.result_figures for action in actions}}


def problems(scenario: Scenario, fabric: Fabric) -> Iterator[Problem]:
    """Everything that is wrong with a scenario."""
    yield from _names_twice(scenario)
    known = figures(scenario)
    for number, expectation in enumerate(scenario.expect):
        for text in _unknown(expectation, known):
            yield ("expect", number), text
    yield from _services(scenario, fabric)
    for number, action in enumerate(scenario.traffic):
        for text in (*_endpoints(fabric, action), *_files(action)):
            yield ("traffic", number, action.kind), text
    for number, entry in enumerate(scenario.links):
        try:
            _directions(fabric, entry.link, entry.sender)
        except UsageError as error:
            yield ("links", number, "link"), str(error)
    for number, event in enumerate(scenario.events):
        try:
            if event.program:
                naming.node(fabric, event.program[0])
            elif event.restart and _is_plain_host(fabric, event.restart):
                continue  # its network is made again
            elif event.process:
                naming.process(fabric, event.process)
            elif event.impair:
                _directions(fabric, event.target, event.sender)
            else:
                naming.links(fabric, event.target.kind, event.target.names)
        except UsageError as error:
            yield ("events", number, event.verb), str(error)


def impairments(scenario: Scenario) -> Iterator[tuple[Location, Impairment]]:
    """All impairments of links, and their places."""
    yield from ((("links", number), entry) for number, entry in enumerate(scenario.links))
    for number, event in enumerate(scenario.events):
        if event.to is not None:
            yield ("events", number, "to"), event.to


def _directions(fabric: Fabric, target: FailureTarget, sender: str) -> None:
    """Find the directions of links; UsageError for names of none."""
    naming.directions(fabric, naming.links_matching(fabric, target.kind, target.names), sender)


def _names_twice(scenario: Scenario) -> Iterator[Problem]:
    taken = {LAB}
    sections: tuple[tuple[str, Iterable[Action]], ...] = (
        ("services", scenario.services),
        ("traffic", scenario.traffic),
        ("events", scenario.events),
    )
    for section, actions in sections:
        for number, action in enumerate(actions):
            if action.result_name in taken:
                yield (
                    (section, number),
                    f"a result named {action.result_name} exists already: give this one another name",
                )
            taken.add(action.result_name)


def _services(scenario: Scenario, fabric: Fabric) -> Iterator[Problem]:
    """Hosts that do not exist, and services that wait for what never comes."""
    names = [fabric.name(node) for node in range(fabric.servers)]
    known = {service.result_name: service for service in scenario.services}
    options = scenario.given_options()
    for number, service in enumerate(scenario.services):
        if missing := [one for one in service.on if not fnmatch.filter(names, one)]:
            yield ("services", number, "on"), f"no server is named {missing[0]}"
        if service.image and not options.get("machines"):  # these have the image, not this machine
            yield from ((("services", number, "image"), text) for text in _image(service.image))
        on_machine = not service.image and not options.get("image")
        own = [service.cwd] if service.cwd and on_machine else ()
        for key, folders in (("cwd", own), ("private", service.private)):
            if nowhere := [one for one in folders if not os.path.isdir(one)]:
                yield ("services", number, key), f"there is no folder {nowhere[0]}"
        for name in service.after:
            if name not in known:
                yield ("services", number, "after"), f"no service is named {name}{_nearest(name, known)}"
            elif known[name].timed and not service.timed:
                yield ("services", number, "after"), f"{name} starts at a time: give this one a time too"
    try:
        list(in_order(scenario.services))
    except ValueError as error:
        yield ("services",), str(error)


def _image(text: str) -> Iterator[str]:
    """What is wrong with the image of a service."""
    try:
        image_files(exported(Image.parse(text)))
    except LabError as error:
        yield str(error).removeprefix("image: ")


def _unknown(expectation: Expectation, known: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    """Half a sentence when a result or its figure does not exist."""
    if expectation.name not in known:
        yield f"no result is named {expectation.name}{_nearest(expectation.name, known)}"
    elif expectation.figure not in known[expectation.name]:
        of_it = known[expectation.name]
        yield f"{expectation.name} has no figure {expectation.figure}{_nearest(expectation.figure, of_it)}"


def _nearest(word: str, known: Iterable[str]) -> str:
    return f": {nearest(word, known) or 'there are ' + ', '.join(known)}"


def _files(action: TrafficAction) -> Iterator[str]:
    """What is wrong with the files that an entry names."""
    try:
        action.wanted.check_files()
    except UsageError as error:
        yield str(error)


def _endpoints(fabric: Fabric, action: TrafficAction) -> Iterator[str]:
    """Half a sentence when a server does not exist, or is named twice."""
    try:
        servers = [naming.server(fabric, name) for name in action.servers]
    except UsageError as error:
        yield str(error)
        return
    if len(set(servers)) != len(servers):
        yield "needs two different servers"


def _is_plain_host(fabric: Fabric, name: str) -> bool:
    """Whether a name is that of a host without an agent."""
    with contextlib.suppress(UsageError):
        return fabric.is_end_host(naming.node(fabric, name))
    return False
