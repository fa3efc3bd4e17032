"""The commands of measurements: one for each registered class, made from its arguments."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Iterator
from dataclasses import Field
from itertools import pairwise
from typing import Annotated, Any

import typer

from dcnlab.cli.app import MEASURING, app, command
from dcnlab.cli.from_classes.signature import named, names_of, parameter
from dcnlab.cli.parameters import completion
from dcnlab.cli.show import print_ended, print_json, progress_bar, table
from dcnlab.lab import measurement
from dcnlab.lab.contract import fields as arguments
from dcnlab.lab.control import runtime
from dcnlab.lab.instruments.measurement import Measurement, R
from dcnlab.lab.instruments.result import INTERRUPTED, Result
from dcnlab.lab.methods import asking, measuring
from topos.spec import SpecError


def run(lab: str, wanted: Measurement[Any], json: bool) -> typer.Exit:
    """Run a measurement in a running lab and show the result; exit code 1 when it did not hold."""
    wanted.check()
    result = with_bar(lab, wanted, json)
    show(result, json)
    if getattr(result, "partial", "") == INTERRUPTED:
        return typer.Exit(130)
    if not result.held and not json:
        from dcnlab.lab.operations.info import Info  # of a measurement that did not hold

        print_ended(lab, asking.perform(lab, Info()).ended)
    return typer.Exit(0 if result.held else 1)


def with_bar(lab: str, wanted: Measurement[R], json: bool) -> R:
    """The result, with a bar on standard error meanwhile; after Ctrl-C what has been measured, if it can be."""
    path = runtime.socket_path(lab)
    with progress_bar(quiet=json) as bar:

        def report(value: Any) -> None:
            bar(value["done"], value["of"], value["what"])

        if not wanted.stoppable and not wanted.interruptible:
            return measuring.run(path, wanted, report)
        underway = measuring.Underway(path, wanted, report)
        try:
            return underway.result()
        except KeyboardInterrupt:
            return underway.stop()


def show(result: Result, json: bool) -> None:
    """The result as JSON, or as tables, with an empty line between them, and notes."""
    if json:
        print_json({**result.to_json(), "held": result.held})
        return
    for number, shown in enumerate(result.tables()):
        if number:
            print()
        table(shown.columns, shown.rows)
    for line in result.lines():
        print(line)


def _command(kind: type[Measurement[Any]]) -> Callable[..., None]:
    """The command of a measurement class."""
    names = [item.name for item in (*arguments.servers(kind), *arguments.options(kind))]

    def measure(**values: Any) -> None:
        raise run(values["lab"], kind(**{name: values[name] for name in names}), values["json"])

    return named(measure, kind, _parameters(kind))


def _parameters(kind: type[Measurement[Any]]) -> Iterator[inspect.Parameter]:
    """The arguments of a measurement as typer reads them: servers by position, the others as options."""
    hints = typing.get_type_hints(kind)
    for item in arguments.servers(kind):
        several = hints[item.name] is not str
        shown = typer.Argument(
            metavar=f"{item.name.upper()}{'...' if several else ''}",
            help=item.metadata["doc"],
            autocompletion=completion.servers,
        )
        yield parameter(item.name, list[str] if several else str, shown, item.default)
    for item in arguments.options(kind):
        yield parameter(item.name, _type_on_command_line(hints[item.name]), _option(item), item.default)


def _option(item: Field[Any]) -> Any:
    """The option of an argument with its limits; of a duration, they are checked with the measurement."""
    limits, names = item.metadata, names_of(item)
    if limits["unit"] == "s":
        from dcnlab.cli.parameters.durations import duration  # few have one

        longer = ("--for",) if item.name == arguments.LENGTH else ()  # the former name works too
        return duration(limits["doc"], *longer, *names)
    choices = f" One of: {', '.join(limits['choices'])}." if limits["choices"] else ""
    return typer.Option(*names, min=limits["low"], max=limits["high"], help=limits["doc"] + choices)


def _type_on_command_line(hint: Any) -> Any:
    """The first of several types is the one that text can be read as; None stays possible."""
    kinds = typing.get_args(hint)
    if type(None) in kinds:
        return kinds[0] | None
    return kinds[0] if kinds else hint


def _refusal(name: str, error: SpecError) -> Callable[..., None]:
    """The command of a measurement whose file is wrong: it raises the error."""

    def refuse(_: Annotated[list[str] | None, typer.Argument(help="Not read.")] = None) -> None:
        raise error

    refuse.__name__, refuse.__doc__ = name.replace("-", "_"), "This measurement cannot be loaded."
    return refuse


def _add(name: str) -> None:
    """Add the command of a measurement, unless it is there or a hand-written one does more."""
    if any(info.name == name for info in app.registered_commands):
        return
    try:
        kind = measurement.known()[name]
    except SpecError as error:
        command(f"dcnlab {name}", name=name, panel=MEASURING, custom=True)(_refusal(name, error))
        return
    if kind.command:
        words = (f"h{number}" for number, _ in enumerate(arguments.servers(kind)))
        examples = kind.examples or (" ".join(("dcnlab", name, "LAB", *words)),)
        command(*examples, name=name, panel=MEASURING, custom=True)(_command(kind))


def add_builtin(wanted: str = "") -> None:
    """Add dcnlab's own measurements, or the one of that name."""
    for name in measurement.known().builtin():
        if wanted in ("", name):
            _add(name)


def add_others(argv: list[str]) -> None:
    """Add the measurements of installed packages and of the files after ``--custom`` in a command line."""
    for option, value in pairwise([*argv, ""]):
        if option == "--custom" or option.startswith("--custom="):
            from dcnlab.lab import custom  # with all schemes

            custom.load([option.partition("=")[2] or value])
    for name in measurement.known():
        if not measurement.known().is_builtin(name):
            _add(name)
