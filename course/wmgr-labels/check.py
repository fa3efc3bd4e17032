"""Compare the student's labels and paths with those of the scheme, which the lab's servers also learn."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from addressing.scheme import path
from addressing.schemes.wmgr import Wmgr
from dcnlab.lab.course import answers
from dcnlab.lab.course.answers import Marks
from dcnlab.lab.errors import UsageError
from dcnlab.lab.instruments.measurement import Context, Measurement
from topos.graph import LinkState

if TYPE_CHECKING:
    from dcnlab.lab.network.measured_lab import MeasuredLab

FILE = Path(__file__).with_name("answers.yaml")
#: Without the label of h0, the root, which is the empty word.
LABELLED = tuple(f"h{number}" for number in range(1, 8))
PATHS = (("h4", "h5"), ("h6", "h7"), ("h3", "h7"))
CUT = ["h0", "h1"]


@dataclass(frozen=True)
class AnswersResult(Marks):
    """Right labels, paths and numbers; right labels without the link that fails."""

    labels: int
    paths: int
    numbers: int
    after_cut: int


@dataclass(frozen=True)
class Answers(Measurement[AnswersResult]):
    """Check labels, paths, the size of a table, and the labels after a failure."""

    name: ClassVar[str] = "answers"
    command: ClassVar[bool] = False

    def run(self, lab: MeasuredLab, context: Context) -> AnswersResult:
        scheme = lab.launched_scheme
        if not isinstance(scheme, Wmgr):
            raise UsageError("this exercise is about the scheme wmgr")
        cut = scheme.with_failures(LinkState(down=frozenset(lab.links_named("link", CUT))))
        assert isinstance(cut, Wmgr)
        right = {
            "labels": labels(scheme),
            "paths": {f"{a}-{b}": walk(lab, scheme, a, b) for a, b in PATHS},
            "numbers": {"stretch-h3-h7": 2.5, "entries-h4": len(list(scheme.forwarding_classes(4)))},
            "after-cut": labels(cut),
        }
        given = answers.load(FILE, right)
        wrong = {key: answers.wrong(answers.section(FILE, given, key), parts) for key, parts in right.items()}
        marks = (len(parts) - len(wrong[key]) for key, parts in right.items())
        return AnswersResult([f"{key} {name}" for key, names in wrong.items() for name in names], *marks)


def labels(scheme: Wmgr) -> dict[str, list[str]]:
    """The words of all nodes but the root."""
    return {name: [str(letter) for letter in scheme.embedding.words[int(name[1:])]] for name in LABELLED}


def walk(lab: MeasuredLab, scheme: Wmgr, a: str, b: str) -> list[str]:
    """The nodes of the path that the scheme takes."""
    nodes = path(scheme, *lab.two_servers(a, b)) or ()
    return [lab.fabric.name(node) for node in nodes]
