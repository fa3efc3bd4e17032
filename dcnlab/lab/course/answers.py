"""A student's answers in a YAML file, compared with what is right; for measurements of exercises."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from dcnlab.lab.contract.values import Figures
from dcnlab.lab.errors import LabError
from dcnlab.lab.instruments.result import Result
from topos.files import limits


@dataclass(frozen=True)
class Marks(Result):
    """Base of the results of exercises: its numbers are the figures, ``wrong`` names what is not right yet."""

    wrong: list[str]

    def summary(self) -> Figures:
        return {**super().summary(), "wrong": self.wrong}


def load(path: Path, keys: Iterable[str]) -> dict[str, Any]:
    """The answers in a file, None for each key that is missing; LabError, in one line, for other keys."""
    try:
        answers = YAML(typ="safe").load(limits.read_yaml(path, limits.SCENARIO))
        limits.check_values(answers)
    except OSError as error:
        raise LabError(f"{path.name}: {error.strerror}") from None
    except (YAMLError, UnicodeDecodeError, limits.LimitError) as error:
        raise LabError(f"{path.name}: not YAML: {' '.join(str(error).split())}") from None
    answers = {} if answers is None else answers
    if not isinstance(answers, Mapping):
        raise LabError(f"{path.name}: must be lines of the form KEY: VALUE")
    expected = list(keys)
    if unknown := [str(key) for key in answers if key not in expected]:
        raise LabError(f"{path.name}: {unknown[0]} is not asked for; the keys are {', '.join(expected)}")
    return {key: answers.get(key) for key in expected}


def section(path: Path, answers: Mapping[str, Any], key: str) -> dict[str, Any]:
    """The answers below a key, by name; none where nothing is written; LabError if it is no mapping."""
    part = answers[key]
    if not isinstance(part, Mapping | None):
        raise LabError(f"{path.name}: {key} must hold lines of the form NAME: VALUE")
    return {str(name): value for name, value in (part or {}).items()}


def wrong(given: Mapping[str, object], right: Mapping[str, object]) -> list[str]:
    """The names whose answer is missing or differs; words are compared without regard to spaces."""
    return [name for name, value in right.items() if words(given.get(name)) != words(value)]


def words(value: object) -> list[str]:
    """A value as words: of a text ``h0 s0 h1``, of a list, or of a number."""
    if value is None:
        return []
    parts = value if isinstance(value, list | tuple) else str(value).replace(",", " ").split()
    return [str(part) for part in parts]
