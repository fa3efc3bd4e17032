"""Shell completion: topologies, schemes, labs and their nodes."""

from __future__ import annotations

from collections.abc import Iterator

import typer


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


def nodes(context: typer.Context, incomplete: str) -> Iterator[str]:
    """The nodes of the lab that the command line names."""
    return _nodes(context, incomplete, ("server", "switch"))


def servers(context: typer.Context, incomplete: str) -> Iterator[str]:
    """Its servers."""
    return _nodes(context, incomplete, ("server",))


def switches(context: typer.Context, incomplete: str) -> Iterator[str]:
    """Its switches."""
    return _nodes(context, incomplete, ("switch",))


def processes(context: typer.Context, incomplete: str) -> Iterator[str]:
    """Its processes: those of one node, and those of the whole lab."""
    from dcnlab.lab import naming

    yield from (name for name in naming.PROCESSES if name.startswith(incomplete))
    yield from nodes(context, incomplete)


def kinds(incomplete: str) -> Iterator[str]:
    """What `fail`, `restore` and `impair` concern."""
    return (kind for kind in ("link", "node") if kind.startswith(incomplete))


def _nodes(context: typer.Context, incomplete: str, kinds: tuple[str, ...]) -> Iterator[str]:
    from dcnlab.lab.client import Lab
    from dcnlab.lab.errors import LabError

    try:
        nodes = Lab.attach(context.params.get("lab") or context.params.get("where") or "").nodes()
    except LabError:  # no such lab runs: nothing to complete
        return
    yield from (node.name for node in nodes if node.kind in kinds and node.name.startswith(incomplete))


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
