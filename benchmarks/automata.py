"""Construction of automata and reduction of words, compared with KBMAG where it is installed.

    graph          Diff from the concrete group: breadth-first search, then comparison of all neighbours
    presentation   Knuth-Bendix completion, multiplication table, Diff
    letters/s      normal forms of random words of 100 letters, one thread
    KBMAG          ``autgroup`` on the same presentation in the same letter order, once, with axioms
                   checked.  Its second difference machine must have as many states as ours, and
                   its word acceptor must accept the same words, state by state.  If it is not on
                   the PATH, the table has times reported for another machine

Times are processor seconds (all programs here use one processor): medians of three runs, or of
one run that takes long.  Completion of butterfly:9 and borel:47 takes too long in this
implementation and is skipped.  ``python -m benchmarks.automata star:5 star:6`` runs only those
graphs.
"""

from __future__ import annotations

import json
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from addressing.automata import completion, orders, presentations
from addressing.automata.acceptor import DEAD, Acceptor, of_group
from addressing.automata.differences import Diff, automaton, differences
from addressing.automata.group import Group, of_graph
from addressing.automata.kernels import ReverseDiff
from addressing.automata.presentations import Presentation
from topos.bases.cayley import CayleyGraph
from topos.registry import parse

ROUNDS = 3
#: Seconds from which a single run is enough.
LONG = 5.0
#: Time limit for KBMAG in seconds.
TIMEOUT = 900
WORDS, LETTERS = 2000, 100
#: (graph, letter order, whether to complete it, seconds reported for KBMAG on another machine).
CASES = (
    ("hypercube:10", "natural", True, ""),
    ("bubblesort:5", "natural", True, "< 0.2"),
    ("bubblesort:7", "natural", True, ""),
    ("star:5", "natural", True, "< 0.2"),
    ("star:6", "natural", True, ""),
    ("star:7", "natural", True, "89"),
    ("transposition:5", "natural", True, "< 0.2"),
    ("transposition:7", "natural", True, ""),
    ("transposition:7", "lex", True, "286"),
    ("pancake:5", "natural", True, ""),
    ("butterfly:4", "natural", True, "< 0.2"),
    ("butterfly:7", "natural", True, ""),
    ("butterfly:9", "natural", False, "51"),
    ("borel:47,2,1,7", "natural", False, ""),
)


def main() -> None:
    """Print seconds per method, letters per second, and KBMAG's seconds."""
    kbmag = shutil.which("autgroup")
    columns = ("", "order", "elements", "|Diff|", "graph s", "presentation s", "letters/s", "KBMAG s")
    layout = "{:18}{:>9}{:>10}{:>8}{:>10}{:>16}{:>13}{:>10}".format
    if kbmag is None:
        print("KBMAG (autgroup) is not on the PATH: its times were reported for another machine")
    print(layout(*columns))
    chosen = [case for case in CASES if case[0] in (sys.argv[1:] or [case[0]])]
    for spec, name, completed, reported in chosen:
        family = parse(spec)
        assert isinstance(family, CayleyGraph)
        order = orders.read(family, name)
        group = of_graph(family, order)
        presentation = presentations.of_family(family, order)
        graph = _median(partial(_from_graph, family, order))
        text = f"{_median(partial(_from_presentation, presentation)):.3f}" if completed else "not run"
        theirs = reported or "-" if kbmag is None else _kbmag(kbmag, presentation, group)
        states, speed = automaton(group).states, f"{_speed(group):,.0f}"
        print(layout(spec, name, group.order, states, f"{graph:.3f}", text, speed, theirs), flush=True)


def _from_graph(family: CayleyGraph, order: orders.Order) -> Diff:
    return automaton(of_graph(family, order))


def _from_presentation(presentation: Presentation) -> Diff:
    return automaton(completion.complete(presentation).group())


def _median(work: Callable[[], object]) -> float:
    """The median time of ROUNDS runs, or the time of one if it is LONG."""
    first = _timed(work)
    rest = [_timed(work) for _ in range(ROUNDS - 1)] if first < LONG else []
    return statistics.median([first, *rest])


def _timed(work: Callable[[], object]) -> float:
    begun = _processor()
    work()
    return _processor() - begun


def _processor() -> float:
    """Processor seconds of this process and of its finished children."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def _speed(group: Group) -> float:
    """Letters per second of the compiled reduction; the results are checked in the group."""
    machine, longest = ReverseDiff.of_group(group), int(group.lengths[-1])
    words = np.random.default_rng(1).integers(0, group.degree, (WORDS, LETTERS)).astype(np.int32)
    machine.reduce(words[:2], longest)  # Compiles, or loads compiled code.
    reduced = machine.reduce(words, longest)
    ends = np.zeros(WORDS, dtype=np.int32)
    for column in words.T:
        ends = group.right[ends, column]
    assert [group.spell(row[row < group.degree].tolist()) for row in reduced] == ends.tolist()
    assert np.array_equal((reduced < group.degree).sum(axis=1), group.lengths[ends])
    return words.size / _median(lambda: machine.reduce(words, longest))


def _kbmag(program: str, presentation: Presentation, group: Group) -> str:
    """Seconds of KBMAG's autgroup on the presentation; AssertionError if its sizes differ from ours."""
    with tempfile.TemporaryDirectory() as directory:
        Path(directory, "group").write_text(_gap(presentation))
        command = [program, "-silent", "group"]
        try:
            seconds = _timed(
                lambda: subprocess.run(command, cwd=directory, capture_output=True, timeout=TIMEOUT)
            )
        except subprocess.TimeoutExpired:
            return f"> {TIMEOUT}"
        files = {name: Path(directory, f"group.{name}") for name in ("diff2", "wa")}
        if not all(file.exists() for file in files.values()):
            return "gave up"
        texts = {name: file.read_text() for name, file in files.items()}
    assert _states(texts["diff2"]) == len(differences(group))
    assert _states(texts["wa"]) == of_group(group).states
    assert _alike(of_group(group), _moves(texts["wa"], group.degree))
    return f"{seconds:.2f}"


def _states(automaton_file: str) -> int:
    """The number of states in one of KBMAG's files."""
    match = re.search(r"states := rec\(\s*type := \"[^\"]*\",\s*size := (\d+)", automaton_file)
    assert match is not None
    return int(match[1])


def _moves(automaton_file: str, degree: int) -> list[list[int]]:
    """``[state][letter]``: the transitions in one of KBMAG's files, numbered from 0; DEAD if there is none."""
    match = re.search(r"transitions := (\[.*\])", automaton_file, re.DOTALL)
    assert match is not None
    rows = json.loads(match[1])
    if "sparse" in automaton_file:
        rows = [[dict(row).get(letter, 0) for letter in range(1, degree + 1)] for row in rows]
    return [[end - 1 for end in row] for row in rows]


def _alike(ours: Acceptor, theirs: list[list[int]]) -> bool:
    """True if two minimal automata accept the same words, by reading both in parallel."""
    image = {0: 0, DEAD: DEAD}
    queue = [0]
    for state in queue:
        for mine, other in zip(ours.moves[state], theirs[image[state]], strict=True):
            if mine not in image:
                image[mine] = other
                queue.append(mine)
            if image[mine] != other:
                return False
    return len(image) == len(theirs) + 1


def _gap(presentation: Presentation) -> str:
    """The presentation in KBMAG's format."""
    letters = [f"x{letter}" for letter in range(presentation.degree)]
    equations = [f"[{'*'.join(letters[x] for x in relator)},IdWord]" for relator in presentation.relators]
    inverses = ",".join(letters[inverse] for inverse in presentation.inverses)
    return (
        '_RWS := rec (isRWS := true, ordering := "shortlex",\n'
        f"generatorOrder := [{','.join(letters)}],\ninverses := [{inverses}],\n"
        f"equations := [{','.join(equations)}]\n);\n"
    )


if __name__ == "__main__":
    main()
