"""Settings that `dcnlab doctor --calibrate` found fastest on this machine, for later labs of this user."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Settings:
    """Defaults of options that depend on the machine."""

    #: As in :class:`dcnlab.lab.options.config.LabConfig`.
    offloads: bool = True


def path() -> Path:
    """The file: in the user's state folder (XDG_STATE_HOME)."""
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base, "dcnlab", "settings.json")


def load() -> Settings:
    """The saved settings, or the defaults."""
    try:
        kept = json.loads(path().read_text())
        return Settings(offloads=kept["offloads"] is not False)
    except (OSError, ValueError, KeyError, TypeError):
        return Settings()


def save(settings: Settings) -> None:
    """Save settings; OSError if the file cannot be written."""
    path().parent.mkdir(parents=True, exist_ok=True)
    path().write_text(json.dumps(asdict(settings)) + "\n")
