"""``python -m dcnlab.cli.prompted LAB [COMMAND...]``: a command about a lab, as at its prompt.

Without a command it prints what each does, as a JSON object.
"""

from __future__ import annotations

import inspect
import json
import sys
from itertools import takewhile
from typing import Any

from dcnlab.cli import loading, program
from dcnlab.cli.app import app


def main() -> None:
    """Run the command, with its exit code; 127 if no command about labs has the name."""
    lab, *argv = sys.argv[1:]
    if not argv:
        loading.load_all()
        print(json.dumps({info.name: _summary(info) for info in app.registered_commands if _takes_lab(info)}))
        return
    loading.load(argv)
    info = next((info for info in app.registered_commands if info.name == argv[0]), None)
    if info is None or not _takes_lab(info):
        print(f"*** Unknown command: {argv[0]}: `help` lists all")
        sys.exit(127)
    sys.argv = ["dcnlab", *named(info, lab, argv)]
    program.main()


def named(info: Any, lab: str, argv: list[str]) -> list[str]:
    """The command line of a command with the name of the lab, which the user may have written too."""
    name, *rest = argv
    interspersed = (info.context_settings or {}).get("allow_interspersed_args", True)
    options = [] if interspersed else list(takewhile(lambda word: word.startswith("-"), rest))
    rest = rest[len(options) :]
    if rest[:1] == [lab] or "--help" in argv[:2]:
        return argv
    return [name, *options, lab, *rest]


def _summary(info: Any) -> str:
    return (inspect.getdoc(info.callback) or "").split("\n")[0]


def _takes_lab(info: Any) -> bool:
    """Whether the first argument of a command names a lab, or can."""
    first = next(iter(inspect.signature(info.callback, eval_str=True).parameters.values()), None)
    metadata = getattr(first.annotation, "__metadata__", ()) if first is not None else ()
    return any("LAB" in (getattr(one, "metavar", None) or "") for one in metadata)


if __name__ == "__main__":
    main()
