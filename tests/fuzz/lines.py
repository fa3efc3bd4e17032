"""Wrong command lines and files, drawn from a seed.

Each line is an example of a command's help with a part that cannot be right: a lab that does not run, a
topology that cannot be, or an option that nobody has.  So none of them launches a lab or computes for long.
"""

from __future__ import annotations

import random
import shlex
from collections.abc import Iterator
from pathlib import Path

from dcnlab.cli import loading
from dcnlab.cli.app import EXAMPLES
from topos import registry

ROOT = Path(__file__).parents[2]
WORDS = (
    "", "-", "--", "---", "-1", "0", "1e999", "nan", "9" * 400, "h0", "h99999999999", "s-1", "%s", "{}",
    "[", "ü" * 50, "a=b,c", "\n", "a\tb", "../../x", "/dev/null", "file:/dev/null",
    "--json", "--seed", "--help=1", "\udc80", "*", "'",
)  # fmt: skip
TOPOLOGIES = (
    "", ":", "bcube", "bcube:", "bcube:,", "bcube:4,-1", "bcube:x,1", "bcube:4,1,2,3,4", "bcube:n=4",
    "bcube:4,1,z=3", "nosuch:1", "torus:0x0", "torus:9999999x9999999", "fattree:3", "jellyfish:1,1,1",
    "file:", "file:/",
    "file:/dev/null", "file:nosuch.json", "hypercube:99", "bcube:1e9,1",
    "clot:4x4x", "smallworld:4x4,q=nan", "\n", "--", "-4",
)  # fmt: skip
_FAMILIES = tuple(f"{name}:" for name in ("ring", "file"))


def lines(seed: int) -> Iterator[list[str]]:
    """Words of command lines, without end."""
    loading.load_all()
    draw = random.Random(seed)
    examples = [line for examples_of_one in EXAMPLES.values() for line in examples_of_one]
    known = (*(f"{name}:" for name in registry.known()), *_FAMILIES)
    while True:
        words = shlex.split(draw.choice(examples))[1:]
        yield _spoiled(draw, words, known)


def _spoiled(draw: random.Random, words: list[str], known: tuple[str, ...]) -> list[str]:
    """A line with what cannot be right, and perhaps more; what is right in it alone would be done."""
    spoiled = any(word == "LAB" or word.startswith(known) for word in words)
    wrong = [_replaced(draw, word, known) for word in words]
    for _ in range(draw.randrange(3)):
        wrong.insert(draw.randint(1, len(wrong)), draw.choice(WORDS))
    if not spoiled or draw.random() < 0.2:
        wrong.insert(1, f"--nosuch{draw.randrange(10)}")
    return wrong


def _replaced(draw: random.Random, word: str, known: tuple[str, ...]) -> str:
    if word == "LAB":
        return f"nolab{draw.randrange(1000)}"
    return draw.choice(TOPOLOGIES) if word.startswith(known) else word


def files(seed: int) -> Iterator[tuple[str, bytes]]:
    """Names and contents of scenario and graph files with random errors, without end."""
    draw = random.Random(seed)
    scenarios = [path.read_bytes() for path in sorted((ROOT / "examples").glob("*.yaml"))]
    graph = b'{"nodes": [{"name": "a"}, {"name": "b"}], "links": [{"a": "a", "b": "b"}]}'
    while True:
        kind = draw.choice(("yaml", "json", "graphml", "edges", "dot"))
        data = bytearray(draw.choice(scenarios) if kind == "yaml" else graph)
        for _ in range(draw.randint(1, 30)):
            place = draw.randrange(len(data) + 1)
            data[place : place + draw.randrange(4)] = draw.randbytes(draw.randrange(4))
        yield f"fuzzed.{kind}", bytes(data)


def about(name: str) -> list[str]:
    """A line that reads a file of :func:`files`, and could do nothing with one that is right."""
    return ["check", "nolab", name] if name.endswith("yaml") else ["path", f"file:{name}", "h0", "nosuch"]
