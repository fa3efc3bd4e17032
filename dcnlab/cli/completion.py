"""Shell completion: topologies, schemes and labs."""

from __future__ import annotations

from collections.abc import Iterator


def topologies(incomplete: str) -> Iterator[tuple[str, str]]:
    """The examples of the families, with their form."""
    from topos import registry, spec

    for family in registry.known().values():
        if family.example.startswith(incomplete):
            yield family.example, f"{spec.usage(family, family.name)}, {family.centric}-centric"


def schemes(incomplete: str) -> Iterator[tuple[str, str]]:
    """Schemes, with a summary."""
    from addressing import registry

    for name, scheme in registry.known().items():
        if name.startswith(incomplete):
            yield name, scheme.summary


def labs(incomplete: str) -> Iterator[str]:
    """Running labs."""
    from dcnlab.lab.control import runtime

    return (lab.name for lab in runtime.labs() if lab.alive and lab.name.startswith(incomplete))


def logs(incomplete: str) -> Iterator[str]:
    """Labs that have a log."""
    from dcnlab.lab.control import runtime

    return (path.stem for path in runtime.directory().glob(f"{incomplete}*.log"))


def scenarios(incomplete: str) -> Iterator[str]:
    """The example scenarios; the shell itself completes files."""
    from dcnlab.lab.scenario import bundled

    return (name for name in bundled.examples() if name.startswith(incomplete))


def names(incomplete: str) -> Iterator[str]:
    """The names of topologies and schemes."""
    from addressing import registry as schemes
    from topos import registry as families

    return (name for name in (*families.known(), *schemes.known()) if name.startswith(incomplete))


def labs_and_topologies(incomplete: str) -> Iterator[str]:
    """Running labs, then the examples of the families."""
    yield from labs(incomplete)
    yield from (example for example, _ in topologies(incomplete))
