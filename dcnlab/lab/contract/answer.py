"""What a lab answers: a frozen dataclass, and at the same time the JSON object that commands print.

``change.detection_ms`` and ``change["detection_ms"]`` are the same.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from dcnlab.lab.contract.codec import decode, hints

#: Of a field that the JSON object does not have where it has its default value.
ABSENT = {"absent": True}


@dataclass(frozen=True, eq=False)
class Answer(dict[str, Any]):
    """Base of all answers: the fields are those of the JSON object, which the answer is as well."""

    def __post_init__(self) -> None:
        for one in dataclasses.fields(self):
            value = getattr(self, one.name)
            if "absent" not in one.metadata or value != one.default:
                self[one.name] = value

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Read the JSON object of a lab's answer; keys that the class does not know are kept, without field."""
        known = hints(cls)
        made = cls(**{name: decode(known[name], item) for name, item in value.items() if name in known})
        made.clear()
        made.update(value)
        return made

    def to_json(self) -> Mapping[str, Any]:
        """Return it as a JSON object."""
        return dict(self)
