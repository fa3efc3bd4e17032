"""Which elements fail: links of servers, links between switches, nodes, or none."""

from __future__ import annotations

import pytest

from dcnlab.cli.commands.evaluate import _show_report
from dcnlab.evaluator.evaluate import evaluate
from dcnlab.evaluator.graph.failures import draw, parse
from topos.registry import fabric


@pytest.mark.parametrize("spec", ["fattree:4", "jellyfish:6,16,4", "bcube:4,1", "torus:4x4", "clot:4x4"])
@pytest.mark.parametrize(("kind", "of_servers"), [("switch-links", False), ("server-links", True)])
def test_links_of_a_kind_fail_alone(spec: str, kind: str, of_servers: bool) -> None:
    network = fabric(spec)
    pool = {
        link
        for link, (a, _, b, _) in enumerate(network.link_ends.tolist())
        if (min(a, b) < network.servers) == of_servers
    }
    for seed in range(5):
        down = draw(network, f"{kind}=25%", seed).links.down
        assert down <= pool
        assert len(down) == round(0.25 * len(pool))


def test_links_are_those_of_both_kinds() -> None:
    network = fabric("fattree:4")
    down = draw(network, "links=99%", 1).links.down
    both = draw(network, "switch-links=99%,server-links=99%", 1).links.down
    assert len(down) == len(both) == 48
    assert draw(network, "links=3", 7) == draw(network, "links=3", 7)


@pytest.mark.parametrize("text", ["", "none"])
def test_none_fails_nothing(text: str) -> None:
    assert parse(text) == {}
    assert not draw(fabric("fattree:4"), text, 1)


def test_failed_links_between_switches_leave_all_servers_connected() -> None:
    report = evaluate("fattree:8", ["ecmp"], failures="switch-links=5%", seed=3).as_dict()
    assert report["failed_server_links"] == 0 == report["unreachable"]
    report = evaluate("fattree:8", ["ecmp"], failures="server-links=5%", seed=3).as_dict()
    cut = report["failed_server_links"]
    assert cut == round(0.05 * 128)
    assert report["unreachable"] == 128 * 127 - (128 - cut) * (127 - cut)


def test_text_says_how_many_pairs_have_no_path(capsys: pytest.CaptureFixture[str]) -> None:
    report = evaluate("fattree:4", failures="server-links=2", seed=3).as_dict()
    _show_report(report, ())
    shown = capsys.readouterr().out
    assert f"of connected pairs; {report['unreachable']} of 240 pairs have no path" in shown
    assert "failed: 2 links (2 of servers)" in shown
    _show_report(evaluate("fattree:4").as_dict(), ())
    assert "no path" not in capsys.readouterr().out
