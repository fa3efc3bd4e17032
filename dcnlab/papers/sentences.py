"""What papers say, judged: the rows that are evidence for one sentence share one verdict, under one reading.

Each paper's ``sentences.txt`` has a sentence on each line, its place in the paper, and patterns of the rows
``experiment/claim`` that are its evidence, with `` | `` between them.  A row that is in no list is a cell of a
table or a point of a figure: a sentence of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from dcnlab.papers.claim import Row, Sentence, Verdict

#: The papers by the names of their folders.
PAPERS = ("borel", "clot", "dcube", "hrsw", "wmgr")
#: In the order in which a reader looks for them.
VERDICTS: tuple[Verdict, ...] = (
    "does not hold", "holds by reading", "not refuted", "holds", "not measured",
)  # fmt: skip
#: So many readings or values are named beside a verdict; the others are counted.
_NAMED = 2

Record = Mapping[str, Sequence[Row]]


@dataclass(frozen=True)
class Judged:
    """A sentence with its evidence: ``rows`` by experiment and claim.  ``alone``: a single cell or point."""

    folder: str
    text: str
    source: str
    experiments: tuple[str, ...]
    rows: tuple[Row, ...]
    alone: bool

    @property
    def paper(self) -> str:
        """The authors and the name of the paper."""
        return self.rows[0].claim.paper

    @property
    def common(self) -> tuple[str, ...]:
        """The readings under which all rows hold that do not hold under every reading of theirs."""
        readings = [row.holding for row in self.rows if row.verdict == "holds by reading"]
        return tuple(name for name in readings[0] if all(name in one for one in readings)) if readings else ()

    @property
    def verdict(self) -> Verdict:
        """One verdict: "holds by reading" needs one reading under which all rows hold."""
        verdicts = {row.verdict for row in self.rows}
        for decisive in ("does not hold", "not measured"):
            if decisive in verdicts:
                return decisive
        if "holds by reading" in verdicts:
            return "holds by reading" if self.common else "does not hold"
        return "not refuted" if "not refuted" in verdicts else "holds"

    @property
    def reading(self) -> str:
        """The reading under which it holds, or what stands against it, in words."""
        if self.verdict == "holds by reading":
            return _listed(self.common)
        if self.verdict == "not measured":
            return self.rows[0].claim.how
        if self.verdict != "does not hold":
            return ""
        against = [row for row in self.rows if row.verdict == "does not hold"]
        if not against:
            return "each value needs another reading"
        if len(self.rows) == 1:
            return f"measured {against[0].measured:,.6g}"
        return f"{len(self.rows) - len(against)} of {len(self.rows)} values hold"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return "; ".join(names[:_NAMED]) + more


@cache
def sentences(folder: str) -> tuple[Sentence, ...]:
    """The sentences of a paper, as its folder lists them."""
    lines = (Path(__file__).with_name(folder) / "sentences.txt").read_text().splitlines()
    stated = (line.split(" | ") for line in lines)
    return tuple(Sentence(text, source, tuple(rows)) for text, source, *rows in stated)


def judge(record: Record) -> list[Judged]:
    """Every sentence, cell and point of the record that has a verdict, in the order of the record."""
    by_sentence: dict[tuple[str, str], list[tuple[str, Row]]] = {}
    for experiment, rows in record.items():
        for row in rows:
            if row.verdict != "not published":
                sentence = sentence_of(experiment, row)
                key = sentence.text if sentence else f"{experiment}/{row.claim.id}"
                by_sentence.setdefault((folder_of(experiment), key), []).append((experiment, row))
    return [_judged(*key, evidence) for key, evidence in by_sentence.items()]


def _judged(folder: str, key: str, evidence: Sequence[tuple[str, Row]]) -> Judged:
    experiments, rows = zip(*evidence, strict=True)
    sentence = sentence_of(experiments[0], rows[0])
    text, source = (key, sentence.source) if sentence else (rows[0].claim.statement, rows[0].claim.source)
    return Judged(folder, text, source, tuple(dict.fromkeys(experiments)), rows, sentence is None)


def folder_of(experiment: str) -> str:
    """The folder of the paper that an experiment belongs to: the beginning of its name."""
    return experiment.partition("-")[0]


def sentence_of(experiment: str, row: Row) -> Sentence | None:
    """The sentence that a row is evidence for; None for a cell or a point."""
    name = f"{experiment}/{row.claim.id}"
    for sentence in sentences(folder_of(experiment)):
        if any(fnmatchcase(name, pattern) for pattern in sentence.rows):
            return sentence
    return None


def ordered(judgements: Iterable[Judged]) -> list[Judged]:
    """By verdict, what does not hold first."""
    return sorted(judgements, key=lambda one: VERDICTS.index(one.verdict))


def counts(judgements: Iterable[Judged]) -> Counter[str]:
    """The number of sentences per verdict."""
    return Counter(one.verdict for one in judgements)


def by_paper(judgements: Iterable[Judged]) -> Iterator[tuple[str, list[Judged]]]:
    """The sentences of each paper, by its folder."""
    every = list(judgements)
    for folder in PAPERS:
        if mine := [one for one in every if one.folder == folder]:
            yield folder, mine
