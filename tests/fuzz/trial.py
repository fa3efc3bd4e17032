"""Runs wrong command lines in this process, and says what is wrong with how they end."""

from __future__ import annotations

import contextlib
import io
import json
import signal
import sys
from collections.abc import Iterator, Sequence
from types import FrameType
from unittest import mock

from dcnlab.cli import show
from dcnlab.cli.program import main

#: Seconds after which a line hangs.
PATIENCE = 60


class HangError(Exception):
    """A line did not end."""


def trial(words: Sequence[str]) -> str:
    """Run ``dcnlab`` with these words; what is wrong with how it ended, empty if nothing is."""
    out, err = io.StringIO(), io.StringIO()
    show.StdoutState.json = False
    try:
        with (
            _deadline(),
            mock.patch.object(sys, "argv", ["dcnlab", *words]),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            main()
    except SystemExit as end:
        return judge(words, end.code, out.getvalue(), err.getvalue())
    except HangError:
        return f"no end after {PATIENCE} s"
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    return "it returned"


def judge(words: Sequence[str], code: object, out: str, err: str) -> str:
    """What is wrong with an exit code and outputs; empty if nothing is."""
    if "Traceback" in err or "an error in dcnlab itself" in err:
        return err.strip()
    if code == 0 and "" in words:  # a topology that need not be named
        return ""
    if code not in (1, 2):
        return f"exit code {code}"
    said = err.splitlines()
    if code == 2 and (len(said) != 1 or not err.startswith("dcnlab: ")) and "Usage" not in out + err:
        return f"{len(said)} lines: {err[:300]}"
    with contextlib.suppress(ValueError):
        if out.startswith("{") and json.loads(out).get("exit") not in (None, code):
            return f"exit code {code}, but {out}"
    return ""


@contextlib.contextmanager
def _deadline() -> Iterator[None]:
    def ring(number: int, frame: FrameType | None) -> None:
        raise HangError

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(PATIENCE)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
