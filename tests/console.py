"""Console blocks of a document: every command is run and its output compared with the document.

    ```console
    $ dcnlab ping tutorial
    240/240 answered, RTT p50 1.2 ms, p99 6.0 ms
    ```

A command that ends in ``# exit 1`` must exit with 1, all others with 0.  A line ``...`` matches any
lines.  Numbers with a decimal point, milliseconds, and counts of packets in streams depend on the
machine and match any number.
``python -m tests.console FILE`` runs a document and replaces the output in it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: The folder of the project's programs.
PROGRAMS = str(Path(sys.executable).parent)
_BLOCK = re.compile(r"(?<=```console\n)(.*?)(?=```)", re.DOTALL)
_EXIT = re.compile(r"\s+# exit (\d+)$")
_MEASURED = re.compile(r"\b\d\d:\d\d:\d\d\.\d+|(?<!\.)\b\d+(?:,\d{3})*\.\d+(?![.\d])(?: ?ms\b)?|\b\d+ ?ms\b")
_COUNTED = re.compile(
    r"\b(seq|id|sent|received|lost|machine_limited|missed) \d+|\b\d+ of \d+(?= lost)"
    r"|\b\d+(?= packets forwarded by the kernel)"  # not those that came before the entries were there
)
_SPACES = re.compile(r"[ \t]+")


@dataclass(frozen=True)
class Step:
    """A command of a document, the output that the document shows, and the exit code."""

    command: str
    shown: tuple[str, ...]
    code: int = 0


def steps(text: str) -> Iterator[Step]:
    """The commands of a document, in order."""
    for block in _BLOCK.findall(text):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *shown = part.rstrip("\n").split("\n")
            code = _EXIT.search(command)
            yield Step(_EXIT.sub("", command), tuple(shown), int(code[1]) if code else 0)


def run(step: Step, timeout: float = 1800, programs: str = PROGRAMS) -> subprocess.CompletedProcess[str]:
    """Run a command in the project's folder with the project's programs first on the path."""
    return subprocess.run(
        ["bash", "-c", f'PATH="{programs}:$PATH"\n{step.command}'],
        cwd=ROOT,
        env={key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES")},  # readline's
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=timeout,
    )


#: What long commands say on standard error where that is no terminal; how often depends on the machine.
_PROGRESS = re.compile(
    r"^.*: ([\d,]+ of [\d,]+ after \d+ s(, about \d+ s left)?|compiling, once on this machine)\n", re.MULTILINE
)


#: Verdicts on measurements, which depend on what else the machine does, alone and in lines about results.
_VERDICT = re.compile(r"^(verdict:?\s|  would help:|note: \S+ is machine-limited:).*\n?", re.MULTILINE)
_JUDGED = re.compile(r", verdict (valid|machine-limited|unknown)\b")

#: A version of this program, which changes with each commit.
_VERSION = re.compile(r"(?<![\d.])\d+\.\d+\.\d+(\.dev\d+)?$")


def agrees(shown: tuple[str, ...], printed: str) -> bool:
    """True if the output is as the document shows, except for measured numbers and spaces."""
    printed = _VERDICT.sub("", _PROGRESS.sub("", printed))
    shown = tuple(line for line in shown if not _VERDICT.match(line))
    pattern = r"\n".join(".*?" if line == "..." else re.escape(_plain(line)) for line in shown)
    return (
        not shown
        or re.fullmatch(pattern, "\n".join(map(_plain, printed.rstrip("\n").split("\n"))), re.DOTALL)
        is not None
    )


def _plain(line: str) -> str:
    line = _VERSION.sub("#", _JUDGED.sub("", line))
    return _SPACES.sub(" ", _COUNTED.sub(lambda count: f"{count[1] or ''} #", _MEASURED.sub("#", line))).strip()


def rewrite(text: str) -> str:
    """A document with the present output of its commands; output shortened by ``...`` stays so."""

    def updated(block: re.Match[str]) -> str:
        lines = []
        for step in steps(f"```console\n{block[0]}```"):
            printed = _PROGRESS.sub("", run(step).stdout).rstrip("\n").split("\n")
            suffix = f"  # exit {step.code}" if step.code else ""
            lines += [f"$ {step.command}{suffix}", *_cut(step.shown, [line.rstrip() for line in printed])]
        return "\n".join(lines) + "\n"

    return _BLOCK.sub(updated, text)


def _cut(shown: tuple[str, ...], printed: list[str]) -> list[str]:
    """The part of an output to show: as many lines before and after ``...`` as before."""
    if not shown or printed == [""]:
        return []
    if "..." not in shown:
        return printed
    head = shown.index("...")
    tail = len(shown) - head - 1
    return [*printed[:head], "...", *(printed[-tail:] if tail else [])]


if __name__ == "__main__":
    for name in sys.argv[1:]:
        Path(name).write_text(rewrite(Path(name).read_text()))
