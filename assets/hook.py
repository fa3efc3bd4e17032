"""Build hook: a wheel holds the view's npm packages, where the machine that builds it has npm."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface  # type: ignore[import-not-found]


class Assets(BuildHookInterface):  # type: ignore[misc]
    """Runs build.py before a wheel is made; an editable installation has `make assets` instead."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Install the packages; where that is not possible the wheel is made without them."""
        if version == "standard" and self.target_name == "wheel":
            script = Path(self.root, "assets", "build.py")
            if script.exists():
                subprocess.run([sys.executable, str(script)], check=False)
