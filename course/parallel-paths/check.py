"""Compare the student's parallel paths with the network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.course import answers
from dcnlab.lab.course.answers import Marks
from dcnlab.lab.errors import UsageError
from dcnlab.lab.instruments.measurement import Context, Measurement
from dcnlab.lab.instruments.mptcp import path_count
from dcnlab.lab.options.config import family
from topos.fabric import Fabric
from topos.graph import LinkState

if TYPE_CHECKING:
    from dcnlab.lab.network.measured_lab import MeasuredLab

FILE = Path(__file__).with_name("answers.yaml")
FAR, NEAR = ("h0", "h7"), ("h0", "h1")


@dataclass(frozen=True)
class AnswersResult(Marks):
    """Parallel paths between the servers that are far apart, and between neighbours; right numbers."""

    far: int
    near: int
    numbers: int


@dataclass(frozen=True)
class Answers(Measurement[AnswersResult]):
    """Check the student's paths link by link, and that no two of them share an inner node."""

    name: ClassVar[str] = "answers"
    command: ClassVar[bool] = False

    def run(self, lab: MeasuredLab, context: Context) -> AnswersResult:
        given = answers.load(FILE, ("h0-h7", "h0-h1", "numbers"))
        wrong: list[str] = []
        counts = []
        for (source, target), key in ((FAR, "h0-h7"), (NEAR, "h0-h1")):
            paths = [answers.words(path) for path in given[key] or []]
            good = parallel(lab, source, target, paths)
            counts.append(len(good))
            wrong += [" ".join(path) for path in paths if path not in good]
            wrong += [] if paths else [key]
        right = right_numbers(lab)
        missing = answers.wrong(answers.section(FILE, given, "numbers"), right)
        return AnswersResult([*wrong, *missing], *counts, len(right) - len(missing))


def right_numbers(lab: MeasuredLab) -> dict[str, int]:
    """A larger network's, and the parallel paths that a cut leaves in this one."""
    large = Fabric.of(family("bcube:8,3"))
    ports = len(list(large.ports(0)))
    down = LinkState(down=frozenset(lab.links_named("link", ["h0", "s0"])))
    left = path_count(lab.launched_scheme, *lab.two_servers(*FAR), down)
    return {"servers": large.servers, "ports": ports, "paths-after-cut": left}


def parallel(lab: MeasuredLab, source: str, target: str, paths: Sequence[list[str]]) -> list[list[str]]:
    """Those that exist, and share no inner node with one before."""
    used: set[str] = set()
    good = []
    for path in paths:
        inner = path[1:-1]
        if exists(lab, source, target, path) and len(set(inner)) == len(inner) and not used & set(inner):
            used |= set(inner)
            good.append(path)
    return good


def exists(lab: MeasuredLab, source: str, target: str, path: list[str]) -> bool:
    """Whether a path leads over links from the source to the target."""
    if len(path) < 2 or (path[0], path[-1]) != (source, target):
        return False
    try:
        return all(lab.links_named("link", [a, b]) for a, b in pairwise(path))
    except UsageError:
        return False
