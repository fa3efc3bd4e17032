"""The recorded results equal a new measurement, and docs/reproduction.md shows them."""

from __future__ import annotations

import json
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path

import pytest

from dcnlab.cli.commands.reproduce import Paper, Shown, reproduce
from dcnlab.papers import record
from dcnlab.papers.claim import Claim, Independent, Reading, Result, Row
from dcnlab.papers.registry import PAPERS_HEADER, cells, experiments, judged, markdown, papers, run, totals
from dcnlab.papers.sentences import PAPERS, Judged, counts, sentences

DOCUMENT = Path(__file__).parents[3] / "docs" / "reproduction.md"
#: Each takes longer than all others together.
SLOW = {
    "borel-fig4",
    "borel-phases",
    "borel-table4",
    "clot-fig15",
    "clot-fig16",
    "clot-fig17",
    "clot-fig18",
    "clot-latency",
    "hrsw-fact1",
    "hrsw-fig3",
    "hrsw-fig4",
    "hrsw-fig5",
    "hrsw-set-mode",
    "hrsw-statements",
}
#: Lines depend on the version of Python: the verdicts of the first so many claims are measured again.
LINES = {"borel-time": 5, "wmgr-table4": 3, "wmgr-time": 2}
#: Of these only the first so many claims are measured again; means over seeds and larger networks follow them.
FIRST = {
    "borel-fig3": 6, "borel-statements": 34, "wmgr-table3": 4, "dcube-abt": 2, "dcube-fig4": 8,
    "dcube-fig5": 7, "dcube-paths": 6, "dcube-speedup": 3,
    "dcube-statements": 5, "clot-statements": 14, "wmgr-fig10": 1, "wmgr-fig8": 5,
    "borel-labels": 19, "clot-structure": 21, "dcube-rivals": 14, "dcube-structure": 49, "hrsw-background": 9,
    "wmgr-trade-offs": 13,
}  # fmt: skip
RECORDED = record.load(record.RECORD)
#: Those that tests/dcnlab/papers/test_oracles.py measures again, with wrong oracles: all values but theirs.
INDEPENDENT = {name for name, rows in RECORDED.items() if any(row.independent for row in rows)}
RESULTS = {name: Result(rows) for name, rows in RECORDED.items()}


def sections(text: str) -> dict[str, str]:
    """The text under each experiment's heading, by the experiment's name."""
    _, *parts = text.split("\n### ")
    return {part.partition(":")[0]: part.partition("\n</details>")[0].strip() for part in parts}


def verdicts(text: str) -> list[str]:
    """The verdict in the last cell of every claim; one per value in the tables without published values."""
    said: list[str] = []
    unpublished = single = False
    for line in (line for line in text.splitlines() if line.startswith("| ")):
        _, *values = line.removeprefix("| ").removesuffix(" |").split(" | ")
        if line.startswith(("| claim ", "| of ")):
            unpublished = line.startswith("| of ")
            single = "measured" in values  # the other column has an independent value
        elif unpublished:
            said += ["not published"] * (1 if single else sum(value != "-" for value in values))
        else:
            said.append("holds by reading" if values[-1].startswith("holds under reading ") else values[-1])
    return said


@pytest.fixture(scope="module")
def committed() -> str:
    return DOCUMENT.read_text()


def test_the_document_has_every_experiment_once(committed: str) -> None:
    assert list(sections(committed)) == list(RECORDED) == list(experiments())
    assert committed.count("\n### ") == len(experiments())


@pytest.mark.parametrize("name", sorted(FIRST))
def test_a_new_measurement_of_the_first_claims_equals_the_record(name: str) -> None:
    fresh = islice(experiments()[name].measure(), FIRST[name])
    assert [cells(row) for row in fresh] == [cells(row) for row in RECORDED[name][: FIRST[name]]]


@pytest.mark.parametrize("name", sorted(LINES))
def test_a_new_count_of_lines_has_the_recorded_verdicts(name: str) -> None:
    fresh = list(islice(experiments()[name].measure(), LINES[name]))
    assert [(row.claim, row.verdict) for row in fresh] == [
        (row.claim, row.verdict) for row in RECORDED[name][: LINES[name]]
    ]
    assert any(row.measured for row in fresh)


@pytest.mark.parametrize("name", sorted(set(experiments()) - SLOW - FIRST.keys() - LINES.keys() - INDEPENDENT))
def test_a_new_measurement_equals_the_record(name: str, committed: str) -> None:
    fresh = run(name, figures=False)
    assert sections(markdown({name: fresh}))[name] == sections(committed)[name]
    assert [cells(row) for row in fresh.rows] == [cells(row) for row in RECORDED[name]]


@pytest.mark.parametrize("name", sorted(experiments()))
def test_the_document_equals_the_record(name: str, committed: str) -> None:
    shown = markdown({name: Result(RECORDED[name])})
    assert sections(shown)[name] == sections(committed)[name]


@pytest.mark.parametrize("name", sorted(SLOW | FIRST.keys() | LINES.keys()))
def test_slow_experiments_were_measured(name: str, committed: str) -> None:
    measured = verdicts(sections(committed)[name])
    assert measured
    unmeasured = [row.claim.how for row in RECORDED[name] if row.verdict == "not measured"]
    assert all(how.startswith("not measured: ") for how in unmeasured)


@pytest.mark.parametrize("name", sorted(experiments()))
def test_every_claim_names_its_place_in_the_paper(name: str) -> None:
    assert [row.claim.id for row in RECORDED[name] if not row.claim.source] == []


def test_the_document_opens_with_the_totals_and_one_row_per_paper(committed: str) -> None:
    head = committed.partition("\n## ")[0]
    assert totals(RESULTS) in head
    assert [line for line in head.splitlines() if line.startswith("| ")] == [
        f"| {' | '.join(cells)} |" for cells in (PAPERS_HEADER, *papers(RESULTS))
    ]
    assert len(papers(RESULTS)) == 5


def test_the_readme_has_the_totals() -> None:
    tally, values = counts(judged(RESULTS)), sum(int(line[-1]) for line in papers(RESULTS))
    text = " ".join((DOCUMENT.parents[1] / "README.md").read_text().split())
    bounds = f", {tally['not refuted']} are not refuted" if tally["not refuted"] else ""
    said = (
        f"Of {tally.total()} sentences, table cells and points of figures, {tally['holds']} hold,"
        f" {tally['holds by reading']} hold by one reading{bounds} and {tally['does not hold']} do not hold;"
        f" {values:,} values are the evidence"
    )
    assert said in text


def test_every_sentence_has_evidence_and_no_value_is_evidence_for_two() -> None:
    names = [f"{name}/{row.claim.id}" for name, rows in RECORDED.items() for row in rows]
    for folder in PAPERS:
        for sentence in sentences(folder):
            for pattern in sentence.rows:
                assert any(fnmatchcase(name, pattern) for name in names), pattern
        for name in names:
            of = [one.text for one in sentences(folder) if any(fnmatchcase(name, each) for each in one.rows)]
            assert len(of) <= 1, name


def sentence(*rows: Row) -> Judged:
    return Judged("clot", "text", "section 1", ("clot-paths",), rows, alone=False)


def test_a_sentence_holds_by_reading_only_under_one_reading_of_all_values() -> None:
    claim = Claim("x", "paper", "five", 5, "by hand", source="x")
    one = Row.by_reading(claim, Reading("once", 5), Reading("twice", 6))
    other = Row.by_reading(claim, Reading("once", 6), Reading("twice", 5))
    both = Row.by_reading(claim, Reading("once", 5), Reading("twice", 5))
    assert (sentence(one, both, Row(claim, 5)).verdict, sentence(one, both).common) == (
        "holds by reading",
        ("once",),
    )
    assert sentence(one, other).verdict == "does not hold"
    assert sentence(one, other).reading == "each value needs another reading"
    assert sentence(both, Row(claim, 5)).verdict == "holds"
    assert sentence(one, Row(claim, 6)).verdict == "does not hold"
    assert sentence(Row(claim, 5), Row(claim, None)).verdict == "not measured"


def test_a_bound_on_growth_is_not_proved_by_measurements() -> None:
    claim = Claim("x", "paper", "growth", 0, "fit", "<=", source="x", asymptotic=True)
    assert sentence(Row(claim, -0.1)).verdict == "not refuted"
    assert sentence(Row(claim, -0.1), Row(claim, 0.1)).verdict == "does not hold"


ROWS = (
    Row(
        Claim("a", "paper", "about 5", 5, "by hand", "<=", 0.5, source="§ 1"),
        5.25,
        (5.0, 5.5),
        independent=Independent(5.2, "f", ("torus", 4)),
    ),
    Row(Claim("b", "paper", "no figure", None, "by hand", source="Fig. 3"), None),
    Row.by_reading(
        Claim("c", "paper", "five", 5, "by hand", source="§ 2", upper=5.5),
        Reading("once", 4),
        Reading("twice", 6, (5.5, 6.5), printed=6),
    ),
)


def test_a_record_can_be_written_and_read(tmp_path: Path) -> None:
    record.save({"one": ROWS, "two": ()}, tmp_path / "v.json")
    assert record.load(tmp_path / "v.json") == {"one": ROWS, "two": ()}
    assert record.load(tmp_path / "none.json") == {}


def test_merging_replaces_one_experiment_and_removes_old_ones() -> None:
    old = {"one": ROWS[:1], "gone": ROWS}
    assert list(record.merged(old, {"zero": ROWS}, ["zero", "one", "two"])) == ["zero", "one"]
    assert record.merged(old, {"one": ROWS}, ["one"]) == {"one": ROWS}


def test_the_list_can_be_filtered_and_has_everything_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    reproduce(json=True)
    every = json.loads(capsys.readouterr().out)
    assert len(every) == len(judged(RESULTS))
    assert sum(len(one["values"]) for one in every) == sum(int(line[-1]) for line in papers(RESULTS))
    reproduce(paper=Paper.CLOT, verdict=Shown.FAILS, json=True)
    failing = json.loads(capsys.readouterr().out)
    assert failing == [one for one in every if (one["name"], one["verdict"]) == ("clot", "does not hold")]
    assert "CLOT has diameter ceil((floor(k/2) + 1) n / 2)" in {one["sentence"] for one in failing}
    readings = [value["readings"] for one in every for value in one["values"] if "readings" in value]
    assert {"reading", "printed", "measured", "holds"} == set(readings[0][0])


def test_the_list_fits_a_screen_unless_all_is_asked(capsys: pytest.CaptureFixture[str]) -> None:
    reproduce(paper=Paper.BOREL)
    assert len(capsys.readouterr().out.splitlines()) <= 30
    reproduce(paper=Paper.CLOT)
    short = capsys.readouterr().out
    assert len(short.splitlines()) <= 40
    assert "more: --all" in short
    reproduce(paper=Paper.CLOT, everything=True)
    assert len(capsys.readouterr().out.splitlines()) > 81
