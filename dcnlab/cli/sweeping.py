"""``--matrix`` of ``dcnlab run``, and the outcome of a sweep for people."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dcnlab.cli.parameters.spec_lists import split_specs, words
from dcnlab.cli.show import cell, table
from dcnlab.lab.errors import UsageError

if TYPE_CHECKING:
    from dcnlab.experiments.summary import Mean
    from dcnlab.experiments.sweep import Sweep


def read_matrix(texts: Sequence[str]) -> dict[str, list[Any]]:
    """The values by key of ``scheme=brp,wmgr``; numbers are read as YAML reads them."""
    matrix: dict[str, list[Any]] = {}
    for text in texts:
        key, equals, values = text.partition("=")
        if not equals or not key.strip() or not words(values):
            raise UsageError(f"--matrix takes KEY=VALUE,VALUE..., not {text!r}: write scheme=brp,wmgr")
        if key.strip() in ("topology", "scheme"):
            matrix[key.strip()] = list(split_specs(values))
        else:
            matrix[key.strip()] = [_value(text, value) for value in words(values)]
    return matrix


def _value(text: str, value: str) -> Any:
    """A value as YAML reads it; UsageError, with the whole option, for what it cannot read."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        return YAML(typ="safe").load(value)
    except (YAMLError, ValueError):
        raise UsageError(f"--matrix {text!r}: cannot read the value {value!r}: quote it as in YAML") from None


def _runs(mean: Mean) -> str:
    """How many runs count, and for how many of them the machine was too slow."""
    return f"{mean.runs} ({mean.machine_limited} machine-limited)" if mean.machine_limited else str(mean.runs)


def show_sweep(sweep: Sweep) -> None:
    """Print the means, and which runs did not hold."""
    means = sweep.means()
    if means:
        keys = list(means[0].values)
        rows = [
            (*mean.values.values(), mean.figure, _runs(mean), str(mean), cell(mean.predicted)) for mean in means
        ]
        heads = (*keys, "figure", "runs", "mean ± 95 %", "predicted")
        shown = len(heads) if any(mean.predicted is not None for mean in means) else len(heads) - 1
        table(heads[:shown], [row[:shown] for row in rows])
    for row in sweep.rows:
        where = " ".join([*(f"{key}={value}" for key, value in row["values"].items()), f"seed {row['seed']}"])
        if "error" in row:
            print(f"{where}: error: {row['error']}", file=sys.stderr)
            continue
        failed = [f"{one['text']} (found {one['value']})" for one in row["expect"] if not one["held"]]
        if failed:
            print(f"{where}: {'rejected' if row['rejected'] else 'does not hold'}: {', '.join(failed)}")
        for line in row["warnings"]:
            print(f"{where}: {line}")
