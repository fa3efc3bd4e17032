"""Build a release and check it: ``python -m release 1.2.3``.

Leaves the source distribution and the wheel in dist/ and the new section in CHANGELOG.md.  Nothing is
committed, tagged or published; the last lines say how.
"""

from __future__ import annotations

import datetime
import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import NoReturn

from release import changelog, distribution

ROOT = Path(__file__).parents[1]
_VERSION = re.compile(r"\d+\.\d+\.\d+((a|b|rc)\d+)?")
_LAB = ("up", "bcube:2,1", "--scheme", "brp", "--test", "pingall")


def main(argv: list[str]) -> None:
    """Build and check the version that the words name."""
    version = argv[0].removeprefix("v") if len(argv) == 1 else ""
    if not _VERSION.fullmatch(version):
        _fail("which version? Such as `make release VERSION=0.1.0`")
    if changed := _output("git", "status", "--porcelain"):
        _fail(f"commit or remove first: {' '.join(changed.split())}")
    if _output("git", "tag", "--list", f"v{version}"):
        _fail(f"v{version} is tagged already")
    text = (ROOT / "CHANGELOG.md").read_text()
    try:
        new = changelog.with_release(text, version, datetime.date.today().isoformat())
    except ValueError as error:
        _fail(str(error))
    wheel = _build(version)
    _check(wheel, version)
    (ROOT / "CHANGELOG.md").write_text(new)
    print(f"dist/ and CHANGELOG.md are ready. To publish: git commit -am 'Release {version}',")
    print(f"git tag v{version}, git push --tags: .github/workflows/release.yml uploads it.")


def _build(version: str) -> Path:
    """The wheel, built from the source distribution as others build it."""
    print(f"build {version}", flush=True)
    shutil.rmtree(ROOT / "dist", ignore_errors=True)
    _run(sys.executable, "-m", "build", str(ROOT), SETUPTOOLS_SCM_PRETEND_VERSION=version)
    _run(sys.executable, "-m", "twine", "check", "--strict", *map(str, (ROOT / "dist").iterdir()))
    return ROOT / "dist" / f"dcnlab-{version}-py3-none-any.whl"


def _check(wheel: Path, version: str) -> None:
    """The files of the wheel; then an empty environment with it, and a lab."""
    if lines := distribution.wrong(wheel):
        _fail(f"{wheel.name}: {'; '.join(lines)}")
    with tempfile.TemporaryDirectory(prefix="dcnlab-release-") as folder:
        print("install into an empty environment", flush=True)
        venv.create(folder, with_pip=True)
        bin_folder = Path(folder) / "bin"
        _run(str(bin_folder / "pip"), "install", "--quiet", "--disable-pip-version-check", str(wheel))
        said = _output(str(bin_folder / "dcnlab"), "--version")
        if said != f"dcnlab {version}":
            _fail(f"the installed program says {said!r}, not version {version}")
        print("run a lab", flush=True)
        _run(str(bin_folder / "dcnlab"), *_LAB)


def _run(*command: str, **variables: str) -> None:
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **variables}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        print(done.stdout + done.stderr, file=sys.stderr)
        _fail(f"{' '.join(command)} failed")


def _output(*command: str) -> str:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def _fail(text: str) -> NoReturn:
    print(f"release: {text}", file=sys.stderr)
    sys.exit(2)


if __name__ == "__main__":
    main(sys.argv[1:])
