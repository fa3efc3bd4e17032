"""Everything that is checked before a lab is launched: the configuration, then this machine."""

from __future__ import annotations

from addressing.scheme import Scheme
from dcnlab.lab.emulation import broker, capacity
from dcnlab.lab.emulation.images import engines, roots
from dcnlab.lab.emulation.links import shaping
from dcnlab.lab.emulation.machine import kernel, programs
from dcnlab.lab.emulation.sandbox import CONTAINER_REMEDY
from dcnlab.lab.errors import UsageError
from dcnlab.lab.options import images
from dcnlab.lab.options.config import LabConfig, family
from dcnlab.lab.options.local_part import LocalPart


def check(config: LabConfig, part: LocalPart | None = None) -> Scheme:
    """The bound scheme; UsageError, in one line, for what cannot be launched here: a lab, or a part of it."""
    if part is None:
        capacity.check_size(family(config.topology))  # before memory is spent on building the network
    scheme = config.validate()
    capacity.check(scheme.fabric, config.agents, None if part is None else part.nodes)
    for shape in {config.shape, *config.shapes(scheme.fabric).values()}:
        shaping.check_kernel(shape)
    if scheme.fabric.relaying and (problem := kernel.tun_problem()):
        state, remedy = problem
        raise UsageError(f"{kernel.TUN}: {state}; {remedy}")
    if what := kernel.refused_to_root():
        raise UsageError(f"{what} are refused to root here: {CONTAINER_REMEDY}")
    if config.nat and programs.find(broker.NAT_PROGRAM) is None:
        raise UsageError(f"nat needs {broker.NAT_PROGRAM}: apt-get install {broker.NAT_PROGRAM}")
    if config.ssh and programs.find("sshd") is None:
        raise UsageError("ssh needs sshd: apt-get install openssh-server")
    _check_images(config)
    return scheme


def _check_images(config: LabConfig) -> None:
    chosen = images.parse(config.image)
    if chosen and (problem := roots.overlay_problem()):
        raise UsageError(f"image: {problem}")
    for _, image in chosen:
        roots.image_files(engines.exported(image))
