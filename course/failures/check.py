"""Compare the student's predictions with the lab, and take down the links that should separate two servers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from addressing.scheme import path
from dcnlab.lab.contract.fields import argument
from dcnlab.lab.course import answers
from dcnlab.lab.course.answers import Marks
from dcnlab.lab.instruments.measurement import Context, Measurement
from dcnlab.lab.instruments.packets.echo import ping_pairs

if TYPE_CHECKING:
    from dcnlab.lab.coordinator.lab import Coordinator
    from dcnlab.lab.network.measured_lab import MeasuredLab

FILE = Path(__file__).with_name("answers.yaml")
KEYS = ("before", "after-link", "after-node", "cut")
ENDS = ("h0", "h8")


@dataclass(frozen=True)
class PredictionResult(Marks):
    """Whether the predicted path is the one that the scheme takes now (1), or not (0)."""

    right: int


@dataclass(frozen=True)
class Prediction(Measurement[PredictionResult]):
    """Compare a predicted path with the present one."""

    name: ClassVar[str] = "prediction"
    command: ClassVar[bool] = False

    moment: str = argument("The prediction: before, after-link or after-node.", default="before")

    def run(self, lab: MeasuredLab, context: Context) -> PredictionResult:
        nodes = path(lab.scheme, *lab.two_servers(*ENDS), lab.links) or ()
        names = [lab.fabric.name(node) for node in nodes]
        right = answers.words(answers.load(FILE, KEYS)[self.moment]) == names
        return PredictionResult([] if right else [self.moment], int(right))


@dataclass(frozen=True)
class SeparationResult(Marks):
    """How many links the student takes down, and whether the two servers are then separated."""

    links: int
    separated: int


@dataclass(frozen=True)
class Separation(Measurement[SeparationResult]):
    """Take down the student's links, ping, and bring them up again."""

    name: ClassVar[str] = "separation"
    command: ClassVar[bool] = False

    def run(self, lab: Coordinator, context: Context) -> SeparationResult:
        pairs = [answers.words(pair) for pair in answers.load(FILE, KEYS)["cut"] or []]
        links = tuple({link for pair in pairs for link in lab.links_named("link", pair)})
        if not links:
            return SeparationResult(["cut"], 0, 0)
        source, target = lab.two_endpoints(*ENDS)
        lab.change_links(links, up=False)
        try:
            separated = bool(ping_pairs([(source, target)]).lost)
        finally:
            lab.change_links(links, up=True)
        return SeparationResult([] if separated else ["cut"], len(links), int(separated))
