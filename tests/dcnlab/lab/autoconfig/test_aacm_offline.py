"""`dcnlab aacm` and `dcnlab dissector`: no lab, no privileges."""

from __future__ import annotations

import json

import pytest

from tests.lab.lines import dcnlab


def test_a_torus_configures_itself() -> None:
    answer = json.loads(dcnlab("aacm", "torus:5x3x4", "--json").stdout)
    assert (answer["servers"], answer["links"], answer["success"]) == (60, 180, True)
    assert answer["frames"]["sent config"] == answer["frames"]["sent config ack"] == 180
    assert answer["ms"] == pytest.approx((4 + 2 + 3 + 3) * 0.015)  # there, and back around the wrap-arounds


def test_lost_frames_are_sent_again() -> None:
    answer = json.loads(dcnlab("aacm", "clot:4x4", "--loss", "0.2", "--seed", "3", "--json").stdout)
    assert answer["success"]
    assert answer["frames"]["sent config"] == 32
    assert answer["frames"]["sent config ack"] > 32


def test_swapped_cables_are_named() -> None:
    done = dcnlab("aacm", "clot:4x4", "--miswire", "h3:2,h7:1", "--json")
    assert done.returncode == 1
    assert [line.split(" is connected")[0] for line in json.loads(done.stdout)["findings"]] == [
        "(0,3) port 2",
        "(1,3) port 1",
        "(2,3) port 2",
        "(3,3) port 1",
    ]


def test_both_ends_of_a_cut_cable_are_named() -> None:
    """The paper's figure 10: (1,1) gets no answer from (1,2)."""
    done = dcnlab("aacm", "clot:4x4", "--cut", "link:(1,1)-(1,2)", "--json")
    assert done.returncode == 1
    answer = json.loads(done.stdout)
    assert answer["links"] == 31
    assert answer["findings"] == ["the cable from (1,1) port 3 to (1,2) port 4 does not answer"]


def test_a_dead_server_is_named_as_dead() -> None:
    done = dcnlab("aacm", "clot:4x4", "--cut", "node:(1,2)", "--json")
    assert done.returncode == 1
    answer = json.loads(done.stdout)
    assert answer["servers"] == 15
    assert answer["findings"] == ["(1,2) does not answer on any cable"]


def test_every_swap_is_tried() -> None:
    done = dcnlab("aacm", "torus:3x3", "--swaps", "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout) == {"topology": "torus:3x3", "swaps": 306, "found": 306, "named": 306}


def test_the_dissector_is_printed() -> None:
    assert 'DissectorTable.get("ethertype"):add(0xA800, aacm)' in dcnlab("dissector").stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("bcube:4,1",), "configure themselves"),
        (("torus:32x32",), "avoid 127.0.0.0/8"),
        (("torus:4x4", "--miswire", "h3:9,h1:1"), "no torus link at port 9"),
        (("clot:4x4", "--cut", "link:h0-s0"), "AACM does not use this link"),
        (("clot:4x4", "--cut", "node:h0"), "name a server other than h0"),
        (("clot:4x4", "--cut", "h0-h1"), "a cut is written as"),
    ],
)
def test_what_cannot_be_is_one_line(words: tuple[str, ...], says: str) -> None:
    done = dcnlab("aacm", *words)
    assert done.returncode == 2
    assert says in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
