"""What `dcnlab doctor --calibrate` found best on this machine, kept for all later labs of this user."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Settings:
    """How labs are set up where nobody says otherwise."""

    #: As in :class:`dcnlab.lab.config.LabConfig`.
    offloads: bool = True


def path() -> Path:
    """Where they are kept: in the user's folder for state."""
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base, "dcnlab", "settings.json")


def load() -> Settings:
    """The settings found, or those that suit most machines."""
    try:
        kept = json.loads(path().read_text())
        return Settings(offloads=kept["offloads"] is not False)
    except (OSError, ValueError, KeyError, TypeError):
        return Settings()


def save(settings: Settings) -> None:
    """Keep settings; OSError where they cannot be."""
    path().parent.mkdir(parents=True, exist_ok=True)
    path().write_text(json.dumps(asdict(settings)) + "\n")
