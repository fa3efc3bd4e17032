"""The pure parts of chaos: plans, shrinking, scenario files, growth."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Sequence

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcnlab.lab.chaos import plan, resources, written
from dcnlab.lab.chaos.plan import Fault, Step, Targets
from dcnlab.lab.chaos.resources import MEMORY, WARM_UP, Size, Watch
from dcnlab.lab.chaos.run import LabSpec
from dcnlab.lab.chaos.shrink import shrink
from dcnlab.lab.chaos.targets import targets
from dcnlab.lab.errors import UsageError
from dcnlab.lab.options.config import LabConfig
from dcnlab.lab.scenario import reading

LABS = [("bcube:2,1", "brp"), ("torus:3x3", "pow"), ("fattree:4", "ecmp")]
SEEDS = st.integers(0, 2**63 - 1)


@functools.cache
def possible(lab: tuple[str, str], vandals: bool = False) -> Targets:
    config = LabConfig.of(*lab)
    return targets(config, config.validate().fabric, vandals)


def first(lab: tuple[str, str], seed: int, count: int) -> list[Step]:
    return list(itertools.islice(plan.steps(possible(lab), seed), count))


@given(lab=st.sampled_from(LABS), seed=SEEDS, count=st.integers(1, 20))
def test_a_seed_gives_the_same_steps(lab: tuple[str, str], seed: int, count: int) -> None:
    longer = first(lab, seed, count + 5)
    assert first(lab, seed, count) == longer[:count]
    assert all(longer)


@settings(max_examples=20)
@given(lab=st.sampled_from(LABS), seed=SEEDS)
def test_any_faults_of_a_plan_are_a_scenario(lab: tuple[str, str], seed: int) -> None:
    steps = first(lab, seed, 8)
    values = written.scenario(LabSpec(*lab, {"seed": 3}, 45.0), steps, "some faults")
    scenario = reading.from_values(values)
    assert [event.verb for event in scenario.events] == [fault.verb for step in steps for fault in step]
    assert len(scenario.traffic) == len(scenario.expect) == len(steps)


@settings(max_examples=6)
@given(lab=st.sampled_from(LABS), seed=SEEDS)
def test_vandals_are_events_of_scenarios_and_hosts_are_repaired_at_once(
    lab: tuple[str, str], seed: int
) -> None:
    wanted = possible(lab, vandals=True)
    steps = list(itertools.islice(plan.steps(wanted, seed), 40))
    reading.from_values(written.scenario(LabSpec(*lab, {}, 45.0), steps, "vandals"))
    faults = [fault for step in steps for fault in step]
    deeds = {f"{host} {deed}" for host, deed in wanted.deeds}
    links = {f"{host} {spoil.format(name)}" for _, host, name in wanted.guests for spoil in wanted.spoils}
    assert not deeds & links
    done = [(fault.target, after) for fault, after in itertools.pairwise(faults) if fault.verb == "exec"]
    assert done
    for target, after in done:
        assert target in deeds | links
        assert target in links or after == Fault("restart", target.split()[0])


def links_of(targets: set[str], links: Iterable[str]) -> set[str]:
    """The links that are cut: a node takes all of its links with it, and a link may be cut by itself too."""
    named = [set(target.split()[1:]) for target in targets]
    return {link for link in links if any(names <= set(link.split()) for names in named)}


@given(seed=SEEDS)
def test_what_is_cut_paused_or_killed_is_bounded(seed: int) -> None:
    assert_bounded(first(LABS[0], seed, 60), possible(LABS[0]))


@settings(max_examples=30)
@given(lab=st.sampled_from(LABS), seed=SEEDS, data=st.data())
def test_a_shrunk_plan_repairs_what_the_plan_repairs(
    lab: tuple[str, str], seed: int, data: st.DataObject
) -> None:
    """Whatever is left of a plan is bounded as it was, and leaves nothing harmed that the plan did not."""
    wanted = possible(lab, vandals=True)
    steps = list(itertools.islice(plan.steps(wanted, seed), 40))
    units = plan.units(steps)
    assert plan.joined(units) == steps
    kept = shrink(units, lambda _: data.draw(st.booleans()), 12)
    shrunk = plan.joined(kept)
    assert sum(map(len, shrunk)) == sum(map(len, kept))
    assert assert_bounded(shrunk, wanted) <= assert_bounded(steps, wanted)


def test_a_shrunk_plan_keeps_no_more_than_harm_and_its_repair() -> None:
    wanted = possible(LABS[0], vandals=True)
    steps = list(itertools.islice(plan.steps(wanted, 1), 60))
    spoiled = {f"{host} {deed}" for host, deed in wanted.deeds}
    number, deed = next((n, fault) for n, step in enumerate(steps) for fault in step if fault.target in spoiled)
    shrunk = shrink(
        plan.units(steps), lambda units: any(fault is deed for unit in units for _, _, fault in unit), 10_000
    )
    assert plan.joined(shrunk) == [(deed, Fault("restart", deed.target.split()[0]))]
    assert deed in steps[number]


def assert_bounded(steps: list[Step], wanted: Targets) -> set[str]:
    """At most a quarter of the links are down; two agents are paused; nothing is killed twice in a row; guests
    spoil links that work, and hosts only for a moment.  What is cut or spoiled in the end."""
    most = max(1, len(wanted.links) // 4)
    spoils = {
        f"{host} {spoil.format(name)}": link for link, host, name in wanted.guests for spoil in wanted.spoils
    }
    spoiled = ""
    cut: set[str] = set()
    paused: set[str] = set()
    killed: set[str] = set()
    for fault in (fault for step in steps for fault in step):
        name = fault.target.split()[-1]
        assert spoiled in ("", name if fault.verb == "restart" else None)
        spoiled = ""
        if fault.verb == "fail":
            assert fault.target not in cut
            cut.add(fault.target)
        elif fault.target in spoils:
            assert spoils[fault.target] not in links_of(cut, wanted.links)
            cut.add(f"link {spoils[fault.target]}")
        elif fault.verb == "exec":
            spoiled = fault.target.split()[0]
        elif fault.verb == "restore":
            cut.remove(fault.target)
        elif fault.verb == "pause" and name != "controller":
            paused.add(name)
        elif fault.verb == "kill":
            kind = "switch" if name.startswith("s") else name
            assert kind not in killed
            killed.add(kind)
            paused -= paused if name == "agents" else set()
        elif fault.verb == "restart":
            paused.discard(name)
            killed.discard("switch" if name.startswith("s") else name)
        assert len(links_of(cut, wanted.links)) <= most
        assert len(paused) <= 2
    assert not spoiled
    return cut | paused


@given(seed=SEEDS)
def test_servers_that_know_only_failures_near_them_are_not_cut_off(seed: int) -> None:
    config = LabConfig.of("dcell:2,1", "dfr", link_state="agents")
    chosen = targets(config, config.validate().fabric)
    drawn = plan.steps(chosen, seed)
    links = {frozenset(link.split()) for link in chosen.links}
    cut: set[str] = set()
    for fault in (fault for step in itertools.islice(drawn, 40) for fault in step):
        if fault.verb == "fail":
            cut.add(fault.target)
        elif fault.verb == "restore":
            cut.remove(fault.target)
        down = {frozenset(link.split()) for link in links_of(cut, chosen.links)}
        graph = nx.Graph(map(tuple, links - down))
        assert {f"h{number}" for number in range(6)} <= nx.node_connected_component(graph, "h0")


@pytest.mark.parametrize(
    ("options", "text"),
    [({"supervise": False}, "supervis"), ({"controller": "none"}, "controller"), ({"loss": "1%"}, "loss")],
)
def test_labs_in_which_nobody_can_say_what_must_hold_are_refused(options: dict[str, object], text: str) -> None:
    config = LabConfig.of("bcube:2,1", "brp", **options)
    with pytest.raises(UsageError, match=text):
        targets(config, config.validate().fabric)


@given(items=st.lists(st.integers(), max_size=40, unique=True), data=st.data())
def test_shrinking_finds_exactly_what_is_needed(items: list[int], data: st.DataObject) -> None:
    """Where a set of items fails as soon as it contains certain ones, these are left, in their order."""
    needed = data.draw(st.sets(st.sampled_from(items))) if items else set()

    def fails(part: Sequence[int]) -> bool:
        return needed <= set(part)

    shrunk = shrink(items, fails, tries=10_000)
    wanted = [item for item in items if item in needed]
    assert shrunk == wanted or (not wanted and len(shrunk) <= 1)


@given(items=st.lists(st.integers(), min_size=1, max_size=40), tries=st.integers(0, 15), data=st.data())
def test_shrinking_keeps_to_its_tries_and_to_what_fails(
    items: list[int], tries: int, data: st.DataObject
) -> None:
    calls: list[tuple[list[int], bool]] = []

    def fails(part: Sequence[int]) -> bool:
        calls.append((list(part), data.draw(st.booleans())))
        return calls[-1][1]

    shrunk = shrink(items, fails, tries)
    assert len(calls) <= tries
    assert shrunk in [items, *(part for part, failed in calls if failed)]


def test_a_process_that_grows_is_named_and_one_that_warms_up_is_not() -> None:
    watch, key = Watch(), (7, 1.0)
    for number in range(WARM_UP):
        assert watch.growth({key: Size("controller", number * MEMORY, 10)}) == []
    last = (WARM_UP - 1) * MEMORY
    assert watch.growth({key: Size("controller", last + MEMORY, 10 + resources.FILES)}) == []
    lines = watch.growth({key: Size("controller", last + MEMORY + 1, 11 + resources.FILES)})
    assert [line.split()[0] for line in lines] == ["controller", "controller"]
    assert watch.growth({(7, 2.0): Size("controller", 1 << 40, 10_000)}) == []


def test_a_scenario_says_what_was_tried() -> None:
    fault = Fault("impair", "link h0 s0", (("rate", "2Mbit"),))
    assert str(fault) == "impair link h0 s0 rate 2Mbit"
    text = written.text(written.scenario(LabSpec("bcube:2,1", "brp"), [(fault,)], "one fault"))
    assert "impair: link h0 s0" in text
    assert "check-1.violations == 0" in text
