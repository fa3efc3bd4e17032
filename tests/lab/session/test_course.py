"""The course: every solution gets all points; every unsolved exercise fails for what a student has to do."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from dcnlab.lab.course import answers, exercises, grading
from dcnlab.lab.errors import LabError, UsageError
from dcnlab.lab.scenario.expect import read_expectation
from tests.lab.lines import dcnlab

ROOT = Path(__file__).parents[3]
NAMES = list(exercises.exercises())
#: What an unsolved exercise must fail; the lab itself reaches the other points.
UNSOLVED = {
    "prefix-tables": {"tables.written == 2", "ping.lost == 0", "tables.sizes == 2"},
    "parallel-paths": {"answers.far == 3", "answers.near == 3", "answers.numbers == 3"},
    "miswired-cables": {"answers.swaps == 2", "answers.addresses == 3", "answers.numbers == 2"},
    "wmgr-labels": {
        "answers.labels == 7", "answers.paths == 3", "answers.numbers == 2", "answers.after_cut == 7",
    },
    "failures": {
        "before.right == 1", "after-link.right == 1", "after-node.right == 1",
        "separation.links == 2", "separation.separated == 1",
    },
    "own-scheme": {"all-paths.longest == 2", "all-paths.stretch == 1"},
}  # fmt: skip


def grade(programs: Path, folder: Path) -> tuple[int, dict[str, Any]]:
    """In a process of its own, for a student's scheme is loaded."""
    words = [programs / "dcnlab", "grade", folder, "--json"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


@pytest.mark.lab
@pytest.mark.parametrize("name", NAMES)
def test_a_solution_gets_all_points(name: str, programs: Path, tmp_path: Path) -> None:
    exercises.copy(name, tmp_path / name, solution=True)
    code, report = grade(programs, tmp_path / name)
    assert (code, report["passed"], report["remarks"]) == (0, True, []), report
    assert report["points"] == report["of"] == len(report["tasks"])


@pytest.mark.lab
@pytest.mark.parametrize("name", NAMES)
def test_an_unsolved_exercise_fails_for_what_a_student_has_to_do(
    name: str, programs: Path, tmp_path: Path
) -> None:
    exercises.copy(name, tmp_path / name)
    assert not (tmp_path / name / exercises.SOLUTION).exists()
    code, report = grade(programs, tmp_path / name)
    assert (code, report["passed"]) == (1, False)
    assert {task["text"] for task in report["tasks"] if not task["held"]} == UNSOLVED[name]
    assert all(bool(task["hint"]) != task["held"] for task in report["tasks"])
    assert not [remark for remark in report["remarks"] if "not right yet" not in remark]


@pytest.mark.parametrize("name", NAMES)
def test_every_expectation_has_a_hint_and_every_student_file_a_solution(name: str) -> None:
    folder = exercises.exercises()[name]
    lines = YAML(typ="safe").load(folder / exercises.SCENARIO)["expect"]  # its custom files stay out of here
    expected = {f"{one.name}.{one.figure}" for one in map(read_expectation, lines)}
    hints = grading.read_hints((folder / "hints.md").read_text())
    assert set(hints) == expected
    assert all(hints.values())
    solved = {path.name for path in (folder / exercises.SOLUTION).iterdir()} - {"__pycache__"}
    assert solved <= {path.name for path in folder.iterdir()}
    assert solved


def test_the_course_lists_and_copies_its_exercises(tmp_path: Path) -> None:
    listed = json.loads(dcnlab("course", "--json").stdout)
    assert [row["name"] for row in listed] == NAMES
    assert [row["title"].split(".")[0] for row in listed] == list("123456")
    page = (ROOT / "course" / "README.md").read_text()
    assert all(f"({name}/README.md)" in page for name in NAMES)
    copied = dcnlab("course", "failures", "--to", tmp_path / "mine")
    assert (
        copied.stdout
        == f"{tmp_path}/mine/README.md is the handout; `dcnlab grade {tmp_path}/mine` grades your work\n"
    )
    again = dcnlab("course", "failures", "--to", tmp_path / "mine")
    assert (again.returncode, again.stderr.count("\n")) == (2, 1)
    unknown = dcnlab("course", "failure")
    assert (unknown.returncode, "the exercises are prefix-tables" in unknown.stderr) == (2, True)
    assert dcnlab("course", "--solution").returncode == 2
    assert dcnlab("grade", tmp_path).returncode == 2


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("a: [", "not YAML"),
        ("- a", "KEY: VALUE"),
        ("a: 1\nc: 2", "c is not asked for; the keys are a, b"),
    ],
)
def test_answers_that_cannot_be_read_are_one_line(tmp_path: Path, text: str, error: str) -> None:
    file = tmp_path / "answers.yaml"
    file.write_text(text)
    with pytest.raises(LabError, match=error) as raised:
        answers.load(file, ("a", "b"))
    assert "\n" not in str(raised.value)


def test_answers_are_compared_as_words(tmp_path: Path) -> None:
    file = tmp_path / "answers.yaml"
    file.write_text("a: {x: 1 2, y: [1, 2], z: 7}\n")
    given = answers.section(file, answers.load(file, ("a", "b")), "a")
    assert answers.wrong(given, {"x": ["1", "2"], "y": "1, 2", "z": 8, "missing": ""}) == ["z"]
    assert answers.section(file, {"b": None}, "b") == {}
    with pytest.raises(LabError, match="NAME: VALUE"):
        answers.section(file, {"b": [1]}, "b")
    with pytest.raises(UsageError, match="no exercise"):
        exercises.find(tmp_path)
