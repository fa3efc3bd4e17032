"""What the shell offers after Tab: names of topologies with an example, schemes, labs."""

from __future__ import annotations

from collections.abc import Iterator


def topologies(incomplete: str) -> Iterator[tuple[str, str]]:
    """Examples of the families, each with who forwards."""
    from topos import registry, spec

    for family in registry.known().values():
        if family.example.startswith(incomplete):
            yield family.example, f"{spec.usage(family, family.name)}, {family.centric}-centric"


def schemes(incomplete: str) -> Iterator[tuple[str, str]]:
    """Schemes with what they do."""
    from addressing import registry

    for name, scheme in registry.known().items():
        if name.startswith(incomplete):
            yield name, scheme.summary


def labs(incomplete: str) -> Iterator[str]:
    """Labs that run."""
    from dcnlab.lab import runtime

    return (found.name for found in runtime.labs() if found.alive and found.name.startswith(incomplete))


def logs(incomplete: str) -> Iterator[str]:
    """Labs that have a log."""
    from dcnlab.lab import runtime

    return (path.stem for path in runtime.directory().glob(f"{incomplete}*.log"))


def scenarios(incomplete: str) -> Iterator[str]:
    """The example scenarios; the shell itself completes files."""
    from dcnlab.lab.scenario import bundled

    return (name for name in bundled.examples() if name.startswith(incomplete))


def names(incomplete: str) -> Iterator[str]:
    """Topologies and schemes without their parameters."""
    from addressing import registry as schemes
    from topos import registry as families

    return (name for name in (*families.known(), *schemes.known()) if name.startswith(incomplete))


def labs_and_topologies(incomplete: str) -> Iterator[str]:
    """Labs that run, then examples of the families."""
    yield from labs(incomplete)
    yield from (example for example, _ in topologies(incomplete))
