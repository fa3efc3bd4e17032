"""Compare the student's swaps of cables and addresses with what AACM finds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.course import answers
from dcnlab.lab.course.answers import Marks
from dcnlab.lab.errors import LabError, OptionError
from dcnlab.lab.instruments.measurement import Context, Measurement
from dcnlab.lab.options.config import family
from dcnlab.lab.options.miswiring import swapped_ports
from hostagent.protocols.aacm.simulation import AacmSimulation
from topos.fabric import Fabric
from topos.families.torus import Torus

if TYPE_CHECKING:
    from dcnlab.lab.network.measured_lab import MeasuredLab

HERE = Path(__file__).parent
FILE = HERE / "answers.yaml"
TOPOLOGY, LARGE = "clot:4x4", "clot:6x6"
REPORTS = {"report-1": "report-1.txt", "report-2": "report-2.txt"}
SERVERS = ("h1", "h6", "h15")


@dataclass(frozen=True)
class AnswersResult(Marks):
    """Reports whose swapped cables are found, right addresses, and right numbers."""

    swaps: int
    addresses: int
    numbers: int


@dataclass(frozen=True)
class Answers(Measurement[AnswersResult]):
    """Wire the torus as the student says, run AACM, and compare what it reports."""

    name: ClassVar[str] = "answers"
    command: ClassVar[bool] = False

    def run(self, lab: MeasuredLab, context: Context) -> AnswersResult:
        given = answers.load(FILE, ("swaps", "addresses", "numbers"))
        swaps = answers.section(FILE, given, "swaps")
        missed = [name for name, file in REPORTS.items() if not explains(swaps.get(name), HERE / file)]
        right = {name: lab.address(lab.server(name)) for name in SERVERS}
        no_address = answers.wrong(answers.section(FILE, given, "addresses"), right)
        simulation = AacmSimulation(torus(LARGE))
        sizes = {"configs": len(simulation.peers) // 2, "servers": len(simulation.machines)}
        no_number = answers.wrong(answers.section(FILE, given, "numbers"), sizes)
        return AnswersResult(
            [*missed, *no_address, *no_number],
            len(REPORTS) - len(missed), len(SERVERS) - len(no_address), len(sizes) - len(no_number),
        )  # fmt: skip


def explains(swap: object, report: Path) -> bool:
    """Whether AACM reports exactly these lines when the cables at the two ports are swapped."""
    if swap is None:
        return False
    small = torus(TOPOLOGY)
    try:
        ports = swapped_ports(Fabric.of(small), ",".join(answers.words(swap)))
    except OptionError as error:
        raise LabError(f"{FILE.name}: {error}") from None
    simulation = AacmSimulation(small, key=b"dcnlab")
    simulation.swap(*list(ports)[:2])
    outcome = simulation.configure()
    findings = [] if outcome is None else [str(finding) for finding in outcome.findings]
    return sorted(findings) == sorted(report.read_text(encoding="utf-8").splitlines())


def torus(topology: str) -> Torus:
    """The family of a topology that AACM configures."""
    known = family(topology)
    assert isinstance(known, Torus)
    return known
