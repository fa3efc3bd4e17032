"""The command line and the HTTP interface as text."""

from __future__ import annotations

import json
import re
import sys
from importlib.metadata import version
from typing import Any

import pytest
import typer.main
from starlette.testclient import TestClient

from dcnlab.cli import app, loading
from dcnlab.lab.api import app as api
from dcnlab.lab.api.stream import Broadcast
from dcnlab.lab.client import Lab
from tests.lab.lines import dcnlab

#: The width of the terminal, and what else decides how help is printed.
_TERMINAL = {"COLUMNS": "120", "TERM": "dumb", "NO_COLOR": "1"}
_BORDER = re.compile(r"^[╭│╰][ ─]*|[ ─]*[╮│╯]?$")


def help_of_all() -> str:
    """``--help`` of the program and of each command."""
    loading.load_all()
    group: Any = typer.main.get_command(app.app)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in _TERMINAL.items():
            patch.setenv(name, value)
        patch.setattr(typer.main, "get_command", lambda _: group)  # else all are made for each command line
        patch.setattr(
            sys.modules["__main__"], "__package__", None, raising=False
        )  # else usage says `python -m`
        texts = [_help(), *map(_help, sorted(group.commands))]
    return "\n".join(texts)


def _help(*words: str) -> str:
    """The words of a help text; of the boxes around them only the headings."""
    done = dcnlab(*words, "--help")
    assert (done.returncode, done.stderr) == (0, ""), done
    lines = (_BORDER.sub("", line) for line in done.stdout.strip().splitlines())
    shown = " ".join(("dcnlab", *words, "--help"))
    return "\n".join([f"$ {shown}", *(line for line in lines if line), ""])


def openapi(lab: Lab) -> str:
    """The OpenAPI document of a lab."""
    document = TestClient(api.interface(lab, Broadcast(lab))).get("/openapi.json").json()
    assert document["info"].pop("version") == version("dcnlab")
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"
