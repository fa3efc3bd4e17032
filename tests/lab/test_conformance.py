"""Cases of OpenFlow 1.3, derived from its specification, are right on both data paths alike.

``python -m benchmarks conformance`` runs all of them.
"""

from __future__ import annotations

import os

import pytest

from benchmarks.conformance.__main__ import every, outcomes

#: Every so many-th case, and all whose titles begin so.
_STEP, _ALL = 25, ("group/", "priority/", "action/OUTPUT", "match/VLAN_VID/")

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user has no fast path in any lab"),
]


def test_cases_are_right_on_both_data_paths_or_on_neither() -> None:
    cases = [case for number, case in enumerate(every()) if number % _STEP == 0 or case.title.startswith(_ALL)]
    verdicts = outcomes(cases)
    differing = [one for one in verdicts if len({not text for text in one.wrong.values()}) != 1]
    assert differing == []
    right = [one for one in verdicts if not any(one.wrong.values())]
    assert len(right) > 0.9 * len(verdicts)
    assert sum(one.by_kernel > 0 for one in right) > 0.1 * len(verdicts)
    assert [one for one in right if one.traced is False] == []


def test_the_cases_have_titles_of_their_own() -> None:
    titles = [case.title for case in every()]
    assert len(set(titles)) == len(titles) > 1000
