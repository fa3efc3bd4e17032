"""The commands that are made from the classes of operations: the repository's that have examples, and those of
--custom files and installed packages.  Commands that do more than ask take their arguments from the class."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, fields
from typing import Any, TypeVar

import typer

from dcnlab.cli.app import app, command
from dcnlab.cli.from_classes.signature import named, names_of, parameter
from dcnlab.cli.parameters import completion
from dcnlab.cli.show import print_json
from dcnlab.lab import operations
from dcnlab.lab.contract.codec import encode, hints
from dcnlab.lab.contract.fields import gathered
from dcnlab.lab.contract.operation import Operation
from dcnlab.lab.methods import asking

_PANEL = "Labs"
W = TypeVar("W", bound=Operation[Any])


def add_others() -> None:
    """Add the operations of installed packages and of the files that are loaded."""
    known = operations.known()
    for name in known:
        if not known.is_builtin(name) and not any(info.name == name for info in app.registered_commands):
            kind = known[name]
            words = (item.name.upper() for item in fields(kind) if item.default is MISSING)
            examples = kind.examples or (" ".join(("dcnlab", name, "LAB", *words)),)
            command(*examples, name=name, panel=_PANEL, custom=True)(_command(kind))


def add_builtin(name: str) -> None:
    """Add the command of one of the repository's operations, if it has examples."""
    kind = operations.known().own(name)
    if kind.examples:
        command(*kind.examples, name=name)(_command(kind))


def add_alias(name: str, kind: type[Operation[Any]]) -> None:
    """Add a second name of an operation's command, which no list shows."""
    called = _command(kind)
    called.__doc__ = f"Alias of `{kind.name}`."
    command(kind.examples[0], name=name, hidden=True)(called)


def asks(kind: type[Operation[Any]]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Let a command that does more than ask take the fields of an operation where its parameter ``wanted``
    stands; it gets the operation."""

    def taking(function: Callable[..., None]) -> Callable[..., None]:
        own, names = inspect.signature(function, eval_str=True).parameters, {item.name for item in fields(kind)}

        @functools.wraps(function)
        def run(**values: Any) -> None:
            given = {name: values.pop(name) for name in names & values.keys()}
            function(**values, wanted=_wanted(kind, given))

        each = ([*_parameters(kind)] if one.name == "wanted" else [one] for one in own.values())
        every = [one for some in each for one in some]
        run.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in every}
        return run

    return taking


def _wanted(kind: type[W], values: Mapping[str, Any]) -> W:
    """The operation that a command line asks for; UsageError for what nobody should ask."""
    several = {name for name, hint in hints(kind).items() if typing.get_origin(hint) is tuple}
    given = {name: tuple(value or ()) if name in several else value for name, value in values.items()}
    wanted = kind(**gathered(kind, given))
    wanted.check()
    return wanted


def _command(kind: type[Operation[Any]]) -> Callable[..., None]:
    """The command of an operation class."""

    def ask(**values: Any) -> None:
        lab, json = values.pop("lab"), values.pop("json")
        wanted = _wanted(kind, values)
        answer = asking.perform(lab, wanted)
        if json:
            print_json(encode(answer))
        else:
            from dcnlab.cli.from_classes import answers  # not with --json

            answers.show(wanted, answer)

    return named(ask, kind, _parameters(kind))


def _parameters(kind: type[Operation[Any]]) -> Iterator[inspect.Parameter]:
    """The fields as typer reads them: words and those without a default by position, others that have a help
    text as options."""
    types = hints(kind)
    for item in fields(kind):
        if (item.default is MISSING and item.default_factory is MISSING) or "word" in item.metadata:
            yield _word(item, types[item.name])
        elif docs := item.metadata.get("named"):
            for name, doc in docs.items():
                yield parameter(name, str, typer.Option(help=doc), "")
        elif "doc" in item.metadata:
            yield _option(item, types[item.name])


def _option(item: Field[Any], hint: Any) -> inspect.Parameter:
    """A field that is an option; one of type ``tuple[str, ...]`` may be repeated."""
    limits: dict[str, Any] = {"min": item.metadata.get("low"), "max": item.metadata.get("high")}
    complete = item.metadata.get("complete", "")
    shown = typer.Option(
        *names_of(item), help=item.metadata["doc"], metavar=item.metadata.get("metavar"),
        autocompletion=getattr(completion, complete) if complete else None, **limits,
    )  # fmt: skip
    several = typing.get_origin(hint) is tuple
    return parameter(item.name, list[str] | None if several else hint, shown, None if several else item.default)


def _word(item: Field[Any], hint: Any) -> inspect.Parameter:
    """A field that stands at its place; one of type ``tuple[str, ...]`` has all words that remain."""
    completed = item.metadata.get("complete", "") or "nodes"
    shown = typer.Argument(
        metavar=item.metadata.get("metavar") or item.name.upper(), help=item.metadata.get("doc", ""),
        autocompletion=None if completed == "nothing" else getattr(completion, completed),
    )  # fmt: skip
    several, required = typing.get_origin(hint) is tuple, item.default is MISSING
    kind = (list[str] if required else list[str] | None) if several else hint
    return parameter(item.name, kind, shown, MISSING if required else (None if several else item.default))
