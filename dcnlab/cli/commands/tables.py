"""``dcnlab tables``: the table of a node."""

from __future__ import annotations

from typing import Annotated

import typer

from dcnlab.cli.app import command
from dcnlab.cli.from_classes.operations import asks
from dcnlab.cli.parameters.arguments import LabOrTopology
from dcnlab.cli.show import JsonFlag, print_json
from dcnlab.lab import naming
from dcnlab.lab.contract.switches import TableComparison
from dcnlab.lab.errors import UsageError
from dcnlab.lab.methods.asking import perform
from dcnlab.lab.operations.tables import Tables
from dcnlab.lab.options.config import resolve


@command("dcnlab tables bcube:4,1 s4 --scheme brp", "dcnlab tables LAB s4")
@asks(Tables)
def tables(
    where: LabOrTopology,
    wanted: Tables,
    scheme: Annotated[str, typer.Option(help="The routing scheme (for a topology).")] = "",
    json: JsonFlag = False,
) -> None:
    """Show the table of a node: the entries that the scheme predicts, and in a lab those installed."""
    from dcnlab.lab.control import runtime
    from dcnlab.lab.inspection import tables

    if not scheme and any(lab.name == where for lab in runtime.labs()):
        result = perform(where, wanted)
    elif not scheme:
        raise UsageError(f"there is no running lab named {where}; for a topology, add --scheme")
    else:
        fabric, bound = resolve(where, scheme)
        predicted = tables.predicted(bound, naming.node(fabric, wanted.node, bound))
        result = TableComparison(wanted.node, predicted, None, None)
    if json:
        print_json(result)
    else:
        _show(result)
    if result.equal is False:
        raise typer.Exit(1)


def _show(result: TableComparison) -> None:
    """Print the predicted entries and whether they are installed; where our controller installs none, those
    of others."""
    installed, equal = result.installed, result.equal
    if installed is not None and equal is None:
        print("\n".join(installed))
        print(f"{len(installed)} installed, none by the lab's own controller")
        return
    print("\n".join(result.predicted))
    if installed is not None:
        print(f"{len(installed)} installed, {'as' if equal else 'NOT as'} predicted")
    if result.by_kernel is not None:
        print(f"{sum(result['by_kernel']):,} packets forwarded by the kernel (--switch-fast-path)")
