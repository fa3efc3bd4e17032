"""A node's table as the scheme predicts it, beside what Open vSwitch holds."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from addressing.header import Deliver, Drop, Forward, Header, NextHops, Pattern
from addressing.scheme import Scheme
from addressing.table import Entry, compile_table
from controller import plan, rules
from controller.beside import NOTHING, Beside
from controller.openflow import dump
from dcnlab.lab.contract.switches import TableComparison
from dcnlab.lab.running import convergence
from dcnlab.lab.running.local_machine import LocalMachine
from topos.graph import ALL_UP, LinkState

if TYPE_CHECKING:
    from dcnlab.lab.switchpath.driver import SwitchFastPath

_TIMEOUTS = re.compile(r"(?:idle|hard)_timeout=\d+, ?")
_OUR_COOKIES = tuple(f"cookie={cookie:#x}," for cookie in rules.OUR_COOKIES)


def predicted(scheme: Scheme, node: int, links: LinkState = ALL_UP, beside: Beside = NOTHING) -> list[str]:
    """The entries of a node: of a switch as Open vSwitch prints them, of a server its rule in words."""
    if scheme.fabric.is_end_host(node):
        return []
    if not scheme.fabric.is_server(node):
        return list(plan.desired_table(scheme, node, links, beside).lines())
    return list(_rule(scheme, node, links))


def matching(scheme: Scheme, node: int, header: Header, links: LinkState = ALL_UP) -> str:
    """The line of :func:`predicted` that decides about a header; empty where there is none."""
    if scheme.fabric.is_end_host(node):
        return ""
    entries = compile_table(scheme, node, links).entries
    entry = next((entry for entry in entries if entry.pattern.matches(header)), None)
    if entry is None:
        return ""
    if scheme.fabric.is_server(node):
        return _line(scheme, entry)
    key = entry.priority + 1, plan.match(scheme, entry.pattern)
    return next(rule.text for rule in plan.desired_table(scheme, node, links).rules if rule.key == key)


def installed(session: LocalMachine, switch: str) -> list[str]:
    """What Open vSwitch holds for a switch, one line per rule and group."""
    shard = session.running.shard(switch)
    dumps = [shard.run("ovs-ofctl", "-O", "OpenFlow13", kind, switch) for kind in ("dump-flows", "dump-groups")]
    return [line for text in dumps for line in dump.normal_lines(text)]


def compare(session: LocalMachine, node: int) -> TableComparison:
    """Predicted and installed entries of a node, and whether they are equal (None for servers); with the
    switch fast path also the packets that the kernel has forwarded by each installed one (``by_kernel``)."""
    fabric, state = session.fabric, session.controller_state
    scheme = session.running.scheme
    known = scheme.with_failures(state) if state else scheme
    expected = predicted(known, node, state, session.running.beside)
    name = fabric.name(node)
    if fabric.is_server(node):
        return TableComparison(name, expected, None, None)
    order = {line: place for place, line in enumerate(expected)}  # Open vSwitch prints in none
    lines = sorted(installed(session, name), key=lambda line: order.get(line, len(order)))
    ours = lines if session.running.choice.kind == "ours" else list(filter(is_ours, lines))
    by_kernel = None
    if session.switch_path is not None:
        session.switch_path.await_tables()
        by_kernel = [_by_kernel(session.switch_path, name, line) for line in lines]
    equal = ours == expected if session.running.choice.tables else None
    return TableComparison(name, expected, lines, equal, by_kernel)


def wrong(session: LocalMachine) -> list[str]:
    """The switches of this machine that do not hold the entries that the scheme predicts; not those that do not
    run."""
    fabric, dead = session.fabric, convergence.dead_nodes(session)
    switches = (node for node in session.running.switches if node not in dead)
    return [fabric.name(node) for node in switches if compare(session, node).equal is False]


def is_ours(line: str) -> bool:
    """Whether our application has installed an entry; groups have no cookie, and are all taken for ours."""
    return not line.startswith("cookie=") or line.startswith(_OUR_COOKIES)


def _by_kernel(path: SwitchFastPath, switch: str, line: str) -> int:
    """Packets that the switch fast path has forwarded by an installed entry."""
    try:
        return path.packets(switch, dump.parse_rule(_TIMEOUTS.sub("", line)))
    except dump.DumpError:  # a group, or an entry of a kind that is left to the switch
        return 0


def _rule(scheme: Scheme, node: int, links: LinkState) -> Iterable[str]:
    """One line per class: what is matched, in bits, and what is done."""
    for entry in compile_table(scheme, node, links).entries:
        yield _line(scheme, entry)


def _line(scheme: Scheme, entry: Entry) -> str:
    return f"{_bits(scheme, entry.pattern)} -> {_done(entry.next_hops)}"


def _bits(scheme: Scheme, pattern: Pattern) -> str:
    parts = [f"label={_masked(pattern.label, pattern.mask, scheme.label_bits)}"]
    if pattern.tag_mask:
        parts.append(f"route={_masked(pattern.tag, pattern.tag_mask, scheme.tag_bits)}")
    if pattern.in_port:
        parts.append(f"in_port={pattern.in_port}")
    return " ".join(parts)


def _masked(value: int, mask: int, bits: int) -> str:
    """Bits as text, a dot where a bit is not compared."""
    places = range(bits - 1, -1, -1)
    return "".join(str(value >> place & 1) if mask >> place & 1 else "." for place in places)


def _done(next_hops: NextHops) -> str:
    return ", ".join(
        f"{_words(action)}" + ("" if weight == 1 else f" ({weight:.4f})") for action, weight in next_hops
    )


def _words(action: object) -> str:
    match action:
        case Forward(port=port):
            return f"port {port}"
        case Deliver():
            return "deliver"
        case Drop(reason=reason):
            return f"drop ({reason})"
    raise TypeError(action)
